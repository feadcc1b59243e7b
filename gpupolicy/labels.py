"""Labels: the names Kubernetes accepts, selectors, and which keys a kubelet may set. Imports nothing of ours."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal, cast, get_args

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
OPERATORS: tuple[str, ...] = get_args(Operator)

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")
_DNS_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?")
_INTEGER = re.compile(r"[+-]?[0-9]{1,63}")
_OPPOSITES = {"Gt": "Lt", "Lt": "Gt"}
_WILDCARDS = frozenset("*?[")
_WILDCARD = re.compile(r"\[!?+\]?+[^\]]*\]|\?|(\*)")  # a bracket that nothing closes is one, as for fnmatch
_LONGEST_PATTERN = 1000  # far more than any name; brackets that nothing closes take no end to look at
_KUBELET_KEYS = {
    "kubernetes.io/hostname",
    "kubernetes.io/arch",
    "kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
}
_KUBELET_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")


def find_label_value_problem(value: str) -> str | None:
    """Returns why Kubernetes refuses a label value, or None: at most 63 of letters, digits, ``-_.``."""
    if value == "":
        return None
    if len(value) > 63:
        return f"has {len(value)} characters, at most 63 are allowed"
    if not _NAME.fullmatch(value):
        return "may hold letters, digits, '-', '_' and '.', and starts and ends with a letter or digit"
    return None


def find_label_key_problem(key: str) -> str | None:
    """Returns why Kubernetes refuses a label key, or None: an optional DNS prefix, a slash, a name."""
    prefix, slash, name = key.rpartition("/")
    if slash and (problem := find_dns_subdomain_problem(prefix)):
        return f"prefix {problem}"
    if not name:
        return "has an empty name"
    if problem := find_label_value_problem(name):
        return f"name {problem}"
    return None


def find_resource_name_problem(name: str) -> str | None:
    """Returns why no container may ask for a resource of this name, or None: a name with a domain, in quotas too.

    Source: kubernetes pkg/apis/core/validation, validateContainerResourceName; measured on 1.37.2.
    """
    if "/" not in name:
        return "it has no domain, as in nvidia.com/gpu"
    is_extended = "kubernetes.io/" not in name  # Kubernetes looks no closer: mykubernetes.io/gpu is one of its own, too
    if is_extended and name.startswith("requests."):
        return "names that start with requests. are kept for quotas"
    problem = find_label_key_problem(name) or (is_extended and find_label_key_problem(f"requests.{name}"))
    return (f"it {problem}" if problem.startswith("has ") else f"its {problem}") if problem else None


def find_dns_label_problem(name: str) -> str | None:
    """Returns why a name is no RFC 1123 label, or None: at most 63 of lower case letters, digits, ``-``."""
    if not name:
        return "is empty"
    if len(name) > 63:
        return f"has {len(name)} characters, at most 63 are allowed"
    if not _DNS_LABEL.fullmatch(name):
        return "may hold lower case letters, digits and '-', and starts and ends with a letter or digit"
    return None


def find_dns_subdomain_problem(name: str) -> str | None:
    """Returns why a name is no RFC 1123 subdomain, or None: labels joined by dots, at most 253 characters."""
    if not name:
        return "is empty"
    if len(name) > 253:
        return f"has {len(name)} characters, at most 253 are allowed"
    if not all(_DNS_LABEL.fullmatch(label) for label in name.split(".")):
        return "may hold lower case letters, digits, '-' and '.', and starts and ends with a letter or digit"
    return None


def is_kubelet_settable(key: str) -> bool:
    """Returns whether NodeRestriction lets a kubelet set this label on its own node.

    Source: kubernetes plugin/pkg/admission/noderestriction; measured on 1.37.2.
    """
    prefix = key.rpartition("/")[0]
    if _is_in_domain(prefix, "node-restriction.kubernetes.io"):
        return False
    if not (_is_in_domain(prefix, "kubernetes.io") or _is_in_domain(prefix, "k8s.io")):
        return True
    return key in _KUBELET_KEYS or any(_is_in_domain(prefix, domain) for domain in _KUBELET_DOMAINS)


def _is_in_domain(prefix: str, domain: str) -> bool:
    return prefix == domain or prefix.endswith("." + domain)


def is_glob(name: str) -> bool:
    """Returns whether a name is a shell pattern: ``*``, ``?``, ``[...]``."""
    return not _WILDCARDS.isdisjoint(name)


def matches_glob(name: str, patterns: Collection[str]) -> bool:
    """Returns whether a name matches one of the shell patterns (``*``, ``?``, ``[...]``), case kept."""
    return name in patterns or any(
        fnmatchcase(name, pattern) for pattern in patterns if len(pattern) <= _LONGEST_PATTERN and is_glob(pattern)
    )


def find_glob_problem(pattern: str, find_problem: Callable[[str], str | None]) -> str | None:
    """Returns why no name fits a shell pattern, or None: each wildcard may stand for a letter, ``*`` for nothing.

    Args:
        pattern: a name, or a pattern as ``matches_glob`` takes it.
        find_problem: what says why a text is no such name.
    """
    if len(pattern) > _LONGEST_PATTERN:
        return f"has more than {_LONGEST_PATTERN:,} characters"
    problem = find_problem(_WILDCARD.sub("a", pattern))
    if problem is None or find_problem(_WILDCARD.sub(lambda found: "" if found[1] else "a", pattern)) is None:
        return None
    return problem


def covers_globs(wider: Collection[str], patterns: Collection[str]) -> bool:
    """Returns whether every name that fits one of the patterns surely fits one of the wider ones.

    A pattern is itself matched by a wider one that holds no wildcard but ``*``.
    """
    simple = [pattern for pattern in wider if not is_glob(pattern.replace("*", ""))]
    return all(pattern in wider or matches_glob(pattern, simple if is_glob(pattern) else wider) for pattern in patterns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One expression on a label: key, operator, values, as in a selector or a node selector term."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    @property
    def lacks_number(self) -> bool:
        """Whether it is a Gt or Lt without one whole number: the API server takes it, nothing ever meets it."""
        return self.operator in _OPPOSITES and self._bound is None

    @property
    def _bound(self) -> int | None:
        return _to_int64(self.values[0]) if len(self.values) == 1 else None

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Returns whether a set of labels meets the requirement.

        NotIn and DoesNotExist also hold where the key is absent; Gt and Lt compare integers.
        Source: kubernetes/apimachinery pkg/labels/selector.go.
        """
        value = labels.get(self.key)
        if self.operator == "In":
            return value is not None and value in self.values
        if self.operator == "NotIn":
            return value is None or value not in self.values
        if self.operator == "Exists":
            return value is not None
        if self.operator == "DoesNotExist":
            return value is None
        return self._compares(value)

    def leaves_number(self, others: Iterable[Requirement]) -> bool:
        """Returns whether a number is left between the bound of this Gt or Lt and those of others on the other side."""
        if self._bound is None:
            return False
        nearest = str(self._bound + 1 if self.operator == "Gt" else self._bound - 1)
        return _all_match((other for other in others if other.operator == _OPPOSITES[self.operator]), nearest)

    def implies(self, other: Requirement) -> bool:
        """Returns whether labels that meet this requirement surely meet another one, too."""
        if self.key != other.key:
            return False
        if other.operator == "Exists":
            return self.operator not in ("NotIn", "DoesNotExist")
        if self.operator != other.operator:
            return False
        mine, theirs = set(self.values), set(other.values)
        match self.operator:
            case "In":
                return mine <= theirs
            case "NotIn":
                return mine >= theirs
            case _:
                return mine == theirs

    def _compares(self, value: str | None) -> bool:
        found = None if value is None else _to_int64(value)
        bound = self._bound
        if found is None or bound is None:
            return False
        return found > bound if self.operator == "Gt" else found < bound


