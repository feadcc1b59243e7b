"""RFC 6902: what is applied, and what is refused instead of being guessed."""

import pytest
from builders import patched

from gpupolicy.patch import PatchError, apply_patch


@pytest.mark.parametrize(
    ("document", "operation", "result"),
    [
        pytest.param({}, {"op": "add", "path": "/a", "value": 1}, {"a": 1}, id="add-key"),
        pytest.param({"a": 1}, {"op": "add", "path": "/a", "value": 2}, {"a": 2}, id="add-replaces-a-key"),
        pytest.param({"a": [1, 3]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2, 3]}, id="insert"),
        pytest.param({"a": [1]}, {"op": "add", "path": "/a/-", "value": 2}, {"a": [1, 2]}, id="append"),
        pytest.param({"a": [1]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2]}, id="insert-at-the-end"),
        pytest.param({"a": 1}, {"op": "replace", "path": "/a", "value": None}, {"a": None}, id="replace"),
        pytest.param({"a": [1, 2]}, {"op": "replace", "path": "/a/1", "value": 3}, {"a": [1, 3]}, id="replace-item"),
        pytest.param({"a": 1, "b": 2}, {"op": "remove", "path": "/a"}, {"b": 2}, id="remove"),
        pytest.param({"a": [1, 2]}, {"op": "remove", "path": "/a/0"}, {"a": [2]}, id="remove-item"),
        pytest.param({"a": 1}, {"op": "test", "path": "/a", "value": 1}, {"a": 1}, id="test"),
        pytest.param({"x/y": 1}, {"op": "add", "path": "/x~1y", "value": 2}, {"x/y": 2}, id="escaped-slash"),
        pytest.param({"x~1": 1}, {"op": "add", "path": "/x~01", "value": 2}, {"x~1": 2}, id="escaped-tilde"),
        pytest.param({"": 1}, {"op": "replace", "path": "/", "value": 2}, {"": 2}, id="empty-key"),
    ],
)
def test_an_operation_is_applied(document, operation, result):
    assert patched(document, (operation,)) == result


def test_operations_are_applied_in_order():
    operations = ({"op": "add", "path": "/a", "value": []}, {"op": "add", "path": "/a/-", "value": 1})

    assert patched({}, operations) == {"a": [1]}


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        pytest.param({"op": "add", "path": "/x/y", "value": 1}, "/x/y: there is no x", id="missing-parent"),
        pytest.param({"op": "replace", "path": "/x", "value": 1}, "/x: there is no x", id="replace-missing"),
        pytest.param({"op": "remove", "path": "/x"}, "/x: there is no x", id="remove-missing"),
        pytest.param({"op": "remove", "path": "/a/2"}, "/a/2: 2 is no place in a list of 2", id="remove-beyond"),
        pytest.param({"op": "remove", "path": "/a/-"}, "/a/-: - is no place in a list of 2", id="remove-end"),
        pytest.param({"op": "add", "path": "/a/3", "value": 1}, "/a/3: 3 is no place in a list of 2", id="add-beyond"),
        pytest.param({"op": "add", "path": "/a/01", "value": 1}, "/a/01: 01 is no place in a list of 2", id="zeros"),
        pytest.param({"op": "add", "path": "/a/-1", "value": 1}, "/a/-1: -1 is no place in a list of 2", id="negative"),
        pytest.param({"op": "add", "path": "/a/²", "value": 1}, "/a/²: ² is no place in a list of 2", id="superscript"),
        pytest.param(
            {"op": "add", "path": "/b/c", "value": 1}, "/b/c: the parent is neither a mapping nor a list", id="leaf"
        ),
        pytest.param({"op": "test", "path": "/b", "value": 2}, "test /b: the value differs", id="failed-test"),
        pytest.param({"op": "move", "path": "/b"}, "move /b: the operation is not known", id="unknown-operation"),
        pytest.param(
            {"op": "replace", "path": "", "value": 1},
            "replace of the whole document: a path below the root is expected",
            id="root",
        ),
        pytest.param({"op": "add", "path": "a"}, "add a: a path below the root is expected", id="no-slash"),
    ],
)
def test_an_operation_that_does_not_fit_is_refused(operation, message):
    with pytest.raises(PatchError) as caught:
        apply_patch({"a": [1, 2], "b": 1}, [operation])

    assert str(caught.value) == message
