"""The policy as text, with a comment on every part, so that a newcomer knows what to edit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gpupolicy.discovery.demand import Demand
from gpupolicy.discovery.existing import Existing
from gpupolicy.discovery.fleet import Fleet
from gpupolicy.discovery.gpu_types import FoundType
from gpupolicy.discovery.partition import FoundClaim, FoundGroup
from gpupolicy.discovery.profiles import FoundProfile, FoundScheduler
from gpupolicy.discovery.yaml_text import WIDTH, comment, flow, scalar, wrapped
from gpupolicy.errors import counted
from gpupolicy.labels import LabelSelector
from gpupolicy.model import API_VERSION, KIND, PLACEHOLDER_IMAGE, StrategyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Everything that the text says. ``scheduler_by_group``: names of profiles, where there are several."""

    name: str
    source: str
    fleet: Fleet
    existing: Existing
    types: tuple[FoundType, ...]
    request_sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    groups: tuple[FoundGroup, ...]
    kept: frozenset[str] = frozenset()
    scheduler: FoundScheduler
    scheduler_by_group: Mapping[str, str] = field(default_factory=dict)
    demand: Demand
    notes: tuple[str, ...] = ()


def write_policy(draft: Draft) -> str:
    """Returns the policy as YAML with comments."""
    lines = [*_header(draft), *_labels(draft), *_types(draft), *_groups(draft)]
    lines += [*_scheduler(draft), *_admission(draft), *_webhook()]
    return "".join(f"{line}\n".replace(" \n", "\n") for line in lines)


def _header(draft: Draft) -> Iterator[str]:
    fleet = draft.fleet
    kinds = "1 GPU type" if len(draft.types) == 1 else f"{len(draft.types)} GPU types"
    slices = " and slices" if any(one.is_slice for one in draft.types) else ""
    written = (
        f"Written by gpupolicy init from {draft.source}: {counted(len(fleet.nodes), 'GPU node')} of {fleet.seen}, "
        f"{counted(fleet.gpus, 'GPU')}{slices}, {kinds}. It is a proposal: read it, edit it, then judge and try it:"
    )
    yield from comment(written, "")
    yield "#   gpupolicy lint POLICY               # is it sound?"
    yield "#   gpupolicy nodes plan POLICY         # which labels would change?"
    yield "#   gpupolicy audit POLICY --as-planned # who runs today that it would deny or move?"
    yield "# No pod is changed before the webhook is registered; nodes and scheduler come first: docs/first-day.md."
    if draft.notes:
        yield "#"
        yield "# Worth a look:"
        for note in draft.notes:
            yield from comment(note, "", bullet="- ")
    yield f"apiVersion: {API_VERSION}"
    yield f"kind: {KIND}"
    yield f"metadata: {{name: {draft.name}}}"
    yield "spec:"
    yield from comment("The release whose rules hold: that of the newest kubelet.", "  ")
    yield f"  kubernetesVersion: {json.dumps(fleet.kubernetes_version)}"


def _labels(draft: Draft) -> Iterator[str]:
    existing = draft.existing
    yield ""
    yield from comment(
        "The labels that the policy sets on nodes: PREFIX/gpu-type, /node-group, /nvidia-gpu-support.", "  "
    )
    if existing.owns_groups or existing.owns_types:
        yield from comment("The prefix is the one that the nodes have already.", "  ")
    elif existing.group_key is not None:
        yield from comment(f"The nodes have {existing.group_key}, which stays as it is; these come beside it.", "  ")
    else:
        yield from comment("Take a domain of your own before the first node is labelled.", "  ")
    yield "  labels:"
    yield f"    prefix: {scalar(existing.prefix)}"


