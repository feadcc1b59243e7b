"""Evicts pods through the Eviction API, so that PodDisruptionBudgets are honoured, and waits until they are gone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from gpupolicy.cluster.api import Api
from gpupolicy.cluster.errors import ApiError, ConflictError, ForbiddenError, NotFoundError, UnauthorizedError
from gpupolicy.node import JSONMap

_AGAIN_SECONDS = 5.0  # as kubectl drain asks again after a refusal
_LOOK_SECONDS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class PodName:
    """A pod on a node; ``uid`` keeps a later pod of the same name safe."""

    namespace: str
    name: str
    uid: str = field(default="", compare=False)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def path(self) -> str:
        """The pod's path in the API."""
        return f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clock:
    """The time of a wait, in seconds; a test brings its own."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


OnWait = Callable[[PodName, str], None]


@dataclass(slots=True)
class _Wish:
    """A pod that is to go: when to ask (again), whether the API server has agreed, and what it said last."""

    pod: PodName
    ask_at: float
    is_agreed: bool = False
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evicted:
    """``gone`` are pods that are no more; ``left`` are others, with the reason."""

    gone: tuple[PodName, ...] = ()
    left: Mapping[PodName, str] = field(default_factory=dict)


def evict(
    api: Api,
    pods: Iterable[PodName],
    *,
    timeout_seconds: float,
    clock: Clock,
    on_gone: Callable[[PodName], None] = lambda pod: None,
    on_wait: OnWait = lambda pod, said: None,
) -> Evicted:
    """Evicts pods and waits for their end.

    A refusal by a PodDisruptionBudget (429) is waited for, as long as the API server asks, and then tried again.

    Args:
        api: the API server.
        pods: the pods.
        timeout_seconds: after this time the rest is left; it counts for all pods together.
        clock: the time.
        on_gone: told of each pod that is no more.
        on_wait: told of each pod that has to wait, and what the API server said, once for each new reason.

    Returns:
        Which pods are gone, and why others are left.

    Raises:
        ClusterError: the API server does not answer, or forbids evictions; what was evicted is told by ``on_gone``.
    """
    start = clock.now()
    wishes = {pod: _Wish(pod, start) for pod in sorted(pods)}
    gone: list[PodName] = []
    while wishes:
        for wish in tuple(wishes.values()):
            if _is_gone(api, wish, clock.now(), on_wait):
                del wishes[wish.pod]
                gone.append(wish.pod)
                on_gone(wish.pod)
        if clock.now() - start >= timeout_seconds:
            break
        if wishes:
            clock.sleep(_LOOK_SECONDS)
    return Evicted(gone=tuple(gone), left={wish.pod: _why_left(wish, timeout_seconds) for wish in wishes.values()})


def ask_once(api: Api, pod: PodName) -> str:
    """Returns why a pod would not be evicted now; empty: it would. Nothing is evicted."""
    try:
        api.post(f"{pod.path}/eviction", _eviction(pod), {"dryRun": "All"})
    except NotFoundError:
        return ""
    except (ForbiddenError, UnauthorizedError):
        raise
    except ApiError as refusal:
        return find_budgets(refusal) or str(refusal)
    return ""


def _is_gone(api: Api, wish: _Wish, now: float, on_wait: OnWait) -> bool:
    """Asks for the eviction where it is due, and looks whether the pod has ended."""
    if not wish.is_agreed and now < wish.ask_at:
        return False
    if not wish.is_agreed:
        try:
            api.post(f"{wish.pod.path}/eviction", _eviction(wish.pod))
            wish.is_agreed = True
        except (NotFoundError, ConflictError):
            pass  # ended by itself; a conflict: another pod has the name now, or the budget was counted at that moment
        except (ForbiddenError, UnauthorizedError):
            raise
        except ApiError as refusal:
            said = find_budgets(refusal) or str(refusal)
            if said != wish.said:
                on_wait(wish.pod, said)
            wish.said, wish.ask_at = said, now + (refusal.retry_after or _AGAIN_SECONDS)
            return False
    return _has_ended(api, wish.pod)


def _eviction(pod: PodName) -> JSONMap:
    preconditions: JSONMap = {"deleteOptions": {"preconditions": {"uid": pod.uid}}} if pod.uid else {}
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
        **preconditions,
    }


def _has_ended(api: Api, pod: PodName) -> bool:
    try:
        metadata = api.get(pod.path).get("metadata")
    except NotFoundError:
        return True
    uid = metadata.get("uid") if isinstance(metadata, Mapping) else None
    return bool(pod.uid) and uid != pod.uid


def find_budgets(refusal: ApiError) -> str:
    """Returns what the API server says of PodDisruptionBudgets in a refusal, with their names; empty for another."""
    details = refusal.answer.get("details")
    causes = details.get("causes") if isinstance(details, Mapping) else None
    told = (cause for cause in (causes if isinstance(causes, list) else ()) if isinstance(cause, Mapping))
    return "; ".join(str(cause.get("message", "")) for cause in told if cause.get("reason") == "DisruptionBudget")


def _why_left(wish: _Wish, timeout_seconds: float) -> str:
    if wish.is_agreed:
        return f"it was evicted and has not ended within {timeout_seconds:g} s (its grace period may be longer)"
    return f"not within {timeout_seconds:g} s: {wish.said or 'not asked'}"
