"""The tolerations that let a pod onto the tainted nodes of its slot groups: added where none covers, never doubled."""

from __future__ import annotations

from collections.abc import Iterable

from gpupolicy.model import Taint, TaintEffect
from gpupolicy.pod import JSONMap, PodView

Operation = dict[str, object]


def find_untolerated(view: PodView, taints: Iterable[Taint]) -> tuple[Taint, ...]:
    """Returns the taints that no toleration of the pod covers, in their order."""
    wanted = tuple(taints)
    if not wanted:
        return ()
    present = list(view.tolerations)
    return tuple(taint for taint in wanted if not any(_covers(toleration, taint) for toleration in present))


def add_tolerations(view: PodView, taints: tuple[Taint, ...], *, has_list: bool = False) -> list[Operation]:
    """Returns the operations that add a toleration for each of the taints; ``has_list``: others are added before."""
    added = [_to_json(taint) for taint in taints]
    if added and not has_list and view.spec.get("tolerations") is None:
        return [{"op": "add", "path": "/spec/tolerations", "value": added}]
    return [{"op": "add", "path": "/spec/tolerations/-", "value": toleration} for toleration in added]


def remove_tolerations(view: PodView, taints: Iterable[Taint]) -> list[Operation]:
    """Returns the operations that remove what an earlier run of ours added for the taints; last first."""
    outdated = [_to_json(taint) for taint in taints]
    if not outdated:
        return []
    places = [index for index, toleration in enumerate(view.tolerations) if toleration in outdated]
    return [{"op": "remove", "path": f"/spec/tolerations/{index}"} for index in reversed(places)]


def _covers(toleration: JSONMap, taint: Taint) -> bool:
    """Returns whether a toleration covers a taint for good: one that ends after some seconds does not.

    An empty effect or key covers every one. Lt and Gt compare numbers, which the names of groups are not.
    Source: kubernetes/api core/v1 toleration.go, ToleratesTaint.
    """
    if toleration.get("effect") not in (None, "", taint.effect) or toleration.get("key") not in (None, "", taint.key):
        return False
    if taint.effect == TaintEffect.NO_EXECUTE and toleration.get("tolerationSeconds") is not None:
        return False
    if toleration.get("operator") in (None, "", "Equal"):
        return (toleration.get("value") or "") == taint.value
    return toleration.get("operator") == "Exists"


def _to_json(taint: Taint) -> Operation:
    return {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}
