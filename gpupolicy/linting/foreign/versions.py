"""Kubernetes versions as rules compare them."""

from __future__ import annotations


def is_at_least(version: str, other: str) -> bool:
    """Returns whether a Kubernetes version ``1.N`` is not older than another."""
    return int(version.partition(".")[2]) >= int(other.partition(".")[2])
