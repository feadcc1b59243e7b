"""The groups and kinds that this room knows; light, so that a file of one kind does not load the rules of all."""

from __future__ import annotations

SCHEDULER_GROUP = "kubescheduler.config.k8s.io"
SCHEDULER_VERSION = f"{SCHEDULER_GROUP}/v1"
SCHEDULER_KIND = "KubeSchedulerConfiguration"

WEBHOOK_GROUP = "admissionregistration.k8s.io"
WEBHOOK_VERSION = f"{WEBHOOK_GROUP}/v1"
MUTATING, VALIDATING = "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"
WEBHOOK_KINDS = (MUTATING, VALIDATING)

NODE = "Node"
LIST = "List"
