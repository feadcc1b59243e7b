"""Connections are few enough, and who has to go for another one is who asked for nothing."""

from __future__ import annotations

import asyncio
import socket
from contextlib import ExitStack, suppress

import pytest
from serving import PATIENCE_SECONDS

from gpupolicy.webhook.crowd import Crowd, Door


class Connection:
    """Stands for a socket; tells whether it was shut down."""

    def __init__(self, name: str) -> None:
        self.name, self.is_ended = name, False

    def shutdown(self, _how: int) -> None:
        self.is_ended = True


def ended(*connections: Connection) -> list[str]:
    return [each.name for each in connections if each.is_ended]


@pytest.fixture
def three() -> tuple[Connection, ...]:
    return tuple(map(Connection, ("first", "second", "third")))


def filled(connections: tuple[Connection, ...]) -> Crowd:
    crowd = Crowd(most=len(connections))
    for each in connections:
        crowd.add(each)
    return crowd


def test_one_that_never_sent_a_byte_goes_first(three):
    crowd = filled(three)
    crowd.begin(three[0])
    crowd.hear(three[1])
    crowd.add(Connection("fourth"))

    assert ended(*three) == ["third"]


def test_then_one_that_never_asked_for_anything(three):
    crowd = filled(three)
    crowd.hear(three[0])
    crowd.begin(three[1])
    crowd.hear(three[2])
    crowd.add(Connection("fourth"))

    assert ended(*three) == ["second"]


def test_then_the_one_that_asked_longest_ago(three):
    crowd = filled(three)
    for index in (0, 1, 2, 0):
        crowd.hear(three[index])
    crowd.add(Connection("fourth"))

    assert ended(*three) == ["second"]


def test_one_that_is_closed_makes_room(three):
    crowd = filled(three)
    crowd.remove(three[0])
    crowd.add(Connection("fourth"))

    assert (ended(*three), len(crowd)) == ([], 3)


def test_for_want_of_descriptors_none_goes_that_asked_for_something(three):
    crowd = filled(three)
    for each in three:
        crowd.hear(each)
    crowd.make_room()

    assert ended(*three) == []


def test_it_is_told_that_there_are_too_many(three):
    told: list[int] = []
    crowd = Crowd(most=1, on_full=lambda: told.append(1))
    crowd.add(three[0])
    crowd.add(three[1])

    assert told == [1]


def test_a_connection_is_handed_over_when_its_first_byte_came():
    async def run() -> list[bytes]:
        handed: list[bytes] = []

        async def serve(connection: socket.socket) -> None:
            with connection:
                handed.append(connection.recv(10))

        door = Door(socket.create_server(("127.0.0.1", 0)), Crowd(), serve, seconds=PATIENCE_SECONDS)
        with socket.create_connection(door.address) as client:
            await asyncio.sleep(0.2)
            before = list(handed)
            client.send(b"hello")
            while not handed:
                await asyncio.sleep(0.01)
        door.close()
        return [*before, *handed]

    assert asyncio.run(run()) == [b"hello"]


def test_a_connection_that_sends_nothing_in_time_is_closed_and_forgotten():
    async def run() -> tuple[bytes, int]:
        async def serve(_connection: socket.socket) -> None:
            raise AssertionError

        crowd = Crowd()
        door = Door(socket.create_server(("127.0.0.1", 0)), crowd, serve, seconds=0.05)
        with socket.create_connection(door.address) as client:
            client.settimeout(PATIENCE_SECONDS)
            received = await asyncio.to_thread(client.recv, 1)
        door.close()
        return received, len(crowd)

    assert asyncio.run(run()) == (b"", 0)


def test_a_closed_door_closes_those_that_wait_before_it():
    async def run() -> bytes:
        async def serve(_connection: socket.socket) -> None:
            raise AssertionError

        door = Door(socket.create_server(("127.0.0.1", 0)), Crowd(), serve, seconds=PATIENCE_SECONDS)
        with socket.create_connection(door.address) as client:
            await asyncio.sleep(0.1)
            door.close()
            client.settimeout(PATIENCE_SECONDS)
            with suppress(ConnectionResetError):
                return await asyncio.to_thread(client.recv, 1)
            return b""

    assert asyncio.run(run()) == b""


def test_one_that_speaks_is_heard_in_a_burst_of_many_that_do_not():
    """They all wait before the door when it opens; many more come in than there may be, and those go that are mute."""

    async def run() -> list[bytes]:
        handed: list[bytes] = []

        async def serve(connection: socket.socket) -> None:
            with connection:
                handed.append(connection.recv(10))

        with ExitStack() as stack:
            sock = socket.create_server(("127.0.0.1", 0), backlog=100)
            talker = stack.enter_context(socket.create_connection(sock.getsockname()))
            talker.send(b"hello")
            for _ in range(50):
                stack.enter_context(socket.create_connection(sock.getsockname()))
            door = Door(sock, Crowd(most=10), serve, seconds=PATIENCE_SECONDS)
            await asyncio.sleep(0.5)
            door.close()
        return handed

    assert asyncio.run(run()) == [b"hello"]
