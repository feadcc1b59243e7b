"""Rules about what the API server refuses in a webhook configuration, apart from clients and conditions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.labels import find_dns_subdomain_problem
from gpupolicy.linting.foreign.findings import did_you_mean, error, listed, show, warning
from gpupolicy.linting.foreign.kinds import WEBHOOK_KINDS, WEBHOOK_VERSION
from gpupolicy.linting.foreign.metadata import find_label_problems
from gpupolicy.linting.foreign.reading import child, items, mapping, text, texts
from gpupolicy.linting.foreign.selectors import find_selector_problems
from gpupolicy.linting.foreign.webhooks.registration import Hook, WebhookConfiguration
from gpupolicy.linting.foreign.webhooks.resources import OPERATIONS

_STATIC = ".static.k8s.io"
_VERSION = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")


def webhook_version_unknown(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A version of the registration that the API server does not serve.

    Why: v1 is the only one since Kubernetes 1.22; applying another fails.
    Bad:  apiVersion: admissionregistration.k8s.io/v1beta1
    Good: apiVersion: admissionregistration.k8s.io/v1
    Source: measured on Kubernetes 1.37.2.
    """
    version = configuration.value.get("apiVersion")
    if version != WEBHOOK_VERSION:
        found = f"apiVersion is {show(version)}" if version is not None else "there is no apiVersion"
        yield error(
            "webhook-version-unknown",
            ("apiVersion",) if version is not None else (),
            f"{found}; the API server has {configuration.kind or 'webhook configurations'} in {WEBHOOK_VERSION} alone",
            f"write {WEBHOOK_VERSION}",
        )


