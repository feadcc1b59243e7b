"""Judging changes only."""

from __future__ import annotations

import pytest
from builders import GPU, policy

from gpupolicy.loading.documents import read_documents
from gpupolicy.manifests.checking import check_documents
from gpupolicy.manifests.comparing import Earlier
from gpupolicy.manifests.report import CheckedObject, Verdict

POLICY = policy()
UNKNOWN_SCHEDULER = "schedulerName: nobody, "


def spec(gpus: object, more: str = "", image: str = "x") -> str:
    return f"{{{more}containers: [{{name: c, image: {image}, resources: {{limits: {{{GPU}: {gpus}}}}}}}]}}"


def deployment(pod_spec: str, name: str = "a", metadata: str = "", template_labels: str = "{}") -> str:
    return (
        f"{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {name}{metadata}}}, "
        f"spec: {{template: {{metadata: {{labels: {template_labels}}}, spec: {pod_spec}}}}}}}"
    )


def job_set(*jobs: tuple[str, int]) -> str:
    listed = ", ".join(
        f"{{name: {name}, template: {{spec: {{template: {{spec: {spec(gpus)}}}}}}}}}" for name, gpus in jobs
    )
    return (
        "{apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet, metadata: {name: a}, "
        f"spec: {{replicatedJobs: [{listed}]}}}}"
    )


def entries(now: str, before: str, *, file: str = "m.yaml", old_file: str = "old.yaml") -> tuple[CheckedObject, ...]:
    earlier = Earlier.from_documents(read_documents(before, old_file))
    return check_documents(POLICY, read_documents(now, file), files=1, earlier=earlier).objects


def only(now: str, before: str) -> CheckedObject:
    (entry,) = entries(now, before)
    return entry


def rules(entry: CheckedObject) -> list[str]:
    return [finding.rule for finding in entry.findings]


@pytest.mark.parametrize(
    ("before", "now"),
    [
        pytest.param(deployment(spec(3)), deployment(spec(3)), id="nothing"),
        pytest.param(deployment(spec(3)), deployment(spec(3, image="z")), id="the-image"),
        pytest.param(deployment(spec(3)), deployment(spec('"3"')), id="how-the-number-is-written"),
        pytest.param(deployment(spec(3)), deployment(spec(3, "schedulerName: default-scheduler, ")), id="a-default"),
        pytest.param(
            deployment(spec(3, UNKNOWN_SCHEDULER)), deployment(spec(3, UNKNOWN_SCHEDULER)), id="several-findings"
        ),
    ],
)
def test_what_did_not_change_in_what_is_judged_passes(before: str, now: str) -> None:
    entry = only(now, before)

    assert (entry.verdict, entry.reason, entry.findings) == (Verdict.SKIP, "unchanged", ())


@pytest.mark.parametrize(
    ("before", "now", "found"),
    [
        pytest.param(deployment(spec(2)), deployment(spec(3)), ["request-size-not-admitted"], id="a-wrong-number"),
        pytest.param(deployment(spec(3)), deployment(spec(5)), ["request-size-not-admitted"], id="from-wrong-to-wrong"),
        pytest.param(
            deployment(spec(2, UNKNOWN_SCHEDULER)),
            deployment(spec(4, UNKNOWN_SCHEDULER)),
            ["scheduler-not-known"],
            id="others-gpus-are-judged-in-full",
        ),
        pytest.param(
            deployment(spec(3)), deployment(spec(3, UNKNOWN_SCHEDULER)), ["scheduler-not-known"], id="a-new-placement"
        ),
        pytest.param(
            deployment(spec(2)),
            deployment(spec(2), template_labels="{x: true}"),
            ["label-value-not-string"],
            id="a-label",
        ),
    ],
)
def test_what_the_change_made_wrong_is_told(before: str, now: str, found: list[str]) -> None:
    assert rules(only(now, before)) == found


