"""Laws of admission, for any pod under any policy."""

from copy import deepcopy

from builders import GROUP, PREFERRED, REQUIRED, TYPE, container, patched
from hypothesis import assume, given
from hypothesis import strategies as st
from pod_strategies import (
    MEMORY,
    NAMES,
    POLICIES,
    PRODUCT,
    SUPPORT,
    binding_policy_names,
    json_values,
    pods,
    policy_names,
    preferred_terms,
    routable_pods,
    weird_pods,
)

from gpupolicy.admission import Decision, admit

operations = st.sampled_from(["CREATE", "UPDATE", "DELETE", "CONNECT"])


def found_rules(decision):
    return sorted({f.rule for f in (*decision.violations, *decision.warnings, *decision.audited)})


@given(policy_names, pods())
def test_the_patch_always_applies(name, pod):
    policy = POLICIES[name]
    patched(pod, admit(policy, pod).patch)


@given(policy_names, pods())
def test_mutation_is_idempotent(name, pod):
    policy = POLICIES[name]
    assert admit(policy, patched(pod, admit(policy, pod).patch)).patch == ()


@given(policy_names, pods())
def test_a_mutated_pod_is_allowed_in_its_final_form(name, pod):
    policy = POLICIES[name]
    decision = admit(policy, pod)
    assume(decision.allowed)

    assert admit(policy, patched(pod, decision.patch), final=True).violations == ()


@given(policy_names, pods(), st.randoms(use_true_random=False))
def test_the_order_of_containers_never_changes_the_verdict(name, pod, random):
    policy = POLICIES[name]
    shuffled = deepcopy(pod)
    random.shuffle(shuffled["spec"]["containers"])
    one, other = admit(policy, pod), admit(policy, shuffled)

    assert (other.allowed, other.gpus, other.placement, found_rules(other)) == (
        one.allowed,
        one.gpus,
        one.placement,
        found_rules(one),
    )


@given(policy_names, weird_pods(), operations, weird_pods() | st.none(), st.booleans())
def test_any_json_ends_in_a_decision(name, pod, operation, old, final):
    policy = POLICIES[name]
    assert isinstance(admit(policy, pod, operation=operation, old=old, final=final), Decision)


@given(policy_names, json_values)
def test_any_json_value_ends_in_a_decision(name, value):
    policy = POLICIES[name]
    assert isinstance(admit(policy, value), Decision)


@given(policy_names, weird_pods(), st.booleans())
def test_an_update_that_changes_nothing_is_always_allowed(name, pod, final):
    policy = POLICIES[name]
    assume(pod is not None)

    assert admit(policy, pod, operation="UPDATE", old=deepcopy(pod), final=final).allowed is True


@given(policy_names, pods(), preferred_terms)
def test_a_preference_never_changes_the_verdict(name, pod, term):
    policy = POLICIES[name]
    preferring = deepcopy(pod)
    affinity = preferring["spec"].get("affinity") or {}
    node_affinity = affinity.get("nodeAffinity") or {}
    preferred = [*(node_affinity.get(PREFERRED) or []), term]
    preferring["spec"]["affinity"] = {**affinity, "nodeAffinity": {**node_affinity, PREFERRED: preferred}}

    assert admit(policy, preferring).allowed is admit(policy, pod).allowed


@given(policy_names, pods())
def test_the_pod_that_was_passed_is_never_changed(name, pod):
    policy = POLICIES[name]
    before = deepcopy(pod)
    admit(policy, pod)

    assert pod == before


@given(policy_names, pods())
def test_the_mutation_keeps_everything_but_placement_and_note(name, pod):
    policy = POLICIES[name]
    changed = patched(pod, admit(policy, pod).patch)

    assert {**changed, "metadata": None, "spec": without_placement(changed["spec"])} == {
        **pod,
        "metadata": None,
        "spec": without_placement(pod["spec"]),
    }


def without_placement(spec):
    placement = ("affinity", "nodeSelector", "schedulerName", "tolerations")
    return {key: value for key, value in spec.items() if key not in placement}


