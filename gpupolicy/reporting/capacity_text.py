"""Capacity as a table for people, with bars as wide as the terminal allows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gpupolicy.errors import counted, shown
from gpupolicy.inventory.figures import Capacity, GroupRoom, Outlook, Release, Slots, Stranded, TypeRoom
from gpupolicy.inventory.misplaced import Misplaced
from gpupolicy.reporting.columns import align

_MOST_LISTED = 5
_MOST_RELEASES = 3
_NARROWEST_BAR, _WIDEST_BAR = 8, 32
_HEAD = ("SLOT GROUP", "NODES", "GPUS", "USED", "FREE", "SIZE", "SLOTS", "USED", "FREE", "BLOCKED")
_REASONS = {
    "leftover": "left over, fewer than a request",
    "cpu": "no cpu left",
    "memory": "no memory left",
    "pods": "no room for more pods",
    "cordoned": "cordoned",
    "tainted": "tainted",
    "not-ready": "not ready",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """How wide a line may be, and whether the terminal shows colours."""

    width: int = 100
    colour: bool = False


_PLAIN = Page()


def format_capacity(capacity: Capacity, page: Page = _PLAIN) -> str:
    """Returns the figures as text."""
    lines: list[str] = []
    for gpu_type in capacity.types:
        lines += [*_type_lines(gpu_type, [g for g in capacity.groups if g.gpu_type == gpu_type.gpu_type], page), ""]
    parts = (_stranded, _releases, _pods, _nodes, _findings)
    for part in parts:
        if found := list(part(capacity)):
            lines += [*found, ""]
    if capacity.what_if is not None:
        lines += [*_what_if(capacity, capacity.what_if), ""]
    return "\n".join(line.rstrip() for line in lines[:-1]) + "\n"


def summarize_capacity(capacity: Capacity) -> str:
    """Returns one line: what was read."""
    return f"{counted(capacity.nodes_read, 'node')} and {counted(capacity.pods_read, 'pod')} read"


def _type_lines(gpu_type: TypeRoom, groups: Sequence[GroupRoom], page: Page) -> Iterator[str]:
    gpus = gpu_type.gpus
    if not gpu_type.nodes:
        yield f"{gpu_type.gpu_type}: no node in a slot group"
        return
    over = f", {gpus.overcommitted} overcommitted" if gpus.overcommitted else ""
    yield (
        f"{gpu_type.gpu_type}: {counted(gpu_type.nodes, 'node')}, {counted(gpus.total, 'GPU')}: {gpus.used} used, "
        f"{gpus.free} free ({gpu_type.stranded} of them stranded){over}"
    )
    yield f"largest request that fits now: {gpu_type.largest_fit or 'none'}"
    rows = [(row, slots) for group in groups for row, slots in _rows(group)]
    yield from _table(rows, page)


def _rows(group: GroupRoom) -> Iterator[tuple[tuple[str, ...], Slots | None]]:
    """Yields a row for each size, the group's own amounts in the first alone; a + marks sizes of overflow.

    Nodes of a group to which nobody is sent on this type have a row, too, for their GPUs are in the sum above.
    """
    gpus = group.gpus
    head: tuple[str, ...] = (group.slot_group, str(group.nodes), str(gpus.total), str(gpus.used), str(gpus.free))
    for mark, slots in (*(("", s) for s in group.slots), *(("+", s) for s in group.overflow_slots)):
        amounts = (slots.total, slots.used, slots.free, slots.blocked)
        yield (*head, f"{mark}{slots.size}", *map(str, amounts)), slots
        head = ("",) * len(head)
    if group.nodes and not (group.slots or group.overflow_slots):
        yield (*head, "", "", "", "", ""), None


def _table(rows: Sequence[tuple[tuple[str, ...], Slots | None]], page: Page) -> Iterator[str]:
    head, *lines = align([_HEAD, *(row for row, _ in rows)], numbers=True)
    bar = min(_WIDEST_BAR, page.width - len(head) - 4)
    yield head
    for line, (_, slots) in zip(lines, rows, strict=True):
        yield f"{line}  {_bar(slots, bar, page)}" if slots and bar >= _NARROWEST_BAR else line


def _bar(slots: Slots, width: int, page: Page) -> str:
    """Returns used # blocked x free . to scale; what is not 0 has at least one character where there is room."""
    parts = _to_scale((slots.used, slots.blocked, slots.free), width)
    painted = (_painted(sign * n, code, page) for sign, n, code in zip("#x.", parts, ("0", "33", "32"), strict=True))
    return f"[{''.join(painted)}]"


