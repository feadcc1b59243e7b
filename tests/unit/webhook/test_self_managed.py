"""Replicas that manage certificates in one Secret: in any order, and whoever dies, they agree and are trusted."""

from __future__ import annotations

import random
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gpupolicy.certificates import KeyPair
from gpupolicy.certificates.authority import is_issued_by, is_valid_at, read_certificate
from gpupolicy.certificates.keyring import Keyring, fingerprints, from_data
from gpupolicy.certificates.rotation import Plan
from gpupolicy.errors import ClusterError, InputError, UsageError
from gpupolicy.webhook.managed_objects import ConflictError
from gpupolicy.webhook.self_managed import MOST_CONFLICTS, POLL_SECONDS, ROTATE_ANNOTATION, SelfManaged, to_patch
from gpupolicy.webhook.watchers import Watchers

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
PLAN = Plan(names=("gpupolicy-webhook.gpu-system.svc",), settle=timedelta(seconds=60))
KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
REQUESTS = ("read_registrations", "read_secret", "create_secret", "replace_secret", "patch_registration")


class CrashError(Exception):
    """The process died here."""


@dataclass
class FakeCluster:
    """One Secret and two registrations with versions, as etcd keeps them; ``before`` is called before each request.

    ``clock`` is that of the API server; None: it does not tell the time.
    """

    secret: dict[str, Any] | None = None
    registrations: dict[str, dict[str, Any]] = field(default_factory=dict)
    version: int = 0
    clock: Clock | None = None
    before: Any = None
    after: Any = None

    def next_version(self) -> str:
        self.version += 1
        return str(self.version)

    def put_secret(self, data: Mapping[str, str] | None = None, **annotations: str) -> None:
        metadata = {"name": "tls", "annotations": annotations, "resourceVersion": self.next_version()}
        self.secret = {"metadata": metadata, "data": dict(data or {})}

    def register(self, bundle: bytes = b"") -> None:
        for kind, hooks in zip(KINDS, (1, 2), strict=True):
            client = {"caBundle": b64encode(bundle).decode()} if bundle else {}
            self.registrations[kind] = {
                "metadata": {"resourceVersion": self.next_version()},
                "webhooks": [{"clientConfig": dict(client)} for _ in range(hooks)],
            }

    def annotate(self) -> None:
        assert self.secret is not None
        self.put_secret(self.secret["data"], **{ROTATE_ANNOTATION: "now"})

    @property
    def keyring(self) -> Keyring | None:
        data = (self.secret or {}).get("data") or {}
        return from_data({key: b64decode(value) for key, value in data.items()})

    @property
    def bundles(self) -> list[frozenset[bytes]]:
        """What each hook trusts."""
        hooks = [hook for each in self.registrations.values() for hook in each["webhooks"]]
        return [fingerprints(b64decode(hook["clientConfig"].get("caBundle", ""))) for hook in hooks]


@dataclass
class FakeObjects:
    """The cluster as one replica reaches it."""

    cluster: FakeCluster

    def _enter(self, name: str) -> None:
        if self.cluster.before:
            self.cluster.before(name)

    def _leave(self, name: str) -> None:
        if self.cluster.after:
            self.cluster.after(name)

    def find_time(self) -> datetime | None:
        return self.cluster.clock.now() if self.cluster.clock else None

    def read_secret(self) -> Mapping[str, Any] | None:
        self._enter("read_secret")
        return self.cluster.secret

    def create_secret(self, secret: Mapping[str, Any]) -> None:
        self._enter("create_secret")
        if self.cluster.secret is not None:
            raise ConflictError("exists")
        self.cluster.put_secret(secret["data"])
        self._leave("create_secret")

    def replace_secret(self, secret: Mapping[str, Any]) -> None:
        self._enter("replace_secret")
        now = self.cluster.secret
        if now is None or now["metadata"]["resourceVersion"] != secret["metadata"]["resourceVersion"]:
            raise ConflictError("changed")
        self.cluster.put_secret(secret["data"], **secret["metadata"].get("annotations", {}))
        self._leave("replace_secret")

    def read_registrations(self) -> Sequence[Mapping[str, Any]]:
        self._enter("read_registrations")
        return [{"kind": kind, **each} for kind, each in self.cluster.registrations.items()]

    def patch_registration(self, kind: str, patch: Sequence[Mapping[str, Any]]) -> None:
        self._enter("patch_registration")
        now = self.cluster.registrations.get(kind)
        test, *changes = patch
        if now is None or now["metadata"]["resourceVersion"] != test["value"]:
            raise ConflictError("changed")
        hooks = [dict(hook) for hook in now["webhooks"]]
        for change in changes:
            hooks[int(change["path"].split("/")[2])] = {"clientConfig": {"caBundle": change["value"]}}
        metadata = {"resourceVersion": self.cluster.next_version()}
        self.cluster.registrations[kind] = {"metadata": metadata, "webhooks": hooks}
        self._leave("patch_registration")


