"""A cluster of any size, made anew from a seed: nodes and pods as an API server prints them, or a dump of them."""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import yaml

SEED = 20261129
NODES = 1_500
PODS_A_NODE = 10
GPU = "nvidia.com/gpu"
PREFIX = "my.gpu.cluster"
PRODUCTS = (("NVIDIA-A100-SXM4-80GB", 8), ("Tesla-V100-SXM2-32GB", 4))
POLICY = f"""\
apiVersion: gpupolicy.dev/v1alpha1
kind: GPUPolicy
metadata: {{name: fleet}}
spec:
  gpuTypes:
    - {{name: A100, gpusPerNode: 8, nodeSelector: {{matchLabels: {{{GPU}.product: NVIDIA-A100-SXM4-80GB}}}}}}
    - {{name: V100, gpusPerNode: 4, nodeSelector: {{matchLabels: {{{GPU}.product: Tesla-V100-SXM2-32GB}}}}}}
  slotGroups:
    - name: SLOT-SMALL
      sizes: [1, 2, 4]
      nodes: [{{gpuType: A100, weight: 3}}, {{gpuType: V100, weight: 1}}]
    - name: SLOT-8
      sizes: [8]
      nodes: [{{gpuType: A100, weight: 1}}]
      overflow: [SLOT-SMALL]
  scheduler:
    profiles:
      - schedulerName: gpu-packing
        scoringStrategy: {{type: MostAllocated, resources: [{{name: {GPU}, weight: 100}}]}}
  admission:
    requestSizes: powerOfTwo
    exemptions:
      - {{namespaces: [kube-system], reason: parts of the cluster}}
      - {{ownerKinds: [DaemonSet], reason: one pod a node by design}}
"""

