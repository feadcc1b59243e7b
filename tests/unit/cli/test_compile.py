"""``gpupolicy compile``: what it prints where, what it writes, and how it ends."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from commands import POLICY, Outcome, run

TEXT = Path(POLICY).read_text()
NODES = """\
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Node
  metadata: {name: n1, labels: {my.gpu.cluster/gpu-type: V100}}
  status: {allocatable: {nvidia.com/gpu: "8"}}
- apiVersion: v1
  kind: Node
  metadata: {name: n2, labels: {my.gpu.cluster/gpu-type: V100}}
- {apiVersion: v1, kind: Pod, metadata: {name: p}}
"""
NO_BUNDLE = (
    "warning: the webhook's registration has no caBundle yet, so the API server trusts no certificate of the webhook: "
    "compile with --ca-bundle ca.crt (gpupolicy certs makes one) before you apply it\n"
)
PLACEHOLDER = (
    "note: the image gpupolicy:latest is a placeholder that no registry has: build yours (docs/install.md) and set "
    "spec.webhook.image\n"
)


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    """Two nodes, one of them without GPUs, and a pod."""
    path = tmp_path / "nodes.yaml"
    path.write_text(NODES)
    return path


def kinds(outcome: Outcome) -> list[str]:
    return [document["kind"] for document in yaml.safe_load_all(outcome.out)]


def test_the_stream_goes_to_standard_output_and_remarks_to_standard_error() -> None:
    outcome = run("compile", POLICY)

    assert (outcome.status, outcome.err) == (0, NO_BUNDLE + PLACEHOLDER)
    assert kinds(outcome)[0] == "KubeSchedulerConfiguration"
    assert kinds(outcome)[-1] == "ValidatingWebhookConfiguration"


def test_a_dash_is_standard_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    policy = Path(__file__).parents[3] / POLICY
    assert (run("compile", policy, "-o", "-"), [*tmp_path.iterdir()]) == (run("compile", policy), [])


def test_an_image_of_ones_own_is_no_placeholder(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(f"{TEXT}\n  webhook: {{image: registry.example.com/gpupolicy:0.1.0}}\n")

    assert run("compile", path, "--target", "webhook").err == NO_BUNDLE


def test_targets_narrow_what_is_written() -> None:
    outcome = run("compile", POLICY, "--target", "nodes", "--target", "scheduler")

    assert outcome.err == ""
    assert kinds(outcome) == [
        "KubeSchedulerConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        *kinds(outcome)[3:],
    ]
    assert "Deployment" not in kinds(outcome)


def test_an_unknown_target_is_wrong_usage() -> None:
    outcome = run("compile", POLICY, "--target", "sheduler", "--explain")

    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == 'error: there is no target "sheduler"; did you mean scheduler\n'


def test_a_list_of_nodes_brings_their_labels_and_says_who_gets_none(nodes: Path) -> None:
    outcome = run("compile", POLICY, "--target", "nodes", "--nodes", nodes)

    labelled = [d["metadata"]["name"] for d in yaml.safe_load_all(outcome.out) if d["kind"] == "Node"]
    assert labelled == ["n1"]
    assert outcome.err == "warning: node n2 gets no labels: offers no nvidia.com/gpu (status.allocatable)\n"


def test_nodes_may_stand_in_several_files(nodes: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.yaml"
    more.write_text(nodes.read_text().replace("n1", "n3").replace("n2", "n4"))

    outcome = run("compile", POLICY, "--target", "nodes", "--nodes", nodes, "--nodes", more)

    labelled = [d["metadata"]["name"] for d in yaml.safe_load_all(outcome.out) if d["kind"] == "Node"]
    assert labelled == ["n1", "n3"]


def test_nodes_may_come_from_standard_input() -> None:
    assert kinds(run("compile", POLICY, "--target", "nodes", "--nodes", "-", stdin=NODES))[-1] == "Node"


def test_the_policy_may_come_from_standard_input() -> None:
    outcome = run("compile", "-", "--target", "scheduler", stdin=TEXT)

    assert outcome.out.splitlines()[0].endswith(" (<stdin>).")


def test_standard_input_cannot_be_both() -> None:
    outcome = run("compile", "-", "--nodes", "-", stdin=TEXT)

    assert (outcome.status, outcome.err) == (2, "error: - (standard input) can be read once only\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("kind: Pod\napiVersion: v1\n", ": there is no Node in it\n", id="no-node"),
        pytest.param("", ": there is no Node in it\n", id="empty"),
        pytest.param("a: 1\na: 2\n", ":2:1: ", id="duplicate-key"),
        pytest.param("a: [\n", ":2:1: ", id="no-yaml"),
    ],
)
def test_a_list_of_nodes_that_cannot_be_used_is_an_error_with_its_place(
    text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "nodes.yaml"
    path.write_text(text)

    outcome = run("compile", POLICY, "--nodes", path)

    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith(f"error: {path}{message}")


def test_a_bundle_goes_into_the_registration(tmp_path: Path) -> None:
    bundle = tmp_path / "ca.crt"
    bundle.write_text("-----BEGIN CERTIFICATE-----\n")

    outcome = run("compile", POLICY, "--target", "webhook", "--ca-bundle", bundle)

    assert outcome.err == PLACEHOLDER
    assert outcome.out.count("caBundle: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==") == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("junk", "expected is a certificate in PEM form (-----BEGIN CERTIFICATE-----)", id="junk"),
        pytest.param(
            "-----BEGIN CERTIFICATE-----\n-----BEGIN EC PRIVATE KEY-----\n",
            "it holds a private key, which has no place in a manifest",
            id="with-a-key",
        ),
    ],
)
def test_a_bundle_that_is_none_is_refused(text: str, message: str, tmp_path: Path) -> None:
    """The API server takes junk without a word and fails at every call."""
    bundle = tmp_path / "ca.crt"
    bundle.write_text(text)

    outcome = run("compile", POLICY, "--ca-bundle", bundle)

    assert (outcome.status, outcome.err) == (2, f"error: {bundle}: {message}\n")


def test_a_folder_is_written_and_nothing_printed(tmp_path: Path) -> None:
    outcome = run("compile", POLICY, "--target", "scheduler", "-o", tmp_path / "out")

    assert (outcome.status, outcome.out, outcome.err) == (0, "", f"{tmp_path / 'out'}: 1 file written\n")
    assert [path.name for path in (tmp_path / "out" / "scheduler").iterdir()] == ["kube-scheduler-config.yaml"]


def test_a_second_run_for_fewer_targets_is_refused(tmp_path: Path) -> None:
    """A cluster that follows the folder would lose what is missing from it."""
    run("compile", POLICY, "-o", tmp_path / "out")
    before = sorted(path.name for path in (tmp_path / "out").iterdir())
    outcome = run("compile", POLICY, "--target", "scheduler", "-o", tmp_path / "out")

    assert (outcome.status, outcome.err, sorted(path.name for path in (tmp_path / "out").iterdir())) == (
        2,
        f"error: {tmp_path / 'out'} holds 11 files of other targets, such as "
        "nodes/guard-validatingadmissionpolicy.yaml: name another folder, compile all targets, or remove them with "
        "--prune\n",
        before,
    )


def test_with_prune_it_replaces_the_folder_and_tells_what_is_removed(tmp_path: Path) -> None:
    run("compile", POLICY, "-o", tmp_path / "out")
    outcome = run("compile", POLICY, "--target", "scheduler", "-o", tmp_path / "out", "--prune")

    assert (outcome.status, [path.name for path in (tmp_path / "out").iterdir()]) == (0, ["scheduler"])
    assert f"{tmp_path / 'out'}: nodes/guard-validatingadmissionpolicy.yaml removed\n" in outcome.err


def test_a_second_run_for_the_same_target_needs_no_prune(tmp_path: Path) -> None:
    nodes = Path(__file__).parents[2] / "golden" / "nodes" / "classic.yaml"
    run("compile", POLICY, "--target", "nodes", "--nodes", nodes, "-o", tmp_path / "out")
    outcome = run("compile", POLICY, "--target", "nodes", "-o", tmp_path / "out")

    assert (outcome.status, "nodes/nodes.yaml removed" in outcome.err) == (0, True)


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")

    outcome = run("compile", POLICY, "-o", tmp_path)

    assert outcome.status == 2
    assert outcome.err.endswith(
        "mine.txt was not written by gpupolicy compile: name an empty folder, or move the file away\n"
    )


def test_a_broken_policy_leaves_the_folder_alone(tmp_path: Path) -> None:
    bad = tmp_path / "p.yaml"
    bad.write_text(TEXT.replace("gpusPerNode: 8", "gpusPerNode: 0"))

    outcome = run("compile", bad, "-o", tmp_path / "out")

    assert outcome.status == 2
    assert not (tmp_path / "out").exists()


def test_explain_prints_the_proof_instead_of_manifests() -> None:
    outcome = run("compile", POLICY, "--explain")

    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith("profile gpu-binpack: MostAllocated\n\n  claim: ")


def test_explain_beside_a_folder_does_both(tmp_path: Path) -> None:
    outcome = run("compile", POLICY, "--explain", "-o", tmp_path / "out")

    assert outcome.out.startswith("profile gpu-binpack: ")
    assert (tmp_path / "out" / "kustomization.yaml").exists()


def test_the_schedulers_file_alone_is_one_document() -> None:
    """kube-scheduler reads the first document of its file and drops others without a word."""
    outcome = run("compile", POLICY, "--scheduler-config")

    assert kinds(outcome) == ["KubeSchedulerConfiguration"]


def weak(tmp_path: Path) -> Path:
    path = tmp_path / "weak.yaml"
    path.write_text(TEXT.replace("{name: nvidia.com/gpu, weight: 100}", "{name: nvidia.com/gpu, weight: 3}"))
    return path


def test_a_profile_that_may_not_pack_is_a_warning(tmp_path: Path) -> None:
    outcome = run("compile", weak(tmp_path), "--target", "scheduler")

    assert outcome.err == (
        "warning: profile gpu-binpack may not pack: weight 3 beside 2 on nodes of 8, "
        "but 19 is the smallest that always wins (from 17 on it may tie)\n"
    )


def without_profiles(tmp_path: Path) -> Path:
    document = yaml.safe_load(TEXT)
    del document["spec"]["scheduler"]
    path = tmp_path / "bare.yaml"
    path.write_text(yaml.safe_dump(document))
    return path


@pytest.mark.parametrize("option", ["--explain", "--scheduler-config"])
def test_a_policy_without_profiles_has_nothing_to_show(option: str, tmp_path: Path) -> None:
    outcome = run("compile", without_profiles(tmp_path), option)

    assert (outcome.status, outcome.err) == (
        2,
        "error: the policy has no scheduler profiles (spec.scheduler.profiles)\n",
    )


def test_a_target_that_gives_nothing_is_no_success(tmp_path: Path) -> None:
    outcome = run("compile", without_profiles(tmp_path), "--target", "scheduler")

    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err == (
        "error: the policy gives nothing to write for target scheduler; scheduler needs profiles in the policy, "
        "nodes a guard, a GPU type found by nvidia.com/ labels, or --nodes FILE\n"
    )