@given(policy_names, pods(noted=False))
def test_the_mutation_keeps_the_tolerations_and_adds_none_twice(name, pod):
    policy = POLICIES[name]
    before = pod["spec"].get("tolerations") or []
    after = patched(pod, admit(policy, pod).patch)["spec"].get("tolerations") or []
    added = after[len(before) :]

    assert after[: len(before)] == before
    assert all(toleration not in after[:place] for place, toleration in enumerate(added, len(before)))


# What a toleration means, written down a second time.


def tolerates(toleration, taint):
    if toleration.get("effect") and toleration["effect"] != taint.effect:
        return False
    if toleration.get("key") and toleration["key"] != taint.key:
        return False
    if toleration.get("operator") == "Exists":
        return True
    return toleration.get("operator", "") in ("", "Equal") and toleration.get("value", "") == taint.value


@given(st.sampled_from(["tainted", "tainted-preferred"]), pods())
def test_a_routed_pod_tolerates_the_taints_of_all_its_groups(name, pod):
    policy = POLICIES[name]
    decision = admit(policy, pod)
    assume(decision.placement is not None and not pod["spec"].get("nodeName"))
    tolerations = patched(pod, decision.patch)["spec"].get("tolerations") or []

    for group in decision.placement.slot_groups:
        assert any(tolerates(toleration, policy.taints_by_group[group]) for toleration in tolerations)


# What node affinity means, written down a second time: which nodes a pod may run on.


def matches(expression, labels):
    value, values = labels.get(expression["key"]), expression.get("values", [])
    if expression["operator"] in ("Gt", "Lt"):
        return value is not None and values[0].isdecimal() and is_beyond(expression["operator"], value, values[0])
    return {
        "In": value in values,
        "NotIn": value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }[expression["operator"]]


def is_beyond(operator, value, bound):
    return int(value) > int(bound) if operator == "Gt" else int(value) < int(bound)


def nodes_of(policy):
    """Every kind of node that may stand in a cluster of the policy, some of them outside its groups."""
    groups = (*policy.groups_by_name, None)
    return [
        {"name": name, GROUP: group, TYPE: gpu_type, "zone": zone, SUPPORT: "true", **known_of(gpu_type)}
        for name in ("gpu-01", "gpu-02")
        for group in groups
        for gpu_type in (*NAMES, None)
        for zone in ("a", None)
    ]


def known_of(gpu_type):
    memory = {MEMORY: "16000"} if gpu_type == "T4" else {MEMORY: "80000"}
    return {PRODUCT: "A100", **memory} if gpu_type == "A100" else memory


