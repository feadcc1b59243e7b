"""Rules about what a hook is called for: too much, which can stop a cluster, or nothing at all."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import Finding
from gpupolicy.linting.foreign.findings import did_you_mean, error, info, listed, show, warning
from gpupolicy.linting.foreign.reading import texts
from gpupolicy.linting.foreign.versions import is_at_least
from gpupolicy.linting.foreign.webhooks.registration import Hook, HookRule, WebhookConfiguration, read_selector
from gpupolicy.linting.foreign.webhooks.resources import (
    CLUSTER_SCOPED,
    GROUPS,
    LIFELINES,
    NEVER_SHOWN,
    OPERATIONS,
    POD_OPERATIONS,
    RESOURCES,
    SINGULAR,
)

_SYSTEM = "kube-system"


def webhook_blocks_cluster(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A hook with failurePolicy Fail for all new pods that leaves out neither kube-system nor its own namespace.

    Why: when no replica answers, its own pods and those of network and DNS cannot be created: nothing comes up again
    until somebody deletes the registration. Fail is the default. A namespace has no label to rely on but its name.
    Bad:  failurePolicy: Fail for pods, without a namespaceSelector
    Good: namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [...]}]}
    Source: topolvm issue 57, kai-scheduler issue 883; the good practices for admission webhooks of the Kubernetes docs.
    """
    for hook, _ in configuration.hooks_on_new_pods():
        if not hook.fails or hook.is_narrowed:
            continue
        wanted = dict.fromkeys(name for name in (_SYSTEM, hook.own_namespace) if name)
        reached = [name for name in wanted if not hook.leaves_out_namespace(name)]
        if reached:
            says = "failurePolicy is Fail" if "failurePolicy" in hook.value else "failurePolicy is Fail by default"
            opts_out = _has_opt_out(hook)
            yield (warning if opts_out else error)(
                "webhook-blocks-cluster",
                hook.field("failurePolicy"),
                f"{says} for every new pod in {listed(reached)}"
                + (", unless the namespace has been given a label" if opts_out else "")
                + "; with the webhook down none of them can start",
                "leave them out by kubernetes.io/metadata.name, or let only GPU pods through by a match condition",
            )


def _has_opt_out(hook: Hook) -> bool:
    """Whether namespaces may be left out by a label of somebody's own choice."""
    selector = read_selector(hook.value.get("namespaceSelector"))
    requirements = selector.match_expressions if selector else ()
    return any(r.operator in ("DoesNotExist", "NotIn") and not r.key.startswith("kubernetes.io/") for r in requirements)


