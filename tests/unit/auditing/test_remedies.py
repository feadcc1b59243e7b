"""The commands: each for the kind of its owner, correct by the API, and proved by asking admission again."""

from __future__ import annotations

import json
import shlex

import pytest
from builders import GPU, container, described, gpu_type, pod, policy
from running_pods import POLICY, audited, of_deployment, only, owned_by, routed, running, three

from gpupolicy.auditing.report import AuditedOwner, Remedy


def remedy(owner: AuditedOwner) -> Remedy:
    (found,) = owner.remedies
    return found


def patch_of(owner: AuditedOwner) -> object:
    (command,) = remedy(owner).commands
    return json.loads(shlex.split(command)[-1])


def spec_patch(name: str, amount: int, *parts: str) -> dict[str, object]:
    return {"containers": [{"name": name, "resources": {part: {GPU: str(amount)} for part in parts}}]}


def test_a_deployment_is_patched_to_the_next_number_that_is_admitted() -> None:
    owner = only(audited(running(of_deployment(three()))))

    assert remedy(owner).commands == (
        "kubectl --namespace team-a patch deployment/serve --patch "
        """'{"spec":{"template":{"spec":{"containers":[{"name":"c","resources":{"limits":{"nvidia.com/gpu":"4"}}}]}}}}'""",
    )
    assert remedy(owner).note == "its pods are made again with 4 GPUs, one after the other"


def test_defaulted_requests_are_patched_with_the_limits() -> None:
    both = {"limits": {GPU: "3"}, "requests": {GPU: "3", "cpu": "1"}}
    document = {**pod(), "spec": {"containers": [{"name": "train", "resources": both}]}}

    owner = only(audited(running(of_deployment(document))))

    assert patch_of(owner) == {"spec": {"template": {"spec": spec_patch("train", 4, "limits", "requests")}}}


def test_where_nothing_larger_is_admitted_it_is_the_next_smaller() -> None:
    owner = only(audited(running(of_deployment(pod(9)))))

    assert patch_of(owner) == {"spec": {"template": {"spec": spec_patch("c", 8, "limits")}}}


def test_the_container_that_asks_for_most_is_changed() -> None:
    document = {**pod(), "spec": {"containers": [container(1, name="a"), container(2, name="b")]}}

    owner = only(audited(running(of_deployment(document))))

    assert patch_of(owner) == {"spec": {"template": {"spec": spec_patch("b", 3, "limits")}}}


def test_a_number_that_an_init_container_sets_is_not_patched_away() -> None:
    """The containers would have to grow to 4 while the init container holds 3: that is proved, not guessed."""
    document = pod(1, init=(container(3, name="i"),))

    owner = only(audited(running(of_deployment(document))))

    assert owner.remedies == ()


def test_a_cron_job_is_patched_where_its_template_stands() -> None:
    made = running(owned_by(three(), "batch/v1", "CronJob", "nightly"))

    owner = only(audited(made))

    assert patch_of(owner) == {"spec": {"jobTemplate": {"spec": {"template": {"spec": spec_patch("c", 4, "limits")}}}}}
    assert remedy(owner).note == "its next Jobs make pods with 4 GPUs; those that run go on"


@pytest.mark.parametrize(
    ("owner", "target"),
    [
        pytest.param(("batch/v1", "Job", "train"), "job/train", id="job"),
        pytest.param((), "pod/a", id="bare-pod"),
    ],
)
def test_what_cannot_be_changed_is_deleted_and_made_again(owner: tuple[str, ...], target: str) -> None:
    document = owned_by(three(), *owner) if owner else three()

    found = remedy(only(audited(running(document))))

    assert found.commands == (f"kubectl --namespace team-a delete {target}",)
    assert found.note == "it cannot be changed, and ends here: make it again with 4 GPUs"


def test_kinds_of_others_are_left_to_their_authors() -> None:
    document = owned_by(three(), "kubeflow.org/v1", "PyTorchJob", "train")

    assert only(audited(running(document))).remedies == ()


def test_a_kind_of_others_with_the_name_of_a_built_in_one_is_not_taken_for_it() -> None:
    document = owned_by(three(), "apps.kruise.io/v1beta1", "StatefulSet", "db")

    assert only(audited(running(document))).remedies == ()


def test_unrouted_pods_of_a_deployment_are_made_again() -> None:
    found = remedy(only(audited(running(of_deployment(pod(2))))))

    assert found.rules == ("pod-not-routed", "pod-misplaced")
    assert found.commands == ("kubectl --namespace team-a rollout restart deployment/serve",)


def test_one_patch_mends_the_number_and_the_routing() -> None:
    """The rollout makes every pod again, so a restart besides would be one too many."""
    pods = [running(of_deployment(three()), "x"), running(of_deployment(pod(2)), "y", on="gpu-2")]

    found = remedy(only(audited(*pods)))

    assert found.rules == ("request-size-not-admitted", "pod-not-routed")


def test_a_rollout_that_is_stuck_is_restarted_where_the_template_is_fine_by_now() -> None:
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "serve", "namespace": "team-a"},
        "spec": {"template": {"spec": {"containers": [container(4)]}}},
    }

    found = remedy(only(audited(running(of_deployment(three())), workloads=[deployment])))

    assert found.commands == ("kubectl --namespace team-a rollout restart deployment/serve",)


def test_of_a_routed_deployment_only_the_misplaced_pods_are_deleted() -> None:
    pods = [running(of_deployment(routed(pod(2))), name, on=on) for name, on in (("x", "gpu-1"), ("y", "gpu-2"))]

    found = remedy(only(audited(*pods)))

    assert found.commands == ("kubectl --namespace team-a delete pod x",)
    assert found.note == (
        "the Deployment makes others, which the webhook routes; a deletion asks no PodDisruptionBudget"
    )


