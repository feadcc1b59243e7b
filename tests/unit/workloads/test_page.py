"""The table in docs/workloads.md is that of the data."""

from __future__ import annotations

import workload_page


def test_the_table_of_the_page_is_that_of_the_data() -> None:
    assert workload_page.written().strip() == workload_page.render().strip()
