"""Target ``scheduler``: a KubeSchedulerConfiguration that packs, for kube-scheduler itself or for a second one.

Source: kubernetes/kube-scheduler config/v1/types.go; every configuration is also judged by the real kube-scheduler in
the end-to-end tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from gpupolicy.compiler.dominance import AFFINITY, FIT, Proof, prove
from gpupolicy.compiler.explanation import summarize
from gpupolicy.compiler.manifest import Document, Manifest, Order
from gpupolicy.compiler.namespace import compile_namespace, labels_of, selector_of
from gpupolicy.compiler.templating import fill
from gpupolicy.compiler.yaml_text import to_yaml
from gpupolicy.errors import UsageError
from gpupolicy.model import LeaderElection, Policy, Profile, SchedulerMode, ScoringStrategy, StrategyType

DEFAULT_SCHEDULER = "default-scheduler"
NO_PROFILES = "the policy has no scheduler profiles (spec.scheduler.profiles)"
CONFIG_FILE = "kube-scheduler-config.yaml"
_IMAGE = "registry.k8s.io/kube-scheduler"
_OWN_LEASE = LeaderElection(resource_name="kube-scheduler", resource_namespace="kube-system")
_NOT_APPLIED = "is read by kube-scheduler --config; it is no API object, so kubectl cannot apply it"


def compile_scheduler(order: Order) -> Iterator[Manifest]:
    """Yields the manifests: none without profiles; in mode ``profiles`` one is a file, not an API object."""
    policy = order.policy
    if not policy.scheduler.profiles:
        return
    if policy.scheduler.mode is SchedulerMode.SECOND:
        yield from _second_scheduler(order)
        return
    yield Manifest(
        document=build_configuration(policy),
        path=f"scheduler/{CONFIG_FILE}",
        remarks=(*_mode_remarks(policy), *file_lines(policy), *proof_lines(policy)),
        kept_apart=_NOT_APPLIED,
    )
    yield from _own_lease_access(policy)


def build_configuration(policy: Policy) -> Document:
    """Returns the KubeSchedulerConfiguration of a policy.

    Raises:
        UsageError: the policy has no scheduler profiles.
    """
    if not policy.scheduler.profiles:
        raise UsageError(NO_PROFILES)
    second = policy.scheduler.mode is SchedulerMode.SECOND
    profiles = [_profile(profile, prove(policy, profile)) for profile in policy.scheduler.profiles]
    if not second and DEFAULT_SCHEDULER not in policy.scheduler_names:
        profiles.insert(0, {"schedulerName": DEFAULT_SCHEDULER})
    election = _leader_election(policy)
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        **({"leaderElection": _to_leader_election(election)} if election else {}),
        "profiles": profiles,
    }


def prove_all(policy: Policy) -> tuple[Proof, ...]:
    """Returns the dominance proof of every profile, in the order of the policy; none where it has no profiles."""
    return tuple(prove(policy, profile) for profile in policy.scheduler.profiles)


def _leader_election(policy: Policy) -> LeaderElection | None:
    """A second scheduler needs a lease of its own; the control plane's keeps its own unless the policy says more."""
    given = policy.scheduler.leader_election
    return given or (LeaderElection() if policy.scheduler.mode is SchedulerMode.SECOND else None)


def _to_leader_election(election: LeaderElection) -> Document:
    return {
        "leaderElect": True,
        "leaseDuration": f"{election.lease_duration_seconds}s",
        "renewDeadline": f"{election.renew_deadline_seconds}s",
        "resourceLock": "leases",
        "resourceName": election.resource_name,
        "resourceNamespace": election.resource_namespace,
        "retryPeriod": f"{election.retry_period_seconds}s",
    }


def _profile(profile: Profile, proof: Proof) -> Document:
    """All nodes are scored: of a sample the fullest node may not be part."""
    enabled = [{"name": FIT, "weight": proof.fit_weight}]
    if proof.overflow is not None:
        enabled.append({"name": AFFINITY, "weight": proof.overflow.weight})
    plugins: Document = {"score": {"enabled": enabled}}
    if proof.disabled:
        plugins["multiPoint"] = {"disabled": [{"name": name} for name in proof.disabled]}
    arguments: list[Document] = [{"name": FIT, "args": {"scoringStrategy": _strategy(profile.scoring_strategy)}}]
    if proof.packs:
        arguments.append({"name": "PodTopologySpread", "args": {"defaultingType": "List", "defaultConstraints": []}})
    return {
        "schedulerName": profile.scheduler_name,
        "percentageOfNodesToScore": 100,
        "plugins": plugins,
        "pluginConfig": arguments,
    }


