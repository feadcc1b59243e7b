"""A webhook configuration as its rules see it: hooks with the API server's defaults, and what each is called for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from gpupolicy.errors import FieldPath
from gpupolicy.labels import LabelSelector, to_requirement
from gpupolicy.linting.foreign.kinds import MUTATING
from gpupolicy.linting.foreign.reading import Object, child, mapping, objects, text, texts, whole
from gpupolicy.model import KUBERNETES_VERSIONS, Policy

NAMESPACE_NAME = "kubernetes.io/metadata.name"
DEFAULT_TIMEOUT = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRule:
    """One entry of a hook's rules."""

    path: FieldPath
    value: Object

    @property
    def groups(self) -> tuple[str, ...]:
        """API groups; "" is the core group."""
        return texts(self.value.get("apiGroups"))

    @property
    def resources(self) -> tuple[str, ...]:
        """Resources, with or without a subresource."""
        return texts(self.value.get("resources"))

    @property
    def operations(self) -> tuple[str, ...]:
        """Operations as written."""
        return texts(self.value.get("operations"))

    @property
    def scope(self) -> str:
        """Scope, ``*`` by default."""
        return text(self.value.get("scope")) or "*"

    def takes(self, operation: str) -> bool:
        """Returns whether the rule is for an operation."""
        return operation in self.operations or "*" in self.operations

    def covers(self, group: str, resource: str, subresource: str = "") -> bool:
        """Returns whether the rule is for a resource, as the API server matches them.

        Source: kubernetes apiserver pkg/admission/plugin/webhook/predicates/rules/rules.go.
        """
        if group not in self.groups and "*" not in self.groups:
            return False
        for pattern in self.resources:
            wanted, _, wanted_sub = pattern.partition("/")
            if wanted in ("*", resource) and wanted_sub in ("*", subresource):
                return True
        return False


@dataclass(frozen=True, kw_only=True)
class Hook:
    """One entry of webhooks, with the defaults that the API server fills in."""

    value: Object
    index: int
    mutating: bool

    @property
    def path(self) -> FieldPath:
        """Where the hook stands."""
        return ("webhooks", self.index)

    @property
    def name(self) -> str:
        """The hook's name, or its place where it has none."""
        return text(self.value.get("name")) or f"webhooks[{self.index}]"

    @property
    def fails(self) -> bool:
        """Whether a call that gets no answer refuses the request: failurePolicy Fail, the default."""
        return self.value.get("failurePolicy") in (None, "", "Fail")

    @property
    def timeout(self) -> int:
        """Seconds that a request waits for the answer."""
        seconds = whole(self.value.get("timeoutSeconds"))
        return DEFAULT_TIMEOUT if seconds is None else seconds

    @cached_property
    def rules(self) -> tuple[HookRule, ...]:
        """What the hook is called for."""
        entries = objects(self.value.get("rules"))
        return tuple(HookRule(path=(*self.path, "rules", index), value=entry) for index, entry in entries)

    @cached_property
    def conditions(self) -> tuple[tuple[FieldPath, str], ...]:
        """Place and expression of each match condition."""
        entries = objects(self.value.get("matchConditions"))
        return tuple(
            ((*self.path, "matchConditions", index, "expression"), text(entry.get("expression")))
            for index, entry in entries
        )

    @property
    def own_namespace(self) -> str:
        """The namespace of the service that answers, "" where the hook is called by URL."""
        return text(child(self.value, "clientConfig", "service", "namespace"))

    def field(self, name: str) -> FieldPath:
        """Returns where a field of the hook stands, or the hook where it is left out."""
        return (*self.path, name) if name in self.value else self.path

    def find_rule(self, group: str, resource: str, operation: str) -> HookRule | None:
        """Returns the first rule for an operation on a resource, or None."""
        rules = (rule for rule in self.rules if rule.takes(operation) and rule.covers(group, resource))
        return next(rules, None)

    def leaves_out_namespace(self, namespace: str) -> bool:
        """Returns whether no object of a namespace reaches the hook, as far as its name tells.

        A namespace has no other label that could be relied on, so a selector that asks for one leaves it out, and one
        that asks for the absence of one does not.
        """
        selector = read_selector(self.value.get("namespaceSelector"))
        if selector is not None and not selector.matches({NAMESPACE_NAME: namespace}):
            return True
        return any(
            "request.namespace" in expression and f"'{namespace}'" in expression.replace('"', "'")
            for _, expression in self.conditions
        )

    @property
    def is_narrowed(self) -> bool:
        """Whether the object itself decides if the hook is called: a condition on it, or a label that it needs."""
        selector = read_selector(self.value.get("objectSelector"))
        if selector is not None and not selector.matches({}):
            return True
        return any("object." in expression or "object[" in expression for _, expression in self.conditions)


@dataclass(frozen=True, kw_only=True)
class WebhookConfiguration:
    """What a rule about webhook configurations is given."""

    value: Object
    policy: Policy | None = None

    @property
    def kind(self) -> str:
        """The kind of the object."""
        return text(self.value.get("kind"))

    @property
    def name(self) -> str:
        """metadata.name, "" where there is none."""
        return text(child(self.value, "metadata", "name"))

    @property
    def version(self) -> str:
        """The Kubernetes version: the policy's, else the newest known."""
        return self.policy.kubernetes_version if self.policy else KUBERNETES_VERSIONS[-1]

    @cached_property
    def hooks(self) -> tuple[Hook, ...]:
        """The hooks."""
        return tuple(
            Hook(value=entry, index=index, mutating=self.kind == MUTATING)
            for index, entry in objects(self.value.get("webhooks"))
        )

    @property
    def is_ours(self) -> bool:
        """Whether the configuration registers gpupolicy: by its name, or by the policy's service."""
        if "gpupolicy" in self.name:
            return True
        services = (mapping(child(hook.value, "clientConfig", "service")) for hook in self.hooks)
        wanted = self.policy.webhook if self.policy else None
        return wanted is not None and any(
            service.get("name") == wanted.name and service.get("namespace") == wanted.namespace for service in services
        )

    def hooks_on_new_pods(self) -> Iterator[tuple[Hook, HookRule]]:
        """Yields the hooks that are called when pods are created, with the rule that says so."""
        for hook in self.hooks:
            if rule := hook.find_rule("", "pods", "CREATE"):
                yield hook, rule


def read_selector(value: object) -> LabelSelector | None:
    """Returns a label selector, None where there is none; expressions that cannot be read are left out."""
    if not isinstance(value, dict):
        return None
    requirements = (to_requirement(expression) for _, expression in objects(value.get("matchExpressions")))
    labels = {key: text(label) for key, label in mapping(value.get("matchLabels")).items()}
    return LabelSelector(match_labels=labels, match_expressions=tuple(r for r in requirements if r is not None))
