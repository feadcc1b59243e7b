"""Whatever stands in a foreign object, it is judged without an exception."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest
from builders import policy
from foreign_builders import GPU, gpu_node, hook, packing, points, profile, registration, scheduler_configuration
from hypothesis import given
from hypothesis import strategies as st

from gpupolicy.linting.foreign.nodes import lint_node
from gpupolicy.linting.foreign.scheduler import lint_scheduler_configuration
from gpupolicy.linting.foreign.webhooks import lint_webhook_configuration

LINTERS = {
    "scheduler": lint_scheduler_configuration,
    "webhook": lint_webhook_configuration,
    "node": lint_node,
}
SOUND: dict[str, dict[str, Any]] = {
    "scheduler": scheduler_configuration(
        profile(
            "gpu-binpack",
            args={
                "NodeResourcesFit": packing("RequestedToCapacityRatio", cpu=1, gpu=100),
                "PodTopologySpread": {"defaultingType": "List", "defaultConstraints": [{"maxSkew": 1}]},
                "NodeAffinity": {
                    "addedAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "In"}]}]
                        }
                    }
                },
                "DynamicResources": {"filterTimeout": "1s", "bindingTimeout": "1s"},
            },
            plugins=points(score=("NodeResourcesFit", 5), multiPoint="-ImageLocality"),
        ),
        leaderElection={"leaderElect": True, "leaseDuration": "15s"},
        extenders=[{"urlPrefix": "a", "tlsConfig": {"caData": "YQ=="}, "managedResources": [{"name": GPU}]}],
    ),
    "webhook": registration(hook(objectSelector={"matchExpressions": [{"key": "a", "operator": "Exists"}]})),
    "node": gpu_node(),
}
JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.lists(st.one_of(st.none(), st.text(), st.integers()), max_size=3),
    st.dictionaries(st.text(max_size=5), st.one_of(st.none(), st.text(), st.integers()), max_size=3),
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every path below a value."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, element in entries:
        yield (*path, key)
        yield from places(element, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    """A copy with something else at a path."""
    copy = deepcopy(value)
    target = copy
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = junk
    return copy


@pytest.mark.parametrize("name", LINTERS)
@given(data=st.data())
def test_a_part_that_is_something_else_raises_nothing(name: str, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(list(places(SOUND[name]))))
    value = replaced(SOUND[name], path, data.draw(JUNK))

    assert all(finding.message for finding in LINTERS[name](value, policy()))
