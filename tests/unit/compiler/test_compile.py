"""The public function, and how manifests become a stream or files."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import TYPE, node, policy

import gpupolicy
from gpupolicy.compiler import TARGET_NAMES, Manifest, Order, compile, compile_manifests
from gpupolicy.compiler.rendering import render_configuration, render_files, render_stream
from gpupolicy.errors import UsageError
from gpupolicy.model import LeaderElection, Origin, Policy, SchedulerMode

POLICY = replace(policy(), origin=Origin(file="some/where/policy.yaml", text="kind: GPUPolicy\n"))
HEADER = f"# gpupolicy {gpupolicy.__version__} compiled this from policy test (policy.yaml).\n"


def kinds(*targets: str, **given: object) -> list[object]:
    return [document["kind"] for document in compile(POLICY, targets or TARGET_NAMES, **given)]  # type: ignore[arg-type]


def test_all_targets_are_compiled_in_their_order() -> None:
    every = kinds()

    assert every == [*kinds("scheduler"), *kinds("nodes"), *kinds("webhook")]
    assert every[0] == "KubeSchedulerConfiguration"


def test_the_order_of_the_targets_given_does_not_matter() -> None:
    assert kinds("webhook", "scheduler") == kinds("scheduler", "webhook")


def test_nodes_are_compiled_where_a_list_is_given() -> None:
    assert kinds("nodes", nodes=iter([node("n1", labels={TYPE: "V100"})]))[-1] == "Node"


def test_an_object_that_two_targets_need_stands_once() -> None:
    scheduler = replace(POLICY.scheduler, mode=SchedulerMode.SECOND, leader_election=LeaderElection())

    found = [m.path for m in compile_manifests(Order(policy=replace(POLICY, scheduler=scheduler)))]

    assert found.count("namespace.yaml") == 1


def test_two_objects_of_one_name_are_refused_instead_of_losing_one() -> None:
    lease = LeaderElection(resource_name=POLICY.webhook.name, resource_namespace=POLICY.webhook.namespace)
    scheduler = replace(POLICY.scheduler, mode=SchedulerMode.SECOND, leader_election=lease)

    with pytest.raises(
        UsageError, match=r"^two different ServiceAccounts would be called gpu-system/gpupolicy-webhook: "
    ):
        compile(replace(POLICY, scheduler=scheduler))


def test_an_unknown_target_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r'^there is no target "node"; did you mean nodes$'):
        compile(POLICY, ("node",))


def test_the_package_offers_the_function_more_than_once() -> None:
    """A submodule of that name would take its place at the first import."""
    assert gpupolicy.compile is gpupolicy.compile is compile


def manifest(name: str, path: str, *remarks: str, kept_apart: str | None = None) -> Manifest:
    document: dict[str, object] = {"apiVersion": "v1", "kind": "X", "metadata": {"name": name}}
    return Manifest(document=document, path=path, remarks=remarks, kept_apart=kept_apart)


def body(name: str) -> str:
    return f"apiVersion: v1\nkind: X\nmetadata:\n  name: {name}\n"


def test_every_document_of_a_stream_has_its_header() -> None:
    stream = render_stream(
        POLICY, [manifest("a", "a.yaml"), manifest("b", "b.yaml", "about b", kept_apart="is a file")]
    )

    assert stream == f"{HEADER}{body('a')}---\n{HEADER}# This is a file.\n# about b\n{body('b')}"


def test_a_folder_lists_for_kustomize_what_kubectl_can_take() -> None:
    files = render_files(POLICY, [manifest("a", "z/a.yaml"), manifest("b", "b.yaml", kept_apart="is a file")])

    assert [(file.path, file.text) for file in files] == [
        ("b.yaml", f"{HEADER}# This is a file.\n{body('b')}"),
        (
            "kustomization.yaml",
            f"{HEADER}# Not listed: b.yaml is a file.\napiVersion: kustomize.config.k8s.io/v1beta1\n"
            "kind: Kustomization\nresources:\n- z/a.yaml\n",
        ),
        ("z/a.yaml", f"{HEADER}{body('a')}"),
    ]


def test_documents_of_one_path_share_a_file() -> None:
    (file, _) = render_files(POLICY, [manifest("a", "a.yaml"), manifest("b", "a.yaml")])

    assert file.text == f"{HEADER}{body('a')}---\n{HEADER}{body('b')}"


def test_a_folder_with_nothing_to_apply_has_no_kustomization() -> None:
    """Kustomize calls an empty one an error."""
    assert [file.path for file in render_files(POLICY, [manifest("a", "a.yaml", kept_apart="is a file")])] == ["a.yaml"]


def test_a_file_name_cannot_break_out_of_the_header() -> None:
    odd: Policy = replace(POLICY, origin=Origin(file="a\nkind: Secret"))

    assert render_stream(odd, [manifest("a", "a.yaml")]).splitlines()[0].endswith("(a kind: Secret).")


def test_the_configuration_alone_is_headed_by_the_proof() -> None:
    lines = render_configuration(POLICY).splitlines()

    assert lines[1].startswith("# kube-scheduler ignores its flag --kubeconfig")
    assert lines[3].startswith("# Profile gpu-binpack packs (MostAllocated)")
    assert "kind: KubeSchedulerConfiguration" in lines