def with_names_for_aliases(value):
    """The pod as its author means it: v100 is another word for V100."""
    if isinstance(value, dict):
        return {key: with_names_for_aliases(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_names_for_aliases(item) for item in value]
    return "V100" if value == "v100" else value


def runs_on(pod, node):
    spec = pod["spec"]
    if any(node.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    required = ((spec.get("affinity") or {}).get("nodeAffinity") or {}).get(REQUIRED)
    return required is None or any(term_matches(term, node) for term in required.get("nodeSelectorTerms") or ())


def term_matches(term, node):
    expressions, fields = term.get("matchExpressions") or [], term.get("matchFields") or []
    named = [{"key": "name", "operator": "In", "values": field["values"]} for field in fields]
    return bool(expressions or fields) and all(matches(e, node) for e in (*expressions, *named))


def may_run_on(policy, size, node):
    """Whether the policy lets a request onto a node: an own group or one of its overflow, of a type that admits it."""
    usable = {
        t.name for t in policy.gpu_types if size in policy.sizes_of(t) and is_granted(policy, "gpu_types", t.name)
    }
    own = [g for g in policy.slot_groups if size in g.sizes and is_open(policy, g, usable)]
    groups = {g.name for g in own} | {
        name for g in own for name in g.overflow if is_granted(policy, "slot_groups", name)
    }
    return node[TYPE] in usable and node[GROUP] in groups and node[TYPE] in policy.types_of_group[node[GROUP]]


def is_open(policy, group, usable):
    return is_granted(policy, "slot_groups", group.name) and any(group.serves(name) for name in usable)


def is_granted(policy, part, name):
    return all(name in getattr(rule, part) for rule in policy.admission.access)


def is_real(policy, size, node):
    """Our labels come together, by a claim of the group; and a node that is too small takes no pod anyway."""
    if node[TYPE] is None or node[GROUP] is None:
        return node[GROUP] is None
    return node[TYPE] in policy.types_of_group[node[GROUP]] and size <= policy.types_by_name[node[TYPE]].gpus_per_node


@given(binding_policy_names, routable_pods(noted=True))
def test_a_routed_pod_runs_on_no_node_outside_its_groups(name, pod):
    policy = POLICIES[name]
    decision = admit(policy, pod)
    assume(decision.placement and decision.patch)
    size = sum(decision.gpus.values())
    routed = patched(pod, decision.patch)
    reached = [node for node in nodes_of(policy) if is_real(policy, size, node) and runs_on(routed, node)]

    assert [node for node in reached if not may_run_on(policy, size, node)] == []


@given(binding_policy_names, routable_pods())
def test_a_routed_pod_keeps_every_node_that_both_its_author_and_the_policy_allow(name, pod):
    policy = POLICIES[name]
    decision = admit(policy, pod)
    assume(decision.placement and decision.patch)
    size = sum(decision.gpus.values())
    routed, meant = patched(pod, decision.patch), with_names_for_aliases(pod)
    allowed = [node for node in nodes_of(policy) if may_run_on(policy, size, node) and runs_on(meant, node)]

    assert [node for node in allowed if not runs_on(routed, node)] == []


@given(binding_policy_names, routable_pods())
def test_a_pod_is_refused_for_its_wishes_only_where_no_node_is_left(name, pod):
    policy = POLICIES[name]
    decision = admit(policy, pod)
    assume([v.rule for v in decision.violations] == ["placement-contradiction"])
    size, meant = sum(decision.gpus.values()), with_names_for_aliases(pod)

    assert [node for node in nodes_of(policy) if may_run_on(policy, size, node) and runs_on(meant, node)] == []


@given(st.sampled_from(["preferred", "off"]), routable_pods())
def test_where_routing_does_not_bind_a_pod_is_refused_for_its_wishes_only_where_no_node_at_all_is_left(name, pod):
    policy = POLICIES[name]
    decision = admit(policy, pod)
    assume({v.rule for v in decision.violations} == {"placement-contradiction"})
    size, meant = sum(decision.gpus.values()), with_names_for_aliases(pod)
    usable = [t.name for t in policy.gpu_types if size in policy.sizes_of(t)]
    nodes = [node for node in nodes_of(policy) if is_real(policy, size, node) and node[TYPE] in (None, *usable)]

    assert [node for node in nodes if runs_on(meant, node)] == []


def with_container(pod, added):
    return {**pod, "spec": {**pod["spec"], "containers": [*pod["spec"]["containers"], added]}}


@given(binding_policy_names, routable_pods(), st.sampled_from([1, 2, 4]))
def test_a_pod_that_grows_between_two_runs_goes_where_it_would_have_gone_at_once(name, pod, more):
    policy = POLICIES[name]
    first = admit(policy, pod)
    assume(first.placement and first.placement.slot_groups)
    added = container(more, name="added")
    at_once, grown = with_container(pod, added), with_container(patched(pod, first.patch), added)
    expected, found = admit(policy, at_once), admit(policy, grown)
    assume(expected.placement)
    one, other = patched(at_once, expected.patch), patched(grown, found.patch)
    size = sum(expected.gpus.values())
    nodes = [node for node in nodes_of(policy) if is_real(policy, size, node)]

    assert [runs_on(other, node) for node in nodes] == [runs_on(one, node) for node in nodes]
