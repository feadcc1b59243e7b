"""The recorded reviews are what this API server sends today."""

from __future__ import annotations

from e2e.controlplane import ControlPlane
from e2e.record_reviews import FOLDER, record


def test_a_new_recording_differs_in_nothing(control_plane: ControlPlane, namespace: str) -> None:
    """If it does, and Kubernetes or our routing is meant to have changed: make record-reviews."""
    assert record(control_plane, namespace) == {file.name: file.read_text() for file in FOLDER.glob("*.json")}