def _strategy(strategy: ScoringStrategy) -> Document:
    """Returns the arguments without empty parts: kube-scheduler decodes them strictly."""
    resources = [{"name": resource.name, "weight": resource.weight} for resource in strategy.resources]
    shape = [{"utilization": point.utilization, "score": point.score} for point in strategy.shape]
    document: Document = {"type": str(strategy.type)}
    if resources:
        document["resources"] = resources
    if strategy.type is StrategyType.REQUESTED_TO_CAPACITY_RATIO:
        document["requestedToCapacityRatio"] = {"shape": shape}
    return document


def proof_lines(policy: Policy) -> tuple[str, ...]:
    """Returns the proofs of all profiles as lines for the head of a file."""
    return tuple(line for proof in prove_all(policy) for line in summarize(proof))


def file_lines(policy: Policy) -> tuple[str, ...]:
    """Returns what whoever puts the file on a control plane's disk has to know; a second scheduler's is in a pod."""
    if policy.scheduler.mode is SchedulerMode.SECOND:
        return ()
    return (
        "kube-scheduler ignores its flag --kubeconfig beside --config: name that file here, as",
        "clientConnection.kubeconfig (kubeadm's is /etc/kubernetes/scheduler.conf).",
    )


def _mode_remarks(policy: Policy) -> Iterator[str]:
    yield "Profiles for the control plane's own kube-scheduler: one process, one view of the nodes, so nothing races."
    election = policy.scheduler.leader_election
    if election is None:
        yield "leaderElection is left out, so the control plane's own lease (kube-system/kube-scheduler) stays in use."
    elif not _is_own_lease(election):
        lease = f"{election.resource_namespace}/{election.resource_name}"
        yield f"The lease changes to {lease}: stop every old kube-scheduler before a new one starts, else two lead."


def _is_own_lease(election: LeaderElection) -> bool:
    return (election.resource_namespace, election.resource_name) == (
        _OWN_LEASE.resource_namespace,
        _OWN_LEASE.resource_name,
    )


def _own_lease_access(policy: Policy) -> Iterator[Manifest]:
    """The control plane's scheduler may hold only its usual lease; another one needs a right of its own."""
    election = policy.scheduler.leader_election
    if election is None or _is_own_lease(election):
        return
    if election.resource_namespace == policy.webhook.namespace:
        yield from compile_namespace(election.resource_namespace)
    user: Document = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:kube-scheduler"}
    yield from _lease_access(policy, election, user)


def _lease_access(policy: Policy, election: LeaderElection, subject: Document) -> Iterator[Manifest]:
    values = {
        "name": election.resource_name,
        "namespace": election.resource_namespace,
        "lease": election.resource_name,
        "labels": labels_of(policy, election.resource_name),
        "subject": subject,
    }
    for document in fill("lease-access", values):
        yield Manifest(document=document, path=f"scheduler/leader-election-{str(document['kind']).lower()}.yaml")


def _second_scheduler(order: Order) -> Iterator[Manifest]:
    policy = order.policy
    election = policy.scheduler.leader_election or LeaderElection()
    name, namespace = election.resource_name, election.resource_namespace
    subject: Document = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    config = to_yaml(build_configuration(policy))
    values = {
        "name": name,
        "namespace": namespace,
        "labels": labels_of(policy, name),
        "selector": selector_of(policy, name),
        "subject": subject,
        "config_text": config,
        "config_hash": sha256(config.encode()).hexdigest()[:16],
        "gpu_support": policy.labels.gpu_support,
        "image": order.scheduler_image or f"{_IMAGE}:v{policy.kubernetes_version}.0",
    }
    yield from compile_namespace(namespace)
    yield from _lease_access(policy, election, subject)
    for document in (*fill("second-scheduler", values), *fill("disruption-budget", values)):
        remarks = {"ConfigMap": proof_lines(policy), "Deployment": _RACE}.get(str(document["kind"]), ())
        yield Manifest(document=document, path=f"scheduler/{_file_name(document, name)}", remarks=remarks)


_RACE = (
    "Two schedulers that place pods on the same nodes race, and a pod that loses is failed by the kubelet: keep the",
    "nodes of this one to itself by a taint that only pods of its profiles tolerate.",
)


def _file_name(document: Document, name: str) -> str:
    """Names a file by kind, and by what is bound where a kind stands several times."""
    kind = str(document["kind"]).lower()
    metadata = document["metadata"]
    own = str(metadata["name"]) if isinstance(metadata, dict) else ""
    suffix = own.removeprefix(name)
    return f"{kind}{suffix}.yaml"
