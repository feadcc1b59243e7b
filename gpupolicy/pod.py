"""A view on a foreign pod: reads what admission needs, checks its shape on the way, changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpupolicy.errors import FieldPath, PodShapeError
from gpupolicy.labels import Requirement, to_requirement

MIRROR_ANNOTATION = "kubernetes.io/config.mirror"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NODE_AFFINITY: FieldPath = ("spec", "affinity", "nodeAffinity")

JSONMap = Mapping[str, object]
_NOTHING: JSONMap = {}
_TERMS: FieldPath = (*NODE_AFFINITY, REQUIRED, "nodeSelectorTerms")


@dataclass(frozen=True, slots=True)
class Container:
    """A container's amounts. ``restartable``: an init container that goes on running beside the others."""

    field: FieldPath
    requests: JSONMap
    limits: JSONMap
    restartable: bool = False

    def amounts(self) -> Iterator[tuple[str, str, object]]:
        """Yields each resource name once, with the part and value that count: the request, else the limit."""
        for name, value in self.limits.items():
            if name not in self.requests:
                yield name, "limits", value
        for name, value in self.requests.items():
            yield name, "requests", value

    def place(self, part: str, name: str) -> FieldPath:
        """Returns the field of an amount; ``part`` is requests or limits."""
        return (*self.field, "resources", part, name)


@dataclass(frozen=True, slots=True)
class Term:
    """A node selector term: what it requires of labels (None: an operator that Kubernetes does not have)."""

    field: FieldPath
    requirements: tuple[Requirement | None, ...] = ()
    has_fields: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether it requires nothing at all; such a term matches no node."""
        return not self.requirements and not self.has_fields

    def place(self, position: int) -> FieldPath:
        """Returns the field of an expression."""
        return (*self.field, "matchExpressions", position)


@dataclass(frozen=True, slots=True)
class PreferredTerm:
    """A preferred node affinity term; ``weight`` is None where it is no number."""

    weight: int | None
    term: Term


class PodView:
    """Reads a pod (``{"metadata": ..., "spec": ...}``).

    Raises:
        PodShapeError: from any accessor, where a part is of another type than the Kubernetes API has there.
    """

    __slots__ = ("_preferred_terms", "_required_terms", "containers", "init_containers", "metadata", "pod", "spec")

    def __init__(self, pod: JSONMap) -> None:
        self.pod = _mapping(pod, ())
        self.metadata = _part(pod, "metadata", ()) or _NOTHING
        self.spec = _mapping(pod.get("spec"), ("spec",))
        self.containers = _read_containers(_list(self.spec.get("containers"), ("spec", "containers")), "containers")
        self.init_containers = _read_containers(_items(self.spec, "initContainers", ("spec",)), "initContainers")
        self._required_terms: tuple[Term, ...] | None = None
        self._preferred_terms: tuple[PreferredTerm, ...] | None = None

    @property
    def namespace(self) -> str:
        """The namespace in the object, empty where it stands only in the request."""
        return _string(self.metadata, "namespace", ("metadata",))

    @property
    def labels(self) -> Mapping[str, str]:
        """The pod's own labels."""
        return _strings(self.metadata, "labels", ("metadata",))

    @property
    def annotations(self) -> JSONMap:
        """The pod's annotations."""
        return _part(self.metadata, "annotations", ("metadata",)) or _NOTHING

    @property
    def scheduler_name(self) -> str:
        """spec.schedulerName, empty where unset."""
        return _string(self.spec, "schedulerName", ("spec",))

    @property
    def node_name(self) -> str:
        """spec.nodeName, empty where unset."""
        return _string(self.spec, "nodeName", ("spec",))

    @property
    def service_account(self) -> str:
        """The pod's service account, ``default`` where unset; manifests may still call it by the field's old name."""
        named = _string(self.spec, "serviceAccountName", ("spec",)) or _string(self.spec, "serviceAccount", ("spec",))
        return named or "default"

    @property
    def node_selector(self) -> Mapping[str, str]:
        """spec.nodeSelector."""
        return _strings(self.spec, "nodeSelector", ("spec",))

    @property
    def is_mirror(self) -> bool:
        """Whether the pod says that it mirrors a static pod of a kubelet."""
        return MIRROR_ANNOTATION in self.annotations

    @property
    def controller_kind(self) -> str:
        """Kind of the owner that controls the pod, empty where nobody does."""
        for index, reference in enumerate(_mappings(self.metadata, "ownerReferences", ("metadata",))):
            if reference.get("controller") is True:
                return _string(reference, "kind", ("metadata", "ownerReferences", index))
        return ""

    @property
    def pod_level_resources(self) -> Container:
        """spec.resources as if it were a container: Kubernetes takes only cpu, memory and hugepages there."""
        return _read_container(self.spec, ("spec",))

    @property
    def overhead(self) -> JSONMap:
        """spec.overhead: what the RuntimeClass adds to the request."""
        return _part(self.spec, "overhead", ("spec",)) or _NOTHING

    @property
    def resource_claims(self) -> Iterator[JSONMap]:
        """spec.resourceClaims (DRA)."""
        return _mappings(self.spec, "resourceClaims", ("spec",))

    @property
    def tolerations(self) -> Iterator[JSONMap]:
        """spec.tolerations."""
        return _mappings(self.spec, "tolerations", ("spec",))

    @property
    def affinity(self) -> JSONMap | None:
        """spec.affinity; None where absent."""
        return _part(self.spec, "affinity", ("spec",))

    @property
    def node_affinity(self) -> JSONMap | None:
        """spec.affinity.nodeAffinity; None where absent."""
        affinity = self.affinity
        return None if affinity is None else _part(affinity, "nodeAffinity", NODE_AFFINITY[:-1])

    @property
    def requires_no_term(self) -> bool:
        """Whether the required node affinity has no term: no node meets it, and the API server refuses it."""
        node_affinity = self.node_affinity
        return node_affinity is not None and node_affinity.get(REQUIRED) is not None and not self.required_terms

    @property
    def required_terms(self) -> tuple[Term, ...]:
        """The required node selector terms; none where there is no required node affinity."""
        if self._required_terms is None:  # read once: a pod may have many
            self._required_terms = self._read_required_terms()
        return self._required_terms

    def _read_required_terms(self) -> tuple[Term, ...]:
        node_affinity = self.node_affinity
        required = None if node_affinity is None else _part(node_affinity, REQUIRED, NODE_AFFINITY)
        if required is None:
            return ()
        terms = _mappings(required, "nodeSelectorTerms", _TERMS[:-1])
        return tuple(_read_term(term, (*_TERMS, index)) for index, term in enumerate(terms))

    @property
    def preferred_terms(self) -> tuple[PreferredTerm, ...]:
        """The preferred node affinity terms."""
        if self._preferred_terms is None:
            self._preferred_terms = self._read_preferred_terms()
        return self._preferred_terms

    def _read_preferred_terms(self) -> tuple[PreferredTerm, ...]:
        if self.affinity is None:
            return ()
        field = (*NODE_AFFINITY, PREFERRED)
        terms = enumerate(_mappings(self.node_affinity or _NOTHING, PREFERRED, NODE_AFFINITY))
        return tuple(_read_preferred_term(term, (*field, index)) for index, term in terms)


