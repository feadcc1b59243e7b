"""What the API server would refuse before any webhook is asked, in the parts of a manifest that we read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpupolicy.errors import FieldPath, Finding, LocatedFinding, Part, Severity, shown
from gpupolicy.labels import find_dns_label_problem, find_dns_subdomain_problem
from gpupolicy.loading.documents import Document
from gpupolicy.manifests.affinity_rules import find_affinity_problems
from gpupolicy.manifests.field_types import find_type_problems, shape
from gpupolicy.manifests.label_problems import find_key_problem, find_value_problem
from gpupolicy.manifests.objects import ManifestObject
from gpupolicy.manifests.toleration_rules import find_toleration_problems

# API groups of files that programs read by themselves; the API server does not know their kinds.
_FILES_OF_PROGRAMS = {
    "kubescheduler.config.k8s.io": "kube-scheduler reads it by --config",
    "kubelet.config.k8s.io": "the kubelet reads it by --config",
    "kubeproxy.config.k8s.io": "kube-proxy reads it by --config",
    "kubeadm.k8s.io": "kubeadm reads it by --config",
    "apiserver.config.k8s.io": "kube-apiserver reads it",
}
# Groups of files that live among manifests by custom.
FILES_OF_TOOLS = {
    "gpupolicy.dev": "gpupolicy itself reads it",
    "kustomize.config.k8s.io": "kustomize reads it",
    "kind.x-k8s.io": "kind reads it",
}


def find_object_problems(manifest: ManifestObject, *, makes_pods: bool) -> Iterator[Finding]:
    """Yields what is wrong with an object as such: its kind, name, labels and annotations.

    Args:
        manifest: the object.
        makes_pods: its name has to be a DNS name; other kinds may be named more freely.

    Source: kubernetes/apimachinery pkg/api/validation; measured on 1.37.2 where the docs on manifests say so.
    """
    yield from _find_kind_problems(manifest)
    for key in ("metadata", "spec"):
        value = manifest.value.get(key)
        if value is not None and not isinstance(value, Mapping):
            yield _error("field-of-wrong-type", (key,), f"{key} is {shape(value)}, a mapping is expected")
    metadata = manifest.value.get("metadata")
    if isinstance(metadata, Mapping):
        yield from _find_name_problems(metadata, makes_pods)
        yield from find_metadata_problems(metadata, ("metadata",))


def find_start_problem(document: Document) -> LocatedFinding | None:
    """Returns what keeps kubectl from reading a document at its first line, if anything.

    Source: apimachinery pkg/util/yaml/decoder.go, YAMLReader; measured with kubectl 1.37.2.
    """
    first, _, _ = document.text.partition("\n")
    beside = first.removeprefix("---").lstrip()
    if first.startswith("%"):
        column, words = 1, "a directive stands before ---"
    elif first.startswith("---") and beside and not beside.startswith("#"):
        column, words = len(first) - len(beside) + 1, "a value stands on the line of ---"
    else:
        return None
    return LocatedFinding(
        rule="document-start-refused",
        severity=Severity.ERROR,
        field=(),
        message=f"{words}, where kubectl takes nothing but comments",
        file=document.file,
        line=document.positions.line,
        column=column,
    )


def find_pod_problems(pod: Mapping[str, object]) -> Iterator[Finding]:
    """Yields what is wrong with a pod's metadata, its types, and what it wants of nodes; fields count from the pod."""
    metadata, spec = pod.get("metadata"), pod.get("spec")
    if isinstance(metadata, Mapping):
        yield from find_metadata_problems(metadata, ("metadata",))
    if isinstance(spec, Mapping):
        yield from _find_label_problems(spec.get("nodeSelector"), ("spec", "nodeSelector"), "node selector")
        yield from find_affinity_problems(spec)
        yield from find_toleration_problems(spec)
        yield from find_type_problems(spec, ("spec",))


def find_metadata_problems(metadata: Mapping[str, object], path: FieldPath) -> Iterator[Finding]:
    """Yields what is wrong with labels and annotations."""
    yield from _find_label_problems(metadata.get("labels"), (*path, "labels"), "label")
    annotations = metadata.get("annotations")
    yield from _find_map_problems(annotations, (*path, "annotations"), "annotation")


def _find_kind_problems(manifest: ManifestObject) -> Iterator[Finding]:
    for key in ("apiVersion", "kind"):
        value = manifest.value.get(key)
        if value is None or value == "":
            yield _error("kind-missing", (), f"{key} is missing, so nobody can tell what this object is")
        elif not isinstance(value, str):
            yield _error("field-of-wrong-type", (key,), f"{key} is {shape(value)}, a text is expected")
    reader = _FILES_OF_PROGRAMS.get(manifest.group)
    if reader is not None:
        yield Finding(
            rule="not-an-api-object",
            severity=Severity.WARNING,
            field=("kind",),
            message=f"{manifest.kind} is no API object ({reader}), so applying it fails",
            hint="keep it out of the manifests, or deliver it as data of a ConfigMap",
        )


def _find_name_problems(metadata: Mapping[str, object], makes_pods: bool) -> Iterator[Finding]:
    for key, find_problem in (("name", find_dns_subdomain_problem), ("namespace", find_dns_label_problem)):
        value = metadata.get(key)
        if value is None or value == "":
            continue
        if not isinstance(value, str):
            yield _error("field-of-wrong-type", ("metadata", key), f"{key} is {shape(value)}, a text is expected")
        elif (makes_pods or key == "namespace") and (problem := find_problem(value)):
            yield _error("name-refused", ("metadata", key), f'{key} "{shown(value, 80)}" {problem}')


def _find_label_problems(labels: object, path: FieldPath, noun: str) -> Iterator[Finding]:
    yield from _find_map_problems(labels, path, noun)
    for key, value in labels.items() if isinstance(labels, Mapping) else ():
        if isinstance(value, str) and (problem := find_value_problem(value)):
            message = f'the value "{shown(value, 80)}" of {noun} {shown(key, 80)} {problem}'
            yield _error("label-value-refused", (*path, key), message)


def _find_map_problems(entries: object, path: FieldPath, noun: str) -> Iterator[Finding]:
    """Yields what is wrong with a map of texts whose keys are label keys."""
    if entries is None:
        return
    if not isinstance(entries, Mapping):
        yield _error("field-of-wrong-type", path, f"{path[-1]} is {shape(entries)}, a mapping is expected")
        return
    for key, value in entries.items():
        if problem := find_key_problem(key):
            yield _error("label-key-refused", (*path, key), f'{noun} key "{shown(key, 80)}" {problem}', Part.KEY)
        if not isinstance(value, str):
            yield _not_text(value, (*path, key), noun)


def _not_text(value: object, field: FieldPath, noun: str) -> Finding:
    """Returns what is wrong with a value of a map of texts; null alone is let in, as an empty text."""
    rule = "annotation-value-not-string" if noun == "annotation" else "label-value-not-string"
    message = f"the value of {noun} {shown(str(field[-1]), 80)} is {shape(value)}"
    if value is None:
        message += ", which the API server reads as an empty text"
        hint = 'write "" for an empty text'
        return Finding(rule=rule, severity=Severity.WARNING, field=field, message=message, hint=hint)
    return _error(rule, field, f"{message}, a text is expected")


def _error(rule: str, field: FieldPath, message: str, part: Part = Part.VALUE) -> Finding:
    return Finding(rule=rule, severity=Severity.ERROR, field=field, message=message, part=part)