class Replica:
    """One process: what it serves is what clients see."""

    def __init__(self, cluster: FakeCluster, clock: Clock) -> None:
        self.cluster, self.clock = cluster, clock
        self.start()

    def start(self) -> None:
        self.serving: KeyPair | None = None
        self.lines: list[str] = []
        self.steps: list[str] = []
        self.failures = 0
        self.manager = SelfManaged(
            objects=FakeObjects(self.cluster),
            plan=PLAN,
            take=self._take,
            report=self.lines.append,
            warn=lambda line: self.lines.append(f"warning: {line}"),
            done=self.steps.append,
            failed=self._fail,
            now=self.clock.now,
            secret_name="tls",
            namespace="gpu-system",
        )

    def _take(self, keyring: Keyring) -> None:
        self.serving = keyring.serving

    def _fail(self) -> None:
        self.failures += 1

    def settle(self) -> list[str]:
        """Does what is due now; returns the steps."""
        done = []
        while step := self.manager.step():
            done.append(step)
        return done


class Clock:
    def __init__(self) -> None:
        self.at = NOW

    def now(self) -> datetime:
        return self.at

    def advance(self, **parts: float) -> None:
        self.at += timedelta(**parts)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cluster() -> FakeCluster:
    """An empty Secret, as compiled, and registrations without a bundle."""
    cluster = FakeCluster()
    cluster.put_secret()
    cluster.register()
    return cluster


@pytest.fixture
def replica(cluster: FakeCluster, clock: Clock) -> Replica:
    return Replica(cluster, clock)


def is_trusted(replica: Replica, cluster: FakeCluster) -> bool:
    """Whether every hook trusts what a replica serves."""
    assert replica.serving is not None
    return all(any(is_issued_by(replica.serving.certificate, pem(der)) for der in bundle) for bundle in cluster.bundles)


def pem(der: bytes) -> bytes:
    body = b64encode(der).decode()
    return f"-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n".encode()


def test_the_first_replica_makes_an_authority_and_has_it_trusted(replica, cluster):
    assert replica.settle() == ["begin", "trust", "trust"]
    assert is_trusted(replica, cluster)


def test_a_missing_secret_is_made_where_that_is_allowed(clock):
    cluster = FakeCluster()
    replica = Replica(cluster, clock)

    assert replica.settle() == ["begin"]
    assert cluster.keyring == replica.manager.keyring


def test_the_second_replica_takes_what_the_first_has_made(replica, cluster, clock):
    replica.settle()
    second = Replica(cluster, clock)

    assert second.settle() == []
    assert second.serving == replica.serving


def test_of_two_that_begin_at_once_one_wins_and_the_other_serves_the_same(cluster, clock):
    first, second = Replica(cluster, clock), Replica(cluster, clock)
    raced = []

    def before(name: str) -> None:
        if name == "replace_secret" and not raced:
            raced.append(name)
            second.manager.step()

    cluster.before = before
    first.manager.begin(5)

    assert first.serving == second.serving == cluster.keyring.serving


