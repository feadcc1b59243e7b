"""Rules about a whole file: what stands beside what."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from gpupolicy.errors import Finding
from gpupolicy.linting.foreign.embedded import holds_configuration
from gpupolicy.linting.foreign.findings import error, warning
from gpupolicy.linting.foreign.kinds import NODE, SCHEDULER_KIND
from gpupolicy.linting.foreign.objects import Member, is_known, is_list, members
from gpupolicy.linting.foreign.reading import child, mapping, text
from gpupolicy.loading.documents import Document
from gpupolicy.model import KIND

StreamRule = Callable[[Sequence[Document]], Iterator[tuple[Document, Finding]]]


def scheduler_config_shares_file(documents: Sequence[Document]) -> Iterator[tuple[Document, Finding]]:
    """A KubeSchedulerConfiguration in one file with other documents.

    Why: it is the file of kube-scheduler's --config, of which the first document alone is read; and it is no object of
    the API, so applying it with the others fails: no matches for kind.
    Bad:  a Namespace, then a KubeSchedulerConfiguration
    Good: a file of its own, or the data of a ConfigMap
    Source: measured on kube-scheduler 1.37.2; lwabish/k8s-scheduler issue 1.
    """
    if len(documents) < 2:
        return
    for position, document in enumerate(documents):
        if text(mapping(document.value).get("kind")) != SCHEDULER_KIND:
            continue
        if position == 0:
            message = f"kube-scheduler reads the first document of a file alone; {len(documents) - 1} more stand behind"
        else:
            before = text(mapping(documents[0].value).get("kind")) or "something else"
            message = f"kube-scheduler reads the first document of a file alone, and here it is {before}"
        hint = "give it a file of its own; to a cluster it can be applied inside a ConfigMap alone"
        yield document, warning("scheduler-config-shares-file", ("kind",), message, hint)


def node_repeated(documents: Sequence[Document]) -> Iterator[tuple[Document, Finding]]:
    """Two Nodes of one name in a file.

    Why: a cluster has one of a name; the second stands for another state of the same node, or for a slip.
    Bad:  two items with metadata: {name: gpu-01}
    Good: one item for each name
    Source: Kubernetes object names.
    """
    seen: set[str] = set()
    for document in documents:
        for member in members(document.value):
            name = text(child(member.value, "metadata", "name"))
            if member.kind != NODE or not name:
                continue
            if name in seen:
                path = (*member.path, "metadata", "name")
                yield document, error("node-repeated", path, f"a node {name} stands above already")
            seen.add(name)


def list_empty(documents: Sequence[Document]) -> Iterator[tuple[Document, Finding]]:
    """A list without items.

    Why: nothing was judged, which is not the same as nothing found.
    Bad:  {kind: NodeList, items: []}
    Good: kubectl get nodes -o yaml of a cluster with nodes
    Source: gpupolicy's own rule that nothing is skipped in silence.
    """
    for document in documents:
        if is_list(document.value) and not child(document.value, "items"):
            yield document, warning("list-empty", ("items",), "the list has no items, so nothing was judged")


def list_item_not_linted(documents: Sequence[Document]) -> Iterator[tuple[Document, Finding]]:
    """Items of a list that lint does not judge.

    Why: they are named once for each kind, so that nobody takes them for judged.
    Bad:  kind: List with a Pod
    Good: kind: List with Nodes; gpupolicy check for Pods
    Source: gpupolicy's own rule that nothing is skipped in silence.
    """
    for document in documents:
        others: dict[str, list[Member]] = {}
        for member in members(document.value) if is_list(document.value) else ():
            if not is_known(member) and not holds_configuration(member.value):
                others.setdefault(member.kind, []).append(member)
        for kind, found in others.items():
            what = f"{len(found)} of kind {kind}" if kind else f"{len(found)} without a kind"
            message = f"items of the list are not judged by lint: {what}"
            is_policy = kind == KIND  # no verb takes it from there
            hint = "a policy stands alone in its file" if is_policy else "gpupolicy check judges manifests"
            say = error if is_policy else warning
            yield document, say("list-item-not-linted", found[0].path, message, hint)


STREAM_RULES: tuple[StreamRule, ...] = (
    scheduler_config_shares_file,
    node_repeated,
    list_empty,
    list_item_not_linted,
)