def _to_scale(amounts: tuple[int, ...], width: int) -> list[int]:
    whole = sum(amounts)
    if not whole:
        return [0] * len(amounts)
    width = min(width, whole)
    shares = [max(1, amount * width // whole) if amount else 0 for amount in amounts]
    shares[max(range(len(amounts)), key=lambda i: amounts[i])] += width - sum(shares)
    return shares


def _painted(text: str, code: str, page: Page) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if page.colour and text and code != "0" else text


def _stranded(capacity: Capacity) -> Iterator[str]:
    found = [(group, stranded) for group in capacity.groups for stranded in group.stranded_by]
    if found:
        yield "free GPUs that nobody can take now:"
    for group, stranded in found:
        yield f"  {_place(group)}: {counted(stranded.gpus, 'GPU')} {_REASONS[stranded.reason]}: {_named(stranded)}"


def _named(stranded: Stranded) -> str:
    return _listed(stranded.nodes, stranded.node_count)


def _releases(capacity: Capacity) -> Iterator[str]:
    ending = [group for group in capacity.groups if group.releases]
    if ending:
        yield "what becomes free when, if nothing new comes:"
    for group in ending:
        told = list(_gains(group))[:_MOST_RELEASES]
        for release in told:
            free = ", ".join(f"{n} of size {size}" for size, n in release.free_slots.items())
            yield f"  {_place(group)}: {_when(release.at, capacity.now)}: free slots {free}"
        moments = len(group.releases) + group.more_releases
        held = f"{counted(group.gpus_without_end, 'GPU')} held by pods that do not say when they end"
        yield f"  {_place(group)}: {counted(moments, 'moment')} known; {held}"


def _gains(group: GroupRoom) -> Iterator[Release]:
    """Yields the releases after which there are more free slots than before."""
    free = {slots.size: slots.free for slots in (*group.slots, *group.overflow_slots)}
    for release in group.releases:
        if release.free_slots != free:
            yield release
        free = dict(release.free_slots)


def _when(at: datetime, now: datetime | None) -> str:
    told = at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    if now is None:
        return told
    return f"{told} (overdue)" if at < now else f"{told} (in {_span(at - now)})"


def _span(span: timedelta) -> str:
    minutes = int(span.total_seconds()) // 60
    days, hours, minutes = minutes // 1440, minutes // 60 % 24, minutes % 60
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def _pods(capacity: Capacity) -> Iterator[str]:
    if capacity.pending:
        sizes = ", ".join(f"{pending.pods} of {counted(pending.size, 'GPU')}" for pending in capacity.pending)
        yield f"waiting pods: {sizes}"
    if capacity.misplaced:
        yield f"misplaced: {counted(len(capacity.misplaced), 'pod')} where the policy would not put them"
        yield from _misplaced(capacity.misplaced)


def _misplaced(misplaced: Sequence[Misplaced]) -> Iterator[str]:
    for each in misplaced[:_MOST_LISTED]:
        yield f"  {shown(each.pod.namespace)}/{shown(each.pod.name)}: {shown(each.message, 300)}"
    if more := misplaced[_MOST_LISTED:]:
        by_reason = Counter(str(each.reason) for each in more)
        yield f"  and {len(more)} more ({', '.join(f'{reason} {n}' for reason, n in sorted(by_reason.items()))})"


def _nodes(capacity: Capacity) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    free: Counter[str] = Counter()
    for node in capacity.unlabelled:
        by_reason.setdefault(node.reason, []).append(node.node)
        free[node.reason] += node.gpus.free
    for reason, names in sorted(by_reason.items()):
        told = f"{counted(len(names), 'GPU node')} in no slot group ({counted(free[reason], 'GPU')} free)"
        yield f"{told}: {_listed(names, len(names))}; reason: {shown(reason)}"
    used: Counter[str] = Counter()
    for each in capacity.uncounted:
        used[each.reason] += each.used
    for reason, names in _together((node.reason, node.node) for node in capacity.uncounted):
        held = f" ({counted(used[reason], 'GPU')} used)" if used[reason] else ""
        told = f"{counted(len(names), 'node')} not counted{held}"
        yield f"{told}, {shown(reason, 300)}: {_listed(names, len(names))}"


def _together(pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    names: dict[str, list[str]] = {}
    for reason, name in pairs:
        names.setdefault(reason, []).append(name)
    yield from sorted(names.items())


def _findings(capacity: Capacity) -> Iterator[str]:
    for finding in capacity.findings:
        yield f"{finding.severity}: {shown(finding.message, 500)} [{finding.rule}]"


def _what_if(capacity: Capacity, outlook: Outlook) -> Iterator[str]:
    yield f"what if {'; '.join(outlook.changes)}:"
    for moved in outlook.nodes[:_MOST_LISTED]:
        yield f"  {shown(moved.node)} ({moved.gpu_type}): {moved.source or 'new'} -> {moved.target or 'taken away'}"
    if (more := len(outlook.nodes) - _MOST_LISTED) > 0:
        yield f"  and {more} more nodes"
    before = {(group.gpu_type, group.slot_group): group for group in capacity.groups}
    for group in outlook.groups:
        yield from _difference(before.get((group.gpu_type, group.slot_group)), group)
    for old, new in zip(capacity.types, outlook.types, strict=True):
        if old.largest_fit != new.largest_fit:
            fits = f"{old.largest_fit or 'none'} -> {new.largest_fit or 'none'}"
            yield f"  {new.gpu_type}: largest request that fits: {fits}"
    yield f"  misplaced pods: {len(capacity.misplaced)} -> {len(outlook.misplaced)}"
    if outlook.displaced:
        names = [shown(name) for name in outlook.displaced]
        yield f"  GPU pods on nodes taken away: {_listed(names, len(names))}"


def _difference(before: GroupRoom | None, after: GroupRoom) -> Iterator[str]:
    """Yields what changes in a group; nothing where nothing does."""
    changes = [] if before is None else list(_changes(before, after))
    if changes:
        yield f"  {_place(after)}: {', '.join(changes)}"


def _changes(before: GroupRoom, after: GroupRoom) -> Iterator[str]:
    def change(what: str, amount: Callable[[GroupRoom], int]) -> Iterator[str]:
        if amount(before) != amount(after):
            yield f"{what} {amount(before)} -> {amount(after)}"

    yield from change("nodes", lambda group: group.nodes)
    yield from change("GPUs free", lambda group: group.gpus.free)
    yield from change("stranded", lambda group: group.stranded)
    old = (*before.slots, *before.overflow_slots)
    for one, other in zip(old, (*after.slots, *after.overflow_slots), strict=True):
        if (one.total, one.free) != (other.total, other.free):
            yield f"slots of {one.size}: {one.total} -> {other.total} (free {one.free} -> {other.free})"


def _place(group: GroupRoom) -> str:
    return f"{group.slot_group} of {group.gpu_type}"


def _listed(names: Sequence[str], count: int) -> str:
    told = [shown(name) for name in names[:_MOST_LISTED]]
    more = count - len(told)
    return ", ".join(told) + (f" and {more} more" if more else "")