def test_a_rotation_goes_through_all_steps(replica, cluster, clock):
    replica.settle()
    cluster.annotate()
    steps = [replica.settle()]
    clock.advance(seconds=60)
    steps.append(replica.settle())
    clock.advance(days=90)
    steps.append(replica.settle())

    assert steps == [
        ["prepare", "trust", "trust", "confirm"],
        ["promote"],
        ["renew", "forget", "trust", "trust"],
    ]
    assert ROTATE_ANNOTATION not in cluster.secret["metadata"]["annotations"]
    assert [len(bundle) for bundle in cluster.bundles] == [1, 1, 1]


def test_an_emptied_secret_gets_back_what_is_served(replica, cluster):
    """Another authority would be trusted by nobody until the registrations are changed and heard of."""
    replica.settle()
    before = cluster.keyring
    cluster.put_secret()

    assert replica.settle() == ["begin"]
    assert cluster.keyring == before


def test_a_registration_that_somebody_overwrote_trusts_us_again(replica, cluster):
    replica.settle()
    cluster.register(b"")

    assert replica.settle() == ["trust", "trust"]
    assert is_trusted(replica, cluster)


def test_a_registration_that_comes_later_is_told_whom_to_trust(clock):
    cluster = FakeCluster()
    cluster.put_secret()
    replica = Replica(cluster, clock)
    replica.settle()
    cluster.register()

    assert replica.settle() == ["trust", "trust"]


def test_an_old_view_cannot_take_away_a_newer_authority(replica, cluster, clock):
    """A replica stops between its look at the Secret and its patch; meanwhile another one rotates."""
    replica.settle()
    second = Replica(cluster, clock)
    cluster.register(b"")  # so that the slow one has something to patch
    raced = []

    def before(name: str) -> None:
        if name == "patch_registration" and not raced:
            raced.append(name)
            cluster.annotate()
            second.settle()
            clock.advance(seconds=61)
            second.settle()

    cluster.before = before
    with pytest.raises(ConflictError):
        replica.manager.step()

    assert is_trusted(second, cluster)


@pytest.mark.parametrize("name", REQUESTS[1:])
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("nth", range(3))
def test_a_crash_around_any_request_of_a_rotation_is_healed_by_the_next_process(
    name: str, moment: str, nth: int, cluster: FakeCluster, clock: Clock
) -> None:
    left = [nth]

    def crash(asked: str) -> None:
        if asked == name:
            left[0] -= 1
            if left[0] == -1:
                raise CrashError

    replica = Replica(cluster, clock)
    setattr(cluster, moment, crash)
    asked_for = False
    for _ in range(8):
        try:
            replica.settle()
        except CrashError:
            replica.start()
        if cluster.keyring and not asked_for and all(cluster.bundles):
            cluster.annotate()
            asked_for = True
        clock.advance(seconds=61)

    assert cluster.keyring.previous
    assert replica.serving == cluster.keyring.serving
    assert is_trusted(replica, cluster)


@pytest.mark.parametrize("seed", range(8))
def test_in_any_order_of_requests_with_crashes_every_served_certificate_is_trusted(seed: int) -> None:
    """Three replicas take turns at every request, some die, and rotations are asked for.

    The law: once the registrations have been told of the first authority, nobody ever serves what they do not trust.
    """
    chance, clock, cluster = random.Random(seed), Clock(), FakeCluster()
    cluster.put_secret()
    cluster.register()
    replicas = [Replica(cluster, clock) for _ in range(3)]
    replicas[0].settle()
    running: set[int] = set()

    def others(_name: str) -> None:
        """Lets another replica run in the middle of this one's step; or this one dies."""
        if chance.random() < 0.1:
            raise CrashError
        idle = [number for number in range(3) if number not in running]
        if idle and chance.random() < 0.5:
            run(chance.choice(idle))

    def run(number: int) -> None:
        running.add(number)
        try:
            replicas[number].manager.step()
        except ConflictError:
            pass
        except CrashError:
            replicas[number].start()
        finally:
            running.discard(number)
        assert all(is_trusted(replica, cluster) for replica in replicas if replica.serving)

    cluster.before = others
    for _ in range(60):
        run(chance.randrange(3))
        clock.advance(seconds=chance.choice([0, 0, 1, 30, 61]))
        if chance.random() < 0.05:
            cluster.annotate()

    cluster.before = None
    for replica in replicas:
        replica.settle()
    assert {replica.serving for replica in replicas} == {cluster.keyring.serving}


