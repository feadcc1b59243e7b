"""Certificates that the webhook manages itself: kept in a Secret, trusted by its registrations. Knows no client.

Replicas need no leader. Each write holds only for the version that was read, so one of several that do the same wins
and the others look again.
"""

from __future__ import annotations

import binascii
import random
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from gpupolicy.certificates.keyring import Keyring, bundle_of, fingerprints, from_data, to_data
from gpupolicy.certificates.rotation import Plan, Step, next_step
from gpupolicy.errors import ClusterError, GPUPolicyError

from .managed_objects import ConflictError, Object, Objects
from .watchers import Watch, Watchers

ROTATE_ANNOTATION = "gpupolicy.dev/rotate"
FIRST_SECONDS = 30.0
POLL_SECONDS = 30.0
FIRST_PAUSE_SECONDS = 1.0
# So many in a row are no race of replicas: something refuses, or somebody else writes all the time.
MOST_CONFLICTS = 20
# Who verifies certificates is the API server, so its clock counts. One clock alone may be wrong, and a certificate of
# another year ends all reviews: nothing is made while the two are further apart than this.
CLOCKS_APART = timedelta(hours=1)
TRUST = "trust"


class ClocksApartError(ClusterError):
    """Our clock and the API server's do not tell the same time."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(kw_only=True)
class SelfManaged:
    """Does what is due, one step at a time.

    Args:
        objects: the Secret and the registrations.
        plan: names and times.
        take: serves what the Secret holds; called whenever that has changed.
        report: takes lines for the operator.
        warn: takes those that need a hand.
        done: told each step that was done, for metrics.
        failed: told when a step could not be done.
        secret_name: and ``namespace``: where the Secret is made if it is missing.
    """

    objects: Objects
    plan: Plan
    take: Callable[[Keyring], None]
    report: Callable[[str], None]
    warn: Callable[[str], None]
    secret_name: str
    namespace: str
    done: Callable[[str], None] = lambda _step: None
    failed: Callable[[], None] = lambda: None
    now: Callable[[], datetime] = _utc_now
    keyring: Keyring | None = field(default=None, init=False)
    _problem: str = field(default="", init=False)
    _conflicts: int = field(default=0, init=False)
    _pause: float = field(default=FIRST_PAUSE_SECONDS, init=False)
    _stopped: threading.Event = field(default_factory=threading.Event, init=False)

    def step(self) -> str | None:
        """Looks at the cluster and does at most one thing.

        The registrations are read before the Secret. So whoever writes a bundle into a registration that has not been
        changed since knows every authority that was in it: an old view cannot take away a newer authority. What is
        kept is served and trusted by whatever clock; what comes next is a matter of time.

        Returns:
            What was done: a step of the rotation, or ``trust`` where a registration was changed; None where nothing is
            due.

        Raises:
            ConflictError: somebody else was faster.
            ClocksApartError: it may be due, but one of the clocks is wrong.
            ClusterError: the API server cannot be asked, or refuses.
            UsageError: the Secret is missing and must not be made.
            InputError: the Secret holds what cannot be read.
        """
        registrations = self.objects.read_registrations()
        secret = self.objects.read_secret()
        found = from_data(_decoded(secret)) if secret else None
        if found is not None:
            self._serve(found)
            if self._trust(registrations, bundle_of(found)):
                return TRUST
        # An emptied Secret gets back what is being served, not another authority that nobody trusts yet.
        step: tuple[Step, Keyring] | None
        if found is None and self.keyring is not None:
            step = Step.BEGIN, self.keyring
        else:
            step = next_step(found, self.plan, now=self._time(), trusted=found is not None, asked=_is_asked(secret))
        if step is None:
            return None
        self._write(secret, step[1])
        self._serve(step[1])
        return str(step[0])

    def _time(self) -> datetime:
        ours = self.now()
        theirs = self.objects.find_time() or ours
        if abs(ours - theirs) > CLOCKS_APART:
            raise ClocksApartError(f"the clock here is {_told_span(ours - theirs)} of the API server's; one is wrong")
        return theirs

    def _serve(self, keyring: Keyring) -> None:
        if self.keyring != keyring:
            self.take(keyring)
        self.keyring = keyring

    def _trust(self, registrations: Sequence[Object], bundle: bytes) -> bool:
        """Changes the first registration that trusts other authorities than ours; tells whether there was one."""
        for registration in registrations:
            if patch := to_patch(registration, bundle):
                self.objects.patch_registration(registration["kind"], patch)
                return True
        return False

    def _write(self, secret: Object | None, keyring: Keyring) -> None:
        data = {key: b64encode(value).decode("ascii") for key, value in to_data(keyring).items()}
        if secret is None:
            metadata: Mapping[str, Any] = {"name": self.secret_name, "namespace": self.namespace}
            head = {"apiVersion": "v1", "kind": "Secret", "type": "Opaque"}
            self.objects.create_secret({**head, "metadata": metadata, "data": data})
            return
        metadata = dict(secret["metadata"])
        if keyring.next_authority is not None:
            kept = {key: value for key, value in metadata.get("annotations", {}).items() if key != ROTATE_ANNOTATION}
            metadata = {**metadata, "annotations": kept}
        self.objects.replace_secret({**secret, "metadata": metadata, "data": data})

    def begin(self, seconds: float = FIRST_SECONDS) -> None:
        """Does what is due until there is a certificate to serve.

        Raises:
            ClusterError: there was none in time, for the reason that is told.
            UsageError: the Secret is missing and must not be made.
            InputError: it holds what cannot be read.
        """
        tries = max(1, int(seconds / FIRST_PAUSE_SECONDS))
        for left in range(tries, 0, -1):
            try:
                self.step()
            except ConflictError:
                self._stopped.wait(random.uniform(0.01, 0.1))
            except ClusterError as error:
                if left == 1:
                    raise ClusterError(f"there is no certificate yet: {error}") from error
                self._stopped.wait(FIRST_PAUSE_SECONDS)
            if self.keyring is not None:
                return
        raise ClusterError("there is no certificate yet: others change the Secret all the time")

    def start(self, watchers: Watchers) -> None:
        """Goes on from a thread of its own until ``stop``."""
        watchers.start(Watch.ROTATION, self.attempt, self._stopped)

    def stop(self) -> None:
        """Ends the thread after the step under way."""
        self._stopped.set()

    def attempt(self) -> float:
        """Does one step and tells of it; returns how many seconds to wait before the next."""
        try:
            step = self.step()
        except ConflictError as error:
            self._conflicts += 1
            return random.uniform(0.05, 0.5) if self._conflicts < MOST_CONFLICTS else self._on_problem(error)
        except GPUPolicyError as error:
            return self._on_problem(error)
        self._conflicts = 0
        if self._problem:
            self.report("certificates: the cluster is asked again")
        self._problem, self._pause = "", FIRST_PAUSE_SECONDS
        if step is None:
            return min(POLL_SECONDS, max(1.0, self.plan.settle.total_seconds() / 4))
        self.done(step)
        self.report(f"certificates: {_TOLD[step]}")
        return 0.0

    def _on_problem(self, error: GPUPolicyError) -> float:
        self.failed()
        told = str(error)
        if told != self._problem:
            self.warn(f"certificates cannot be kept up to date, the last ones go on: {told}")
        pause, self._problem, self._pause = self._pause, told, min(2 * self._pause, POLL_SECONDS)
        return pause


_TOLD = {
    Step.BEGIN: "an authority and a serving certificate were made",
    Step.RENEW: "the serving certificate was made new",
    Step.PREPARE: "the next authority was made",
    Step.CONFIRM: "the registrations trust the next authority",
    Step.PROMOTE: "the next authority signs from now on",
    Step.FORGET: "the previous authority is no longer trusted",
    TRUST: "a registration was told which authorities to trust",
}


def to_patch(registration: Object, bundle: bytes) -> list[dict[str, object]]:
    """Returns the JSON patch by which all hooks of a registration trust a bundle; empty where they do."""
    wanted, text = fingerprints(bundle), b64encode(bundle).decode("ascii")
    operations: list[dict[str, object]] = [
        {"op": "add", "path": f"/webhooks/{position}/clientConfig/caBundle", "value": text}
        for position, hook in enumerate(registration.get("webhooks") or [])
        if fingerprints(_bytes(hook.get("clientConfig", {}).get("caBundle"))) != wanted
    ]
    version = registration["metadata"]["resourceVersion"]
    test: dict[str, object] = {"op": "test", "path": "/metadata/resourceVersion", "value": version}
    return [test, *operations] if operations else []


def _decoded(secret: Object) -> dict[str, bytes]:
    """Returns the entries of a Secret; those that are empty count as missing."""
    return {key: _bytes(value) for key, value in (secret.get("data") or {}).items() if value}


def _bytes(text: str | None) -> bytes:
    try:
        return b64decode(text or "")
    except (binascii.Error, ValueError):
        return b""


def _told_span(span: timedelta) -> str:
    hours = round(abs(span) / timedelta(hours=1))
    told = f"{hours} h" if hours < 48 else f"{hours // 24} days"
    return f"{told} {'ahead' if span > timedelta() else 'behind'}"


def _is_asked(secret: Object | None) -> bool:
    return ROTATE_ANNOTATION in ((secret or {}).get("metadata", {}).get("annotations") or {})
