"""Label keys of a pod's wishes that are nearly those of the policy: no node has them, so the wish is never met."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from itertools import islice
from typing import cast

from gpupolicy.admission.remark import Remark
from gpupolicy.errors import FieldPath, Part, shown
from gpupolicy.model import Policy
from gpupolicy.pod import PodView, Term

_MOST_KEYS = 100  # keys a pod has looked at; a longer list is made to cost time
_UNSEEN = str.maketrans("", "", "-_.")  # what people mix up


def find_misspelt_keys(policy: Policy, view: PodView) -> Iterator[Remark]:
    """Yields the label keys that were probably meant to be the policy's own, or those by which it recognises types."""
    for key, field, part in islice(_each_key(view), _MOST_KEYS):
        if key not in policy.known_label_keys and (meant := _find_meant(policy, key)):
            message = f"{shown(key)} is no label of the policy; no node may have it"
            yield Remark("label-key-misspelt", field, message, f"did you mean {meant}", part)


def _each_key(view: PodView) -> Iterator[tuple[str, FieldPath, Part]]:
    for key in view.node_selector:
        yield key, ("spec", "nodeSelector", key), Part.KEY
    for term in (*view.required_terms, *(preferred.term for preferred in view.preferred_terms)):
        yield from _keys_of(term)


def _keys_of(term: Term) -> Iterator[tuple[str, FieldPath, Part]]:
    for position, requirement in enumerate(term.requirements):
        if requirement is not None:
            yield requirement.key, (*term.place(position), "key"), Part.VALUE


def _find_meant(policy: Policy, key: str) -> str | None:
    """Returns the label that a key differs from by case and dashes, or by a little more where the prefix is ours."""
    if same := _known_by_fold(policy).get(_fold(key)):
        return same
    prefix, _, name = key.rpartition("/")
    ours = policy.labels
    if prefix != ours.prefix:
        return None
    names = {own.rpartition("/")[2]: own for own in (ours.gpu_type, ours.node_group, ours.gpu_support)}
    close = get_close_matches(name, names, 1, 0.85)
    return names[close[0]] if close else None


def _known_by_fold(policy: Policy) -> Mapping[str, str]:
    key = "label-keys-by-fold"
    if key not in policy.memo:
        policy.memo[key] = {_fold(known): known for known in sorted(policy.known_label_keys)}
    return cast(Mapping[str, str], policy.memo[key])


@lru_cache(maxsize=4096)  # the same few keys stand in every pod
def _fold(key: str) -> str:
    return key.casefold().translate(_UNSEEN)
