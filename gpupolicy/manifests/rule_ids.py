"""The rules that a check of manifests adds to those of admission and of the reader: what the files themselves lack."""

from __future__ import annotations

from collections.abc import Mapping

MANIFEST_RULES: Mapping[str, str] = {
    "affinity-field-unknown": "a field of the affinity that Kubernetes does not have, so that a wish is lost",
    "affinity-refused": "an operator, values or a weight that Kubernetes does not allow in the node affinity",
    "annotation-value-not-string": "an annotation's value that YAML reads as a truth value, a number or null",
    "document-start-refused": "a value on the line of ---, or a directive before it, which kubectl refuses",
    "field-of-wrong-type": "a number or truth value where a text is expected (env, args, tolerations), and the reverse",
    "gpus-not-visible": "pods that stand in another object, or GPUs counted by a field of the kind's own",
    "kind-missing": "an object without apiVersion or kind",
    "kind-not-known": "a kind that is not in the table, judged by what looks like a pod in it",
    "label-key-refused": "characters or a length that Kubernetes does not allow in a label's key",
    "label-value-not-string": "a label's value that YAML reads as a truth value, a number or null",
    "label-value-refused": "characters or a length that Kubernetes does not allow in a label's value",
    "name-refused": "a name of a workload, or a namespace, that is no DNS name",
    "not-an-api-object": "a configuration file of a program, which the API server does not know",
    "not-an-object": "a list or a text where an object is expected, or a file that holds no Kubernetes object",
    "resources-not-read": "a misspelt key in a container's resources, or limits that stand outside of them",
    "template-not-rendered": "a source of Helm or another template engine, which is no YAML before it is rendered",
    "toleration-refused": "an operator, a value or an effect that Kubernetes does not allow in a toleration",
    "unreadable-input": "a file that cannot be opened or read",
}

# Of documents and files that nobody could read.
UNREADABLE_RULES = frozenset(
    {
        "input-too-large",
        "not-utf-8",
        "template-not-rendered",
        "unreadable-input",
        "yaml-alias-bomb",
        "yaml-too-deep",
        "yaml-unreadable",
    }
)
