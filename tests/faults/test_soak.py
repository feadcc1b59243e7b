"""A long load at half of what there can be: nothing grows."""

from __future__ import annotations

import os
import time

from faults.load import loading
from faults.replicas import Installation
from faults.table import MEGABYTE, SOAK_SECONDS, Measured


def test_nothing_grows_in_a_long_load(installation: Installation, seconds: float, measured: Measured) -> None:
    """Memory, threads and descriptors after a warm-up are those at the end; ``make soak``: five minutes."""
    span = float(os.environ.get(SOAK_SECONDS, seconds))
    with installation.replica() as replica:
        with loading(replica.port, installation.authority) as load:
            time.sleep(max(2.0, min(span / 5, 10)))
            most = load.finish().rate
        with loading(replica.port, installation.authority, rate=most / 2, reconnect=500) as load:
            time.sleep(max(1.0, min(span / 5, 20)))
            before = replica.size()
            time.sleep(span)
            after = replica.size()
            report = load.finish()

    measured.size("after the warm-up", before)
    measured.size(f"after {span:g} s", after, report)
    assert report.failures == {}
    assert after.rss < before.rss + 10 * MEGABYTE
    assert after.rss < 120 * MEGABYTE
    assert after.threads <= before.threads
    assert after.descriptors <= before.descriptors + 8