def test_a_change_that_makes_nothing_worse_is_allowed_and_says_so() -> None:
    entry = only(deployment(spec(3, "nodeSelector: {zone: a}, ")), deployment(spec(3)))

    assert (entry.verdict, entry.reason, rules(entry)) == (Verdict.ALLOW, "what is wrong in it was so before", [])


def test_the_second_of_two_equal_findings_is_new() -> None:
    before = deployment(spec(2), template_labels="{x: true}")
    now = deployment(spec(2), template_labels="{x: true, z: true}")

    assert [finding.field[-1] for finding in only(now, before).findings] == ["z"]


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("", id="nothing"),
        pytest.param(deployment(spec(3), name="b"), id="another-name"),
        pytest.param(deployment(spec(3), metadata=", namespace: other"), id="another-namespace"),
        pytest.param(deployment(spec(3)).replace("apps/v1", "apps/v1beta1"), id="another-version"),
        pytest.param(deployment(spec(3)).replace("Deployment", "StatefulSet"), id="another-kind"),
    ],
)
def test_what_was_not_there_before_is_judged_in_full(before: str) -> None:
    assert only(deployment(spec(3)), before).verdict is Verdict.DENY


def test_the_default_namespace_may_be_named_or_not() -> None:
    before = deployment(spec(3), metadata=", namespace: default")

    assert only(deployment(spec(3)), before).reason == "unchanged"


def test_an_object_that_moved_to_another_file_is_found() -> None:
    (entry,) = entries(deployment(spec(3)), deployment(spec(3)), file="new/place.yaml", old_file="old/base.yaml")

    assert entry.reason == "unchanged"


def test_an_object_without_a_name_is_new() -> None:
    text = deployment(spec(3)).replace("name: a", "labels: {}")

    assert only(text, text).verdict is Verdict.DENY


def test_generated_names_are_matched_by_their_prefix() -> None:
    text = deployment(spec(3)).replace("name: a", "generateName: a-")

    assert only(text, text).reason == "unchanged"


def test_of_several_with_one_name_the_nearest_path_counts() -> None:
    documents = [
        document
        for file, gpus in (("base/dev/app.yaml", 3), ("base/prod/app.yaml", 2))
        for document in read_documents(deployment(spec(gpus)), file)
    ]
    earlier = Earlier.from_documents(documents)

    def judge(file: str) -> Verdict:
        now = read_documents(deployment(spec(3)), file)
        return check_documents(POLICY, now, files=1, earlier=earlier).objects[0].verdict

    assert (judge("dev/app.yaml"), judge("prod/app.yaml")) == (Verdict.SKIP, Verdict.DENY)


def test_of_equally_near_ones_the_last_counts() -> None:
    (entry,) = entries(deployment(spec(3)), f"{deployment(spec(2))}\n---\n{deployment(spec(3))}\n")

    assert entry.reason == "unchanged"


def test_entries_of_a_list_are_matched_by_their_names() -> None:
    before = job_set(("old", 3), ("fine", 2))
    now = job_set(("new", 4), ("fine", 2), ("old", 3))

    assert [entry.reason for entry in entries(now, before)] == [
        "4 nvidia.com/gpu: slot group SLOT-4, scheduled by gpu-binpack",
        "unchanged",
        "unchanged",
    ]


def test_a_pod_of_a_known_name_that_is_added_again_is_judged() -> None:
    before = job_set(("a", 3))
    now = job_set(("a", 3), ("a", 3))

    assert [entry.verdict for entry in entries(now, before)] == [Verdict.SKIP, Verdict.DENY]


def test_a_repeated_key_that_moved_to_another_line_is_no_new_finding() -> None:
    before = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n  name: a\n"
    now = f"# a comment\n{before}"

    assert only(now, before).findings == ()


def test_an_object_without_pods_tells_what_is_new_in_it() -> None:
    before = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
    now = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {x: true}}}"

    assert (only(now, before).verdict, only(now, now).verdict) == (Verdict.DENY, Verdict.SKIP)
