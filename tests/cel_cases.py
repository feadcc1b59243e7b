"""Match conditions that the API server takes and refuses, and what lint says: asked for in the end-to-end tests."""

from __future__ import annotations

import pytest

READ = [
    "object.spec.containers.exists(c, has(c.resources.limits.`nvidia.com/gpu`))",
    "object.?spec.?containers[?0].hasValue()",
    ".object.spec.x == 'a'",
    "object.spec.namespace == 'x' && object.spec.if == 'a'",
    "has(object.spec) ? true : false",
    "1.5e3 > 0x10 && 1u == 1u && .5 < 2 && --1 < 0 && !!true",
    "{'a': [1, 2,],}['a'][0] == 1 && {}.size() == 0",
    "{?'a': optional.of(1)}.size() == [?optional.of(1)].size()",
    "b'abc' == b\"abc\" && br'a' == b'a' && R'\\d' == '\\\\d'",
    "'\\n\\x41\\u00e9\\101' == \"é\"",
    "'''a\n'b''' == \"\"\"c\"\"\"",
    "object.spec.containers.exists(c,\n  has(c.resources)) // it's ( all right",
]

# an expression, and why it cannot be read
NOT_READ = [
    pytest.param("request.name = 'a'", 'it has "=", where CEL has "=="', id="one-equals-sign"),
    pytest.param("true and false", 'it has "and", where CEL has "&&"', id="and"),
    pytest.param("true & false", 'it has "&", where CEL has "&&"', id="ampersand"),
    pytest.param("request.name not in ['a']", 'it has "not", where CEL has "!"', id="not-in"),
    pytest.param("true &&", "it ends too early", id="no-right-side"),
    pytest.param("&& true", 'it has "&&" where that cannot stand', id="no-left-side"),
    pytest.param("has(object.spec) ? true", "it ends too early", id="no-else"),
    pytest.param("object..spec == null", 'it has "." where that cannot stand', id="two-dots"),
    pytest.param("object.in == 1", 'it has "in" where that cannot stand', id="in-as-a-field"),
    pytest.param("true;", 'it has ";" where that cannot stand', id="semicolon"),
    pytest.param("$object.spec == null", 'it has "$" where that cannot stand', id="dollar"),
    pytest.param("{{ .Values.x }}", 'it has "}" where that cannot stand', id="template"),
    pytest.param("request.name in ('a', 'b')", 'it has "," where that cannot stand', id="tuple"),
    pytest.param("!-1 == 1", 'it has "-" where that cannot stand', id="mixed-signs"),
    pytest.param("1_0 == 10", 'it has "_0" where that cannot stand', id="underscore"),
    pytest.param("namespace == 'a'", "namespace is a word that CEL keeps for itself", id="reserved"),
    pytest.param("// nothing", "it ends too early", id="comment-alone"),
    pytest.param(
        "'\\d' == 'd'",
        "a text in it is not closed, or has a backslash before a letter that needs none",
        id="escape",
    ),
]

COMPILED = [
    "oldObject == null && type(object) == map",
    "!authorizer.group('').resource('pods').check('delete').allowed()",
    "quantity('1').isGreaterThan(quantity('0'))",
    "object.spec.nodeSelector.exists(k, v, k == 'a' && v == 'b')",
    "object.spec.exists(object, object == null)",
    "object.?a.optMap(x, x == 1).orValue(false)",
    "object.?spec.?nodeSelector != oldObject.?spec.?nodeSelector",
    "object.metadata.?labels[?'a'] == optional.of('b')",
    "optional.of(true).orValue(false)",
    "object.spec.hostNetwork.orValue(false)",
    "object.x ? true : false",
    "object.x && !object.y",
    "request.dryRun",
    "request.options.x == 1",
    "request.userInfo.extra['a'] == ['b']",
    "request.namespace in object.x",
    "bool('true')",
    "duration('1h') > duration('1m')",
    "sets.contains(['a'], [request.namespace])",
    "request.name.size() > 1",
    "object.spec.containers.map(c, 1).sum() > 1",
    "!(request.resource.group == 'coordination.k8s.io' && request.resource.resource == 'leases')",
    "!('system:nodes' in request.userInfo.groups)",
    "request.operation in ['CREATE', 'UPDATE'] && !request.namespace.startsWith('kube-')",
    "object.spec.containers.exists(c, 'nvidia.com/gpu' in c.?resources.?limits.orValue({}))",
    "object.spec.containers.exists(c, c.?resources.?limits['nvidia.com/gpu'].hasValue())",
    "(object.spec.containers + object.spec.?initContainers.orValue([])).exists(c, has(c.resources))",
    "object.spec.containers.map(c, int(c.?resources.?limits['nvidia.com/gpu'].orValue('0'))).sum() > 0",
    "!has(object.metadata.labels) || !('skip' in object.metadata.labels) || object.metadata.labels['skip'] != 'true'",
    "object.spec.?schedulerName.orValue('default-scheduler') == 'default-scheduler'",
    "quantity(object.spec.containers[0].resources.requests['memory']).compareTo(quantity('1Gi')) > 0",
    "object.metadata.name.matches('^gpu-[0-9]+$')",
    "has(object.spec.nodeSelector) ? object.spec.nodeSelector.all(k, object.spec.nodeSelector[k] != '') : true",
    "timestamp(object.metadata.creationTimestamp) < timestamp('2030-01-01T00:00:00Z')",
    "'%s-%d'.format([request.name, 1]) == 'a-1'",
    "url('https://a/b').getHost() == 'a' && ip('10.0.0.1').family() == 4 && cidr('10.0.0.0/8').containsIP('10.0.0.1')",
    "'a,b'.split(',')[0].lowerAscii().trim().replace('a', 'b').substring(0, 1).charAt(0) == 'b'",
    "object.spec.containers.transformList(i, c, c.name).exists(n, n == 'x')",
    "type(1) == int && dyn(object).spec.x == 1 && [1, 2, 3].max() == 3",
    "authorizer.path('/healthz').check('get').errored() || authorizer.requestResource.check('get').allowed()",
    "sets.intersects(request.userInfo.groups, ['a']) || request.userInfo.extra['a'][0] == 'x'",
]

