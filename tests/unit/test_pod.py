"""What is read of a foreign pod, and what is refused because no Kubernetes object has that shape."""

import pytest
from builders import PREFERRED, REQUIRED, container, described, owned, pod, preference, preferred, required, within

from gpupolicy.errors import PodShapeError
from gpupolicy.labels import Requirement
from gpupolicy.pod import Container, PodView, PreferredTerm, Term

NODE_AFFINITY = ("spec", "affinity", "nodeAffinity")
TERM = (*NODE_AFFINITY, REQUIRED, "nodeSelectorTerms", 0)


def amounts_of(**resources):
    return list(PodView(pod() | {"spec": {"containers": [{"resources": resources}]}}).containers[0].amounts())


@pytest.mark.parametrize(
    ("resources", "amounts"),
    [
        pytest.param({"limits": {"g": 1}}, [("g", "limits", 1)], id="limit-alone"),
        pytest.param({"requests": {"g": 1}}, [("g", "requests", 1)], id="request-alone"),
        pytest.param({"limits": {"g": 2}, "requests": {"g": 1}}, [("g", "requests", 1)], id="the-request-counts"),
        pytest.param(
            {"limits": {"g": 2}, "requests": {"h": 1}}, [("g", "limits", 2), ("h", "requests", 1)], id="different-names"
        ),
        pytest.param({"limits": None, "requests": None}, [], id="null"),
        pytest.param({}, [], id="none"),
    ],
)
def test_a_container_tells_each_amount_once(resources, amounts):
    assert amounts_of(**resources) == amounts


def test_a_container_tells_where_an_amount_stands():
    place = PodView(pod(1, 2)).containers[1].place("limits", "nvidia.com/gpu")

    assert place == ("spec", "containers", 1, "resources", "limits", "nvidia.com/gpu")


@pytest.mark.parametrize(
    ("fields", "restartable"),
    [
        pytest.param({"restartPolicy": "Always"}, True, id="always"),
        pytest.param({"restartPolicy": "Never"}, False, id="never"),
        pytest.param({}, False, id="unset"),
    ],
)
def test_an_init_container_that_always_restarts_is_a_sidecar(fields, restartable):
    view = PodView(pod(1, init=(container(1, **fields),)))

    assert view.init_containers[0].restartable is restartable


def test_a_container_of_the_pod_is_never_a_sidecar():
    view = PodView(pod() | {"spec": {"containers": [container(1, restartPolicy="Always")]}})

    assert view.containers[0].restartable is False


def test_a_container_without_resources_asks_for_nothing():
    view = PodView(pod() | {"spec": {"containers": [{"name": "a"}, {"name": "b", "resources": None}]}})

    assert view.containers == (
        Container(("spec", "containers", 0), {}, {}),
        Container(("spec", "containers", 1), {}, {}),
    )


def test_what_is_absent_reads_as_empty():
    view = PodView({"metadata": None, "spec": {"containers": []}})

    assert (
        view.namespace,
        view.labels,
        view.annotations,
        view.scheduler_name,
        view.node_name,
        view.service_account,
        view.node_selector,
        view.controller_kind,
        view.required_terms,
        view.preferred_terms,
        list(view.tolerations),
        list(view.resource_claims),
    ) == ("", {}, {}, "", "", "default", {}, "", (), (), [], [])


def test_a_null_for_a_string_reads_as_the_api_server_decodes_it():
    assert PodView(pod(1, nodeSelector={"zone": None})).node_selector == {"zone": ""}


def test_the_controlling_owner_counts_not_the_first():
    owners = [{"kind": "Workflow"}, {"kind": "Job", "controller": True}]

    assert PodView(described(pod(1), ownerReferences=owners)).controller_kind == "Job"


def test_an_owner_that_does_not_control_is_no_controller():
    assert PodView(described(pod(1), ownerReferences=[{"kind": "Job", "controller": "true"}])).controller_kind == ""


def test_a_mirror_pod_is_known_by_its_annotation():
    mirror = owned(pod(1), "Node", annotations={"kubernetes.io/config.mirror": "5f0c"})

    assert PodView(mirror).is_mirror is True


def test_required_terms_are_read_as_requirements():
    view = PodView(pod(1, affinity=required([within("zone", "a"), within("gpu", operator="Exists")])))

    assert view.required_terms == (
        Term(
            TERM,
            (Requirement(key="zone", operator="In", values=("a",)), Requirement(key="gpu", operator="Exists")),
        ),
    )


@pytest.mark.parametrize(
    "affinity",
    [
        pytest.param(None, id="null"),
        pytest.param({}, id="empty"),
        pytest.param({"nodeAffinity": None}, id="node-affinity-null"),
        pytest.param({"nodeAffinity": {REQUIRED: None}}, id="required-null"),
        pytest.param({"nodeAffinity": {REQUIRED: {}}}, id="required-empty"),
        pytest.param({"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": None}}}, id="terms-null"),
    ],
)
def test_no_required_terms(affinity):
    assert PodView(pod(1, affinity=affinity)).required_terms == ()


@pytest.mark.parametrize(
    ("term", "is_empty"),
    [
        pytest.param({}, True, id="nothing"),
        pytest.param({"matchExpressions": [], "matchFields": None}, True, id="empty-lists"),
        pytest.param({"matchFields": [within("metadata.name", "gpu-01")]}, False, id="fields"),
        pytest.param({"matchExpressions": [within("zone", "a")]}, False, id="expressions"),
    ],
)
def test_a_term_without_expressions_and_fields_is_empty(term, is_empty):
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}

    assert PodView(pod(1, affinity=affinity)).required_terms[0].is_empty is is_empty


