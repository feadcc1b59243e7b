from __future__ import annotations

import io
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from policy_texts import policy_text

from gpupolicy.errors import InputError, Severity
from gpupolicy.linting import lint, lint_policy, lint_text
from gpupolicy.loading import load_text

POLICY = """apiVersion: gpupolicy.dev/v1alpha1
kind: GPUPolicy
metadata: {name: example}
spec:
  gpuTypes:
    - {name: V100, gpusPerNode: 8}
  slotGroups:
    - {name: SLOT-ALL, sizes: [1, 2, 4, 8], nodes: [{gpuType: V100, weight: 1}]}
  admission:
    exemptions:
      - {namespaces: [kube-system], reason: parts of the cluster itself, expires: 2026-11-30}
"""
FIVE_FAULTS = """apiVersion: gpupolicy.dev/v1alpha1
kind: GPUPolicy
metadata: {name: Example}
spec:
  gpuTypes:
    - {name: V100, gpusPerNode: 8, resourceName: gpu}
  slotGroups:
    - {name: SLOT-3, sizes: [3], nodes: [{gpuType: V100, weight: 1}]}
    - {name: SLOT-ALL, sizes: [1, 2, 4, 8], nodes: [{gpuType: V10, weight: 1}], overflow: [SLOT-9]}
"""


def found(text: str, **options: object) -> list[tuple[int | None, int | None, str]]:
    """Line, column and rule of what lint finds."""
    return [(f.line, f.column, f.rule) for f in lint_text(text, "p.yaml", **options)]  # type: ignore[arg-type]


def test_five_faults_are_told_in_one_run() -> None:
    errors = [(f.line, f.column, f.rule) for f in lint_text(FIVE_FAULTS, "p.yaml") if f.severity == "error"]

    assert errors == [
        (3, 18, "policy-name-not-dns-label"),
        (6, 50, "resource-name-not-extended"),
        (8, 30, "slot-size-not-admitted"),
        (9, 63, "claim-type-unknown"),
        (9, 92, "overflow-unknown"),
    ]


def test_rules_wait_while_the_shape_is_broken() -> None:
    text = FIVE_FAULTS.replace("gpusPerNode: 8", "gpusPerNode: eight")

    assert found(text) == [(6, 33, "wrong-type")]


def test_the_shape_waits_while_the_text_is_broken() -> None:
    assert found(FIVE_FAULTS + "\t- x\n") == [(10, 1, "yaml-unreadable")]


def test_what_the_reader_found_is_told_with_what_the_rules_found() -> None:
    text = POLICY.replace("name: V100,", "name: V100, aliases: [!x a_],")

    assert found(text) == [(6, 30, "gpu-type-name-not-label"), (6, 30, "yaml-unknown-tag")]


def test_without_a_time_nothing_is_said_about_expiry() -> None:
    assert found(POLICY) == []


@pytest.mark.parametrize(
    ("now", "findings"),
    [
        (datetime(2026, 11, 30, 23, 59, tzinfo=UTC), []),
        (datetime(2026, 12, 1, tzinfo=UTC), [(11, 83, "exemption-expired")]),
    ],
    ids=["last-day", "next-day"],
)
def test_an_exemption_holds_through_its_last_day(now: datetime, findings: list[tuple[int, int, str]]) -> None:
    assert found(POLICY, now=now) == findings


def test_a_typed_policy_can_be_judged_without_a_text() -> None:
    findings = lint_policy(load_text(POLICY), datetime(2027, 1, 1, tzinfo=UTC))

    assert [finding.rule for finding in findings] == ["exemption-expired"]


@pytest.mark.parametrize(
    ("text", "rule", "message", "hint"),
    [
        (
            "apiVersion: v1\nkind: ConfigMap\n",
            "kind-not-linted",
            "documents of kind ConfigMap are not judged by lint",
            "gpupolicy check judges manifests",
        ),
        (
            "apiVersion: v1\nkind: KubeSchedulerConfig\n",
            "kind-not-linted",
            "documents of kind KubeSchedulerConfig are not judged by lint",
            "did you mean KubeSchedulerConfiguration",
        ),
        (
            "gpuTypes: [V100]\n",
            "wrong-kind",
            "the document has no kind; expected is GPUPolicy or another kind that lint knows",
            None,
        ),
        (
            "Kind: GPUPolicy\n",
            "wrong-kind",
            "the document has no kind; expected is GPUPolicy or another kind that lint knows",
            "write kind for Kind",
        ),
        (
            "kind: 8\n",
            "wrong-kind",
            "the document has a kind that is no text; expected is GPUPolicy or another kind that lint knows",
            None,
        ),
        (
            "- a\n",
            "wrong-kind",
            "the document is no mapping; expected is one with apiVersion and kind, such as GPUPolicy",
            None,
        ),
        ("# nothing\n", "nothing-to-lint", "there is nothing to judge: the file holds no document", None),
    ],
    ids=["other-kind", "near-kind", "no-kind", "misspelt-kind", "number-as-kind", "list", "empty"],
)
def test_what_is_not_judged_is_named(text: str, rule: str, message: str, hint: str | None) -> None:
    (finding,) = lint_text(text)

    assert (finding.rule, finding.message, finding.hint) == (rule, message, hint)


