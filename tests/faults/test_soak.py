"""A long load at half of what there can be: nothing grows."""

from __future__ import annotations

import os
import time

from e2e.processes import wait_for
from faults.load import SOAK_SECONDS, loading
from faults.replicas import Installation, Replica
from faults.table import MEGABYTE, Measured


def test_nothing_grows_in_a_long_load(installation: Installation, seconds: float, measured: Measured) -> None:
    """Memory and threads after a warm-up are those at the end; ``make soak``: five minutes.

    Descriptors are counted while nobody asks: of the connections that the client holds, 25 come and go.
    """
    span = float(os.environ.get(SOAK_SECONDS, seconds))
    with installation.replica() as replica:
        with loading(replica.port, installation.authority, rate=0) as load:
            time.sleep(max(2.0, min(span / 5, 10)))
            most = load.finish().rate
        idle = wait_until_idle(replica)
        with loading(replica.port, installation.authority, rate=most / 2, reconnect=500) as load:
            time.sleep(max(1.0, min(span / 5, 20)))
            before = replica.size()
            time.sleep(span)
            after = replica.size()
            report = load.finish()
        idle_again = wait_until_idle(replica)

    measured.size("after the warm-up", before)
    measured.size(f"after {span:g} s", after, report)
    assert report.failures == {}
    assert after.rss < before.rss + 10 * MEGABYTE
    assert after.rss < 120 * MEGABYTE
    assert after.threads <= before.threads
    assert idle_again == idle


def wait_until_idle(replica: Replica) -> int:
    """The open descriptors of a replica once they stay the same: every connection has been closed by then."""
    counts = [replica.size().descriptors]

    def is_settled() -> bool:
        time.sleep(0.5)
        counts.append(replica.size().descriptors)
        return counts[-1] == counts[-2]

    wait_for(is_settled, message=lambda: f"the same number of descriptors twice, but {counts}")
    return counts[-1]