def _read_preferred_term(raw: JSONMap, field: FieldPath) -> PreferredTerm:
    weight = raw.get("weight")
    term = _read_term(_part(raw, "preference", field) or _NOTHING, (*field, "preference"))
    return PreferredTerm(weight if isinstance(weight, int) else None, term)


def _read_term(raw: JSONMap, field: FieldPath) -> Term:
    expressions = _items(raw, "matchExpressions", field)
    requirements = tuple(
        _read_expression(expression, (*field, "matchExpressions", index))
        for index, expression in enumerate(expressions)
    )
    return Term(field, requirements, bool(_items(raw, "matchFields", field)))


def _read_expression(expression: object, field: FieldPath) -> Requirement | None:
    """Returns None for an operator that Kubernetes does not have, for the API server to refuse."""
    requirement = to_requirement(expression)
    if requirement is None:
        _check_expression(_mapping(expression, field), field)
    return requirement


def _check_expression(expression: JSONMap, field: FieldPath) -> None:
    for part in ("key", "operator"):
        if not isinstance(expression.get(part), str):
            raise PodShapeError((*field, part), f"is {_kind(expression.get(part))}, a string is expected")
    for index, value in enumerate(_items(expression, "values", field)):
        if not isinstance(value, str):
            raise PodShapeError((*field, "values", index), f"is {_kind(value)}, a string is expected")


def _read_containers(items: Sequence[object], kind: str) -> tuple[Container, ...]:
    return tuple(
        [_read_container(_mapping(item, ("spec", kind, i)), ("spec", kind, i)) for i, item in enumerate(items)]
    )


def _read_container(container: JSONMap, field: FieldPath) -> Container:
    requests = limits = None
    if (resources := _part(container, "resources", field)) is not None:
        requests = _part(resources, "requests", (*field, "resources"))
        limits = _part(resources, "limits", (*field, "resources"))
    restartable = container.get("restartPolicy") == "Always" and "initContainers" in field
    return Container(field, requests or _NOTHING, limits or _NOTHING, restartable)


def _part(parent: JSONMap, name: str, field: FieldPath) -> JSONMap | None:
    """Returns a mapping below another one, whose field is given; None where it is absent."""
    value = parent.get(name)
    if value is None or isinstance(value, dict):
        return value
    return _mapping(value, (*field, name))


def _mapping(value: object, field: FieldPath) -> JSONMap:
    if not isinstance(value, (dict, Mapping)):  # dict first: the test on the abstract class is slow
        raise PodShapeError(field, f"is {_kind(value)}, a mapping is expected")
    return value


def _items(parent: JSONMap, name: str, field: FieldPath) -> Sequence[object]:
    """Returns a list below a mapping, whose field is given; empty where it is absent."""
    value = parent.get(name)
    return () if value is None else _list(value, (*field, name))


def _mappings(parent: JSONMap, name: str, field: FieldPath) -> Iterator[JSONMap]:
    for index, item in enumerate(_items(parent, name, field)):
        yield _mapping(item, (*field, name, index))


def _list(value: object, field: FieldPath) -> Sequence[object]:
    if not isinstance(value, (list, tuple)):
        raise PodShapeError(field, f"is {_kind(value)}, a list is expected")
    return value


def _string(parent: JSONMap, name: str, field: FieldPath) -> str:
    value = parent.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise PodShapeError((*field, name), f"is {_kind(value)}, a string is expected")
    return value


def _strings(parent: JSONMap, name: str, field: FieldPath) -> Mapping[str, str]:
    strings: dict[str, str] = {}
    for key, item in (_part(parent, name, field) or _NOTHING).items():
        if not isinstance(key, str):
            raise PodShapeError((*field, name), f"has a key that is {_kind(key)}, a string is expected")
        if item is not None and not isinstance(item, str):
            raise PodShapeError((*field, name, key), f"is {_kind(item)}, a string is expected")
        strings[key] = item or ""  # null decodes to the empty string
    return strings


def _kind(value: object) -> str:
    if value is None:
        return "missing"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a string"
    return "a mapping" if isinstance(value, Mapping) else "a list"
