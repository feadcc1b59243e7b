"""The table of labels, resources and machines by which GPUs are recognised, read once from ``hardware.yaml``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache

import yaml

from gpupolicy.resources import read_text

RESOURCE = "{resource}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRow:
    """An extended resource, or a pattern of them. ``is_slice``: its unit is a part of a device."""

    name: str
    vendor: str
    is_slice: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductRow:
    """A label that names the product; ``vendor`` None is any. ``says_instance``: it names the machine."""

    key: str
    vendor: str | None = None
    also: tuple[str, ...] = ()
    says_instance: bool = False

    def key_for(self, resource: str) -> str:
        """Returns the label's key for nodes that offer a resource."""
        return self.key.replace(RESOURCE, resource)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRow:
    """A label with the devices of a node, and the one with the sharers of each, if there is one."""

    key: str
    times: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """The whole table; every tuple in the order of asking."""

    resources: tuple[ResourceRow, ...]
    products: tuple[ProductRow, ...]
    counts: tuple[CountRow, ...]
    discriminators: tuple[str, ...]
    personal: tuple[str, ...]
    instances: tuple[tuple[str, str], ...]
    managed: tuple[tuple[str, str], ...]
    plugins: tuple[str, ...]

    def find_instance(self, name: str) -> str | None:
        """Returns the product of a cloud's machine, None for one that the table does not know."""
        return next((product for pattern, product in self.instances if fnmatchcase(name, pattern)), None)

    def find_provider(self, keys: Iterable[str]) -> str | None:
        """Returns who runs the control plane, by the keys of a node's labels; None where nobody is known to."""
        keys = tuple(keys)
        return next((who for pattern, who in self.managed if any(fnmatchcase(key, pattern) for key in keys)), None)

    def is_personal(self, key: str) -> bool:
        """Returns whether a label tells a node or its place rather than its GPUs."""
        return any(fnmatchcase(key, pattern) for pattern in self.personal)

    def is_plugin(self, pod_name: str) -> bool:
        """Returns whether a pod looks like one that serves GPUs to others."""
        return any(fnmatchcase(pod_name, pattern) for pattern in self.plugins)


@cache
def read_hardware() -> Hardware:
    """Returns the table that ships with the package."""
    rows: Mapping[str, list[dict[str, object]]] = yaml.safe_load(read_text("discovery", "hardware.yaml"))
    return Hardware(
        resources=tuple(
            ResourceRow(name=str(row["name"]), vendor=str(row["vendor"]), is_slice=bool(row.get("slice")))
            for row in rows["resources"]
        ),
        products=tuple(_to_product(row) for row in rows["products"]),
        counts=tuple(CountRow(key=str(row["key"]), times=_text(row.get("times"))) for row in rows["counts"]),
        discriminators=tuple(str(row["key"]) for row in rows["discriminators"]),
        personal=tuple(str(row["pattern"]) for row in rows["personal"]),
        instances=tuple((str(row["pattern"]), str(row["product"])) for row in rows["instances"]),
        managed=tuple((str(row["pattern"]), str(row["provider"])) for row in rows["managed"]),
        plugins=tuple(str(row["pattern"]) for row in rows["plugins"]),
    )


def _to_product(row: Mapping[str, object]) -> ProductRow:
    also = row.get("also")
    return ProductRow(
        key=str(row["key"]),
        vendor=_text(row.get("vendor")),
        also=tuple(str(key) for key in also) if isinstance(also, list) else (),
        says_instance=row.get("says") == "instance",
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)
