"""How the API server is told about the webhook: which pods it is called for, and which never.

The registration is the blast radius of the product: whatever it matches waits for us, and with failurePolicy Fail is
refused while we are down.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator

from gpupolicy.admission.resource_names import MIG_PREFIX
from gpupolicy.admission.scope import KUBELETS
from gpupolicy.compiler.manifest import Document, Manifest, Order
from gpupolicy.compiler.namespace import labels_of
from gpupolicy.compiler.templating import fill
from gpupolicy.compiler.workload_hook import workload_conditions, workload_rules
from gpupolicy.errors import UsageError
from gpupolicy.labels import is_glob
from gpupolicy.model import DEVICE_CLASS_PREFIX, CertificateMode, EarlyAction, Exemption, Policy
from gpupolicy.pod import MIRROR_ANNOTATION

ALWAYS_EXCLUDED = ("kube-node-lease", "kube-system")
_NVIDIA = "nvidia.com/"
_FILLERS = {CertificateMode.CERT_MANAGER: "cert-manager", CertificateMode.SELF_MANAGED: "the webhook itself"}
NO_BUNDLE = (
    "has no caBundle yet, so the API server trusts no certificate of the webhook: compile with --ca-bundle ca.crt "
    "(gpupolicy certs makes one) before you apply it"
)


def compile_registration(order: Order) -> Iterator[Manifest]:
    """Yields the mutating and the validating configuration.

    Both names begin with ``gpupolicy-``, so that the mutating one is called before Kueue's and KAI's.

    Raises:
        UsageError: a CA bundle is given although cert-manager or the webhook itself fills it in.
    """
    policy = order.policy
    webhook = policy.webhook
    if order.ca_bundle and (filler := _FILLERS.get(webhook.certificates.mode)):
        raise UsageError(f"a CA bundle is given, but {filler} fills it in (spec.webhook.certificates.mode)")
    configuration = configuration_name(policy)
    values = {
        "configuration": configuration,
        "mutating_hook": f"route.{policy.name}.gpupolicy.dev",
        "validating_hook": f"check.{policy.name}.gpupolicy.dev",
        "name": webhook.name,
        "namespace": webhook.namespace,
        "labels": labels_of(policy, webhook.name),
        "annotations": _annotations(policy),
        "ca_bundle": b64encode(order.ca_bundle).decode("ascii") if order.ca_bundle else None,
        "excluded_namespaces": list(excluded_namespaces(policy)),
        "mutating_conditions": match_conditions(policy, mutating=True),
        "validating_conditions": match_conditions(policy, mutating=False),
        "workload_hook": _workload_hook(policy),
        "workload_rules": workload_rules(policy),
        "workload_conditions": workload_conditions(policy, _name_prefixes(policy)),
        "failure_policy": str(webhook.failure_policy),
        "timeout_seconds": webhook.timeout_seconds,
    }
    for document in _without_unwanted(policy, fill("registration", values)):
        kind = str(document["kind"]).lower()
        yield Manifest(document=document, path=f"webhook/{kind}.yaml", remarks=_remarks(order))


def configuration_name(policy: Policy) -> str:
    """Returns the name of both webhook configurations."""
    return f"gpupolicy-{policy.name}"


def _workload_hook(policy: Policy) -> str:
    return f"workloads.{policy.name}.gpupolicy.dev"


def _without_unwanted(policy: Policy, documents: list[Document]) -> Iterator[Document]:
    """Yields the configurations, without the hook of workloads where the policy waits for their pods."""
    unwanted = _workload_hook(policy) if policy.admission.workloads is EarlyAction.OFF else None
    for document in documents:
        hooks = document["webhooks"]
        kept = [hook for hook in hooks if hook["name"] != unwanted] if isinstance(hooks, list) else hooks
        yield {**document, "webhooks": kept}


def needs_ca_bundle(order: Order) -> bool:
    """Returns whether the registration lacks the bundle without which the API server trusts no certificate of ours."""
    return order.policy.webhook.certificates.mode is CertificateMode.SECRET and not order.ca_bundle


def excluded_namespaces(policy: Policy) -> tuple[str, ...]:
    """Returns the namespaces whose pods never reach the webhook, sorted.

    An exemption counts where it holds for whole namespaces, by plain names and without an end: the rest is decided by
    the webhook, which knows globs, owners and the date.
    """
    named = {
        name
        for exemption in policy.admission.exemptions
        if _exempts_whole_namespaces(exemption)
        for name in exemption.namespaces.names
        if not is_glob(name)
    }
    return tuple(sorted({*ALWAYS_EXCLUDED, policy.webhook.namespace, *named}))


def match_conditions(policy: Policy, *, mutating: bool) -> list[dict[str, str]]:
    """Returns the CEL conditions of a hook: all must hold for a request to reach us.

    Each guards itself against requests without a pod, because an expression that fails refuses the request.
    """
    narrowed = [] if mutating else [{"name": "created-or-placed-anew", "expression": _PLACED_ANEW}]
    return [
        {"name": "asks-for-gpus", "expression": _asks_for_gpus(policy)},
        {"name": "is-no-mirror-pod", "expression": _NO_MIRROR},
        *narrowed,
    ]


def _asks_for_gpus(policy: Policy) -> str:
    """A name as a key is enough, whatever the amount; claims are settled in other objects, so all are shown."""
    names = ", ".join(f"'{name}'" for name in _name_prefixes(policy))
    named = f"[{names}].exists(n, k.lowerAscii().startsWith(n))"
    return (
        "request.kind.kind == 'Pod' && object != null && (\n"
        "  (object.spec.containers + object.spec.?initContainers.orValue([])).exists(c,\n"
        f"    c.?resources.?limits.orValue({{}}).exists(k, {named}) ||\n"
        f"    c.?resources.?requests.orValue({{}}).exists(k, {named})) ||\n"
        f"  object.spec.?overhead.orValue({{}}).exists(k, {named}) ||\n"
        "  object.spec.?resourceClaims.orValue([]).size() > 0)"
    )


def _name_prefixes(policy: Policy) -> list[str]:
    """Returns how the names begin that are counted, or stand for the same GPUs: misspelt, shared or cut into slices."""
    wanted = {name.lower() for name in policy.resource_names}
    if any(name.startswith(_NVIDIA) for name in wanted):
        wanted.add(MIG_PREFIX)
    prefixes = (*sorted(wanted), DEVICE_CLASS_PREFIX)
    return [name for name in prefixes if not any(name != other and name.startswith(other) for other in prefixes)]


# Anybody may write the annotation; only a kubelet's word makes it a mirror of a pod that runs whatever we say.
_NO_MIRROR = (
    f"object == null || !('{MIRROR_ANNOTATION}' in object.metadata.?annotations.orValue({{}})) ||\n"
    f"  !request.userInfo.?username.orValue('').startsWith('{KUBELETS}')"
)

# Of an existing pod only the placement can change, and only while it is held by scheduling gates. Everything else
# that happens to it, its end above all, must not wait for us.
_PLACED_ANEW = (
    "request.operation == 'CREATE' || (object != null && oldObject != null && "
    "!has(object.metadata.deletionTimestamp) && (\n"
    "  object.spec.?nodeSelector != oldObject.spec.?nodeSelector ||\n"
    "  object.spec.?affinity != oldObject.spec.?affinity))"
)


def _exempts_whole_namespaces(exemption: Exemption) -> bool:
    limited = exemption.owner_kinds or exemption.service_accounts or exemption.pod_selector is not None
    return not limited and exemption.namespaces.selector is None and exemption.expires is None


def _annotations(policy: Policy) -> dict[str, str] | None:
    """Says who fills in the bundle: to cert-manager an order, of the webhook itself a word to readers and to lint."""
    webhook = policy.webhook
    match webhook.certificates.mode:
        case CertificateMode.SECRET:
            return None
        case CertificateMode.CERT_MANAGER:
            return {"cert-manager.io/inject-ca-from": f"{webhook.namespace}/{webhook.name}"}
        case CertificateMode.SELF_MANAGED:
            return {"gpupolicy.dev/inject-ca-from": f"{webhook.namespace}/{webhook.certificates.secret_name}"}


def _remarks(order: Order) -> tuple[str, ...]:
    return (f"It {NO_BUNDLE}.",) if needs_ca_bundle(order) else ()
