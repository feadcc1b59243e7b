"""What a row of the table of kinds says: where a kind of object keeps its pods, and what it hides."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

Steps = tuple[str, ...]  # from the root of an object; ``*`` stands for every entry of a map or list


class Shape(StrEnum):
    """What stands at a path: how a pod is read from it."""

    TEMPLATE = "template"  # metadata and spec, as in a Deployment
    SPEC = "spec"  # the pod spec itself
    EITHER = "either"  # one or the other; the paths of a policy
    MODEL_SERVER = "modelServer"  # a pod spec whose server container may stand beside ``containers`` (KServe)
    MAIN_BESIDE = "mainBeside"  # a pod spec whose main container stands beside ``containers`` (Dynamo)
    ARGO = "argo"  # a step of an Argo workflow: container, script or containerSet
    STEPS = "steps"  # Tekton: steps and sidecars are the containers
    RESOURCES = "resources"  # nothing but a resources stanza: one container
    SPARK = "spark"  # gpu: {name, quantity}, and perhaps a template
    OBJECT = "object"  # another whole object with apiVersion and kind


@dataclass(frozen=True, slots=True, kw_only=True)
class PodPath:
    """A path to what makes pods. ``base``: the mapping whose scheduling fields hold for pods that have none.

    ``gap``: what a text holds that the kind's controller fills in before it makes an object of it.
    """

    path: Steps
    shape: Shape = Shape.TEMPLATE
    base: Steps | None = None
    gap: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Blind:
    """A path that, where present, tells of GPUs that are not seen in this object.

    ``reason`` may name the place as ``{field}``. ``within``: only where no pod below that path asks for devices; else
    the field only repeats what such a pod says. ``named``: only where it names a counted resource, as one name or in
    limits and requests; else the field may be about anything.
    """

    path: Steps
    reason: str
    within: Steps | None = None
    named: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KindRow:
    """One kind. ``resource`` is its plural in the API; ``owner`` the kind that its pods' ownerReferences name."""

    group: str
    kind: str
    resource: str
    owner: str
    pods: tuple[PodPath, ...] = ()
    blind: tuple[Blind, ...] = ()
    namespaced: bool = True


def steps_of(path: str) -> Steps:
    """Returns the steps of a dotted path; the empty path is the object itself."""
    return tuple(path.split(".")) if path else ()


def guess_resource(kind: str) -> str:
    """Returns the plural that a kind most likely has.

    Source: apimachinery pkg/api/meta/restmapper.go, UnsafeGuessKindToResource.
    """
    name = kind.lower()
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"