def _types(draft: Draft) -> Iterator[str]:
    yield ""
    yield from comment(
        "One entry for each kind of GPU node. The name is the value of the gpu-type label; aliases are what pods may "
        "write instead; nodeSelector is how new nodes are recognised; gpusPerNode is what they offer "
        "(status.allocatable).",
        "  ",
    )
    yield "  gpuTypes:"
    for one in draft.types:
        lost = len(one.nodes) - len(one.live)
        without = f", {lost} without GPUs now" if lost else ""
        yield f"    - name: {scalar(one.name)} # {counted(len(one.nodes), 'node')}{without}"
        if one.aliases:
            yield f"      aliases: {flow(one.aliases)}"
        yield f"      resourceName: {scalar(one.resource)}"
        for remark in one.remarks:
            yield from comment(remark, "      ")
        yield f"      gpusPerNode: {one.gpus}"
        yield from _request_sizes(one, draft)
        if one.selector is not None:
            yield from _selector(one.selector, "      ")


def _request_sizes(one: FoundType, draft: Draft) -> Iterator[str]:
    sizes = draft.request_sizes.get(one.name)
    if sizes is None:
        return
    if not one.is_slice:
        yield from comment("Only what a group serves is admitted; add a size here and to a group.", "      ")
    yield f"      requestSizes: {flow(sizes)}"


def _selector(selector: LabelSelector, indent: str) -> Iterator[str]:
    labels = ", ".join(f"{scalar(key)}: {scalar(value)}" for key, value in selector.match_labels.items())
    line = f"{indent}nodeSelector: {{matchLabels: {{{labels}}}}}"
    if not selector.match_expressions and len(line) <= WIDTH:
        yield line
        return
    yield f"{indent}nodeSelector:"
    if selector.match_labels:
        yield f"{indent}  matchLabels:"
        for key, value in selector.match_labels.items():
            yield f"{indent}    {scalar(key)}: {scalar(value)}"
    if selector.match_expressions:
        yield f"{indent}  matchExpressions:"
    for requirement in selector.match_expressions:
        head = f"{indent}    - {{key: {scalar(requirement.key)}, operator: {requirement.operator}"
        if not requirement.values:
            yield f"{head}}}"
            continue
        yield from wrapped(f"{head}, values: [", requirement.values, "]}", f"{indent}       ")


def _groups(draft: Draft) -> Iterator[str]:
    yield ""
    yield from comment(
        "A slot group is a set of nodes for certain request sizes: what is left in it can be counted. weight is a "
        "share of the nodes that no name, selector or count takes; a node keeps its group while its number allows.",
        "  ",
    )
    yield from _describe_demand(draft)
    yield "  slotGroups:"
    for group in draft.groups:
        for remark in group.remarks:
            yield from comment(remark, "    ")
        yield f"    - name: {scalar(group.name)}"
        yield f"      sizes: {flow(group.sizes)}"
        if group.name in draft.scheduler_by_group:
            yield f"      schedulerName: {scalar(draft.scheduler_by_group[group.name])}"
        if group.taint is not None:
            yield f"      taint: {scalar(group.taint)} # as these nodes have it; admission adds the toleration"
        yield "      nodes:"
        for claim in group.claims:
            yield from _claim(claim)
        if group.overflow:
            yield from comment(
                f"One-way: when it is full, its pods may take whole free nodes of {group.overflow[0]}.", "      "
            )
            yield f"      overflow: {flow(group.overflow)}"


def _describe_demand(draft: Draft) -> Iterator[str]:
    if draft.kept:
        yield from comment(f"Kept as the nodes are labelled: {', '.join(sorted(draft.kept))}.", "  ")
    held = draft.demand.gpus_by_size
    if held:
        parts = [f"of {size}: {counted(gpus, 'GPU')}" for size, gpus in held.items()]
        yield from comment(f"What pods hold today, by request: {'; '.join(parts)}.", "  ")


def _claim(claim: FoundClaim) -> Iterator[str]:
    remark = f" # {claim.remark}" if claim.remark else ""
    head = f"        - {{gpuType: {scalar(claim.gpu_type)}"
    if claim.names:
        yield from wrapped(f"{head}, names: [", claim.names, "]}", "           ")
    elif claim.selector is not None:
        labels = ", ".join(f"{scalar(key)}: {scalar(value)}" for key, value in claim.selector.match_labels.items())
        yield f"{head}, nodeSelector: {{matchLabels: {{{labels}}}}}}}{remark}"
    elif claim.count is not None:
        yield f"{head}, count: {claim.count}}}{remark}"
    else:
        yield f"{head}, weight: {claim.weight}}}{remark}"


