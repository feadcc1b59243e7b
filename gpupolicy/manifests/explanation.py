"""How a decision comes about: what each container adds, which line of the policy decides, and what is changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from gpupolicy.admission.claims import each_claim
from gpupolicy.errors import FieldPath, PodShapeError
from gpupolicy.manifests.checking import check_object
from gpupolicy.manifests.judgement import Surroundings, judge_pod
from gpupolicy.manifests.objects import ManifestObject
from gpupolicy.manifests.report import CheckedObject
from gpupolicy.manifests.scheduling import tell_scheduling
from gpupolicy.model import Exemption, Policy, Profile
from gpupolicy.pod import Container, PodView
from gpupolicy.quantity import QuantityError, parse_quantity
from gpupolicy.workloads import PodTemplate, find_pods

_CLAIM = "resource claim"
_OVERHEAD = "overhead"
_ON_TOP = {_CLAIM: "claims", _OVERHEAD: "the overhead"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one part of a pod asks for: amounts as far as readable.

    ``role`` is container, init container, sidecar, overhead (``name`` is the RuntimeClass) or resource claim.
    """

    name: str
    role: str
    field: FieldPath
    gpus: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A statement of the policy that took part in the decision, and where it stands."""

    about: str
    text: str
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exempted:
    """The exemption that a pod uses, and where it stands."""

    exemption: Exemption
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The story of one pod: ``entry`` is what a check says of it, ``causes`` are lines of the policy by rule.

    ``counting`` says how the shares make up the effective request, ``scheduling`` what comes after admission.
    """

    entry: CheckedObject
    shares: tuple[Share, ...] = ()
    counting: str | None = None
    sources: tuple[Source, ...] = ()
    exemption: Exempted | None = None
    patch: tuple[Mapping[str, object], ...] = ()
    scheduling: tuple[str, ...] = ()
    causes: Mapping[str, str] = field(default_factory=dict)


def explain_object(policy: Policy, manifest: ManifestObject, surroundings: Surroundings) -> tuple[Explanation, ...]:
    """Explains the decision on every pod of an object, or why there is none.

    Args:
        policy: the policy.
        manifest: the object.
        surroundings: what the manifest does not say.
    """
    entries = check_object(policy, manifest, surroundings)
    templates = find_pods(policy, manifest.value).templates
    if not templates:
        return tuple(Explanation(entry=entry) for entry in entries)
    return tuple(
        _explain(policy, manifest, template, entry, surroundings)
        for template, entry in zip(templates, entries, strict=True)
    )


def _explain(
    policy: Policy, manifest: ManifestObject, template: PodTemplate, entry: CheckedObject, surroundings: Surroundings
) -> Explanation:
    decision = judge_pod(policy, manifest, template, surroundings).decision
    scheduler = decision.placement.scheduler_name if decision.placement else None
    profile = next((p for p in policy.scheduler.profiles if p.scheduler_name == scheduler), None)
    namespace = surroundings.namespace_of(manifest, template)
    shares = (*_shares(policy, template), *_claimed(policy, template, surroundings, namespace))
    return Explanation(
        entry=entry,
        shares=shares,
        counting=_counting(shares),
        sources=tuple(_sources(policy, entry, profile)),
        exemption=_exempted(policy, decision.exemption),
        patch=decision.patch,
        scheduling=tell_scheduling(policy, template, decision),
        causes={rule: policy.cite(*cause) for rule, cause in decision.causes.items()},
    )


def _counting(shares: tuple[Share, ...]) -> str | None:
    """Says how several shares make up the effective request; one alone needs no word."""
    asking = [share for share in shares if share.gpus]
    if len(asking) < 2:
        return None
    roles = {share.role for share in asking}
    on_top = [told for role, told in _ON_TOP.items() if role in roles]
    if roles <= {"container", *_ON_TOP}:
        return f"{' and '.join(['containers', *on_top])} add up" if on_top else "containers run together and add up"
    return (
        "containers and sidecars add up; an init container runs before them, beside the sidecars started so far; "
        "the larger phase counts"
    ) + (f", and {' and '.join(on_top)} on top" if on_top else "")


def _exempted(policy: Policy, exemption: Exemption | None) -> Exempted | None:
    if exemption is None:
        return None
    index = next(i for i, each in enumerate(policy.admission.exemptions) if each is exemption)
    return Exempted(exemption=exemption, place=policy.cite("spec", "admission", "exemptions", index))


def _shares(policy: Policy, template: PodTemplate) -> Iterator[Share]:
    try:
        view = PodView(template.pod)
    except PodShapeError:
        return
    for container in view.init_containers:
        yield _share(policy, template, container, "sidecar" if container.restartable else "init container")
    for container in view.containers:
        yield _share(policy, template, container, "container")
    if gpus := _counted(policy, view.overhead.items()):
        name = str(view.spec.get("runtimeClassName") or "of no RuntimeClass")
        yield Share(name=name, role=_OVERHEAD, field=template.field_of(("spec", "overhead")), gpus=gpus)


def _claimed(policy: Policy, template: PodTemplate, surroundings: Surroundings, namespace: str) -> Iterator[Share]:
    """Yields the devices of resource claims that are known."""
    try:
        claims = list(each_claim(policy, PodView(template.pod), surroundings.claims, namespace))
    except PodShapeError:
        return
    for place, counted in claims:
        if counted.gpus:
            name = _named(template, place)
            yield Share(name=name, role=_CLAIM, field=template.field_of(place), gpus=counted.gpus)


def _share(policy: Policy, template: PodTemplate, container: Container, role: str) -> Share:
    gpus = _counted(policy, ((name, value) for name, _, value in container.amounts()))
    return Share(name=_named(template, container.field), role=role, field=template.field_of(container.field), gpus=gpus)


def _counted(policy: Policy, amounts: Iterable[tuple[str, object]]) -> dict[str, int]:
    read = ((name, _whole(value)) for name, value in amounts if name in policy.types_by_resource)
    return {name: amount for name, amount in read if amount > 0}


def _named(template: PodTemplate, place: FieldPath) -> str:
    found: Any = template.pod
    for step in place:
        found = found[step]
    return str(found.get("name", "without a name"))


def _whole(value: object) -> int:
    try:
        amount = parse_quantity(value)
    except QuantityError:
        return 0
    return 0 if isinstance(amount, Fraction) else amount


def _sources(policy: Policy, entry: CheckedObject, profile: Profile | None) -> Iterator[Source]:
    placement = entry.placement
    if placement is None:
        return
    size = sum(entry.gpus.values())
    sizes = sorted({n for t in policy.gpu_types if t.name in placement.gpu_types for n in policy.sizes_of(t)})
    yield Source(
        about="size",
        text=f"admitted are {', '.join(map(str, sizes))}",
        place=policy.cite("spec", "admission", "requestSizes"),
    )
    for name in placement.slot_groups:
        index = [group.name for group in policy.slot_groups].index(name)
        group = policy.slot_groups[index]
        served = ", ".join(map(str, group.sizes))
        text = f"{name} serves {served}" if size in group.sizes else f"{name} takes what overflows, and serves {served}"
        yield Source(about="slot group", text=text, place=policy.cite("spec", "slotGroups", index))
    if profile is not None:
        index = policy.scheduler.profiles.index(profile)
        strategy = profile.scoring_strategy
        weights = ", ".join(f"{resource.name} {resource.weight}" for resource in strategy.resources)
        yield Source(
            about="scheduler",
            text=f"{profile.scheduler_name} scores by {strategy.type} ({weights})",
            place=policy.cite("spec", "scheduler", "profiles", index),
        )
