"""Rules about how a hook behaves beside the API server, other webhooks and users who want to go round it."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import Finding
from gpupolicy.linting.foreign.findings import info, warning
from gpupolicy.linting.foreign.webhooks.registration import DEFAULT_TIMEOUT, WebhookConfiguration, read_selector

_SHORT, _LONG = 3, 10
# mutating configurations that decide by schedulerName, or by what a pod is when they see it
_LATER_ONES = ("kueue-mutating-webhook-configuration", "mutating-kai-admission")


def webhook_mutates_updates(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A mutating hook that is called when pods change.

    Why: affinity, schedulerName and GPU amounts are fixed after creation, so a patch at UPDATE is refused: finalizers
    cannot be removed, and pods that were there before the policy are stuck.
    Bad:  operations: [CREATE, UPDATE]
    Good: operations: [CREATE]
    Source: kyverno issue 14393, gatekeeper issue 4121; measured on Kubernetes 1.37.2.
    """
    for hook in configuration.hooks:
        rule = hook.find_pod_rule("UPDATE") if hook.mutating else None
        if rule is not None:
            message = "the hook also changes pods at UPDATE, where what it may set is fixed"
            yield warning("webhook-mutates-updates", (*rule.path, "operations"), message, "write operations: [CREATE]")


def webhook_wait_long(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A timeout that lets every request wait for long.

    Why: leader elections renew within 10 seconds and must survive two timeouts, so 3 seconds are enough where Fail
    makes the caller wait for an answer; 10, the default, is long for any hook.
    Bad:  failurePolicy: Fail without timeoutSeconds
    Good: failurePolicy: Fail with timeoutSeconds: 3
    Source: the good practices for admission webhooks of the Kubernetes docs; defaults of the API, v1.
    """
    for hook in configuration.hooks:
        limit = _SHORT if hook.fails else _LONG
        if limit < hook.timeout <= 30:
            found = f"timeoutSeconds is {hook.timeout}" + (" by default" if "timeoutSeconds" not in hook.value else "")
            why = " with failurePolicy Fail" if hook.fails else ""
            message = f"{found}{why}; every request waits that long while the webhook does not answer"
            yield warning("webhook-wait-long", hook.field("timeoutSeconds"), message, f"write at most {limit}")


def webhook_not_called_again(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A mutating hook on pods that is not called again after other hooks have changed the pod.

    Why: a hook behind it may add a container with a GPU; the pod keeps the routing of its old count. Never is the
    default.
    Bad:  a mutating hook without reinvocationPolicy
    Good: reinvocationPolicy: IfNeeded
    Source: measured on Kubernetes 1.37.2.
    """
    for hook, _ in configuration.hooks_on_new_pods():
        if hook.mutating and hook.value.get("reinvocationPolicy") in (None, "", "Never"):
            say = warning if configuration.is_ours else info
            default = "" if hook.value.get("reinvocationPolicy") else " by default"
            message = f"reinvocationPolicy is Never{default}: changes that later webhooks make to the pod go unseen"
            yield say("webhook-not-called-again", hook.field("reinvocationPolicy"), message, "write IfNeeded")


def webhook_order_late(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A registration of gpupolicy that sorts behind Kueue's or KAI's.

    Why: mutating configurations run in the order of their names. What those two see first lacks our schedulerName and
    affinity: KAI's hook is skipped for good, Kueue's hash of the pod no longer fits.
    Bad:  metadata: {name: webhook-gpupolicy}
    Good: metadata: {name: gpupolicy}
    Source: kubernetes apiserver pkg/admission/plugin/webhook/mutating/dispatcher.go; measured on Kubernetes 1.37.2.
    """
    later = [name for name in _LATER_ONES if configuration.name > name]
    if later and configuration.is_ours and any(hook.mutating for hook, _ in configuration.hooks_on_new_pods()):
        message = f"{configuration.name} sorts behind {' and '.join(later)}, so it runs after them"
        yield warning("webhook-order-late", ("metadata", "name"), message, "choose a name that sorts before kueue")


def webhook_label_goes_round(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A hook on pods that a label of the pod switches off.

    Why: whoever writes the pod writes its labels, and so decides whether the policy holds.
    Bad:  objectSelector: {matchExpressions: [{key: gpupolicy/skip, operator: DoesNotExist}]}
    Good: exemptions in the policy, by namespace or service account
    Source: the good practices for admission webhooks of the Kubernetes docs.
    """
    for hook, _ in configuration.hooks_on_new_pods():
        selector = read_selector(hook.value.get("objectSelector"))
        if selector is not None and selector.matches({}) and selector.to_requirements():
            message = "a label on the pod keeps the hook from being called, and its author sets the labels"
            yield warning("webhook-label-goes-round", (*hook.path, "objectSelector"), message)


def webhook_differs_from_policy(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A registration of the policy's own webhook that says something else than the policy.

    Why: the policy is the source; what it compiles to would undo the difference. Hooks on pods alone follow it: the one
    on workloads only warns, and always has Ignore.
    Bad:  a policy with failurePolicy Ignore, a registration with Fail
    Good: the values of the policy
    Source: the policy itself; gpupolicy compile writes the registration.
    """
    policy = configuration.policy
    wanted = policy.webhook if policy else None
    if policy is None or wanted is None or not configuration.is_ours:
        return
    for hook in configuration.hooks:
        if not hook.find_pod_rule("CREATE"):
            continue
        fails = wanted.failure_policy == "Fail"
        if hook.fails != fails:
            cited = policy.cite("spec", "webhook", "failurePolicy")
            message = f"failurePolicy is {'Fail' if hook.fails else 'Ignore'}; the policy has {wanted.failure_policy}"
            yield info("webhook-differs-from-policy", hook.field("failurePolicy"), f"{message} ({cited})")
        if hook.timeout != wanted.timeout_seconds and hook.timeout != DEFAULT_TIMEOUT:
            cited = policy.cite("spec", "webhook", "timeoutSeconds")
            message = f"timeoutSeconds is {hook.timeout}; the policy has {wanted.timeout_seconds} ({cited})"
            yield info("webhook-differs-from-policy", hook.field("timeoutSeconds"), message)
