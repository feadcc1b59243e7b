"""Rules about matchConditions, the CEL expressions that decide whether a hook is called."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.labels import find_label_key_problem
from gpupolicy.linting.foreign.findings import error, show, warning
from gpupolicy.linting.foreign.reading import objects, text
from gpupolicy.linting.foreign.webhooks.cel.names import find_problem
from gpupolicy.linting.foreign.webhooks.cel.reads import find_unguarded
from gpupolicy.linting.foreign.webhooks.cel.syntax import Unreadable, read_expression
from gpupolicy.linting.foreign.webhooks.expressions import (
    find_syntax_problem,
    guards_kind,
    guards_null,
    object_parts,
    old_object_parts,
    uses_namespace_object,
)
from gpupolicy.linting.foreign.webhooks.registration import Hook, WebhookConfiguration

_MOST_CONDITIONS = 64
# subresources of pods whose object is no Pod
_OTHER_OBJECTS = ("binding", "eviction", "exec", "attach", "portforward", "proxy", "log")


def match_conditions_too_many(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """More than 64 match conditions.

    Why: the API server refuses them.
    Bad:  65 entries
    Good: one entry that joins them with &&
    Source: kubernetes pkg/apis/admissionregistration/validation; measured on Kubernetes 1.37.2.
    """
    for hook in configuration.hooks:
        if len(hook.conditions) > _MOST_CONDITIONS:
            message = f"there are {len(hook.conditions)} match conditions; the API server takes {_MOST_CONDITIONS}"
            yield error("match-conditions-too-many", (*hook.path, "matchConditions"), message)


def match_condition_name(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A match condition without a name, with an unfit one, or with that of another.

    Why: the API server refuses it.
    Bad:  matchConditions: [{expression: "true"}]
    Good: matchConditions: [{name: asks-for-a-gpu, expression: "true"}]
    Source: kubernetes pkg/apis/admissionregistration/validation.
    """
    for hook in configuration.hooks:
        seen: set[str] = set()
        for index, condition in objects(hook.value.get("matchConditions")):
            path: FieldPath = (*hook.path, "matchConditions", index)
            name = text(condition.get("name"))
            where = (*path, "name") if name else path
            if not name:
                yield error("match-condition-name", where, "the match condition has no name")
            elif problem := find_label_key_problem(name):
                yield error("match-condition-name", where, f"{show(name)} is no name: {problem}")
            elif name in seen:
                yield error("match-condition-name", where, f"a match condition {name} stands above already")
            seen.update(filter(None, [name]))