def test_a_start_without_a_way_to_the_cluster_says_why(replica, cluster):
    def before(_name: str) -> None:
        raise ClusterError("connection refused")

    cluster.before = before

    with pytest.raises(ClusterError, match=r"^there is no certificate yet: connection refused$"):
        replica.manager.begin(1)


def test_a_start_in_the_midst_of_endless_conflicts_ends(replica, cluster):
    def before(name: str) -> None:
        if name == "replace_secret":
            raise ConflictError("changed")

    cluster.before = before

    with pytest.raises(ClusterError, match=r"^there is no certificate yet: others change the Secret all the time$"):
        replica.manager.begin(2)


@pytest.mark.parametrize(
    "error", [pytest.param(UsageError("make it"), id="missing"), pytest.param(InputError("is no time"), id="broken")]
)
def test_a_start_does_not_wait_for_what_will_not_come(error, replica, cluster):
    def before(_name: str) -> None:
        raise error

    cluster.before = before

    with pytest.raises(type(error)):
        replica.manager.begin(30)


def test_a_problem_is_told_once_and_so_is_its_end(replica, cluster):
    replica.settle()

    def before(_name: str) -> None:
        raise ClusterError("connection refused")

    cluster.before = before
    waits = [replica.manager.attempt() for _ in range(7)]
    cluster.before = None
    waits.append(replica.manager.attempt())

    assert waits == [1, 2, 4, 8, 16, POLL_SECONDS, POLL_SECONDS, 15]
    assert replica.failures == 7
    assert replica.lines == [
        "warning: certificates cannot be kept up to date, the last ones go on: connection refused",
        "certificates: the cluster is asked again",
    ]


def test_a_broken_secret_is_told_by_its_entry_and_what_is_served_goes_on(replica, cluster):
    replica.settle()
    served = replica.serving
    cluster.put_secret({**cluster.secret["data"], "ca.key": b64encode(b"x").decode()})

    replica.manager.attempt()

    assert replica.serving == served
    assert replica.lines == [
        "warning: certificates cannot be kept up to date, the last ones go on: "
        "ca.key: is no PEM private key without a password"
    ]


def test_each_step_is_told(replica, cluster):
    waits = [replica.manager.attempt() for _ in range(4)]

    assert waits == [0, 0, 0, 15]
    assert replica.steps == ["begin", "trust", "trust"]
    assert replica.lines == [
        "certificates: an authority and a serving certificate were made",
        "certificates: a registration was told which authorities to trust",
        "certificates: a registration was told which authorities to trust",
    ]


def test_after_a_conflict_it_looks_again_soon(replica, cluster):
    def before(name: str) -> None:
        if name == "replace_secret":
            raise ConflictError("changed")

    cluster.before = before

    assert 0 < replica.manager.attempt() <= 0.5
    assert replica.lines == []


def test_conflicts_without_end_are_told(replica, cluster):
    def before(name: str) -> None:
        if name == "replace_secret":
            raise ConflictError("the server rejected our request")

    cluster.before = before
    for _ in range(MOST_CONFLICTS):
        replica.manager.attempt()

    assert replica.lines == [
        "warning: certificates cannot be kept up to date, the last ones go on: the server rejected our request"
    ]


@pytest.fixture
def others(cluster: FakeCluster, clock: Clock) -> Replica:
    """A replica with the API server's clock, which has begun."""
    cluster.clock = clock
    other = Replica(cluster, clock)
    other.settle()
    return other


def with_clock(cluster: FakeCluster, **ahead: float) -> Replica:
    """A replica whose clock is wrong by so much."""
    clock = Clock()
    clock.advance(**ahead)
    return Replica(cluster, clock)