def _all_match(requirements: Iterable[Requirement], value: str) -> bool:
    return all(requirement.matches({requirement.key: value}) for requirement in requirements)


def _to_int64(text: str) -> int | None:
    number = int(text) if _INTEGER.fullmatch(text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelSelector:
    """matchLabels and matchExpressions, all of which must hold; empty selects everything."""

    match_labels: Mapping[str, str] = field(default_factory=dict)
    match_expressions: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Returns whether a set of labels is selected."""
        return all(labels.get(key) == value for key, value in self.match_labels.items()) and all(
            requirement.matches(labels) for requirement in self.match_expressions
        )

    def can_meet(self, wish: Requirement) -> bool:
        """Returns whether something that the expressions select may meet a wish as well; True where that is not known.

        Args:
            wish: a requirement on a label that no matchLabels names.
        """
        own = [requirement for requirement in self.match_expressions if requirement.key == wish.key]
        listed = next((requirement.values for requirement in own if requirement.operator == "In"), None)
        if listed is not None:
            return any(_all_match((*own, wish), value) for value in listed)
        if wish.operator == "In":
            return any(_all_match(own, value) for value in wish.values)
        if any(requirement.operator == "DoesNotExist" for requirement in own):
            return wish.matches({})
        if wish.operator == "DoesNotExist":
            return all(requirement.matches({}) for requirement in own)
        return wish.operator not in _OPPOSITES or wish.leaves_number(own)

    def narrows(self, other: LabelSelector) -> bool:
        """Returns whether everything that this selects is surely selected by another one, too."""
        mine = self.to_requirements()
        return all(any(one.implies(needed) for one in mine) for needed in other.to_requirements())

    def to_requirements(self) -> tuple[Requirement, ...]:
        """Returns the selector as expressions alone."""
        equal = (Requirement(key=key, operator="In", values=(value,)) for key, value in self.match_labels.items())
        return (*equal, *self.match_expressions)


def to_requirement(expression: object) -> Requirement | None:
    """Returns a foreign matchExpressions entry as a Requirement; None where its shape is not one."""
    if not isinstance(expression, (dict, Mapping)):
        return None
    key, operator = expression.get("key"), expression.get("operator")
    values = expression.get("values")
    values = () if values is None else values
    if not isinstance(key, str) or operator not in OPERATORS or not isinstance(values, (list, tuple)):
        return None
    if not all(isinstance(value, str) for value in values):
        return None
    return Requirement(key=key, operator=cast(Operator, operator), values=tuple(values))