def webhook_kind_unknown(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A kind that is none of the two webhook configurations.

    Why: the API server has no such kind; applying it fails.
    Bad:  kind: MutatingWebhookConfig
    Good: kind: MutatingWebhookConfiguration
    Source: k8s.io/api admissionregistration/v1.
    """
    if configuration.kind not in WEBHOOK_KINDS:
        kind = configuration.value.get("kind")
        message = f"kind is {show(kind)}; webhook configurations are {listed(WEBHOOK_KINDS)}"
        yield error("webhook-kind-unknown", ("kind",), message, did_you_mean(text(kind), WEBHOOK_KINDS))


def webhook_configuration_name(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A configuration without a name, or with one that the API server refuses.

    Why: the name is a DNS subdomain. Names that end in .static.k8s.io are for files that the API server reads at its
    start; through the API they are refused.
    Bad:  metadata: {name: GPU_Policy}
    Good: metadata: {name: gpupolicy}
    Source: kubernetes pkg/apis/admissionregistration/validation; measured on Kubernetes 1.37.2.
    """
    rule, metadata = "webhook-configuration-name", mapping(configuration.value.get("metadata"))
    if not configuration.name:
        if not metadata.get("generateName"):
            yield error(rule, ("metadata",), "metadata has no name")
    elif problem := find_dns_subdomain_problem(configuration.name):
        yield error(rule, ("metadata", "name"), f"name {show(configuration.name)} {problem}")
    elif configuration.name.endswith(_STATIC):
        message = f"names that end in {_STATIC} are for files of the control plane; the API refuses them"
        yield warning(rule, ("metadata", "name"), message)


def webhook_label_refused(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A label of the configuration that the API server refuses.

    Why: a value has at most 63 letters, digits, '-', '_' and '.', and starts and ends with a letter or digit.
    Bad:  metadata: {labels: {team: machine learning}}
    Good: metadata: {labels: {team: machine-learning}}
    Source: apimachinery pkg/apis/meta/v1/validation; measured on Kubernetes 1.37.2.
    """
    for path, part, message, hint in find_label_problems(configuration.value):
        yield error("webhook-label-refused", path, message, hint, part=part)


def webhook_name_not_qualified(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A hook whose name is no domain of three or more parts.

    Why: the API server refuses it.
    Bad:  name: gpupolicy
    Good: name: mutate.gpupolicy.dev
    Source: kubernetes pkg/apis/admissionregistration/validation; measured on Kubernetes 1.37.2.
    """
    for hook in configuration.hooks:
        name = text(hook.value.get("name"))
        problem = find_dns_subdomain_problem(name)
        if problem is None and name.count(".") < 2:
            problem = "has fewer than three parts, such as mutate.gpupolicy.dev"
        if problem:
            yield error("webhook-name-not-qualified", hook.field("name"), f"the hook's name {show(name)} {problem}")


def webhook_name_repeated(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """Two hooks of one name in a configuration.

    Why: the API server refuses it.
    Bad:  webhooks: [{name: pods.gpupolicy.dev}, {name: pods.gpupolicy.dev}]
    Good: webhooks: [{name: pods.gpupolicy.dev}, {name: templates.gpupolicy.dev}]
    Source: kubernetes pkg/apis/admissionregistration/validation; measured on Kubernetes 1.37.2.
    """
    seen: set[str] = set()
    for hook in configuration.hooks:
        name = text(hook.value.get("name"))
        if name and name in seen:
            message = f"a hook of the name {name} stands above already"
            yield error("webhook-name-repeated", (*hook.path, "name"), message)
        seen.add(name)


def webhook_timeout_out_of_range(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A timeout outside 1 to 30 seconds.

    Why: the API server refuses it.
    Bad:  timeoutSeconds: 45
    Good: timeoutSeconds: 3
    Source: kubernetes pkg/apis/admissionregistration/validation; measured on Kubernetes 1.37.2.
    """
    for hook in configuration.hooks:
        if not 1 <= hook.timeout <= 30:
            message = f"timeoutSeconds is {hook.timeout}; the API server takes 1 to 30"
            yield error("webhook-timeout-out-of-range", (*hook.path, "timeoutSeconds"), message)


_NO_SIDE_EFFECTS = ("None", "NoneOnDryRun")


def webhook_side_effects(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """Side effects that are not said, or that a dry run could not bear.

    Why: v1 takes None and NoneOnDryRun alone. YAML reads None as text, so it needs no quotes.
    Bad:  sideEffects: Unknown
    Good: sideEffects: None
    Source: kubernetes pkg/apis/admissionregistration/validation; measured on Kubernetes 1.37.2.
    """
    for hook in configuration.hooks:
        effects = hook.value.get("sideEffects")
        if effects not in _NO_SIDE_EFFECTS:
            found = f"sideEffects is {show(effects)}" if effects else f"{hook.name} has no sideEffects"
            message = f"{found}; the API server takes {listed(_NO_SIDE_EFFECTS)}"
            yield error("webhook-side-effects", hook.field("sideEffects"), message, "write None")


_KNOWN_REVIEWS = ("v1", "v1beta1")


def webhook_review_versions(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """Review versions that the API server refuses: none, none that it knows, one twice, or one that is no version.

    Why: it has to know in which form to send a review.
    Bad:  admissionReviewVersions: [v2]
    Good: admissionReviewVersions: [v1]
    Source: kubernetes pkg/apis/admissionregistration/validation; measured on Kubernetes 1.37.2.
    """
    rule = "webhook-review-versions"
    for hook in configuration.hooks:
        versions, path = texts(hook.value.get("admissionReviewVersions")), hook.field("admissionReviewVersions")
        if not set(versions) & set(_KNOWN_REVIEWS):
            found = f"admissionReviewVersions has {listed(versions)}" if versions else "there are no review versions"
            yield error(rule, path, f"{found}; the API server sends {listed(_KNOWN_REVIEWS)}", "write [v1]")
        seen: set[str] = set()
        for index, version in enumerate(versions):
            if version in seen:
                yield error(rule, (*path, index), f"{version} stands before already")
            elif not _VERSION.fullmatch(version):
                yield error(rule, (*path, index), f"{show(version)} is no version")
            seen.add(version)


def webhook_review_old(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A hook that is sent reviews in v1beta1 alone.

    Why: the API server takes it and sends that version, which few servers answer today: a v1 answer to it is an error,
    and with failurePolicy Fail every request is refused.
    Bad:  admissionReviewVersions: [v1beta1]
    Good: admissionReviewVersions: [v1]
    Source: measured on Kubernetes 1.37.2.
    """
    for hook in configuration.hooks:
        versions = texts(hook.value.get("admissionReviewVersions"))
        if "v1beta1" in versions and "v1" not in versions:
            message = "the hook is sent reviews in v1beta1 alone, which today's servers do not answer"
            yield error("webhook-review-old", (*hook.path, "admissionReviewVersions"), message, "write [v1]")


_CHOICES = {
    "failurePolicy": ("Fail", "Ignore"),
    "matchPolicy": ("Equivalent", "Exact"),
    "reinvocationPolicy": ("IfNeeded", "Never"),
}
_SCOPES = ("*", "Cluster", "Namespaced")
_OPERATIONS = ("*", *OPERATIONS)


def webhook_value_unknown(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A value of failurePolicy, matchPolicy, reinvocationPolicy, scope or operations that there is not.

    Why: the API server refuses it; the words are written exactly so.
    Bad:  failurePolicy: fail
    Good: failurePolicy: Fail
    Source: kubernetes pkg/apis/admissionregistration/validation.
    """
    for hook in configuration.hooks:
        for path, value, allowed in _choices(hook):
            if value not in allowed:
                message = f"{show(value)} is not known here; the API server takes {listed(allowed)}"
                yield error("webhook-value-unknown", path, message, did_you_mean(str(value), allowed))


def _choices(hook: Hook) -> Iterator[tuple[FieldPath, object, tuple[str, ...]]]:
    for field, allowed in _CHOICES.items():
        if hook.value.get(field) is not None:
            yield (*hook.path, field), hook.value[field], allowed
    for rule in hook.rules:
        if rule.value.get("scope") is not None:
            yield (*rule.path, "scope"), rule.value["scope"], _SCOPES
        for index, operation in items(rule.value.get("operations")):
            yield (*rule.path, "operations", index), operation, _OPERATIONS


def webhook_rule_incomplete(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A rule without operations, groups, versions or resources.

    Why: the API server refuses it. Pods are in the group "".
    Bad:  rules: [{operations: [CREATE], resources: [pods]}]
    Good: rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]
    Source: kubernetes pkg/apis/admissionregistration/validation.
    """
    for hook in configuration.hooks:
        for rule in hook.rules:
            for field in ("operations", "apiGroups", "apiVersions", "resources"):
                values = [value for _, value in items(rule.value.get(field))]
                if not values:
                    path = (*rule.path, field) if field in rule.value else rule.path
                    yield error("webhook-rule-incomplete", path, f"the rule has no {field}")
                elif field != "apiGroups" and "" in values:
                    message = f"{field} has an empty entry"
                    yield error("webhook-rule-incomplete", (*rule.path, field, values.index("")), message)


def webhook_rule_mixes_wildcard(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A rule that lists ``*`` beside what ``*`` covers.

    Why: the API server refuses it.
    Bad:  operations: ["*", CREATE]
    Good: operations: [CREATE]
    Source: kubernetes pkg/apis/admissionregistration/validation.
    """
    for hook in configuration.hooks:
        for rule in hook.rules:
            for field in ("operations", "apiGroups", "apiVersions"):
                if "*" in (values := texts(rule.value.get(field))) and len(values) > 1:
                    message = f'{field} lists "*" beside {listed([v for v in values if v != "*"])}'
                    yield error("webhook-rule-mixes-wildcard", (*rule.path, field), message)
            if covered := _covered_resource(rule.resources):
                message = f'resources lists "{covered[0]}" beside {covered[1]}, which it covers'
                yield error("webhook-rule-mixes-wildcard", (*rule.path, "resources"), message)


def _covered_resource(resources: tuple[str, ...]) -> tuple[str, str] | None:
    """The first resource that a wildcard covers; a ``*`` that comes last is taken, as the API server does."""
    if "*/*" in resources and len(resources) > 1:
        return "*/*", next((resource for resource in resources if resource != "*/*"), "*/*")
    plain = [resource for resource in resources if "/" not in resource]
    if "*" in plain and plain[-1] != "*":
        return "*", plain[-1]
    for position, resource in enumerate(resources):
        name, slash, sub = resource.partition("/")
        for wildcard in (f"{name}/*", f"*/{sub}"):
            if slash and wildcard in resources[:position]:
                return wildcard, resource
    return None


def webhook_selector_refused(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A namespaceSelector or objectSelector that the API server refuses.

    Why: operators are In, NotIn, Exists and DoesNotExist; keys and values are those of labels.
    Bad:  matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn}]
    Good: matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}]
    Source: apimachinery pkg/apis/meta/v1/validation.
    """
    for hook in configuration.hooks:
        for field in ("namespaceSelector", "objectSelector"):
            selector = child(hook.value, field)
            for path, message in find_selector_problems(selector):
                yield error("webhook-selector-refused", (*hook.path, field, *path), message)
