"""The compiled profile packs the pods of every kind of workload, on few nodes and on many, whatever schedulers do."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from e2e.controlplane import ControlPlane, Scheduler, check_scheduler_config
from e2e.governed import gpupolicy, left_as_found, of_kinds, scheduler_configuration
from e2e.objects import node, pod
from e2e.placement import WORKLOAD_KINDS, left_pending, place
from e2e.processes import wait_for
from e2e.product import shipped
from e2e.rest import Object
from golden.contents import policy_files

from gpupolicy import compile, load
from gpupolicy.model import LeaderElection, Policy, SchedulerMode

PROFILES = load(shipped("classic"))  # a profile more in the control plane's own kube-scheduler
SECOND = load(shipped("multi-tenant"))  # a kube-scheduler beside it
PROFILE = "gpu-packing"  # of both
PACKING = scheduler_configuration(PROFILES)


@pytest.fixture(
    scope="class",
    params=[
        pytest.param((PROFILES, 5), id="profiles-5-nodes"),
        # Above 100 nodes kube-scheduler looks at a sample of them unless it is told otherwise.
        pytest.param((PROFILES, 120), id="profiles-120-nodes"),
        pytest.param((SECOND, 120), id="second-120-nodes"),
    ],
)
def scheduler(request: pytest.FixtureRequest, control_plane: ControlPlane) -> Iterator[Scheduler]:
    """A scheduler with a compiled configuration, and so many empty nodes, for all tests of a class."""
    policy, nodes = request.param
    with left_as_found(control_plane):
        control_plane.add_nodes(nodes, gpus=8)
        config = {**scheduler_configuration(policy), "leaderElection": {"leaderElect": False}}
        with control_plane.scheduler(config) as scheduler:
            yield scheduler


class TestOneScheduler:
    """A class, because its fixture ends with it: a scheduler that lived on would take the pods of the tests below."""

    @pytest.mark.parametrize("kind", WORKLOAD_KINDS)
    def test_eight_one_gpu_pods_share_one_node_and_an_eight_gpu_pod_binds(
        self, kind: str, scheduler: Scheduler, control_plane: ControlPlane, namespace: str
    ) -> None:
        place(control_plane, scheduler, kind, 8, namespace=namespace, profile=PROFILE)
        place(control_plane, scheduler, "Pod", 1, namespace=namespace, profile=PROFILE, gpus=8, name="whole-node")

        assert control_plane.pods_per_node(namespace, "app=train") == [8]
        assert control_plane.pods_per_node(namespace, "app=whole-node") == [1]
        assert sorted(control_plane.free_gpus().values())[:3] == [0, 0, 8]


HOSTNAME = "kubernetes.io/hostname"
BUSY = {"labelSelector": {"matchLabels": {"app": "busy"}}, "topologyKey": HOSTNAME}
USED = {"labelSelector": {"matchLabels": {"app": "used"}}, "topologyKey": HOSTNAME}
THERE = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": ["gpu-002"]}]}
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
PREFERS_GPU_002 = {
    "affinity": {
        "nodeAffinity": {PREFERRED: [{"weight": 100, "preference": THERE}]},
        "podAffinity": {PREFERRED: [{"weight": 100, "podAffinityTerm": BUSY}]},
        "podAntiAffinity": {PREFERRED: [{"weight": 100, "podAffinityTerm": USED}]},
    },
    "topologySpreadConstraints": [{**USED, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}],
}


def on(name: str) -> dict[str, object]:
    return {"nodeSelector": {HOSTNAME: name}}


def test_one_gpu_in_use_outweighs_everything_that_the_other_scorers_say(
    control_plane: ControlPlane, namespace: str
) -> None:
    """The claim of ``compile --explain``: cpu, memory, a taint, an image and the pod's own wishes speak for gpu-002."""
    control_plane.add_nodes(2, gpus=8)
    taint = {"spec": {"taints": [{"key": "example.test/old", "effect": "PreferNoSchedule"}]}}
    image = {"status": {"images": [{"names": ["example.test/train:1"], "sizeBytes": 900_000_000}]}}
    assert control_plane.api().patch(node("gpu-001"), taint).accepted
    assert control_plane.api().patch(node("gpu-002"), image, subresource="status").accepted
    with control_plane.scheduler(PACKING) as scheduler:
        there = {"namespace": namespace, "profile": PROFILE}
        place(control_plane, scheduler, "Pod", 1, **there, name="used", **on("gpu-001"), cpu=0, memory="0")
        place(control_plane, scheduler, "Pod", 1, **there, name="busy", **on("gpu-002"), gpus=0, cpu=88, memory="480Gi")
        placed = place(control_plane, scheduler, "Pod", 1, **there, **PREFERS_GPU_002)

    assert placed == {"train-0": "gpu-001"}


