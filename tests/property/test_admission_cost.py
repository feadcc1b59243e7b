"""A pod can be made to cost time. What is decided about it takes time in line with its length, never its square.

The limit is generous, because a shared machine may be slow: in line it takes about 0.3 s, squared it took minutes.
"""

from time import perf_counter

import pytest
from builders import GROUP, REQUIRED, ROUTED_TO, TYPE, described, group, pod, policy, preference, preferred, within

from gpupolicy.admission import admit

LIMIT_SECONDS = 10
POLICY = policy(group("SMALL", 1, 2, 4), group("LARGE", 8, overflow=("SMALL",)))
MANY = 8_000


def with_terms(*terms):
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


ANYWHERE = {"matchExpressions": [within("zone", operator="Exists")]}
NOWHERE = {"matchExpressions": [within(TYPE, *(f"V{index}0" for index in range(100)))]}


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(
            pod(8, nodeSelector={f"k{index}": "v" for index in range(MANY)}, affinity=with_terms(*[ANYWHERE] * MANY)),
            id="selector-times-terms",
        ),
        pytest.param(pod(8, affinity=with_terms(*[NOWHERE] * 2_000)), id="terms-with-close-matches-to-look-for"),
        pytest.param(
            described(
                pod(8, affinity=preferred(*[preference(100, within(GROUP, "a"))] * MANY)),
                annotations={ROUTED_TO: ">".join("b" * MANY)},
            ),
            id="forged-note-times-preferences",
        ),
    ],
)
def test_a_long_pod_is_decided_in_time(document):
    start = perf_counter()
    admit(POLICY, document, final=True)

    assert perf_counter() - start < LIMIT_SECONDS
