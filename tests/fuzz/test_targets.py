"""A bounded run of the fuzzers: the corpus, changes of it, any bytes, and reviews of any shape."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from fuzz.mutations import CORPUS, mutate, seeds
from fuzz.targets import TARGETS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pod_strategies import POLICIES, json_values, pods, policy_names, weird_pods

from gpupolicy.admission import admit

BOUNDED = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
SEEDS = seeds()
names = pytest.mark.parametrize("name", TARGETS)


@names
@pytest.mark.parametrize("seed", [path.name for path in sorted(CORPUS.iterdir())])
def test_the_corpus_breaks_nothing(name: str, seed: str) -> None:
    TARGETS[name]((CORPUS / seed).read_bytes())


@names
@BOUNDED
@given(number=st.integers(0, 2**32))
def test_changes_of_the_corpus_break_nothing(name: str, number: int) -> None:
    TARGETS[name](mutate(Random(number), SEEDS))


@names
@BOUNDED
@given(data=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode(errors="surrogatepass")))
def test_any_bytes_break_nothing(name: str, data: bytes) -> None:
    TARGETS[name](data)


@BOUNDED
@given(pod=pods() | weird_pods(), old=pods() | json_values, operation=st.sampled_from(["CREATE", "UPDATE", "DELETE"]))
def test_reviews_of_any_pod_are_answered(pod: Any, old: Any, operation: str) -> None:
    request = {"uid": "u", "kind": {"kind": "Pod"}, "operation": operation, "object": pod, "oldObject": old}
    envelope = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}

    TARGETS["review"](json.dumps(envelope).encode())


@BOUNDED
@given(envelope=json_values)
def test_reviews_of_any_shape_are_answered(envelope: Any) -> None:
    TARGETS["review"](json.dumps(envelope).encode())


@BOUNDED
@given(name=policy_names, pod=pods(), order=st.randoms(use_true_random=False))
def test_the_order_of_containers_never_changes_the_verdict(name: str, pod: Any, order: Random) -> None:
    shuffled = list(pod["spec"]["containers"])
    order.shuffle(shuffled)

    one = admit(POLICIES[name], pod)
    other = admit(POLICIES[name], {**pod, "spec": {**pod["spec"], "containers": shuffled}})

    assert (one.allowed, one.gpus, one.placement) == (other.allowed, other.gpus, other.placement)
    assert {finding.rule for finding in one.violations} == {finding.rule for finding in other.violations}
