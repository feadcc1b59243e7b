"""What the targets of the compiler take and give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpupolicy.model import Policy

Document = dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be compiled: a policy and what else the manifests need from outside.

    ``nodes`` are Nodes as the API prints them, ``ca_bundle`` is PEM text for the webhook's registration.
    """

    policy: Policy
    nodes: tuple[Mapping[str, object], ...] | None = None
    ca_bundle: bytes | None = None
    scheduler_image: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One compiled document and its file below the output folder.

    ``remarks`` are lines for its header. ``kept_apart`` says why it is not among the resources that
    ``kubectl apply -k`` takes, None where it is.
    """

    document: Document
    path: str
    remarks: tuple[str, ...] = ()
    kept_apart: str | None = None

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """API version, kind, namespace and name: what makes two documents the same object."""
        metadata = self.document.get("metadata")
        read = metadata if isinstance(metadata, Mapping) else {}
        names = (self.document.get("apiVersion"), self.document.get("kind"), read.get("namespace"), read.get("name"))
        version, kind, namespace, name = (str(part or "") for part in names)
        return version, kind, namespace, name
