"""``gpupolicy explain``: the story, exactly."""

from __future__ import annotations

from textwrap import dedent

from commands import POLICY, run

CRON_JOB = """\
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: team-a}
spec:
  jobTemplate:
    spec:
      template:
        spec:
          initContainers:
          - {name: side, restartPolicy: Always, resources: {limits: {nvidia.com/gpu: 1}}}
          containers:
          - {name: train, resources: {limits: {nvidia.com/gpu: %d}}}
"""


def test_an_allowed_pod_has_a_story() -> None:
    phases = (
        "containers and sidecars add up; an init container runs before them, beside the sidecars started so far; "
        "the larger phase counts"
    )

    weights = "cpu 1, memory 1, nvidia.com/gpu 100"

    outcome = run("explain", POLICY, "-", stdin=CRON_JOB % 1)

    assert outcome.out == dedent(
        f"""\
        CronJob team-a/nightly spec.jobTemplate.spec.template.spec (<stdin>:1): allowed
          asks for:
            1 nvidia.com/gpu in sidecar side (spec.jobTemplate.spec.template.spec.initContainers[0])
            1 nvidia.com/gpu in container train (spec.jobTemplate.spec.template.spec.containers[0])
            2 nvidia.com/gpu in effect: {phases}
          because:
            admitted are 1, 2, 4, 8 ({POLICY}:21)
            SLOT-2 serves 2 ({POLICY}:11)
            gpu-binpack scores by MostAllocated ({weights}) ({POLICY}:16)
          goes to:
            slot group SLOT-2
            GPU type V100
            scheduler gpu-binpack
          changed in the pod at admission:
            + spec.affinity:
                nodeAffinity:
                  requiredDuringSchedulingIgnoredDuringExecution:
                    nodeSelectorTerms:
                    - matchExpressions:
                      - key: my.gpu.cluster/node-group
                        operator: In
                        values:
                        - SLOT-2
            + spec.schedulerName: gpu-binpack
            + metadata:
                annotations:
                  gpupolicy.dev/routed-to: SLOT-2
          then the scheduler:
            the control plane's scheduler places it by its profile gpu-binpack
            it looks only at nodes of SLOT-2 (V100) with 2 nvidia.com/gpu free
            of those it takes the fullest, so that whole nodes stay free (by weight: {weights})
            where none has room the pod waits, whatever room there is in other groups
        """
    )


def test_a_denied_pod_has_a_story() -> None:
    outcome = run("explain", POLICY, "-", stdin=CRON_JOB % 4)

    assert outcome.status == 1
    assert outcome.out.splitlines()[-2:] == [
        "  findings:",
        f"    <stdin>:10:86: error: the pod asks for 5 GPUs; admitted are 1, 2, 4, 8 ({POLICY}:21); ask for 4 or 8 "
        "[request-size-not-admitted]",
    ]


def test_what_is_not_judged_says_why() -> None:
    text = (CRON_JOB % 4).replace("team-a", "kube-system")

    assert run("explain", POLICY, "-", stdin=text).out.splitlines()[:2] == [
        "CronJob kube-system/nightly spec.jobTemplate.spec.template.spec (<stdin>:1): not judged",
        f"  exempt: parts of the cluster ({POLICY}:23)",
    ]


def test_json_adds_to_the_entries_of_a_check() -> None:
    checked = run("check", POLICY, "-", "--format", "json", stdin=CRON_JOB % 1).json["objects"][0]

    report = run("explain", POLICY, "-", "--format", "json", stdin=CRON_JOB % 1).json

    (entry,) = report["objects"]
    assert (report["kind"], {key: entry[key] for key in checked}) == ("ExplainReport", checked)
    assert [share["name"] for share in entry["containers"]] == ["side", "train"]
    assert entry["patch"][1] == {"op": "add", "path": "/spec/schedulerName", "value": "gpu-binpack"}
    assert (entry["counting"][:31], entry["scheduling"][3][:19], entry["exemption"]) == (
        "containers and sidecars add up;",
        "where none has room",
        None,
    )


def test_json_tells_the_exemption_that_holds() -> None:
    text = (CRON_JOB % 4).replace("team-a", "kube-system")

    (entry,) = run("explain", POLICY, "-", "--format", "json", stdin=text).json["objects"]

    assert entry["exemption"] == {
        "reason": "parts of the cluster",
        "owner": None,
        "expires": None,
        "place": f"{POLICY}:23",
    }


def test_nothing_to_explain_is_no_success() -> None:
    outcome = run("explain", POLICY, "-", stdin="")

    assert (outcome.status, outcome.out, outcome.err) == (
        2,
        "",
        "error: nothing was explained: no Kubernetes object in -\n",
    )


def test_what_cannot_be_read_is_told() -> None:
    outcome = run("explain", POLICY, "-", stdin="a: [\n")

    assert (outcome.status, outcome.err.splitlines()[-1]) == (2, "error: something could not be read")


def test_a_policy_in_place_of_manifests_is_no_success() -> None:
    outcome = run("explain", POLICY, POLICY)

    assert (outcome.status, outcome.err.splitlines()[-1]) == (
        2,
        f"error: nothing was explained: {POLICY} is a policy itself; manifests follow POLICY",
    )


def test_what_cannot_be_read_is_told_once_as_in_a_check() -> None:
    outcome = run("explain", POLICY, "-", stdin="name: {{ .Values.name }}\n")

    assert (outcome.status, [line.rpartition(" ")[2] for line in outcome.err.splitlines()]) == (
        2,
        ["[template-not-rendered]", "read"],
    )


def test_an_error_outside_of_objects_has_the_exit_status_of_a_check() -> None:
    text = f"- no object\n---\n{CRON_JOB % 1}"

    assert (run("explain", POLICY, "-", stdin=text).status, run("check", POLICY, "-", stdin=text).status) == (1, 1)