def webhook_holds_lifelines(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A hook that is called for what the cluster itself lives by: Nodes, Leases, token and access reviews, CSRs.

    Why: they are written every few seconds, or while the cluster starts. With failurePolicy Fail nodes and leader
    elections stop when the hook is down; with Ignore every write waits for the timeout. A namespaceSelector does not
    leave out objects without a namespace. Since 1.37 token and access reviews are shown to no webhook.
    Bad:  apiGroups: ["*"] with resources: ["*"]
    Good: apiGroups: [""] with resources: [pods]
    Source: the good practices for admission webhooks of the Kubernetes docs; measured on Kubernetes 1.37.2.
    """
    for hook in configuration.hooks:
        shown = [found for found in LIFELINES if not _is_never_shown(*found, configuration.version)]
        held = [found for found in shown if _is_held(hook, *found)]
        if held:
            names = listed([resource for _, resource in held])
            effect = "stop" if hook.fails else "wait for the timeout"
            yield (error if hook.fails else warning)(
                "webhook-holds-lifelines",
                hook.field("rules"),
                f"the rules cover {names}, which {effect} when the webhook is down",
                "name the resources that the webhook is for",
            )


def _is_never_shown(group: str, resource: str, version: str) -> bool:
    since = NEVER_SHOWN.get((group, resource))
    return since is not None and is_at_least(version, since)


def _is_held(hook: Hook, group: str, resource: str) -> bool:
    mentioned = any(resource in expression for _, expression in hook.conditions)
    if mentioned or hook.is_narrowed or hook.passes_over(group, resource):
        return False
    if resource == "leases":
        namespaces = (_SYSTEM, "kube-node-lease")
        if all(hook.leaves_out_namespace(namespace, group, resource) for namespace in namespaces):
            return False
    return any(_covers_one(rule, group, resource) for rule in hook.rules)


def _covers_one(rule: HookRule, group: str, resource: str) -> bool:
    operations = LIFELINES[group, resource]
    in_scope = rule.scope != ("Namespaced" if resource in CLUSTER_SCOPED else "Cluster")
    return in_scope and rule.covers(group, resource) and any(rule.takes(operation) for operation in operations)


def webhook_sees_every_pod(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A hook that is called for every new pod although it may care for some alone.

    Why: with failurePolicy Fail a fault of the webhook stops pods that never asked for a GPU, and each pod pays for the
    call. A match condition can look at resources; an objectSelector cannot.
    Bad:  rules for pods, without matchConditions
    Good: matchConditions: [{name: asks-for-a-gpu, expression: "object.spec.containers.exists(...)"}]
    Source: kai-scheduler issue 883, volcano issue 3748; measured on Kubernetes 1.37.2.
    """
    for hook, rule in configuration.hooks_on_new_pods():
        if not hook.is_narrowed:
            message = "the hook is called for every new pod, GPU or not"
            say = warning if hook.fails else info
            yield say("webhook-sees-every-pod", rule.path, message, "let only GPU pods through by a match condition")


def webhook_covers_subresources(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A hook on pods that is called for subresources, deletions or connections too.

    Why: what a GPU policy decides is fixed when a pod is created. Bindings, evictions, status and deletions then wait
    for the webhook, and are refused when it is down.
    Bad:  resources: ["pods/*"] with operations: ["*"]
    Good: resources: [pods] with operations: [CREATE]
    Source: measured on Kubernetes 1.37.2, for each operation and subresource.
    """
    for hook in configuration.hooks:
        for rule in hook.rules:
            if not rule.covers("", "pods") and not any(r.startswith("pods/") for r in rule.resources):
                continue
            named = [r for r in rule.resources if r in _HARMFUL and any(map(rule.takes, POD_OPERATIONS[r]))]
            subresources = [r for r in rule.resources if r in ("*/*", "pods/*") or r in named]
            operations = [operation for operation in ("DELETE", "CONNECT") if _is_asked(rule, operation)]
            if subresources or operations:
                message = f"the rule covers {listed([*subresources, *operations])} of pods"
                hint = "resources: [pods] with operations: [CREATE] is all that a GPU policy needs"
                yield warning("webhook-covers-subresources", rule.path, message, hint)


def _is_asked(rule: HookRule, operation: str) -> bool:
    """Whether webhooks are asked about pods, or what the rule covers of them, at an operation."""
    asked = (resource for resource, operations in POD_OPERATIONS.items() if operation in operations)
    return rule.takes(operation) and any(rule.covers("", *resource.split("/")) for resource in asked)


_HARMFUL = frozenset(f"pods/{name}" for name in ("binding", "eviction", "status", "exec", "attach", "portforward"))


def webhook_match_exact(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A hook that is called for the named versions of its objects alone.

    Why: the same object may be made through another version of its API, and then goes past the hook. Equivalent, the
    default, has the API server convert it and call.
    Bad:  matchPolicy: Exact
    Good: matchPolicy: Equivalent
    Source: the good practices for admission webhooks of the Kubernetes docs.
    """
    for hook in configuration.hooks:
        if hook.value.get("matchPolicy") == "Exact":
            message = "with matchPolicy Exact, objects made through another version of their API are not seen"
            yield warning("webhook-match-exact", hook.field("matchPolicy"), message, "write Equivalent")


def webhook_rule_never_matches(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A rule that no request meets.

    Why: the API server takes any text as a group, version or resource, so a slip shows only in pods that pass unseen.
    Resources are plural and lower case; pods are in the group "", in the version v1, and have a namespace; pods/exec is
    a CONNECT, pods/ephemeralcontainers and pods/resize are an UPDATE. Webhook configurations and, since 1.37, token and
    access reviews are shown to no webhook.
    Bad:  apiGroups: [core] with resources: [Pod]
    Good: apiGroups: [""] with resources: [pods]
    Source: kubernetes apiserver pkg/admission/plugin/webhook/predicates/rules/rules.go; measured on Kubernetes 1.37.2.
    """
    rule_id = "webhook-rule-never-matches"
    for hook in configuration.hooks:
        for rule in hook.rules:
            for index, group in enumerate(texts(rule.value.get("apiGroups"))):
                if group in ("core", "v1") or "/" in group:
                    message = f"there is no API group {show(group)}"
                    hint = 'the core group is ""' if "/" not in group else "write the part before the slash"
                    yield warning(rule_id, (*rule.path, "apiGroups", index), message, hint)
            for index, version in enumerate(rule.versions):
                if "/" in version:
                    message = f"there is no API version {show(version)}"
                    hint = "write the part behind the slash, and the one before it as apiGroups"
                    yield warning(rule_id, (*rule.path, "apiVersions", index), message, hint)
            for index, resource in enumerate(rule.resources):
                if problem := _resource_problem(rule, resource, configuration.version):
                    yield warning(rule_id, (*rule.path, "resources", index), *problem)
    for hook in configuration.hooks:
        if not hook.rules:
            yield warning(rule_id, hook.field("rules"), f"{hook.name} has no rules, so it is never called")
    if not configuration.hooks:
        yield warning(rule_id, ("webhooks",), "there are no webhooks, so nothing is ever called")


def _resource_problem(rule: HookRule, resource: str, version: str) -> tuple[str, str | None] | None:
    name, slash, subresource = resource.partition("/")
    plural = SINGULAR.get(name.lower()) or (name.lower() if name.lower() in GROUPS else None)
    if plural and plural != name:
        return f"there is no resource {show(resource)}", f"write {plural}{slash}{subresource}"
    group = GROUPS.get(name)
    missed = group is not None and rule.groups and group not in rule.groups and "*" not in rule.groups
    if missed and not any(_may_have_its_own(other) for other in rule.groups):
        return f'{name} are in the API group "{group}", which apiGroups lacks', f'write apiGroups: ["{group}"]'
    if any(_is_never_shown(other, name, version) for other in rule.groups):
        return f"{name} are shown to no webhook", None
    if group is not None and not missed and not _has_version(rule):
        return f"{name} are in the API version v1, which apiVersions lacks", "write apiVersions: [v1]"
    if group is not None and rule.scope == ("Namespaced" if name in CLUSTER_SCOPED else "Cluster"):
        has = "no namespace" if name in CLUSTER_SCOPED else "a namespace"
        return f"{name} have {has}, but scope is {rule.scope}", "leave scope out"
    if (known := _all_resources(rule)) and name not in ("*", *known):
        return f"there is no resource {show(resource)} in the rule's API groups", did_you_mean(name, known)
    asked = POD_OPERATIONS.get(resource, ()) if not missed else ()
    if asked and rule.operations and set(rule.operations) <= {*OPERATIONS} - {*asked}:
        return f"webhooks are asked about {resource} at {listed(asked)} alone, which operations lacks", None
    return None


def _has_version(rule: HookRule) -> bool:
    """Whether a rule is for v1; versions that are none are told apart from this, and own groups have any."""
    is_told = not rule.versions or any("/" in version for version in rule.versions)
    return is_told or rule.is_for_v1 or any(map(_may_have_its_own, rule.groups))


def _all_resources(rule: HookRule) -> tuple[str, ...]:
    """All that there is in the groups of a rule; nothing where others may add to them."""
    if any(group not in RESOURCES for group in rule.groups):
        return ()
    return tuple(name for group in rule.groups for name in RESOURCES[group])


def _may_have_its_own(group: str) -> bool:
    """Returns whether a group is that of custom resources, whose names may be those of Kubernetes: jobs of Volcano."""
    return "." in group and not group.endswith(".k8s.io")