def _scheduler(draft: Draft) -> Iterator[str]:
    provider = draft.fleet.provider
    yield ""
    yield from comment(
        "How kube-scheduler packs GPU pods. Admission writes the profile's name into them, under warn as well: without "
        "a scheduler of that name they stay Pending. Install it before the webhook (gpupolicy compile --target "
        "scheduler), or begin without: remove spec.scheduler"
        f"{' and the schedulerName of slot groups' if draft.scheduler_by_group else ''}, and pods keep their own.",
        "  ",
    )
    yield "  scheduler:"
    if provider is None:
        yield from comment(
            "profiles: of your own kube-scheduler. On a control plane that somebody else runs write second: a "
            "scheduler of its own beside it.",
            "    ",
        )
        yield "    mode: profiles"
    else:
        yield from comment(
            f"The nodes are of {provider}, whose own kube-scheduler takes no such profiles: a second scheduler beside "
            "it. Two schedulers on the same nodes can race, so let it have the GPU nodes alone.",
            "    ",
        )
        yield "    mode: second"
    yield "    profiles:"
    for profile in draft.scheduler.profiles:
        yield from _profile(profile)
    if draft.scheduler.election:
        yield "    leaderElection:"
        for key, value in draft.scheduler.election.items():
            yield f"      {key}: {scalar(value)}"


def _profile(profile: FoundProfile) -> Iterator[str]:
    for remark in profile.remarks:
        yield from comment(remark, "      ")
    yield f"      - schedulerName: {scalar(profile.name)}"
    yield "        scoringStrategy:"
    yield f"          type: {profile.type}"
    if profile.type is StrategyType.REQUESTED_TO_CAPACITY_RATIO:
        points = ", ".join(f"{{utilization: {p.utilization}, score: {p.score}}}" for p in profile.shape)
        yield f"          shape: [{points}]"
    yield from comment(
        "A GPU has to outvote cpu and memory; gpupolicy compile --explain shows the proof.", "          "
    )
    yield "          resources:"
    for name, weight, remark in profile.weights:
        yield f"            - {{name: {scalar(name)}, weight: {weight}}}{f' # {remark}' if remark else ''}"


def _admission(draft: Draft) -> Iterator[str]:
    yield ""
    yield from comment("What happens to pods that ask for GPUs.", "  ")
    yield "  admission:"
    yield "    requestSizes: powerOfTwo # GPUs that a pod may ask for: 1, 2, 4, ... up to a whole node"
    yield from comment(
        "warn lets every pod in and says what would be denied; it is routed all the same. When gpupolicy audit is "
        "quiet, write deny.",
        "    ",
    )
    yield "    enforcement: warn"
    yield from comment(
        "Label the nodes before the webhook is registered (gpupolicy nodes apply): a routed pod waits for labels. "
        '"off", with its quotes, adds no affinity; the name of the scheduler is written all the same.',
        "    ",
    )
    yield "    routing: required # pods get node affinity to the groups of their size; preferred only leans there"
    yield "    exemptions:"
    found = " with device plugins in them" if draft.demand.is_known else ""
    yield from comment(
        f"Parts of the cluster itself: system namespaces, and those{found or ' of the GPU operator'}.", "      "
    )
    yield f"      - namespaces: {flow(draft.demand.exempt_namespaces)}"
    yield "        reason: parts of the cluster itself"
    yield "      - ownerKinds: [DaemonSet]"
    yield "        reason: one pod a node by design"


def _webhook() -> Iterator[str]:
    yield ""
    yield from comment("The webhook's image: this one is a placeholder that no registry has.", "  ")
    yield "  webhook:"
    yield f"    image: {PLACEHOLDER_IMAGE} # check: build yours (docs/install.md) and name it here"