# an expression, what it does, and the hint
NOT_COMPILED = [
    pytest.param("pod.spec == 1", "reads pod, which match conditions do not have", "write object", id="pod"),
    pytest.param("variables.x > 0", "reads variables, which match conditions do not have", None, id="variables"),
    pytest.param("True", "reads True, which match conditions do not have", "write true", id="true-of-python"),
    pytest.param(
        "object.spec.containers.all(c, container.x == 1)",
        "reads container, which match conditions do not have",
        None,
        id="another-variable",
    ),
    pytest.param(
        "object.metadata.labels.nvidia.com/gpu == 'x'",
        "reads gpu, which match conditions do not have",
        None,
        id="a-slash-divides",
    ),
    pytest.param(
        "request.userinfo.username == 'a'",
        "reads request.userinfo, which there is not",
        "did you mean userInfo",
        id="field-of-the-request",
    ),
    pytest.param(
        "request.object.spec.x == 1",
        "reads request.object, which there is not",
        "write object",
        id="object-of-the-request",
    ),
    pytest.param(
        "request.kind == 'Pod'",
        "compares request.kind, which has group, kind, version, with one value",
        "write request.kind.kind",
        id="kind-as-text",
    ),
    pytest.param(
        "object.spec.containers.exist(c, true)",
        "calls exist(), which there is not",
        "did you mean exists",
        id="macro",
    ),
    pytest.param("len(object.x) > 0", "calls len(), which there is not", "write size()", id="len"),
    pytest.param(
        "object.spec.exists(true)",
        "calls exists() with 1 argument",
        "it takes a name and what is to hold for it",
        id="macro-without-a-name",
    ),
    pytest.param(
        "object.x.exists(c, has(c.resources.limits['nvidia.com/gpu']))",
        "asks has() for something that is no field",
        "write key in map, or object.?spec.hasValue()",
        id="has-an-item",
    ),
    pytest.param(
        "['a', 'b'].contains(request.namespace)",
        "calls contains() on a list",
        "write value in [...]",
        id="contains-on-a-list",
    ),
    pytest.param(
        "!request.namespace in ['a']",
        'has "!" beside what is no truth value',
        "write !(value in [...])",
        id="not-binds-first",
    ),
    pytest.param(
        "request.namespace in 'a'", 'looks with "in" into a text', "write [...], or contains()", id="in-a-text"
    ),
    pytest.param(
        "quantity('1') > quantity('0')",
        'compares quantities by ">"',
        "write isGreaterThan(quantity(...)), isLessThan or compareTo",
        id="quantities",
    ),
    pytest.param("request.dryRun == 'true'", "compares a truth value with a text", None, id="types"),
    pytest.param("request.namespace == ['a']", "compares a text with a list", None, id="a-list"),
    pytest.param(
        "object.metadata.?labels[?'a'] == 'b'",
        "compares what may be absent with a text",
        "write .orValue(...) behind it",
        id="an-optional-value",
    ),
    pytest.param(
        "'a' in object.metadata.?labels",
        'looks with "in" into what may be absent',
        "write .orValue({}) behind it",
        id="in-an-optional-map",
    ),
    pytest.param(
        "object.spec.?initContainers.exists(c, true)",
        "goes through what may be absent",
        "write .orValue([]) behind it",
        id="macro-of-an-optional-list",
    ),
    pytest.param("request.namespace", "gives no truth value", "compare it with something", id="a-text"),
    pytest.param("size(object.x)", "gives no truth value", "compare it with something", id="a-number"),
    pytest.param(
        "has(object.x) ? object.x : false",
        "gives what the object holds there, which may be anything",
        "compare it: == true",
        id="a-part-of-the-object",
    ),
    pytest.param(
        "object.?spec.?hostNetwork.orValue(false)",
        "gives what the object holds there, which may be anything",
        "compare it: == true",
        id="an-optional-part",
    ),
]


def expressions(*tables: list) -> list[str]:  # type: ignore[type-arg]  # rows of pytest.param have no type
    """The expressions of tables, without what is said of them."""
    rows = [row for table in tables for row in table]
    return [row if isinstance(row, str) else row.values[0] for row in rows]