_DAEMONS = ("dcgm-exporter", "device-plugin", "node-exporter", "network-agent")
_TRAILING_INDENT = 8  # kubectl indents by 4, and items stand two levels deep


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One object: its template, and what stands in place of the words in it."""

    template: str
    words: Mapping[str, str]


def nodes(count: int = NODES, seed: int = SEED) -> Iterator[dict[str, Any]]:
    """Yields that many nodes: two of three have 8 A100, the others 4 V100; one in fifty is cordoned."""
    return (_to_object(made) for made in _nodes(count, seed))


def pods(count: int = NODES, seed: int = SEED) -> Iterator[dict[str, Any]]:
    """Yields ten pods for each of that many nodes: four of DaemonSets, GPU pods, CPU pods, ended and pending ones."""
    return (_to_object(made) for made in _pods(count, seed))


def write(stream: TextIO, made: Iterator[Made], style: str) -> None:
    """Writes a dump as ``kubectl get -o json`` or ``-o yaml`` prints it."""
    texts = _Texts(style)
    if style == "json":
        stream.write('{\n    "apiVersion": "v1",\n    "items": [')
        for number, each in enumerate(made):
            stream.write(("," if number else "") + "\n        " + texts.of(each))
        stream.write('\n    ],\n    "kind": "List",\n    "metadata": {\n        "resourceVersion": ""\n    }\n}\n')
    else:
        stream.write("apiVersion: v1\nitems:\n")
        stream.writelines(texts.of(each) for each in made)
        stream.write('kind: List\nmetadata:\n  resourceVersion: ""\n')


class _Texts:
    """Each template as kubectl prints it, made once."""

    def __init__(self, style: str) -> None:
        self._style = style
        self._known: dict[str, str] = {}

    def of(self, made: Made) -> str:
        """Returns the text of an object as an item of a list."""
        if made.template not in self._known:
            self._known[made.template] = self._print(json.loads(_TEMPLATES[made.template]))
        return _filled(self._known[made.template], made.words)

    def _print(self, template: object) -> str:
        if self._style == "json":
            return json.dumps(template, indent=4).replace("\n", "\n" + " " * _TRAILING_INDENT)
        return str(yaml.safe_dump([template], default_flow_style=False))


def _filled(text: str, words: Mapping[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def _to_object(made: Made) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_filled(_TEMPLATES[made.template], made.words))
    return found


def _nodes(count: int, seed: int) -> Iterator[Made]:
    dice = random.Random(seed)
    for number in range(count):
        product, gpus = PRODUCTS[number % 3 == 2]
        words = {
            "@NAME@": f"gpu-{number:05}",
            "@UID@": f"{dice.getrandbits(128):032x}",
            "@VERSION@": str(dice.randrange(10**8, 10**9)),
            "@PRODUCT@": product,
            "@GPUS@": str(gpus),
            "@ZONE@": f"zone-{number % 3}",
        }
        yield Made(template="cordoned" if dice.random() < 0.02 else "node", words=words)


def _pods(count: int, seed: int) -> Iterator[Made]:
    dice = random.Random(seed + 1)
    for number in range(count):
        free = PRODUCTS[number % 3 == 2][1]
        for place in range(PODS_A_NODE):
            words = {"@NODE@": f"gpu-{number:05}", "@UID@": f"{dice.getrandbits(128):032x}"}
            words["@VERSION@"] = str(dice.randrange(10**8, 10**9))
            if place < len(_DAEMONS):
                yield Made(template="daemon", words={**words, "@APP@": _DAEMONS[place], "@ID@": f"{number:05x}"})
                continue
            words |= {"@TEAM@": f"team-{dice.randrange(40):02}", "@ID@": f"{number * PODS_A_NODE + place:06x}"}
            size = min(dice.choice((1, 1, 2, 4, 8)), 8)
            if free and size <= free and dice.random() < 0.85:
                free -= size
                yield Made(template="gpu", words={**words, "@GPUS@": str(size), "@CPUS@": str(4 * size)})
            else:
                yield Made(template=dice.choices(("cpu", "ended", "pending"), (90, 8, 2))[0], words=words)


def _node(*, is_cordoned: bool) -> dict[str, Any]:
    amounts = {"cpu": "128", "ephemeral-storage": "3600Gi", "hugepages-2Mi": "0", "memory": "1056Gi", "pods": "110"}
    labels = {
        "kubernetes.io/hostname": "@NAME@",
        "topology.kubernetes.io/zone": "@ZONE@",
        f"{GPU}.product": "@PRODUCT@",
        f"{GPU}.count": "@GPUS@",
        **{f"feature.node.kubernetes.io/cpu-cpuid.F{number}": "true" for number in range(30)},
    }
    conditions = [
        {
            "lastHeartbeatTime": "2026-11-29T10:00:00Z",
            "lastTransitionTime": "2026-11-01T10:00:00Z",
            "message": f"kubelet has said so of {kind}",
            "reason": f"Kubelet{kind}",
            "status": "True" if kind == "Ready" else "False",
            "type": kind,
        }
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    images = [
        {"names": [f"registry.example.com/research/image-{number}@sha256:{number:064x}"], "sizeBytes": 9_000_000_000}
        for number in range(40)
    ]
    spec: dict[str, Any] = {"podCIDR": "10.0.0.0/24", "providerID": "metal://@NAME@"}
    if is_cordoned:
        spec["unschedulable"] = True
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"labels": labels, "name": "@NAME@", "resourceVersion": "@VERSION@", "uid": "@UID@"},
        "spec": spec,
        "status": {
            "addresses": [{"address": "@NAME@", "type": "Hostname"}],
            "allocatable": {**amounts, GPU: "@GPUS@"},
            "capacity": {**amounts, GPU: "@GPUS@"},
            "conditions": conditions,
            "images": images,
            "nodeInfo": {"architecture": "amd64", "kubeletVersion": "v1.37.2", "operatingSystem": "linux"},
        },
    }


def _pod(
    name: str, namespace: str, owner: str, requests: Mapping[str, str], *, phase: str = "Running"
) -> dict[str, Any]:
    limits = {GPU: requests[GPU]} if GPU in requests else {}
    variables = [{"name": f"SETTING_{number}", "value": f"value-{number}"} for number in range(12)]
    mounts = [{"mountPath": f"/mnt/data-{number}", "name": f"data-{number}"} for number in range(4)]
    container = {
        "args": ["--config", "/etc/work/config.yaml", "--epochs", "100"],
        "command": ["python", "-m", "work.main"],
        "env": variables,
        "image": "registry.example.com/research/torch:2.9",
        "imagePullPolicy": "IfNotPresent",
        "name": "main",
        "resources": {"limits": limits, "requests": dict(requests)},
        "terminationMessagePath": "/dev/termination-log",
        "volumeMounts": mounts,
    }
    tolerations = [
        {"effect": "NoExecute", "key": f"node.kubernetes.io/{key}", "operator": "Exists", "tolerationSeconds": 300}
        for key in ("not-ready", "unreachable")
    ]
    conditions = [
        {"lastProbeTime": None, "lastTransitionTime": "2026-11-29T09:00:00Z", "status": "True", "type": kind}
        for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    ]
    spec: dict[str, Any] = {
        "containers": [container],
        "dnsPolicy": "ClusterFirst",
        "nodeName": "@NODE@",
        "priority": 0,
        "restartPolicy": "Never",
        "schedulerName": "gpu-packing",
        "serviceAccountName": "runner",
        "terminationGracePeriodSeconds": 30,
        "tolerations": tolerations,
        "volumes": [{"name": f"data-{n}", "persistentVolumeClaim": {"claimName": f"data-{n}"}} for n in range(4)],
    }
    if phase == "Pending":
        del spec["nodeName"]
    references = [
        {"apiVersion": "batch/v1", "controller": True, "kind": owner, "name": f"{name}-owner", "uid": "@UID@"}
    ]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "annotations": {"example.com/owner": "somebody@example.com"},
            "creationTimestamp": "2026-11-29T09:00:00Z",
            "labels": {"app": name, "controller-revision-hash": "7d9c", "team": namespace},
            "name": name,
            "namespace": namespace,
            "ownerReferences": references,
            "resourceVersion": "@VERSION@",
            "uid": "@UID@",
        },
        "spec": spec,
        "status": {"conditions": conditions, "hostIP": "10.1.2.3", "phase": phase, "qosClass": "Burstable"},
    }


_SMALL = {"cpu": "500m", "memory": "1Gi"}
_TEMPLATES: Mapping[str, str] = {
    name: json.dumps(template)
    for name, template in {
        "node": _node(is_cordoned=False),
        "cordoned": _node(is_cordoned=True),
        "daemon": _pod("@APP@-@ID@", "kube-system", "DaemonSet", _SMALL),
        "gpu": _pod("train-@ID@", "@TEAM@", "Job", {"cpu": "@CPUS@", GPU: "@GPUS@", "memory": "64Gi"}),
        "cpu": _pod("serve-@ID@", "@TEAM@", "ReplicaSet", {"cpu": "2", "memory": "4Gi"}),
        "ended": _pod("done-@ID@", "@TEAM@", "Job", {"cpu": "4", GPU: "1", "memory": "16Gi"}, phase="Succeeded"),
        "pending": _pod("wait-@ID@", "@TEAM@", "Job", {"cpu": "32", GPU: "8", "memory": "64Gi"}, phase="Pending"),
    }.items()
}


def write_file(path: Path, kind: str, count: int, seed: int = SEED) -> Path:
    """Writes the nodes or the pods of that many nodes to .json or .yaml, packed if .gz follows; returns the path."""
    style = "yaml" if ".yaml" in path.suffixes else "json"
    opened = gzip.open(path, "wt", compresslevel=6) if path.suffix == ".gz" else open(path, "w")  # noqa: SIM115
    with opened as stream:
        write(stream, _nodes(count, seed) if kind == "nodes" else _pods(count, seed), style)  # type: ignore[arg-type]
    return path


def main() -> None:
    """Writes nodes or pods to standard output."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("nodes", "pods"))
    parser.add_argument("--nodes", type=int, default=NODES, help=f"how many nodes (default: {NODES}); ten pods each")
    parser.add_argument("--format", choices=("json", "yaml"), default="json")
    parser.add_argument("--seed", type=int, default=SEED)
    args = parser.parse_args()
    made = _nodes(args.nodes, args.seed) if args.kind == "nodes" else _pods(args.nodes, args.seed)
    write(sys.stdout, made, args.format)


if __name__ == "__main__":
    main()
