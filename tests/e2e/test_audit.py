"""``gpupolicy audit`` on a cluster that ran before the policy came: what is found is mended by what is printed."""

from __future__ import annotations

import json
import secrets
import shlex
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from commands import Outcome, run
from controlplane import build, definitions
from e2e.conftest import is_required, is_served
from e2e.controlplane import ControlPlane
from e2e.governed import kubectl, left_as_found, scheduler_configuration
from e2e.objects import pod, workload
from e2e.processes import wait_for
from e2e.product import installed, label_nodes, shipped, variant
from e2e.rest import Object

from gpupolicy import admit, load
from gpupolicy.patch import apply_patch

POLICY = shipped("classic")
PRODUCT = {"nvidia.com/gpu.product": "Tesla-V100-SXM2-32GB"}
SYSTEM = "kube-system"  # exempt in the policy
SIZES = {"odd": 3, "plain": 2, "far": 2, "fine": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """A cluster with pods from before the webhook, bound as a scheduler binds them."""

    plane: ControlPlane
    namespace: str
    groups: Mapping[str, str]

    def node_of(self, group: str) -> str:
        """A node of a slot group."""
        return next(node for node, each in self.groups.items() if each == group)

    def audit(self, *options: str | Path) -> Outcome:
        """What the verb says of the live cluster."""
        return run("audit", POLICY, "--kubeconfig", self.plane.kubeconfig(), *options)

    def verdicts(self, *options: str | Path) -> dict[str, list[str]]:
        """Verdict and rules by owner, of this fleet alone."""
        return verdicts(self.audit("--format", "json", *options), self.namespace)


def verdicts(outcome: Outcome, namespace: str) -> dict[str, list[str]]:
    """Verdict and rules by owner, of a namespace and of our pod among the system's."""
    return {
        f"{each['kind']} {each['name']}": [each["verdict"], *(finding["rule"] for finding in each["findings"])]
        for each in outcome.json["owners"]
        if each["namespace"] == namespace or each["name"].startswith(namespace)
    }


def routed(manifest: dict[str, Any]) -> dict[str, Any]:
    """A Deployment whose template is routed already."""
    changed = deepcopy(manifest)
    template = changed["spec"]["template"]
    apply_patch(template, admit(load(POLICY), {"metadata": template["metadata"], "spec": template["spec"]}).patch)
    return changed


def bind(plane: ControlPlane, namespace: str, name: str, node: str) -> None:
    """Bind a pod as kube-scheduler does."""
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    answer = plane.api().request("POST", f"/api/v1/namespaces/{namespace}/pods/{name}/binding", binding)
    assert answer.accepted, answer.message


@pytest.fixture(scope="class")
def fleet(control_plane: ControlPlane) -> Iterator[Fleet]:
    """One Deployment of 3 GPUs, one unrouted, one on the wrong node, one fine; a pinned pod and an exempt one."""
    plane = control_plane
    with left_as_found(plane):
        plane.add_nodes(8, gpus=8, labels=PRODUCT)
        namespace = plane.add_namespace(f"e2e-{secrets.token_hex(4)}")
        groups = label_nodes(plane, load(POLICY))
        made = Fleet(plane=plane, namespace=namespace, groups=groups)
        for name, gpus in SIZES.items():
            manifest = workload("Deployment", name, 1, gpus)
            plane.create(routed(manifest) if name in ("far", "fine") else manifest, namespace)
        at = {"odd": "SLOT-4", "plain": "SLOT-2", "far": "SLOT-8", "fine": "SLOT-2"}
        for name, group in at.items():
            found = wait_for(lambda n=name: plane.pods(namespace, f"app={n}"), message=f"the pod of {name}")
            bind(plane, namespace, found[0]["metadata"]["name"], made.node_of(group))
        plane.create(pod("pinned", 2, nodeName=made.node_of("SLOT-2")), namespace)
        plane.create(pod(f"{namespace}-part", 3), SYSTEM)
        bind(plane, SYSTEM, f"{namespace}-part", made.node_of("SLOT-8"))
        plane.act_as_kubelets(namespace)
        yield made
        plane.delete_namespace(namespace)
        plane.api().delete(pod(f"{namespace}-part"), namespace=SYSTEM, grace_seconds=0)


@pytest.fixture(scope="class")
def report_kinds(control_plane: ControlPlane) -> Iterator[list[Object]]:
    """The report kinds, with their projects' own schemas, known to the API server."""
    try:
        wanted = definitions.find_or_download(definitions.REPORT_SOURCES)
    except build.UnavailableError as error:
        (pytest.fail if is_required() else pytest.skip)(str(error))
    control_plane.apply(wanted)
    wait_for(lambda: all(is_served(control_plane, each) for each in wanted), message="the report kinds served")
    yield wanted
    for each in wanted:
        control_plane.api().delete(each)


class TestAudit:
    def test_it_says_exactly_what_is_wrong(self, fleet: Fleet) -> None:
        assert fleet.verdicts() == {
            "Deployment odd": ["deny", "request-size-not-admitted"],
            "Deployment plain": ["reroute", "pod-not-routed"],
            "Deployment far": ["misplaced", "pod-misplaced"],
            "Deployment fine": ["allow"],
            "Pod pinned": ["deny", "node-name-set"],
            f"Pod {fleet.namespace}-part": ["exempt"],
        }

    def test_a_dump_says_the_same_but_for_who_wrote_the_node(self, fleet: Fleet, tmp_path: Path) -> None:
        """``kubectl get`` leaves managedFields out, which alone tell a pinned pod from a scheduled one."""
        kinds = "nodes,pods,deployments,replicasets"
        (tmp_path / "dump.json").write_text(kubectl(fleet.plane, "get", kinds, "-A", "-o", "json"))
        shown = kubectl(fleet.plane, "get", kinds, "-A", "-o", "json", "--show-managed-fields")
        (tmp_path / "shown.json").write_text(shown)

        found = verdicts(run("audit", POLICY, "--from", tmp_path / "dump.json", "--format", "json"), fleet.namespace)
        whole = verdicts(run("audit", POLICY, "--from", tmp_path / "shown.json", "--format", "json"), fleet.namespace)

        assert whole == fleet.verdicts()
        assert {**found, "Pod pinned": None} == {**whole, "Pod pinned": None}
        assert found["Pod pinned"] == ["reroute", "pod-not-routed"]

    @pytest.mark.parametrize("form", ["policyreport", "openreports"])
    def test_the_api_server_takes_the_reports(self, fleet: Fleet, report_kinds: list[Object], form: str) -> None:
        written = fleet.audit("--format", form).out

        done = fleet.plane.kubectl(
            "apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=written, timeout=60
        )

        assert (done.returncode, done.stderr) == (0, "")
        assert f"gpupolicy-{load(POLICY).name} created (server dry run)" in done.stdout
        assert len(done.stdout.splitlines()) == len(json.loads(written)["items"])

    def test_devices_of_claims_count_as_the_api_server_has_them(self, fleet: Fleet, tmp_path: Path) -> None:
        """Three devices by a template of resource.k8s.io/v1, in a policy that knows their class."""

        def change(spec: dict[str, Any]) -> None:
            spec["gpuTypes"][0]["deviceClasses"] = ["gpu.example.com"]

        plane, policy = fleet.plane, variant("classic", tmp_path, change)
        request = {"name": "gpus", "exactly": {"deviceClassName": "gpu.example.com", "count": 3}}
        template = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "three"},
            "spec": {"spec": {"devices": {"requests": [request]}}},
        }
        claims = [{"name": "gpus", "resourceClaimTemplateName": "three"}]
        claiming = workload("Deployment", "claiming", 1, 0, resourceClaims=claims)
        plane.create(template, fleet.namespace)
        plane.create(claiming, fleet.namespace)
        try:
            wait_for(lambda: plane.pods(fleet.namespace, "app=claiming"), message="a pod with a claim")
            outcome = run("audit", policy, "--kubeconfig", plane.kubeconfig(), "--format", "json")
        finally:
            plane.api().delete(claiming, namespace=fleet.namespace)
            wait_for(lambda: not plane.pods(fleet.namespace, "app=claiming"), message="the end of it")

        (owner,) = (each for each in outcome.json["owners"] if each["name"] == "claiming")
        assert owner["gpus"] == {"deviceclass.resource.kubernetes.io/gpu.example.com": 3}
        assert [finding["rule"] for finding in owner["findings"]] == ["request-size-not-admitted"]

    def test_a_user_without_rights_on_workloads_audits_pods(self, fleet: Fleet) -> None:
        """Everything but the templates is judged, and the missing rule is named."""
        plane, user = fleet.plane, "auditor"
        rules = [{"apiGroups": [""], "resources": ["nodes", "pods", "namespaces"], "verbs": ["list"]}]
        name = f"audit-{fleet.namespace}"
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": name}}
        binding = {**role, "kind": "ClusterRoleBinding"}
        subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        plane.create({**role, "rules": rules})
        plane.create({**binding, "roleRef": reference, "subjects": [subject]})
        try:
            outcome = run("audit", POLICY, "--kubeconfig", plane.kubeconfig(user), "--format", "json")
        finally:
            plane.api().delete(binding)
            plane.api().delete(role)

        assert verdicts(outcome, fleet.namespace) == fleet.verdicts()
        assert "warning: deployments are not judged, only their pods: " in outcome.err

    def test_what_is_printed_mends_it(self, fleet: Fleet) -> None:
        """The commands, run by the real kubectl under the webhook and the compiled scheduler; comes last."""
        plane = fleet.plane
        owners = fleet.audit("--format", "json", "--namespace", fleet.namespace).json["owners"]
        commands = [line for owner in owners for remedy in owner["remedies"] for line in remedy["commands"]]

        with installed(plane, POLICY), plane.scheduler(scheduler_configuration(load(POLICY))) as running:
            for command in commands:
                program, *words = shlex.split(command)
                assert program == "kubectl"
                kubectl(plane, *words, *(["--wait=false"] if "delete" in words else []))

            def found() -> dict[str, list[str]]:
                running.check_running()
                plane.act_as_kubelets(fleet.namespace)
                return fleet.verdicts()

            fine = {f"Deployment {name}": ["allow"] for name in SIZES}
            kept = {"Pod pinned": ["deny", "node-name-set"], f"Pod {fleet.namespace}-part": ["exempt"]}
            mended = {**fine, **kept}
            wait_for(lambda: found() == mended, message=lambda: f"all mended, but {found()}")

        assert [shlex.split(command)[5] for command in commands] == ["delete", "patch", "rollout"]
