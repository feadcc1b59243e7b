"""Rules about spec.admission.exemptions: whom they let pass, why, and until when."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from gpupolicy.errors import Finding
from gpupolicy.labels import LabelSelector
from gpupolicy.model import NAMESPACE_NAME_LABEL, Exemption, Policy
from gpupolicy.rules.findings import error, warning
from gpupolicy.suggestions import find_slip

SYSTEM_NAMESPACE = "kube-system"

_EXEMPTIONS = ("spec", "admission", "exemptions")
_ON_EVERY_NAMESPACE = (NAMESPACE_NAME_LABEL, "Exists")
_OWNER_KINDS = (
    "CronJob",
    "DaemonSet",
    "Deployment",
    "Job",
    "Node",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
)
_OWNED_THROUGH = {"CronJob": "Job", "Deployment": "ReplicaSet"}


def exemption_without_reason(policy: Policy) -> Iterator[Finding]:
    """An exemption whose reason says nothing.

    Why: nobody knows later whether it may go.
    Bad:  {namespaces: [lab], reason: " "}
    Good: {namespaces: [lab], reason: drivers are tested there}
    Source: design: each exemption has a reason. A missing one is reported as missing-field.
    """
    for index, exemption in enumerate(policy.admission.exemptions):
        if not exemption.reason.strip(" \t\n.-?"):
            yield error("exemption-without-reason", (*_EXEMPTIONS, index, "reason"), "the reason says nothing")


def exemption_of_everything(policy: Policy) -> Iterator[Finding]:
    """An exemption that every pod fits.

    Why: no pod is judged any more, and the policy reads as if they were.
    Bad:  {reason: first steps}
    Good: enforcement: audit, which judges and records, and lets pass
    Source: design: every part of an exemption that is given must match; with none given, all do.
    """
    for index, exemption in enumerate(policy.admission.exemptions):
        if _fits_every_pod(exemption):
            message = "this exemption names no pods in particular, so it exempts all of them"
            hint = "use enforcement: audit to judge without denying"
            yield error("exemption-of-everything", (*_EXEMPTIONS, index), message, hint)


def exemption_expired(policy: Policy, today: date) -> Iterator[Finding]:
    """An exemption whose last day has passed.

    Why: its pods are judged again, which may come as a surprise; and it should not stay in the policy.
    Bad:  {namespaces: [lab], reason: migration, expires: 2020-01-31}
    Good: a later day, or no such entry
    Source: design: expires is the last day on which an exemption holds.
    """
    for index, exemption in enumerate(policy.admission.exemptions):
        if exemption.expires is not None and exemption.expires < today:
            message = f"the exemption is over since {exemption.expires}; today is {today}"
            yield warning(
                "exemption-expired", (*_EXEMPTIONS, index, "expires"), message, "remove it, or set a later day"
            )


def owner_kind_misspelt(policy: Policy) -> Iterator[Finding]:
    """An owner kind that is a known one but for its case, its number, its group or a slip.

    Why: kinds are compared letter by letter, so the exemption never applies.
    Bad:  ownerKinds: [Daemonset], or [DeamonSet], [apps/v1/DaemonSet]
    Good: ownerKinds: [DaemonSet]
    Source: metadata.ownerReferences[].kind is written as in the API.
    """
    for index, exemption in enumerate(policy.admission.exemptions):
        for position, kind in enumerate(exemption.owner_kinds):
            meant = _find_meant(kind)
            if meant is not None and meant != kind:
                field = (*_EXEMPTIONS, index, "ownerKinds", position)
                yield warning("owner-kind-misspelt", field, f"{kind} is no kind of Kubernetes", f"did you mean {meant}")


def owner_kind_without_pods(policy: Policy) -> Iterator[Finding]:
    """An owner kind whose objects never own a pod.

    Why: the exemption never applies: pods of a Deployment are owned by its ReplicaSet, those of a CronJob by its Job.
    Bad:  ownerKinds: [Deployment]
    Good: ownerKinds: [ReplicaSet]
    Source: https://kubernetes.io/docs/concepts/architecture/garbage-collection/#owners-dependents; the recorded reviews
        of pods of a Deployment name its ReplicaSet.
    """
    for index, exemption in enumerate(policy.admission.exemptions):
        for position, kind in enumerate(exemption.owner_kinds):
            if kind in _OWNED_THROUGH:
                owner = _OWNED_THROUGH[kind]
                field = (*_EXEMPTIONS, index, "ownerKinds", position)
                message = f"a {kind} owns no pod: its pods are owned by its {owner}"
                yield warning("owner-kind-without-pods", field, message, f"write {owner}")


def exemption_forgeable(policy: Policy) -> Iterator[Finding]:
    """An exemption that the author of any pod can claim.

    Why: the labels of a pod, and an owner of a kind that Kubernetes does not know, are the author's own word; a service
        account can be made by whoever may make pods in its namespace. Without namespaces such an exemption is open to
        everybody. Owners of built-in kinds are believed only from the control plane's own controllers.
    Bad:  {podSelector: {matchLabels: {gpu-exempt: "true"}}, reason: tests}
    Good: {namespaces: [ci], podSelector: {matchLabels: {gpu-exempt: "true"}}, reason: tests}
    Source: https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/; the plugin
        OwnerReferencesPermissionEnforcement is off by default and asks only about blockOwnerDeletion.
    """
    for index, exemption in enumerate(policy.admission.exemptions):
        if _fits_every_pod(exemption) or not _is_everywhere(exemption):
            continue
        claims = tuple(_claims(exemption))
        if all(is_forged for _, _, is_forged in claims):
            part, what, _ = claims[0]
            message = f"anybody can make pods that this exemption fits: {what}"
            yield warning("exemption-forgeable", (*_EXEMPTIONS, index, part), message, "add namespaces")


def system_namespace_not_exempt(policy: Policy) -> Iterator[Finding]:
    """A policy that judges the pods of kube-system.

    Why: device plugins and exporters of the cluster itself run there; the webhook never sees them, but check and audit
        would judge them, and nobody could read in the policy that they are out.
    Bad:  exemptions: [{namespaces: [gpu-operator], reason: device plugins}]
    Good: exemptions: [{namespaces: [kube-system, gpu-operator], reason: parts of the cluster itself}]
    Source: https://kubernetes.io/docs/concepts/cluster-administration/admission-webhooks-good-practices/
    """
    if not _is_exempt(policy, SYSTEM_NAMESPACE):
        message = f"no exemption covers {SYSTEM_NAMESPACE}"
        hint = f"add {{namespaces: [{SYSTEM_NAMESPACE}], reason: parts of the cluster itself}}"
        yield warning("system-namespace-not-exempt", _EXEMPTIONS, message, hint)


def own_namespace_not_exempt(policy: Policy) -> Iterator[Finding]:
    """A webhook whose own namespace is judged.

    Why: the compiled registration leaves the webhook's namespace out in any case, so that it can always start; but
        check and audit judge its pods, and the policy should say what holds. Only a namespace that the policy itself
        names is looked at; the default one is known to be ours.
    Bad:  webhook: {namespace: policy-system} with exemptions for kube-system only
    Good: exemptions: [{namespaces: [kube-system, policy-system], reason: parts of the cluster itself}]
    Source: https://kubernetes.io/docs/concepts/cluster-administration/admission-webhooks-good-practices/
    """
    field = ("spec", "webhook", "namespace")
    namespace = policy.webhook.namespace
    if field in policy.origin.places and not _is_exempt(policy, namespace):
        message = f"no exemption covers {namespace}, the webhook's own namespace"
        hint = f"add {{namespaces: [{namespace}], reason: the webhook itself}}"
        yield warning("own-namespace-not-exempt", field, message, hint)


def _is_exempt(policy: Policy, namespace: str) -> bool:
    """Returns whether all pods of a namespace are exempt for good, as far as its name tells."""
    return any(
        exemption.namespaces.matches(namespace, {}) and _takes_whole_namespaces(exemption)
        for exemption in policy.admission.exemptions
    )


def _takes_whole_namespaces(exemption: Exemption) -> bool:
    return not exemption.owner_kinds and not exemption.service_accounts and not _chooses(exemption.pod_selector)


def _claims(exemption: Exemption) -> Iterator[tuple[str, str, bool]]:
    """Yields each part by which pods are chosen: its field, what it goes by, whether an author can forge it."""
    if _chooses(exemption.pod_selector):
        yield "podSelector", "the labels of a pod are its author's", True
    if exemption.service_accounts:
        anywhere = any(not account.partition("/")[0].strip("*?") for account in exemption.service_accounts)
        yield "serviceAccounts", "in a namespace of their own they can make such a service account", anywhere
    if exemption.owner_kinds:
        custom = next((kind for kind in exemption.owner_kinds if _find_meant(kind) is None), None)  # no slip
        yield "ownerKinds", f"an owner of kind {custom} is the author's word", custom is not None


def _is_everywhere(exemption: Exemption) -> bool:
    names = exemption.namespaces.names
    requirements = (exemption.namespaces.selector or LabelSelector()).to_requirements()
    chooses = any((each.key, each.operator) != _ON_EVERY_NAMESPACE for each in requirements)
    return (not names or any(map(_fits_all, names))) and not chooses


def _fits_every_pod(exemption: Exemption) -> bool:
    accounts = exemption.service_accounts
    return (
        _is_everywhere(exemption)
        and not exemption.owner_kinds
        and (not accounts or any(all(map(_fits_all, account.split("/"))) for account in accounts))
        and not _chooses(exemption.pod_selector)
    )


def _fits_all(pattern: str) -> bool:
    """Returns whether a shell pattern fits every name that is not empty."""
    return pattern.count("?") <= 1 and "*" in pattern and not pattern.strip("*?")


def _chooses(selector: LabelSelector | None) -> bool:
    return selector is not None and bool(selector.match_labels or selector.match_expressions)


def _find_meant(kind: str) -> str | None:
    """Returns the owner kind of Kubernetes that a text is, or was meant to be; None for a kind of somebody else."""
    known = {_fold(owner): owner for owner in _OWNER_KINDS}
    folded = _fold(kind.rpartition("/")[2])
    nearest = find_slip(folded, known)
    return known[nearest] if nearest is not None else None


def _fold(kind: str) -> str:
    return kind.lower().removesuffix("s")
