"""Up from a pod to the object that people wrote."""

from __future__ import annotations

from builders import described, pod
from running_pods import of_deployment, owned_by

from gpupolicy.auditing.owners import Owners
from gpupolicy.inventory.objects import find_controller, metadata_of


def find(document: dict[str, object], *known: dict[str, object]) -> str:
    owners = Owners()
    for each in known:
        owners.add(each)
    metadata = metadata_of(document)
    return owners.find(metadata, "team-a", find_controller(metadata)).label


def controlled(api_version: str, kind: str, name: str, *owner: str) -> dict[str, object]:
    return {
        "kind": kind,
        **owned_by({"metadata": {"namespace": "team-a", "name": name}}, *owner),
        "apiVersion": api_version,
    }


def test_a_pod_that_nobody_controls_owns_itself() -> None:
    assert find(pod(1)) == "Pod team-a/job-a"


def test_an_owner_that_is_no_controller_does_not_count() -> None:
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u"}

    assert find(described(pod(1), ownerReferences=[reference])) == "Pod team-a/job-a"


def test_a_deployment_is_told_by_the_name_of_its_replica_set_and_the_hash() -> None:
    assert find(of_deployment(pod(1), "serve-6d5f", "6d5f")) == "Deployment team-a/serve-6d5f"


def test_a_replica_set_of_another_name_is_an_owner_of_its_own() -> None:
    bare = owned_by(pod(1), "apps/v1", "ReplicaSet", "serve", labels={"pod-template-hash": "6d5f"})

    assert find(bare) == "ReplicaSet team-a/serve"


def test_a_replica_set_of_another_group_is_none_of_a_deployment() -> None:
    other = owned_by(pod(1), "apps.example.com/v1", "ReplicaSet", "serve-6d5f", labels={"pod-template-hash": "6d5f"})

    assert find(other) == "ReplicaSet team-a/serve-6d5f"


def test_a_replica_set_that_is_known_to_have_no_controller_is_believed() -> None:
    alone = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "serve-6d5f", "namespace": "team-a"}}

    assert find(of_deployment(pod(1)), alone) == "ReplicaSet team-a/serve-6d5f"


def test_a_job_that_is_known_leads_up_to_its_cron_job() -> None:
    made = owned_by(pod(1), "batch/v1", "Job", "nightly-29")

    assert find(made) == "Job team-a/nightly-29"
    assert find(made, controlled("batch/v1", "Job", "nightly-29", "batch/v1", "CronJob", "nightly")) == (
        "CronJob team-a/nightly"
    )


def test_owners_that_own_each_other_come_to_an_end() -> None:
    one = controlled("example.com/v1", "A", "a", "example.com/v1", "B", "b")
    other = controlled("example.com/v1", "B", "b", "example.com/v1", "A", "a")

    assert find(owned_by(pod(1), "example.com/v1", "A", "a"), one, other) in ("A team-a/a", "B team-a/b")
