"""Rules about spec.scheduler beside its profiles: the Lease and its durations."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import Finding
from gpupolicy.labels import find_dns_label_problem, find_dns_subdomain_problem, find_label_value_problem
from gpupolicy.model import LeaderElection, Policy, SchedulerMode
from gpupolicy.rules.findings import error

JITTER = 1.2  # client-go waits up to this factor of retryPeriod

_ELECTION = ("spec", "scheduler", "leaderElection")


def lease_of_the_control_plane(policy: Policy) -> Iterator[Finding]:
    """A second scheduler that takes the Lease of the control plane's own.

    Why: only one of the two would run, and whoever loses schedules nothing.
    Bad:  mode: second with leaderElection: {resourceName: kube-scheduler, resourceNamespace: kube-system}
    Good: leaderElection: {resourceName: gpu-packing, resourceNamespace: gpu-system}
    Source: https://kubernetes.io/docs/tasks/extend-kubernetes/configure-multiple-schedulers/
    """
    election = policy.scheduler.leader_election
    if election is None or policy.scheduler.mode is not SchedulerMode.SECOND:
        return
    if (election.resource_namespace, election.resource_name) == ("kube-system", "kube-scheduler"):
        message = "Lease kube-scheduler in kube-system belongs to the control plane's own scheduler"
        yield error("lease-of-the-control-plane", (*_ELECTION, "resourceName"), message)


def lease_name_not_dns(policy: Policy) -> Iterator[Finding]:
    """A Lease whose name or namespace Kubernetes does not take.

    Why: the scheduler cannot make its Lease, so no replica ever leads; and the name is a label of the compiled objects,
        which takes no more than 63 characters.
    Bad:  leaderElection: {resourceName: Bin_Packing}
    Good: leaderElection: {resourceName: bin-packing}
    Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
    """
    election = policy.scheduler.leader_election
    if election is None:
        return
    name = election.resource_name
    if problem := find_dns_subdomain_problem(name) or find_label_value_problem(name):
        field = (*_ELECTION, "resourceName")
        yield error("lease-name-not-dns", field, f'"{name}" is no name of a Lease: it {problem}')
    if problem := find_dns_label_problem(election.resource_namespace):
        field = (*_ELECTION, "resourceNamespace")
        yield error("lease-name-not-dns", field, f'"{election.resource_namespace}" is no namespace: it {problem}')


def scheduler_named_as_webhook(policy: Policy) -> Iterator[Finding]:
    """A second scheduler with the name and the namespace of the webhook.

    Why: the Lease's name is that of the scheduler's Deployment, ServiceAccount and ConfigMap, too; applied together,
        one set of objects overwrites the other.
    Bad:  leaderElection: {resourceName: gpupolicy-webhook, resourceNamespace: gpu-system} with mode: second
    Good: leaderElection: {resourceName: gpu-packing, resourceNamespace: gpu-system}
    Source: the compiled manifests: templates/second-scheduler.yaml and templates/webhook.yaml.
    """
    if policy.scheduler.mode is not SchedulerMode.SECOND:
        return
    election, webhook = policy.scheduler.leader_election or LeaderElection(), policy.webhook
    if (election.resource_namespace, election.resource_name) == (webhook.namespace, webhook.name):
        message = f"{webhook.name} in {webhook.namespace} is the webhook; the scheduler's objects would take its place"
        yield error("scheduler-named-as-webhook", (*_ELECTION, "resourceName"), message, "name the Lease otherwise")


def lease_durations_out_of_order(policy: Policy) -> Iterator[Finding]:
    """Durations of the leader election that contradict each other.

    Why: kube-scheduler does not start.
    Bad:  leaseDurationSeconds: 10, renewDeadlineSeconds: 15
    Good: leaseDurationSeconds: 15, renewDeadlineSeconds: 10, retryPeriodSeconds: 2
    Source: k8s.io/component-base/config/validation and client-go leaderelection: lease > renew > 1.2 x retry.
    """
    election = policy.scheduler.leader_election
    if election is None:
        return
    lease, renew, retry = (
        election.lease_duration_seconds,
        election.renew_deadline_seconds,
        election.retry_period_seconds,
    )
    if lease <= renew:
        message = f"leaseDurationSeconds is {lease}; expected is more than renewDeadlineSeconds, which is {renew}"
        yield error("lease-durations-out-of-order", (*_ELECTION, "leaseDurationSeconds"), message)
    if renew <= JITTER * retry:
        message = f"renewDeadlineSeconds is {renew}; expected is more than 1.2 x retryPeriodSeconds, which is {retry}"
        yield error("lease-durations-out-of-order", (*_ELECTION, "renewDeadlineSeconds"), message)
