"""Two replicas behind a balancer, as behind a Service: what the API server makes of it when one of them goes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from e2e.controlplane import ControlPlane
from e2e.objects import pod, workload
from e2e.processes import wait_for
from e2e.product import register, shipped, unregister
from faults.balancer import Balancer
from faults.replicas import Installation, Replica

from gpupolicy import load

WORKERS = 4


class Front:
    """What ``register`` needs to know of a webhook: the balancer's address, and the reviews of all behind it."""

    def __init__(self, balancer: Balancer, replicas: tuple[Replica, ...]) -> None:
        self.url = f"https://127.0.0.1:{balancer.port}"
        self.authority = replicas[0].installation.authority.read_bytes()
        self._replicas = replicas

    def reviews(self) -> int:
        texts = (text for each in self._replicas for _, text in [each.probe("/metrics") or (0, "")])
        lines = (line for text in texts for line in text.splitlines() if line.startswith("gpupolicy_reviews_total{"))
        return int(sum(float(line.rpartition(" ")[2]) for line in lines))


@dataclass(frozen=True)
class Pair:
    """Two replicas of the classic policy that the API server asks through a balancer."""

    plane: ControlPlane
    balancer: Balancer
    replicas: tuple[Replica, Replica]


@pytest.fixture
def pair(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Pair]:
    policy = load(shipped("classic"))
    installation = Installation(tmp_path)
    with (
        installation.replica("--drain-seconds", "1") as first,
        installation.replica("--drain-seconds", "1") as second,
        Balancer([(each.port, each.probe_port) for each in (first, second)]) as balancer,
    ):
        register(control_plane, policy, Front(balancer, (first, second)))  # type: ignore[arg-type]  # what it uses
        yield Pair(control_plane, balancer, (first, second))
        unregister(control_plane, policy)


@dataclass
class Creations:
    """Pods that some workers create by dry run, one after the other, until they are told to stop."""

    plane: ControlPlane
    namespace: str
    accepted: int = 0
    refused: list[str] = field(default_factory=list)

    def __enter__(self) -> Creations:
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._work, args=(number,)) for number in range(WORKERS)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_for(self, more: int) -> None:
        """Waits until so many more were accepted."""
        wanted = self.accepted + more
        wait_for(lambda: self.accepted >= wanted, message=lambda: str(self.refused))

    def _work(self, number: int) -> None:
        api = self.plane.api()
        while not self._stop.is_set():
            answer = api.post(pod(f"pod-{number}", 1), namespace=self.namespace, dry_run=True)
            if answer.accepted:
                self.accepted += 1
            else:
                self.refused.append(answer.message)


def test_no_pod_creation_fails_when_one_of_two_replicas_is_stopped_in_order(pair: Pair, namespace: str) -> None:
    with Creations(pair.plane, namespace) as creations:
        creations.wait_for(20)
        status = pair.replicas[0].stop()
        creations.wait_for(40)

    assert status == 0
    assert creations.refused == []


def test_when_one_of_two_is_killed_only_creations_that_it_was_asked_about_fail(pair: Pair, namespace: str) -> None:
    """The API server does not send a review again whose connection broke (a POST): the client is told, and retries."""
    with Creations(pair.plane, namespace) as creations:
        creations.wait_for(20)
        pair.replicas[0].kill()
        creations.wait_for(40)

    assert len(creations.refused) <= WORKERS
    assert all("failed calling webhook" in message for message in creations.refused)


def test_what_controllers_make_is_all_there_when_one_of_two_was_killed(pair: Pair, namespace: str) -> None:
    """They try again by themselves, so nobody sees a failure."""
    pair.plane.create(workload("ReplicaSet", "train", 30, 1), namespace)
    wait_for(lambda: len(pair.plane.pods(namespace)) >= 3)
    pair.replicas[0].kill()
    wait_for(lambda: len(pair.plane.pods(namespace)) == 30, message=lambda: str(pair.plane.events(namespace)))

    assert len(pair.plane.pods(namespace)) == 30


def test_a_killed_replica_that_nobody_was_asking_is_not_missed(pair: Pair, namespace: str) -> None:
    """The API server has open, idle connections to it, and sees at once that they are closed."""
    api = pair.plane.api()
    for number in range(10):
        assert api.post(pod(f"before-{number}", 1), namespace=namespace).accepted
    pair.replicas[0].kill()
    answers = [api.post(pod(f"after-{number}", 1), namespace=namespace) for number in range(20)]

    assert [answer.message for answer in answers if not answer.accepted] == []
