"""The rules of drift by id: what ``nodes status`` may find, and what of it counts as drift."""

from __future__ import annotations

from collections.abc import Mapping

DRIFT_RULES: Mapping[str, str] = {
    "node-amount-refused": "a node with an amount of GPUs that is none, such as 8Gi, 8.5 or more than 1024",
    "node-cordoned": "a cordoned node: no new pod is put there",
    "node-gpus-differ": "a node that offers another number of GPUs than its type has: a GPU lost, MIG turned on",
    "node-label-by-kubelet": "a label of the policy that a kubelet has set on its own node",
    "node-label-changed": "a label of the policy with another value than the policy wants",
    "node-label-missing": "a label of the policy that is absent",
    "node-label-not-ours": "a label of the policy that somebody else has set to the value that the policy wants",
    "node-label-surplus": "a label of the policy on a node that is not to have it",
    "node-label-without-gpus": "a node with a label of the policy and without GPUs",
    "node-not-ready": "a node that is not Ready",
    "node-owner-conflict": "a label or the taints of the policy that another manager applies too",
    "node-rollout-unfinished": "a node that an apply cordoned and did not come to uncordon",
    "node-taint-foreign": "a taint of others that keeps pods off a node of the policy",
    "node-taint-missing": "a taint of the policy that is absent",
    "node-taint-surplus": "a taint of the policy on a node that is not to have it",
    "node-type-in-doubt": "a node whose GPU type cannot be told",
    "node-without-type": "a node with GPUs that no GPU type of the policy takes",
}

# What an operator does on purpose, or Kubernetes by itself; the labels and taints are as the policy wants them.
NO_DRIFT = frozenset({"node-cordoned", "node-label-not-ours", "node-not-ready", "node-taint-foreign"})