def test_packing_is_kept_across_a_restart_of_the_scheduler(control_plane: ControlPlane, namespace: str) -> None:
    control_plane.add_nodes(5, gpus=8)
    with control_plane.scheduler(PACKING) as scheduler:
        place(control_plane, scheduler, "Deployment", 3, namespace=namespace, profile=PROFILE, name="before")
        scheduler.restart()
        place(control_plane, scheduler, "Deployment", 5, namespace=namespace, profile=PROFILE, name="after")

    assert control_plane.pods_per_node(namespace) == [8]


def with_lease(mode: SchedulerMode, namespace: str) -> Policy:
    """The classic policy with a lease of its own, which runs out soon."""
    election = LeaderElection(
        resource_name="gpu-lease",
        resource_namespace=namespace,
        lease_duration_seconds=4,
        renew_deadline_seconds=3,
        retry_period_seconds=1,
    )
    return replace(PROFILES, scheduler=replace(PROFILES.scheduler, mode=mode, leader_election=election))


@contextmanager
def granted(plane: ControlPlane, rights: Sequence[Object]) -> Iterator[None]:
    """Roles and their bindings in the cluster meanwhile, some of them in kube-system."""
    plane.apply(rights)
    try:
        yield
    finally:
        for each in rights:
            plane.api().delete(each)


@pytest.mark.parametrize(
    ("mode", "user"),
    [
        pytest.param(SchedulerMode.PROFILES, "system:kube-scheduler", id="profiles"),
        pytest.param(SchedulerMode.SECOND, "system:serviceaccount:{}:gpu-lease", id="second"),
    ],
)
def test_scheduling_goes_on_when_the_leader_of_two_schedulers_is_killed(
    mode: SchedulerMode, user: str, control_plane: ControlPlane, namespace: str
) -> None:
    """With the compiled leader election, and no rights but Kubernetes' own and the compiled ones."""
    policy = with_lease(mode, namespace)
    rights = of_kinds(compile(policy, ("scheduler",)), "Role", "RoleBinding", "ClusterRoleBinding")
    config, user = scheduler_configuration(policy), user.format(namespace)
    control_plane.add_nodes(5, gpus=8)
    with granted(control_plane, rights), control_plane.scheduler(config, user=user) as leader:
        place(control_plane, leader, "Deployment", 3, namespace=namespace, profile=PROFILE, name="before")
        holder = control_plane.lease_holder(namespace, "gpu-lease")
        with control_plane.scheduler(config, user=user) as stand_by:
            leader.kill()
            place(control_plane, stand_by, "Deployment", 5, namespace=namespace, profile=PROFILE, name="after")

    assert control_plane.lease_holder(namespace, "gpu-lease") != holder
    assert control_plane.pods_per_node(namespace) == [8]


def test_without_a_lease_in_the_policy_the_control_planes_own_stays_in_use(binaries: dict[str, Path]) -> None:
    """So an old and a new kube-scheduler never lead at once while the configuration is rolled out."""
    _, _, defaulted = check_scheduler_config(PACKING)

    assert defaulted is not None
    election = defaulted["leaderElection"]
    assert (election["leaderElect"], election["resourceNamespace"], election["resourceName"]) == (
        True,
        "kube-system",
        "kube-scheduler",
    )