WRONG = [
    pytest.param(70, "70 days ahead", id="time-to-renew"),
    pytest.param(4000, "4000 days ahead", id="all-has-ended"),
    pytest.param(-4000, "4000 days behind", id="nothing-has-begun"),
    pytest.param(-0.1, "2 h behind", id="hours"),
]


@pytest.mark.parametrize(("days", "told"), WRONG)
def test_a_replica_whose_clock_is_wrong_serves_what_is_kept_and_makes_nothing(days, told, others, cluster):
    before = cluster.keyring
    wrong = with_clock(cluster, days=days)
    pauses = [wrong.manager.attempt() for _ in range(3)]

    assert (wrong.serving, cluster.keyring) == (others.serving, before)
    assert pauses == [1, 2, 4]
    assert wrong.lines == [
        "warning: certificates cannot be kept up to date, the last ones go on: "
        f"the clock here is {told} of the API server's; one is wrong"
    ]


def test_a_rotation_goes_on_beside_a_replica_whose_clock_is_wrong_and_is_taken_by_it(others, cluster, clock):
    before, wrong = cluster.keyring, with_clock(cluster, days=4000)
    cluster.annotate()
    for _ in range(5):
        others.manager.attempt()
        wrong.manager.attempt()
    clock.advance(seconds=60)
    others.settle()
    wrong.manager.attempt()

    assert cluster.keyring.authority != before.authority
    assert wrong.serving == cluster.keyring.serving
    assert is_trusted(wrong, cluster)


def test_a_replica_whose_clock_is_wrong_has_the_kept_authority_trusted(others, cluster):
    """A registration that was overwritten has no time to wait for, whatever it is."""
    cluster.register(b"")

    assert [with_clock(cluster, days=4000).manager.step() for _ in range(2)] == ["trust", "trust"]
    assert is_trusted(others, cluster)


def test_a_start_with_nothing_kept_and_a_wrong_clock_says_so(cluster, clock):
    cluster.clock = clock

    with pytest.raises(ClusterError, match="there is no certificate yet: the clock here is 70 days ahead of the API"):
        with_clock(cluster, days=70).manager.begin(1)


def test_where_the_clocks_differ_a_little_the_api_servers_counts(cluster, clock):
    """It is the one that verifies: a certificate must have begun by its clock, with five minutes to spare."""
    cluster.clock = clock
    with_clock(cluster, minutes=50).settle()

    begins = read_certificate(cluster.keyring.serving.certificate).not_valid_before_utc
    assert begins == NOW - timedelta(minutes=5)


@pytest.mark.parametrize("days", [70, 300, 4000])
def test_when_all_clocks_jump_ahead_and_back_what_is_served_is_in_its_time_and_there_is_an_end_of_it(
    days, others, cluster, clock
):
    """A cluster on one machine that wakes up in another year, until it hears of the right one."""
    seen = []
    for span in (days, -days, 0):
        clock.advance(days=span)
        others.settle()
        clock.advance(seconds=61)
        others.settle()
        seen.append((is_valid_at(others.serving.certificate, clock.now()), is_trusted(others, cluster)))

    assert seen == [(True, True)] * 3
    assert others.settle() == []


def test_a_patch_changes_only_hooks_that_trust_others(replica, cluster):
    replica.settle()
    bundle = cluster.keyring.authority.certificate
    trusting = {"clientConfig": {"caBundle": b64encode(bundle).decode()}}
    registration = {
        "metadata": {"resourceVersion": "7"},
        "webhooks": [trusting, {"clientConfig": {}}, {"clientConfig": {"caBundle": "%"}}],
    }

    assert [(each["op"], each["path"]) for each in to_patch(registration, bundle)] == [
        ("test", "/metadata/resourceVersion"),
        ("add", "/webhooks/1/clientConfig/caBundle"),
        ("add", "/webhooks/2/clientConfig/caBundle"),
    ]


def test_the_thread_goes_on_until_it_is_stopped(replica, cluster):
    replica.manager.begin(5)
    replica.manager.start(Watchers())
    replica.manager.stop()

    assert replica.serving is not None