def test_many_misplaced_pods_of_a_deployment_are_made_again_by_a_rollout() -> None:
    pods = [running(of_deployment(routed(pod(2))), f"x-{i:02}") for i in range(11)]

    assert remedy(only(audited(*pods))).commands == ("kubectl --namespace team-a rollout restart deployment/serve",)


def test_a_bare_pod_that_is_not_routed_is_deleted_and_applied_again() -> None:
    found = remedy(only(audited(running(pod(2), on="gpu-2"))))

    assert found.commands == ("kubectl --namespace team-a delete pod a",)
    assert found.note.startswith("nobody makes it again: apply its manifest again afterwards")


def test_pods_of_a_job_are_made_again_by_the_job() -> None:
    pods = [running(owned_by(pod(2), "batch/v1", "Job", "train"), f"t-{i:02}", on="gpu-2") for i in range(11)]

    found = remedy(only(audited(*pods)))

    assert len(shlex.split(found.commands[0])) == 5 + 10
    assert found.note == (
        "the Job makes others; each one deleted counts as failed (backoffLimit); these are the first of its pods; "
        "a deletion asks no PodDisruptionBudget"
    )


def test_what_new_pods_would_be_denied_for_is_not_mended_by_making_them_again() -> None:
    by = policy(types=(gpu_type("V100"), gpu_type("MI300", resource_name="amd.com/gpu")))
    document = {**pod(), "spec": {"containers": [container(1), container(1, resource="amd.com/gpu")]}}

    assert only(audited(running(of_deployment(document)), by=by)).remedies == ()


def test_the_way_to_the_cluster_is_in_every_command() -> None:
    owner = only(audited(running(of_deployment(pod(2))), kubectl=("kubectl", "--context", "a prod")))

    assert remedy(owner).commands == ("kubectl --context 'a prod' --namespace team-a rollout restart deployment/serve",)


def test_a_name_that_a_shell_would_obey_is_quoted() -> None:
    document = described(three(), namespace="team-a")

    owner = only(audited(running(document, "x; rm -rf /")))

    assert shlex.split(remedy(owner).commands[0])[-1] == "pod/x; rm -rf /"


@pytest.mark.parametrize("gpus", [3, 5, 6, 7, 9, 100])
def test_the_patched_pod_is_admitted(gpus: int) -> None:
    from gpupolicy.admission import admit

    patch = patch_of(only(audited(running(of_deployment(pod(gpus))))))
    amount = patch["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"][GPU]  # type: ignore[index]

    assert admit(POLICY, pod(amount)).allowed


def test_a_replica_set_is_patched_and_its_pods_are_deleted_because_it_replaces_none_by_itself() -> None:
    owner = only(audited(running(owned_by(three(), "apps/v1", "ReplicaSet", "bare"), "bare-x")))

    patch, delete = remedy(owner).commands
    assert patch.startswith("kubectl --namespace team-a patch replicaset/bare --patch ")
    assert delete == "kubectl --namespace team-a delete pod bare-x"
    assert remedy(owner).note == "pods that it makes from now on are made with 4 GPUs"


def test_a_replica_set_without_pods_is_patched() -> None:
    bare = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "bare", "namespace": "team-a"},
        "spec": {"template": {"spec": {"containers": [container(3)]}}},
    }

    assert len(remedy(only(audited(workloads=[bare]))).commands) == 1


@pytest.mark.parametrize("name", [None, 7])
def test_a_container_without_a_name_cannot_be_patched(name: object) -> None:
    document = {**pod(), "spec": {"containers": [container(3, name=name)]}}  # type: ignore[arg-type]

    assert only(audited(running(of_deployment(document)))).remedies == ()


def test_amounts_that_only_an_override_lets_through_are_not_added_up() -> None:
    """The largest readable amount is changed; what cannot be read stays, and so the pod stays denied."""
    document = {**pod(), "spec": {"containers": [container(3, name="a"), container("x", name="b")]}}

    assert only(audited(running(of_deployment(document)))).remedies == ()


def test_the_number_of_a_claim_is_left_to_the_author() -> None:
    from gpupolicy.admission.claims import index_claims

    by = policy(types=(gpu_type("V100", device_classes=("gpu.example.com",)), gpu_type("A100")))
    request = {"name": "g", "exactly": {"deviceClassName": "gpu.example.com", "count": 3}}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "gpus", "namespace": "team-a"},
        "spec": {"devices": {"requests": [request]}},
    }
    asking = of_deployment(pod(None, resourceClaims=[{"name": "gpus", "resourceClaimName": "gpus"}]))

    assert only(audited(running(asking), by=by, claims=index_claims([claim]))).remedies == ()


def test_of_several_resources_none_is_chosen() -> None:
    from gpupolicy.admission.claims import index_claims

    by = policy(types=(gpu_type("V100", device_classes=("gpu.example.com",)), gpu_type("A100")))
    request = {"name": "g", "exactly": {"deviceClassName": "gpu.example.com", "count": 2}}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "gpus", "namespace": "team-a"},
        "spec": {"devices": {"requests": [request]}},
    }
    asking = of_deployment(pod(1, resourceClaims=[{"name": "gpus", "resourceClaimName": "gpus"}]))

    owner = only(audited(running(asking), by=by, claims=index_claims([claim])))

    assert (sum(owner.gpus.values()), owner.remedies) == (3, ())