@pytest.mark.parametrize("name", policy_files())
def test_kube_scheduler_takes_the_compiled_file(name: str, binaries: dict[str, Path], tmp_path: Path) -> None:
    """The whole file, as ``--config`` reads it: strictly, with every plugin built."""
    file = tmp_path / "kube-scheduler-config.yaml"
    file.write_text(gpupolicy("compile", policy_files()[name], "--scheduler-config"))

    status, error, _ = check_scheduler_config(file)

    assert (status, error) == (0, "")


def test_the_compiled_file_needs_the_kubeconfig_that_kube_scheduler_no_longer_takes_by_its_flag(
    control_plane: ControlPlane, binaries: dict[str, Path], tmp_path: Path
) -> None:
    """The line that docs/compile.md appends; ``--write-config-to`` ends it once it knows its API server."""
    kubeconfig = control_plane.kubeconfig()
    file = tmp_path / "kube-scheduler.yaml"
    file.write_text(gpupolicy("compile", policy_files()["reserve"], "--scheduler-config"))
    options = ["--config", file, "--kubeconfig", kubeconfig, "--write-config-to", tmp_path / "written.yaml"]
    command: list[str | Path] = [binaries["kube-scheduler"], *options, "--secure-port", "0"]

    refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
    with file.open("a") as end:
        end.write(f"clientConnection: {{kubeconfig: {kubeconfig}}}\n")
    taken = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert "no configuration has been provided" in refused.stderr
    assert (refused.returncode, taken.returncode) == (1, 0), taken.stderr


@pytest.mark.parametrize(
    ("name", "profile", "resource"),
    [
        pytest.param("packing", "gpu-packing", "nvidia.com/gpu", id="packing"),
        pytest.param("reserve", "gpu-packing", "nvidia.com/gpu", id="reserve"),
        pytest.param("mixed-fleet", "gpu-packing", "nvidia.com/gpu", id="mixed-fleet"),
        pytest.param("mig", "gpu-packing", "nvidia.com/gpu", id="mig-whole-gpus"),
        pytest.param("mig", "mig-packing", "nvidia.com/mig-1g.5gb", id="mig-slices"),
    ],
)
def test_the_profiles_of_the_other_shipped_policies_pack(
    name: str, profile: str, resource: str, control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.add_nodes(5, gpus=8, resource=resource)
    with control_plane.scheduler(scheduler_configuration(load(shipped(name)))) as scheduler:
        place(control_plane, scheduler, "Deployment", 8, namespace=namespace, profile=profile, resource=resource)

    assert control_plane.pods_per_node(namespace) == [8]


@pytest.fixture
def two_profiles(control_plane: ControlPlane) -> Iterator[Scheduler]:
    """One process that serves the default profile beside ours, as compiled."""
    with control_plane.scheduler(PACKING) as scheduler:
        yield scheduler


@pytest.mark.parametrize(("first", "second"), [("default-scheduler", PROFILE), (PROFILE, "default-scheduler")])
def test_two_profiles_of_one_process_see_what_the_other_has_given(
    first: str, second: str, two_profiles: Scheduler, control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.add_node("only", gpus=8)
    place(control_plane, two_profiles, "Pod", 1, namespace=namespace, profile=first, gpus=5)
    control_plane.create(pod("four", 4, scheduler=second), namespace)

    message = left_pending(control_plane, namespace, "four")

    assert message.startswith("0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")


def test_two_profiles_under_pressure_book_every_gpu_once(
    two_profiles: Scheduler, control_plane: ControlPlane, namespace: str
) -> None:
    """Thirty pods of two GPUs, half of each profile, want 60 GPUs at once; there are 40."""
    control_plane.add_nodes(5, gpus=8)
    schedulers = ["default-scheduler", PROFILE] * 15
    pods = [pod(f"pod-{number}", 2, scheduler=scheduler) for number, scheduler in enumerate(schedulers)]
    control_plane.apply(pods, namespace=namespace)

    wait_for(lambda: control_plane.settled(namespace), message="every pod bound or refused")

    assert control_plane.pods_per_node(namespace) == [4, 4, 4, 4, 4]
    assert set(control_plane.free_gpus().values()) == {0}
