"""Rules about metadata.name and spec.labels: names that Kubernetes takes, and labels that nobody can forge."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import Finding
from gpupolicy.labels import find_dns_label_problem, find_dns_subdomain_problem, is_kubelet_settable
from gpupolicy.model import Policy
from gpupolicy.rules.findings import error, warning

_PREFIX = ("spec", "labels", "prefix")
_SAFE_DOMAIN = "node-restriction.kubernetes.io"
_RESERVED_DOMAINS = ("kubernetes.io", "k8s.io")


def policy_name_not_dns_label(policy: Policy) -> Iterator[Finding]:
    """A policy whose name cannot become part of object names.

    Why: compiled objects carry the policy's name, and the API server refuses them.
    Bad:  metadata: {name: Training_Policy}
    Good: metadata: {name: training-policy}
    Source: RFC 1123; https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
    """
    if problem := find_dns_label_problem(policy.name):
        yield error(
            "policy-name-not-dns-label", ("metadata", "name"), f'"{policy.name}" is no name of a policy: it {problem}'
        )


def label_prefix_not_dns(policy: Policy) -> Iterator[Finding]:
    """A label prefix that is no DNS subdomain.

    Why: the API server refuses such label keys, so no node can be labelled.
    Bad:  labels: {prefix: My_GPU_Cluster}
    Good: labels: {prefix: my.gpu.cluster}
    Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
    """
    if problem := find_dns_subdomain_problem(policy.labels.prefix):
        yield error("label-prefix-not-dns", _PREFIX, f'"{policy.labels.prefix}" is no label prefix: it {problem}')


def label_prefix_reserved(policy: Policy) -> Iterator[Finding]:
    """Labels in a domain that belongs to Kubernetes itself.

    Why: kubelets may set only a few names there and do not start with others in --node-labels; and the domain's own
        meaning may change with any release.
    Bad:  labels: {prefix: gpu.kubernetes.io}
    Good: labels: {prefix: gpu.example.com}
    Source: KEP-279; plugin/pkg/admission/noderestriction and pkg/kubelet/apis/well_known_labels.go; measured on 1.37.2.
    """
    prefix = policy.labels.prefix
    reserved = any(_is_in(prefix, domain) for domain in _RESERVED_DOMAINS)
    if reserved and not _is_in(prefix, _SAFE_DOMAIN):
        yield error(
            "label-prefix-reserved",
            _PREFIX,
            f"the label prefix {prefix} is in a domain that belongs to Kubernetes",
            f"use a domain of your own, or gpu.{_SAFE_DOMAIN}",
        )


def label_key_unguarded(policy: Policy) -> Iterator[Finding]:
    """Node labels that every kubelet may set on its own node, with nothing to guard them.

    Why: a compromised node can call itself part of any slot group and attract its pods; NodeRestriction protects only
        node-restriction.kubernetes.io and unknown names of Kubernetes' own domains.
    Bad:  labels: {prefix: my.gpu.cluster, guard: false}
    Good: labels: {prefix: my.gpu.cluster}, or labels: {prefix: gpu.node-restriction.kubernetes.io, guard: false}
    Source: https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#noderestriction; measured on
        1.37.2: a kubelet sets, changes and removes such labels, also through nodes/status.
    """
    if policy.labels.guard or not is_kubelet_settable(policy.labels.node_group):
        return
    yield warning(
        "label-key-unguarded",
        ("spec", "labels", "guard"),
        f"any kubelet can set {policy.labels.node_group} on its own node, and guard is false",
        f"set guard to true, or use a prefix that ends in {_SAFE_DOMAIN}",
    )


def _is_in(prefix: str, domain: str) -> bool:
    return prefix == domain or prefix.endswith(f".{domain}")