def test_an_operator_that_kubernetes_does_not_have_is_left_to_the_api_server():
    view = PodView(pod(1, affinity=required([within("zone", "a", operator="Matches")])))

    assert view.required_terms == (Term(TERM, (None,)),)


def test_preferred_terms_are_read_with_their_weight():
    view = PodView(pod(1, affinity=preferred(preference(7, within("zone", "a")))))
    place = (*NODE_AFFINITY, PREFERRED, 0, "preference")

    assert view.preferred_terms == (
        PreferredTerm(7, Term(place, (Requirement(key="zone", operator="In", values=("a",)),))),
    )


@pytest.mark.parametrize("raw", [{}, {"weight": "7", "preference": None}], ids=["empty", "text-for-weight"])
def test_a_preferred_term_of_no_sense_is_left_to_the_api_server(raw):
    view = PodView(pod(1, affinity=preferred(raw)))

    assert view.preferred_terms == (PreferredTerm(None, Term((*NODE_AFFINITY, PREFERRED, 0, "preference"))),)


def read_everything(view):
    return (
        view.namespace,
        view.labels,
        view.annotations,
        view.scheduler_name,
        view.node_name,
        view.service_account,
        view.node_selector,
        view.controller_kind,
        view.pod_level_resources,
        view.overhead,
        list(view.resource_claims),
        list(view.tolerations),
        view.required_terms,
        view.preferred_terms,
    )


def with_term(**term):
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}}}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        pytest.param({"containers": "train"}, "spec.containers is a string, a list is expected", id="containers"),
        pytest.param({"containers": None}, "spec.containers is missing, a list is expected", id="no-containers"),
        pytest.param({"containers": [None]}, "spec.containers[0] is missing, a mapping is expected", id="no-container"),
        pytest.param({"initContainers": ""}, "spec.initContainers is a string, a list is expected", id="inits"),
        pytest.param(
            {"containers": [{"resources": []}]},
            "spec.containers[0].resources is a list, a mapping is expected",
            id="resources",
        ),
        pytest.param(
            {"containers": [{"resources": {"limits": 4}}]},
            "spec.containers[0].resources.limits is a number, a mapping is expected",
            id="limits",
        ),
        pytest.param(
            {"schedulerName": True}, "spec.schedulerName is the boolean true, a string is expected", id="name"
        ),
        pytest.param(
            {"nodeSelector": {"gpu": True}},
            "spec.nodeSelector.gpu is the boolean true, a string is expected",
            id="selector-value",
        ),
        pytest.param(
            {"nodeSelector": {1: "a"}}, "spec.nodeSelector has a key that is a number, a string is expected", id="key"
        ),
        pytest.param({"affinity": []}, "spec.affinity is a list, a mapping is expected", id="affinity"),
        pytest.param(
            {"affinity": {"nodeAffinity": "x"}},
            "spec.affinity.nodeAffinity is a string, a mapping is expected",
            id="node-affinity",
        ),
        pytest.param({"tolerations": [1]}, "spec.tolerations[0] is a number, a mapping is expected", id="toleration"),
        pytest.param({"resourceClaims": {}}, "spec.resourceClaims is a mapping, a list is expected", id="claims"),
        pytest.param({"overhead": 1}, "spec.overhead is a number, a mapping is expected", id="overhead"),
        pytest.param({"resources": 1}, "spec.resources is a number, a mapping is expected", id="pod-level"),
        pytest.param(
            with_term(matchExpressions={}),
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions is a mapping, "
            "a list is expected",
            id="expressions",
        ),
        pytest.param(
            with_term(matchExpressions=[{"operator": "In"}]),
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].key is missing, "
            "a string is expected",
            id="expression-key",
        ),
        pytest.param(
            with_term(matchExpressions=[{"key": "a", "operator": "In", "values": [8]}]),
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].values[0] is a number, "
            "a string is expected",
            id="expression-value",
        ),
    ],
)
def test_a_spec_of_the_wrong_shape_is_refused_by_field(spec, message):
    with pytest.raises(PodShapeError) as caught:
        read_everything(PodView({"spec": {"containers": [], **spec}}))

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("document", "message"),
    [
        pytest.param(None, "the pod is missing, a mapping is expected", id="nothing"),
        pytest.param([], "the pod is a list, a mapping is expected", id="list"),
        pytest.param({}, "spec is missing, a mapping is expected", id="no-spec"),
        pytest.param({"metadata": 1, "spec": {}}, "metadata is a number, a mapping is expected", id="metadata"),
        pytest.param(
            {"metadata": {"labels": {"a": 1}}, "spec": {"containers": []}},
            "metadata.labels.a is a number, a string is expected",
            id="label",
        ),
        pytest.param(
            {"metadata": {"ownerReferences": ["x"]}, "spec": {"containers": []}},
            "metadata.ownerReferences[0] is a string, a mapping is expected",
            id="owner",
        ),
    ],
)
def test_a_pod_of_the_wrong_shape_is_refused_by_field(document, message):
    with pytest.raises(PodShapeError) as caught:
        read_everything(PodView(document))

    assert str(caught.value) == message