def test_a_kind_that_is_nearly_a_policy_is_taken_for_one() -> None:
    (finding,) = lint_text(POLICY.replace("kind: GPUPolicy", "kind: GpuPolicy"))

    assert finding.message == "kind is GpuPolicy; expected is GPUPolicy"


def test_documents_behind_a_broken_one_are_judged() -> None:
    assert found("a: @\n---\n" + POLICY.replace("weight: 1", "weight: 0")) == [
        (1, 4, "yaml-unreadable"),
        (3, 1, "mixed-documents"),
        (10, 77, "claim-weights-all-zero"),
    ]


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a: 1\n")))

    assert [(f.file, f.rule) for f in lint("-")] == [("-", "wrong-kind")]


def test_a_policy_in_a_list_is_an_error_because_no_verb_takes_it_from_there() -> None:
    text = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: gpupolicy.dev/v1alpha1, kind: GPUPolicy}\n"

    (finding,) = lint_text(text)

    assert (finding.rule, finding.severity, finding.hint) == (
        "list-item-not-linted",
        Severity.ERROR,
        "a policy stands alone in its file",
    )


def test_nothing_is_no_policy_to_judge_against(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("# nothing\n")

    with pytest.raises(InputError, match="the file holds no document; expected is a GPUPolicy"):
        lint_text("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n", policy=file)


def test_a_policy_to_judge_against_stands_alone_in_its_file(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(f"{policy_text()}---\n{policy_text()}")

    found = lint_text("apiVersion: v1\nkind: Node\nmetadata: {name: a}\n", policy=file)

    assert "mixed-documents" in [finding.rule for finding in found]


def test_a_file_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        lint(tmp_path / "nothing.yaml")


NODES = "apiVersion: v1\nkind: List\nitems:\n"


def node(name: str, gpus: str = "8", **labels: str) -> str:
    """A node of type V100 as an item of NODES."""
    written = "".join(f", my.gpu.cluster/{key.replace('_', '-')}: {value}" for key, value in labels.items())
    return (
        f"  - apiVersion: v1\n    kind: Node\n    metadata: {{name: {name}, labels: {{my.gpu.cluster/gpu-type: V100"
        f'{written}}}}}\n    status: {{allocatable: {{nvidia.com/gpu: "{gpus}"}}}}\n'
    )


TWO_GROUPS = POLICY.replace(
    "    - {name: SLOT-ALL, sizes: [1, 2, 4, 8], nodes: [{gpuType: V100, weight: 1}]}\n",
    "    - {name: SLOT-SMALL, sizes: [1, 2, 4], nodes: [{gpuType: V100, weight: 1}]}\n"
    "    - {name: SLOT-8, sizes: [8], nodes: [{gpuType: V100, weight: 1}]}\n",
)


class TestInventory:
    def judged(self, tmp_path: Path, nodes: str) -> list[tuple[int | None, str, str]]:
        """What lint says about the policy of two groups beside nodes."""
        file = tmp_path / "nodes.yaml"
        file.write_text(nodes)
        return [(f.line, f.rule, f.message) for f in lint_text(TWO_GROUPS, nodes=file)]

    def test_a_group_without_a_node_is_named(self, tmp_path: Path) -> None:
        assert self.judged(tmp_path, NODES + node("a", node_group="SLOT-SMALL")) == [
            (9, "group-without-nodes", "SLOT-8 has no node")
        ]

    def test_unlabelled_nodes_are_counted_as_they_would_be_labelled(self, tmp_path: Path) -> None:
        assert self.judged(tmp_path, NODES + node("a") + node("b")) == []

    def test_too_few_unlabelled_nodes_leave_a_group_empty(self, tmp_path: Path) -> None:
        assert self.judged(tmp_path, NODES + node("a")) == [(9, "group-without-nodes", "SLOT-8 has no node")]

    def test_what_nodes_offer_counts(self, tmp_path: Path) -> None:
        nodes = NODES + node("a", node_group="SLOT-SMALL") + node("b", "7", node_group="SLOT-8")

        assert self.judged(tmp_path, nodes) == [
            (
                9,
                "slot-size-larger-than-inventory",
                "SLOT-8 has slots of 8 GPUs, but its largest node offers 7",
            )
        ]

    def test_a_file_without_nodes_is_no_inventory(self, tmp_path: Path) -> None:
        assert self.judged(tmp_path, "apiVersion: v1\nkind: ConfigMap\n") == [
            (
                1,
                "inventory-without-nodes",
                "the inventory holds no Node, so the policy was not judged against any",
            )
        ]

    def test_a_broken_inventory_is_told_by_its_own_place(self, tmp_path: Path) -> None:
        assert self.judged(tmp_path, "a: @\n")[0][:2] == (1, "yaml-unreadable")
