"""Everything that ``gpupolicy compile`` writes, given to a real API server by kubectl, as strictly as it can judge."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from e2e import objects
from e2e.controlplane import ControlPlane
from e2e.governed import compile_folder, gpupolicy, kubectl, label_with_kubectl, of_kinds
from e2e.product import shipped
from golden.contents import CA_BUNDLE, policy_files

from gpupolicy import compile, load
from gpupolicy.labels import LabelSelector
from gpupolicy.model import CertificateMode, Policy

POLICIES = policy_files()
OVERFLOW = Path(__file__).with_name("policies") / "overflow.yaml"

# A file for kube-scheduler, which judges it in test_packing.py; no API server knows the kind.
NO_OBJECT = "KubeSchedulerConfiguration"
WITH_SUCH_A_FILE = ("classic", "mig", "mixed-fleet", "packing", "reserve", "reference")


def dump_nodes(policy: Policy, folder: Path) -> Path:
    """Three nodes of each GPU type, as kubectl would dump them."""
    nodes = [
        objects.node(
            f"node-{index}-{number}",
            gpu_type.gpus_per_node,
            labels=dict((gpu_type.node_selector or LabelSelector()).match_labels),
            resource=gpu_type.resource_name,
        )
        for index, gpu_type in enumerate(policy.gpu_types)
        for number in range(3)
    ]
    file = folder / "nodes.json"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes}))
    return file


def bundle(folder: Path) -> Path:
    file = folder / "ca.crt"
    file.write_bytes(CA_BUNDLE)
    return file


def compiled_texts(name: str, folder: Path) -> list[str]:
    """The documents of the stream that a policy compiles to with labels for nodes, as text."""
    file = POLICIES[name]
    policy = load(file)
    options: list[str | Path] = ["--nodes", dump_nodes(policy, folder)]
    if policy.webhook.certificates.mode is CertificateMode.SECRET:
        options += ["--ca-bundle", bundle(folder)]
    stream = gpupolicy("compile", file, *options)
    return re.split("^---\n", stream, flags=re.MULTILINE)


def kind_of(text: str) -> str:
    return str(yaml.safe_load(text)["kind"])


@contextmanager
def kept_namespaces(control_plane: ControlPlane, names: set[str]) -> Iterator[None]:
    """Makes namespaces and, afterwards, ends those that were not there before."""
    control_plane.wait_until_ended(*names)
    missing = sorted(names - existing_namespaces(control_plane))
    try:
        for name in missing:
            kubectl(control_plane, "create", "namespace", name, "--save-config")  # else kubectl apply warns
        yield
    finally:
        for name in missing:
            control_plane.delete_namespace(name)


def existing_namespaces(control_plane: ControlPlane) -> set[str]:
    return {each["metadata"]["name"] for each in control_plane.api().list("/api/v1/namespaces")}


@pytest.fixture(scope="class")
def namespaces(control_plane: ControlPlane) -> Iterator[None]:
    """The namespaces of all policies."""
    documents = (each for file in POLICIES.values() for each in compile(load(file)))
    with kept_namespaces(control_plane, {each["metadata"]["name"] for each in of_kinds(documents, "Namespace")}):
        yield


@pytest.mark.usefixtures("namespaces", "foreign_kinds")
class TestDryRun:
    """What is namespaced needs its namespaces, which a dry run does not make: a fixture keeps them for all tests."""

    @pytest.mark.parametrize("name", POLICIES)
    def test_kubectl_apply_takes_every_compiled_object_strictly_and_without_a_warning(
        self, name: str, control_plane: ControlPlane, tmp_path: Path
    ) -> None:
        texts = compiled_texts(name, tmp_path)
        sent = [text for text in texts if kind_of(text) != NO_OBJECT]

        done = control_plane.kubectl(
            "apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin="---\n".join(sent)
        )

        lines = done.stdout.splitlines()
        assert (done.returncode, done.stderr) == (0, "")
        assert len(lines) == len(sent)
        assert [line for line in lines if not line.endswith("(server dry run)")] == []
        assert len(texts) - len(sent) == (name in WITH_SUCH_A_FILE)

    def test_a_misspelt_field_would_be_refused(self, control_plane: ControlPlane, tmp_path: Path) -> None:
        """That the judge judges: one letter in one of the objects."""
        texts = compiled_texts("classic", tmp_path)
        stream = "---\n".join(text for text in texts if kind_of(text) != NO_OBJECT)

        done = control_plane.kubectl(
            "apply",
            "--dry-run=server",
            "--validate=strict",
            "-f",
            "-",
            stdin=stream.replace("reinvocationPolicy", "reinvokationPolicy"),
        )

        assert done.returncode == 1
        assert 'unknown field "webhooks[0].reinvokationPolicy"' in done.stderr


@pytest.fixture(params=["reserve", "multi-tenant"])
def applied(request: pytest.FixtureRequest, control_plane: ControlPlane, tmp_path: Path) -> Iterator[Path]:
    """A compiled folder whose objects are all in the cluster; they are gone afterwards."""
    policy = tmp_path / "policy.yaml"
    policy.write_text(re.sub("certificates: .*", "certificates: {mode: secret}", shipped(request.param).read_text()))
    folder = compile_folder(policy, tmp_path / "out", "--ca-bundle", bundle(tmp_path))
    with kept_namespaces(control_plane, {"gpu-system"}):
        try:
            kubectl(control_plane, "apply", "--server-side", "-k", folder)
            yield folder
        finally:
            control_plane.kubectl("delete", "-k", folder, "--wait=false")


def test_what_was_applied_differs_in_nothing_from_what_is_compiled(applied: Path, control_plane: ControlPlane) -> None:
    """So nothing that we write is dropped or rewritten by the API server, and a GitOps controller finds no drift."""
    done = control_plane.kubectl("diff", "--server-side", "-k", applied)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_label_that_we_applied_goes_again_when_no_group_claims_the_node_any_more(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    """Server-side apply: what an earlier manifest of ours had and a later one has not, is removed; the rest stays."""
    control_plane.add_node("own-1", labels={"nvidia.com/gpu.product": "Tesla-V100-SXM2-32GB", "other": "label"})
    changed = tmp_path / "changed.yaml"
    changed.write_text(OVERFLOW.read_text().replace("own-*", "elsewhere-*"))

    before = labelled(control_plane, OVERFLOW, tmp_path)
    after = labelled(control_plane, changed, tmp_path)

    ours = {"my.gpu.cluster/gpu-type": "V100", "my.gpu.cluster/nvidia-gpu-support": "true"}
    assert before.items() - after.items() == {("my.gpu.cluster/node-group", "OWN")}
    assert after.items() >= {**ours, "other": "label"}.items()


def labelled(control_plane: ControlPlane, policy_file: Path, folder: Path) -> dict[str, str]:
    """The labels of the node after those that a policy compiles to have been applied."""
    label_with_kubectl(control_plane, load(policy_file), policy_file, folder)
    (node,) = control_plane.api().list("/api/v1/nodes")
    return dict(node["metadata"]["labels"])
