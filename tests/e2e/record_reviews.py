"""Records what the API server sends to the hooks that we compile: ``python tests/e2e/record_reviews.py``.

The files go to tests/data/reviews-recorded, for tests that need no cluster. What differs from run to run is replaced,
so that a new recording differs only where Kubernetes, or our registration, does.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # as a script Python offers this folder instead of the one above it
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from e2e.controlplane import ControlPlane
from e2e.objects import GPU, Manifest, pod, pod_spec, workload
from e2e.processes import wait_for
from e2e.product import shipped, unregister
from e2e.rest import Object
from e2e.webhooks import SmallWebhook, allowed, patched

from gpupolicy import compile, load
from gpupolicy.webhook.app import create_app

FOLDER = Path(__file__).resolve().parents[1] / "data" / "reviews-recorded"
POLICY = shipped("classic")
NAMESPACE = "research"

_IMPLICIT = "deviceclass.resource.kubernetes.io/gpu"
_GROW = "example.test/grow-by"  # a label that another webhook reads: how many GPUs it adds
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


class Recorder:
    """The two compiled hooks, answered as ours are, and another one after them that adds GPUs on demand."""

    def __init__(self, plane: ControlPlane, namespace: str, stack: ExitStack) -> None:
        self.plane, self.namespace = plane, namespace
        policy = load(POLICY)
        self._ours = create_app(lambda: policy).test_client()
        self.hooks: dict[str, SmallWebhook] = {}
        for configuration in compile(policy, ("webhook",), ca_bundle=b""):
            if "WebhookConfiguration" in str(configuration["kind"]):
                self._register(configuration, stack)
        other = stack.enter_context(SmallWebhook(_grown))
        plane.apply(other.registration("zzz.example.test", namespaces=[namespace], mutating=True))
        wait_for(lambda: self._is_live(other), message="all hooks asked")

    def taken(self, phase: str, act: Callable[[], object], name: str, number: int = 1) -> Object:
        """Do something and return the review that a hook got for it.

        Args:
            phase: mutate or validate.
            act: what makes the API server ask.
            name: of the pod, or of its controller; other controllers may still be trying.
            number: which of the reviews; 2 is that of the second round.
        """
        requests = self.hooks[phase].requests
        requests.clear()
        act()

        def found() -> list[Object]:
            about = [each for each in list(requests) if _subject(each["object"]["metadata"]) in (name, f"{name}-")]
            return about if len(about) >= number else []

        return wait_for(found, message=f"{number} reviews of {name} to {phase}")[number - 1]

    def _register(self, configuration: Mapping[str, Any], stack: ExitStack) -> None:
        hook = configuration["webhooks"][0]  # the one of pods
        path = hook["clientConfig"]["service"]["path"]
        webhook = stack.enter_context(SmallWebhook(lambda request: self._answer(path, request)))
        here = {**hook, "clientConfig": {"url": webhook.url + path, "caBundle": webhook.ca_bundle}}
        self.plane.apply({**configuration, "webhooks": [here]})
        self.hooks[path.split("/")[1]] = webhook

    def _answer(self, path: str, request: Object) -> dict[str, Any]:
        response = self._ours.post(path, json=_review(request)).get_json()["response"]
        return {key: value for key, value in response.items() if key != "uid"}

    def _is_live(self, other: SmallWebhook) -> bool:
        self.plane.api().post(pod("probe", 1), namespace=self.namespace, dry_run=True)
        return all(each.requests for each in (*self.hooks.values(), other))


@contextmanager
def recording(plane: ControlPlane, namespace: str) -> Iterator[Recorder]:
    """Hooks that record, live inside the ``with`` and forgotten after it."""
    with ExitStack() as stack:
        stack.callback(unregister, plane, load(POLICY))
        yield Recorder(plane, namespace, stack)


@dataclass(frozen=True, slots=True)
class Scene:
    """One review worth keeping: what is made, and which of the reviews of a phase is taken."""

    name: str
    phase: str
    make: Callable[[], Manifest]
    number: int = 1


def container(name: str, part: str = "limits", resource: str = GPU, amount: str = "1", **fields: object) -> Manifest:
    return {"name": name, "image": "example.test/train:1", "resources": {part: {resource: amount}}, **fields}


def sidecars() -> Manifest:
    inits = [container("proxy", restartPolicy="Always"), container("prepare", amount="3")]
    return pod("sidecars", 2, initContainers=inits, nodeSelector={"rack": "r1"})


def daemon_set() -> Manifest:
    template = {"metadata": {"labels": {"app": "exporter"}}, "spec": pod_spec(1)}
    spec = {"selector": {"matchLabels": {"app": "exporter"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "exporter"}, "spec": spec}


def grown(name: str, gpus: int) -> Manifest:
    return pod(name, gpus, labels={_GROW: "2"})


SCENES = (
    Scene("mutate-bare", "mutate", lambda: pod("bare", 8)),
    Scene("validate-bare", "validate", lambda: pod("routed", 8)),
    Scene("mutate-replica-set", "mutate", lambda: workload("ReplicaSet", "train", 1, 3)),
    Scene("validate-replica-set", "validate", lambda: workload("ReplicaSet", "serve", 1, 1)),
    Scene("mutate-daemon-set", "mutate", daemon_set),
    Scene("mutate-second-round", "mutate", lambda: grown("second-round", 2), number=2),
    Scene("validate-grown-without-routing", "validate", lambda: grown("late", 0)),
    Scene("mutate-sidecars", "mutate", sidecars),
    Scene("mutate-limit-missing", "mutate", lambda: pod("no-limit", containers=[container("main", "requests")])),
    Scene(
        "mutate-implicit-device-class",
        "mutate",
        lambda: pod("devices", containers=[container("main", "requests", _IMPLICIT, "3")]),
    ),
)
NARROWED = "validate-narrowed"


def record(plane: ControlPlane, namespace: str) -> dict[str, str]:
    """What the files hold: name -> text.

    Args:
        plane: with a controller manager.
        namespace: an empty one.
    """
    plane.add_node("n1")  # for the DaemonSet
    with recording(plane, namespace) as recorder:
        taken = {scene.name: _take(recorder, scene) for scene in SCENES}
        taken[NARROWED] = _take_narrowed(recorder)
    return {f"{name}.json": _text(request, namespace) for name, request in taken.items()}


def _take(recorder: Recorder, scene: Scene) -> Object:
    made, post = scene.make(), recorder.plane.api().post
    return recorder.taken(
        scene.phase, lambda: post(made, namespace=recorder.namespace), made["metadata"]["name"], scene.number
    )


def _take_narrowed(recorder: Recorder) -> Object:
    """What another controller does to a pod that waits behind its gate."""
    gated = pod("gated", 4, schedulingGates=[{"name": "example.test/wait"}])
    made = recorder.plane.create(gated, recorder.namespace)
    narrower = {"spec": {"nodeSelector": {"my.gpu.cluster/node-group": "SLOT-8"}, "schedulingGates": []}}
    return recorder.taken("validate", lambda: recorder.plane.api().patch(made, narrower), "gated")


def _grown(request: Object) -> dict[str, Any]:
    """Adds a container with GPUs to a pod that asks for it, once."""
    asked = request["object"]
    amount = asked["metadata"].get("labels", {}).get(_GROW)
    if amount is None or len(asked["spec"]["containers"]) > 1:
        return allowed()
    return patched([{"op": "add", "path": "/spec/containers/-", "value": container("added", amount=amount)}])


def _subject(metadata: Object) -> str:
    return str(metadata.get("generateName") or metadata.get("name"))


def _review(request: Object) -> dict[str, object]:
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}


def _text(request: Object, namespace: str) -> str:
    """A review as a file holds it: what differs from run to run replaced by what looks like it."""
    text = json.dumps(_review(_settled(request)), indent=1, sort_keys=True) + "\n"
    uids = {uid: f"00000000-0000-4000-8000-{number:012}" for number, uid in enumerate(_uids(text), 1)}
    text = _UUID.sub(lambda match: uids[match[0]], text)
    return _TIME.sub("2026-01-01T00:00:00Z", text).replace(namespace, NAMESPACE)


def _uids(text: str) -> list[str]:
    """The uids of a text, each once, in their order."""
    return list(dict.fromkeys(match[0] for match in _UUID.finditer(text)))


def _settled(value: Any) -> Any:
    """The value with settled versions, and names that the API server finished (``train-x7k2p``)."""
    if isinstance(value, list):
        return [_settled(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    found = {key: "1" if key == "resourceVersion" else _settled(each) for key, each in value.items()}
    metadata = found.get("metadata")
    if isinstance(metadata, Mapping) and "generateName" in metadata and "name" in metadata:
        found["metadata"] = {**metadata, "name": metadata["generateName"] + "xxxxx"}
    if isinstance(found.get("object"), Mapping) and "name" in found:
        found["name"] = found["object"]["metadata"]["name"]
    return found


def main() -> None:
    """Write the files anew."""
    with ControlPlane() as plane:
        plane.controller_manager()
        texts = record(plane, plane.add_namespace("recorded-here"))
    for old in FOLDER.glob("*.json"):
        old.unlink()
    for name, text in texts.items():
        (FOLDER / name).write_text(text)
    print(f"{len(texts)} reviews written to {FOLDER}")


if __name__ == "__main__":
    main()
