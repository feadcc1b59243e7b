"""A webhook configuration as its rules see it: hooks with the API server's defaults, and what each is called for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from gpupolicy.errors import FieldPath
from gpupolicy.labels import LabelSelector, to_requirement
from gpupolicy.linting.foreign.kinds import MUTATING
from gpupolicy.linting.foreign.reading import Object, child, mapping, objects, text, texts, whole
from gpupolicy.linting.foreign.webhooks.cel.syntax import Unreadable, read_expression
from gpupolicy.linting.foreign.webhooks.cel.tree import Item, Node, path_of, walk
from gpupolicy.linting.foreign.webhooks.cel.values import work_out
from gpupolicy.model import KUBERNETES_VERSIONS, NAMESPACE_NAME_LABEL, Policy

DEFAULT_TIMEOUT = 10
_SERVICE_URL = re.compile(r"https://[a-z0-9-]+\.([a-z0-9-]+)\.svc(?:[.:/]|$)")
# the kinds that rules ask about, by group and resource; webhooks see all of them in v1
_KINDS = {
    ("", "nodes"): "Node",
    ("", "pods"): "Pod",
    ("authentication.k8s.io", "tokenreviews"): "TokenReview",
    ("authorization.k8s.io", "subjectaccessreviews"): "SubjectAccessReview",
    ("certificates.k8s.io", "certificatesigningrequests"): "CertificateSigningRequest",
    ("coordination.k8s.io", "leases"): "Lease",
}
# what tells no pods apart
_OF_EVERY_POD = (
    ("object", "apiVersion"),
    ("object", "kind"),
    ("object", "metadata"),
    ("object", "metadata", "deletionTimestamp"),
    ("object", "metadata", "namespace"),
)


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

    @property
    def versions(self) -> tuple[str, ...]:
        """API versions as written."""
        return texts(self.value.get("apiVersions"))

    @property
    def is_for_v1(self) -> bool:
        """Whether the rule is for v1, the one version of pods and of the other resources that rules ask about."""
        return "v1" in self.versions or "*" in self.versions

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
        """The namespace of the service that answers, by reference or by its name in a URL; "" for any other URL."""
        client = child(self.value, "clientConfig")
        in_url = _SERVICE_URL.match(text(child(client, "url")))
        return in_url[1] if in_url else text(child(client, "service", "namespace"))

    def field(self, name: str) -> FieldPath:
        """Returns where a field of the hook stands, or the hook where it is left out."""
        return (*self.path, name) if name in self.value else self.path

    @cached_property
    def trees(self) -> tuple[Node, ...]:
        """The match conditions that can be read, as trees."""
        found = (read_expression(expression) for _, expression in self.conditions)
        return tuple(tree for tree in found if not isinstance(tree, Unreadable))

    def find_pod_rule(self, operation: str) -> HookRule | None:
        """Returns the first rule for an operation on pods, or None; they have namespaces and the version v1 alone."""
        for rule in self.rules:
            is_for_v1 = rule.is_for_v1 or not rule.versions
            if rule.takes(operation) and rule.covers("", "pods") and rule.scope != "Cluster" and is_for_v1:
                return rule
        return None

    def passes_over(self, group: str, resource: str, namespace: str | None = None) -> bool:
        """Returns whether a match condition is false for every new object of a resource, or of one in a namespace."""
        known = _known_of(group, resource, namespace)
        return any(work_out(tree, known) is False for tree in self.trees)

    @property
    def passes_over_new_pods(self) -> bool:
        """Whether a match condition is false for every new pod."""
        return self.passes_over("", "pods")

    def leaves_out_namespace(self, namespace: str, group: str = "", resource: str = "pods") -> bool:
        """Returns whether no new object of a namespace reaches the hook, as far as its name tells.

        A namespace has no other label that could be relied on, so a selector that asks for one leaves it out, and one
        that asks for the absence of one does not.
        """
        selector = read_selector(self.value.get("namespaceSelector"))
        if selector is not None and not selector.matches({NAMESPACE_NAME_LABEL: namespace}):
            return True
        return self.passes_over(group, resource, namespace)

    @property
    def is_narrowed(self) -> bool:
        """Whether the object itself decides if the hook is called: a condition on it, or a label that it needs."""
        selector = read_selector(self.value.get("objectSelector"))
        if selector is not None and not selector.matches({}):
            return True
        unread = (text for _, text in self.conditions if isinstance(read_expression(text), Unreadable))
        return any("object." in text for text in unread) or any(
            _tells_pods_apart(node) for tree in self.trees for node in walk(tree)
        )


def _known_of(group: str, resource: str, namespace: str | None) -> dict[tuple[str, ...], object]:
    """What is known of the request that makes an object, by path."""
    kind = _KINDS[group, resource]
    api_version = f"{group}/v1" if group else "v1"
    known: dict[tuple[str, ...], object] = {
        ("object",): object(),
        ("object", "apiVersion"): api_version,
        ("object", "kind"): kind,
        ("request", "operation"): "CREATE",
    }
    for field in ("kind", "requestKind"):
        known |= {("request", field, "group"): group, ("request", field, "kind"): kind}
    for field in ("resource", "requestResource"):
        known |= {("request", field, "group"): group, ("request", field, "resource"): resource}
    if namespace is not None:
        known |= dict.fromkeys((("request", "namespace"), ("object", "metadata", "namespace")), namespace)
    return known


def _tells_pods_apart(node: Node) -> bool:
    """Whether a node reads a part of the object in which one pod differs from another."""
    if isinstance(node, Item):
        return path_of(node.of) == ("object",)
    path = path_of(node)
    return len(path) > 1 and path[0] == "object" and path not in _OF_EVERY_POD


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
            rule = hook.find_pod_rule("CREATE")
            if rule and not hook.passes_over_new_pods:
                yield hook, rule


def read_selector(value: object) -> LabelSelector | None:
    """Returns a label selector, None where there is none; expressions that cannot be read are left out."""
    if not isinstance(value, dict):
        return None
    requirements = (to_requirement(expression) for _, expression in objects(value.get("matchExpressions")))
    labels = {key: text(label) for key, label in mapping(value.get("matchLabels")).items()}
    return LabelSelector(match_labels=labels, match_expressions=tuple(r for r in requirements if r is not None))