def match_condition_unreadable(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A match condition without an expression, or with one that does not compile.

    Why: the API server refuses it: its grammar, names and calls that match conditions do not have (variables, params),
    values that cannot be compared, and a result that is not true or false. Other types are not looked at here.
    Bad:  expression: "variables.gpus > 0"
    Good: expression: "object.spec.containers.exists(c, has(c.resources.limits))"
    Source: kubernetes pkg/apis/admissionregistration/validation; measured on Kubernetes 1.37.2.
    """
    rule = "match-condition-unreadable"
    for hook in configuration.hooks:
        for path, expression in hook.conditions:
            if not expression.strip():
                yield error(rule, path, "the match condition has no expression")
            elif reason := find_syntax_problem(expression):
                yield error(rule, path, f"the expression cannot be read: {reason}")
            elif problem := _compile_problem(expression):
                what, hint = problem
                yield error(rule, path, f"the expression {what}", hint)


def _compile_problem(expression: str) -> tuple[str, str | None] | None:
    tree = read_expression(expression)
    return None if isinstance(tree, Unreadable) else find_problem(tree)


def match_condition_namespace_object(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A match condition that reads namespaceObject.

    Why: it compiles, and fails on every request: with failurePolicy Fail all of them are refused with 403, with Ignore
    the hook is never called.
    Bad:  expression: "namespaceObject.metadata.labels['team'] == 'a'"
    Good: namespaceSelector: {matchLabels: {team: a}}
    Source: measured on Kubernetes 1.37.2.
    """
    for hook in configuration.hooks:
        for path, expression in hook.conditions:
            if uses_namespace_object(expression):
                effect = "refuses every request" if hook.fails else "keeps the hook from ever being called"
                message = f"namespaceObject fails in match conditions, which {effect}"
                hint = "use namespaceSelector, or request.namespace"
                yield (error if hook.fails else warning)("match-condition-namespace-object", path, message, hint)


def match_condition_unguarded(configuration: WebhookConfiguration) -> Iterator[Finding]:
    """A match condition that reads a part of the object in requests whose object does not have it.

    Why: DELETE and CONNECT have no such object, CREATE has no oldObject, a Binding or Eviction has no spec, and a pod
    may have no limits or labels. The expression then fails: with failurePolicy Fail such a request is refused, with
    Ignore the hook is passed over. Where another condition is false, that counts and nothing fails.
    Bad:  resources: [pods/*] with expression: "object.spec.containers.exists(c, true)"
    Good: resources: [pods] with operations: [CREATE], or expression: "object.?spec.?containers.hasValue() && ..."
    Source: measured on Kubernetes 1.37.2.
    """
    for hook in configuration.hooks:
        for path, message, hint in (*_of_other_requests(hook), *_of_pods(hook)):
            effect = "is refused" if hook.fails else "passes the hook over"
            say = error if hook.fails else warning
            yield say("match-condition-unguarded", path, f"{message} {effect}", hint)


def _of_other_requests(hook: Hook) -> Iterator[tuple[FieldPath, str, str]]:
    """What is read of an object in requests that have none, or one of another kind: the first of each."""
    hazard = _hazard(hook)
    for path, expression in hook.conditions if hazard else ():
        if parts := object_parts(expression):
            hint = "narrow the rules, or look at request.kind.kind and object != null first"
            yield path, f"object.{parts[-1]} is read, but {hazard}; such a request", hint
            break
    if any(rule.takes("CREATE") for rule in hook.rules):
        for path, expression in hook.conditions:
            if parts := old_object_parts(expression):
                hint = "look at request.operation, or at oldObject != null, first"
                yield path, f"oldObject.{parts[-1]} is read, which CREATE does not have; such a request", hint
                break


def _of_pods(hook: Hook) -> Iterator[tuple[FieldPath, str, str]]:
    """What is read of pods that they may lack."""
    if not (hook.find_pod_rule("CREATE") or hook.find_pod_rule("UPDATE")) or hook.passes_over_new_pods:
        return
    trees = [(path, read_expression(expression)) for path, expression in hook.conditions]
    readable = [(path, tree) for path, tree in trees if not isinstance(tree, Unreadable)]
    for index, read in find_unguarded([tree for _, tree in readable], mutating=hook.mutating).items():
        message = f"{read} is read, which a request for a pod may lack; such a request"
        yield readable[index][0], message, _guard(read)


def _guard(read: str) -> str:
    """What to ask before a read such as ``c.resources.limits``, or ``object.metadata.labels['a']``."""
    owner, bracket, key = read.removesuffix("]").rpartition("[")
    is_key = bracket and key.startswith("'")
    return f"ask {key} in {owner} first" if is_key else f"ask has({read}) first, or read it with .?"


def _hazard(hook: Hook) -> str | None:
    """What the rules let in that an expression about a Pod cannot read, unless some condition looks for it."""
    expressions = [expression for _, expression in hook.conditions]
    if not any(guards_null(expression) for expression in expressions):
        for operation in ("DELETE", "CONNECT"):
            if any(rule.takes(operation) for rule in hook.rules):
                return f"the rules cover {operation}, where there is no such object"
    if any(guards_kind(expression) for expression in expressions):
        return None
    if not any("spec" in object_parts(expression) for expression in expressions):
        return None
    for rule in hook.rules:
        for subresource in _OTHER_OBJECTS:
            if rule.covers("", "pods", subresource) and (rule.takes("CREATE") or rule.takes("CONNECT")):
                return f"the rules cover pods/{subresource}, whose object has no spec"
        if "*" in rule.resources or "*/*" in rule.resources:
            return "the rules cover every resource, and some have no spec"
    return None
