"""Manifests as teams write them, made anew from a seed: about 80 lines each, a quarter with a number nobody admits."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SEED = 20261129
ADMITTED = (1, 2, 4, 8)
REFUSED = (3, 5, 6, 7)
GPU = "nvidia.com/gpu"
CHECK_POLICY = f"""\
apiVersion: gpupolicy.dev/v1alpha1
kind: GPUPolicy
metadata: {{name: benchmark}}
spec:
  gpuTypes:
    - {{name: A100, gpusPerNode: 8, nodeSelector: {{matchLabels: {{{GPU}.product: NVIDIA-A100}}}}}}
  slotGroups:
    - {{name: SLOT-1, sizes: [1], nodes: [{{gpuType: A100, weight: 1}}]}}
    - {{name: SLOT-2, sizes: [2], nodes: [{{gpuType: A100, weight: 1}}]}}
    - {{name: SLOT-4, sizes: [4], nodes: [{{gpuType: A100, weight: 1}}]}}
    - {{name: SLOT-8, sizes: [8], nodes: [{{gpuType: A100, weight: 1}}]}}
  scheduler:
    profiles:
      - schedulerName: gpu-packing
        scoringStrategy: {{type: MostAllocated, resources: [{{name: {GPU}, weight: 100}}]}}
  admission:
    requestSizes: powerOfTwo
    exemptions: [{{namespaces: [kube-system], reason: parts of the cluster}}]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One file: its name, its text, and whether its pod asks for a number of GPUs that is not admitted."""

    name: str
    text: str
    is_denied: bool


def write(folder: Path, count: int) -> tuple[Manifest, ...]:
    """Writes that many manifests into a folder and returns them."""
    made = tuple(make(count))
    for manifest in made:
        (folder / manifest.name).write_text(manifest.text)
    return made


def make(count: int) -> Iterator[Manifest]:
    """Yields that many manifests, the same ones every time."""
    dice = random.Random(SEED)
    for number in range(count):
        kind = dice.choices(("Deployment", "Job", "Pod"), (41, 38, 21))[0]
        containers = _containers(dice)
        gpus = sum(amount for amount in containers if amount is not None)
        name = f"{dice.choice(('train', 'serve', 'eval', 'notebook'))}-{number:04}"
        yield Manifest(
            name=f"{number:04}-{kind.lower()}.yaml",
            text=_manifest(dice, kind, name, containers),
            is_denied=gpus not in (0, *ADMITTED),
        )


def _containers(dice: random.Random) -> tuple[int | None, ...]:
    """Returns the GPUs of each container; None: a container without any."""
    chance = dice.random()
    if chance < 0.19:
        return (None, None) if chance < 0.05 else (None,)
    size = dice.choice(REFUSED) if dice.random() < 0.32 else dice.choice(ADMITTED)
    if chance < 0.25 and size > 1:
        first = dice.randrange(1, size)
        return (first, size - first)
    return (size, None) if chance < 0.5 else (size,)


def _manifest(dice: random.Random, kind: str, name: str, containers: tuple[int | None, ...]) -> str:
    team = f"team-{dice.choice('abcdef')}"
    labels = [
        f"app: {name}",
        f"team: {team}",
        "app.kubernetes.io/part-of: research",
        "app.kubernetes.io/managed-by: git",
    ]
    head = [
        f"# {name}: kept by {team}",
        f"apiVersion: {'apps/v1' if kind == 'Deployment' else 'batch/v1' if kind == 'Job' else 'v1'}",
        f"kind: {kind}",
        "metadata:",
        f"  name: {name}",
        f"  namespace: {team}",
        "  labels:",
        *(f"    {label}" for label in labels),
        "  annotations:",
        f'    example.com/owner: "{team}@example.com"',
        f'    example.com/ticket: "{dice.randrange(1000, 9999)}"',
        "spec:",
    ]
    spec = list(_pod_spec(dice, containers))
    if kind == "Pod":
        return "\n".join([*head, *_indented(2, spec), ""])
    replicas = f"replicas: {dice.randrange(1, 9)}" if kind == "Deployment" else f"backoffLimit: {dice.randrange(6)}"
    selector = ["selector:", "  matchLabels:", f"    app: {name}"] if kind == "Deployment" else ["completions: 1"]
    template = ["template:", "  metadata:", "    labels:", *(f"      {label}" for label in labels), "  spec:"]
    return "\n".join([*head, *_indented(2, [replicas, *selector, *template]), *_indented(6, spec), ""])


def _pod_spec(dice: random.Random, containers: tuple[int | None, ...]) -> Iterator[str]:
    yield f"restartPolicy: {dice.choice(('Always', 'Never', 'OnFailure'))}"
    yield f"serviceAccountName: {dice.choice(('default', 'runner', 'trainer'))}"
    yield f"terminationGracePeriodSeconds: {dice.choice((30, 60, 120))}"
    yield "securityContext:"
    yield "  runAsNonRoot: true"
    yield f"  fsGroup: {dice.randrange(1000, 2000)}"
    yield "containers:"
    for index, gpus in enumerate(containers):
        yield from _container(dice, index, gpus)
    yield "volumes:"
    yield "  - name: data"
    yield "    persistentVolumeClaim:"
    yield f"      claimName: data-{dice.randrange(100)}"
    yield "  - name: shm"
    yield "    emptyDir:"
    yield "      medium: Memory"
    yield f"      sizeLimit: {dice.choice((2, 8, 16))}Gi"


def _container(dice: random.Random, index: int, gpus: int | None) -> Iterator[str]:
    amount = "" if gpus is None else f'"{gpus}"' if dice.random() < 0.5 else str(gpus)
    yield f"  - name: {'main' if index == 0 else 'side'}"
    yield f"    image: registry.example.com/research/{dice.choice(('torch', 'jax', 'triton'))}:{dice.randrange(1, 40)}"
    yield "    imagePullPolicy: IfNotPresent"
    yield '    command: ["python", "-m", "work.main"]'
    yield "    args:"
    yield from (f'      - "--{word}={dice.randrange(1000)}"' for word in ("seed", "batch-size", "epochs"))
    yield "    env:"
    for word in ("LOG_LEVEL", "WORLD_SIZE", "NCCL_DEBUG"):
        yield f"      - name: {word}"
        yield f'        value: "{dice.randrange(10)}"'
    yield "      - name: POD_NAME"
    yield "        valueFrom:"
    yield "          fieldRef:"
    yield "            fieldPath: metadata.name"
    yield "    ports:"
    yield "      - name: metrics"
    yield f"        containerPort: {9000 + index}"
    yield "    resources:"
    yield "      requests:"
    yield f"        cpu: {dice.choice(('500m', '2', '8'))}"
    yield f"        memory: {dice.choice((4, 16, 64))}Gi"
    yield from [f"        {GPU}: {amount}"] if amount else []
    yield "      limits:"
    yield f"        memory: {dice.choice((64, 128))}Gi"
    yield from [f"        {GPU}: {amount}"] if amount else []
    yield "    volumeMounts:"
    yield "      - name: data"
    yield "        mountPath: /data"
    yield "      - name: shm"
    yield "        mountPath: /dev/shm"


def _indented(spaces: int, lines: list[str]) -> list[str]:
    return [" " * spaces + line for line in lines]
