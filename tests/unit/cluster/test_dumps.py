"""Dumps in every form give the same objects, and one that is cut or mixed is never counted as whole."""

from __future__ import annotations

import gzip
import io
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gpupolicy.cluster.dumps import Dumps
from gpupolicy.cluster.json_reader import JsonReader, looks_like_json
from gpupolicy.cluster.opening import decoded
from gpupolicy.cluster.yaml_reader import YamlReader
from gpupolicy.errors import InputError

Object = dict[str, Any]


def thing(kind: str, name: str, namespace: str | None = None, version: str | None = "1", **fields: Any) -> Object:
    inside = {"namespace": namespace} if namespace else {}
    told = {"resourceVersion": version} if version else {}
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **inside, **told}, **fields}


NODES = [thing("Node", f"gpu-{number}", status={"allocatable": {"nvidia.com/gpu": "8"}}) for number in range(3)]
PODS = [thing("Pod", f"p{number}", "team-a", spec={"note": 'ein "Wort", ü {[\n'}) for number in range(4)]
NAMESPACES = [thing("Namespace", "team-a")]
ALL = [*NODES, *PODS, *NAMESPACES]


def listed(items: list[Object]) -> Object:
    """A list as kubectl prints it: keys sorted, so its kind stands behind the items."""
    return {"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}}


def kindless(kind: str, items: list[Object]) -> Object:
    """A list as ``kubectl get --raw`` prints it: its items have no kind of their own."""
    bare = [{key: value for key, value in item.items() if key not in ("kind", "apiVersion")} for item in items]
    return {"kind": f"{kind}List", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": bare}


def to_json(value: object) -> str:
    return json.dumps(value, indent=4)


def to_yaml(value: object) -> str:
    return str(yaml.safe_dump(value))


BY_KIND = (("Node", NODES), ("Pod", PODS), ("Namespace", NAMESPACES))
FORMS: dict[str, str] = {
    "json-list": to_json(listed(ALL)),
    "json-compact": json.dumps(listed(ALL)),
    "json-array": json.dumps(ALL),
    "json-lines": "\n".join(map(json.dumps, ALL)),
    "json-objects": "".join(map(to_json, ALL)),
    "json-lists": to_json(listed(NODES)) + to_json(listed([*PODS, *NAMESPACES])),
    "json-dashes": "---\n".join(to_json(item) + "\n" for item in ALL),
    "json-kind-first": to_json(dict(sorted(listed(ALL).items(), reverse=True))),
    "json-kindless": "".join(json.dumps(kindless(*each)) for each in BY_KIND),
    "json-kindless-kind-last": "".join(json.dumps(kindless(*each), sort_keys=True) for each in BY_KIND),
    "json-list-in-list": json.dumps(listed([listed(NODES), kindless("Pod", PODS), *NAMESPACES])),
    "json-bom": "\ufeff" + to_json(listed(ALL)),
    "yaml-list": to_yaml(listed(ALL)),
    "yaml-documents": yaml.safe_dump_all(ALL),
    "yaml-sequence": to_yaml(ALL),
    "yaml-comment": "# made by hand\n---\n" + to_yaml(listed(ALL)),
    "yaml-flow": "---\n" + json.dumps(listed(ALL)),
    "yaml-kindless": "---\n".join(to_yaml(kindless(*each)) for each in BY_KIND),
    "yaml-crlf": to_yaml(listed(ALL)).replace("\n", "\r\n"),
}  # fmt: skip


def given_on_standard_input(data: bytes | str) -> Dumps:
    return Dumps(["-"], data.encode() if isinstance(data, str) else data)


def write(folder: Path, name: str, text: str | bytes) -> str:
    file = folder / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(file)


def problem_of(source: Dumps, read: Callable[[Dumps], Iterator[Object]] = Dumps.nodes) -> InputError:  # type: ignore[assignment]
    with pytest.raises(InputError) as caught:
        list(read(source))
    return caught.value


class TestForms:
    @pytest.mark.parametrize("pack", [pytest.param(bytes, id="plain"), pytest.param(gzip.compress, id="gz")])
    @pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
    def test_every_form_gives_the_same_objects(self, text, pack, tmp_path):
        source = Dumps([write(tmp_path, "dump", pack(text.encode()))])

        assert (list(source.nodes()), list(source.pods()), list(source.namespaces())) == (NODES, PODS, NAMESPACES)

    def test_standard_input_is_read_again_for_every_pass(self):
        source = Dumps(["-"], io.BytesIO(FORMS["json-list"].encode()))

        assert (source.name, list(source.nodes()), list(source.pods())) == ("<stdin>", NODES, PODS)

    def test_two_passes_may_go_on_at_the_same_time(self):
        source = given_on_standard_input(FORMS["json-lines"])

        assert list(zip(source.nodes(), source.pods(), strict=False)) == list(zip(NODES, PODS, strict=False))

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
    def test_a_pipe_is_read_again_too(self, tmp_path):
        """As in --from <(kubectl get nodes,pods -A -o json)."""
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_text, args=(FORMS["json-list"],))
        writer.start()
        source = Dumps([str(pipe)])
        found = list(source.nodes()), list(source.pods())
        writer.join()

        assert found == (NODES, PODS)

    def test_several_files_are_one_source(self, tmp_path):
        files = [write(tmp_path, "nodes.json", to_json(listed(NODES))), write(tmp_path, "pods.yaml", to_yaml(PODS))]
        source = Dumps(files)

        assert (source.name, list(source.nodes()), list(source.pods())) == (", ".join(files), NODES, PODS)

    def test_a_folder_stands_for_its_dumps(self, tmp_path):
        write(tmp_path, "b.json", to_json(listed(PODS)))
        write(tmp_path, "a.yaml.gz", gzip.compress(to_yaml(NODES).encode()))
        write(tmp_path, "readme.txt", "no dump")
        source = Dumps([str(tmp_path)])

        assert (list(source.nodes()), list(source.pods())) == (NODES, PODS)

    def test_a_pattern_stands_for_its_matches(self, tmp_path):
        write(tmp_path, "nodes-1.json", to_json(NODES[0]))
        write(tmp_path, "nodes-2.json", to_json(NODES[1]))

        assert list(Dumps([f"{tmp_path}/nodes-*.json"]).nodes()) == NODES[:2]

    def test_pods_of_one_namespace_are_found(self):
        others = [thing("Pod", "x", "team-b"), thing("Pod", "y")]

        assert list(given_on_standard_input(json.dumps([*PODS, *others])).pods(namespace="team-b")) == others[:1]
        assert list(given_on_standard_input(json.dumps([*PODS, *others])).pods(namespace="default")) == others[1:]

    def test_an_empty_list_is_a_cluster_without_nodes(self):
        assert list(given_on_standard_input(to_json(listed([]))).nodes()) == []
        assert list(given_on_standard_input('{"kind": "NodeList", "items": null}').nodes()) == []

    def test_other_kinds_may_be_asked_for(self):
        sets = [thing("ReplicaSet", "r", "team-a")]
        source = Dumps(["-"], json.dumps([*ALL, *sets]).encode(), also=("ReplicaSet",), on_note=pytest.fail)

        assert list(source.objects(("ReplicaSet", "Node"))) == [*NODES, *sets]

    def test_numbers_are_what_the_cluster_reads(self):
        (found,) = given_on_standard_input("kind: Node\nmetadata: {name: a}\nspec: {a: 010, b: yes, c: 1:30}").nodes()

        assert found["spec"] == {"a": 8, "b": True, "c": "1:30"}


class TestNotes:
    def read(self, *objects: Object, files: int = 1) -> list[str]:
        notes: list[str] = []
        source = Dumps(["-"], json.dumps(listed(list(objects))).encode(), on_note=notes.append)
        list(source.nodes()), list(source.pods()), list(source.nodes())
        return notes

    def test_other_kinds_are_counted_once(self):
        others = [thing("Service", "s", "a"), thing("Service", "t", "a"), thing("ConfigMap", "c", "a")]

        assert self.read(*NODES, *others) == [
            "<stdin>: passed over what is no Node, Pod or Namespace: 1 ConfigMap, 2 Service"
        ]

    def test_of_many_kinds_some_are_named(self):
        assert self.read(*NODES, *(thing(f"Kind{number}", "x") for number in range(7))) == [
            "<stdin>: passed over what is no Node, Pod or Namespace: "
            "1 Kind0, 1 Kind1, 1 Kind2, 1 Kind3, 1 Kind4 and 2 more kinds"
        ]

    def test_one_page_of_a_longer_list_is_told(self):
        notes: list[str] = []
        page = {**listed(NODES), "metadata": {"continue": "token"}}
        list(Dumps(["-"], json.dumps(page).encode(), on_note=notes.append).nodes())

        assert notes == [
            "<stdin>: the list goes on elsewhere: this is one page of it (metadata.continue is set)",
        ]

    def test_files_of_a_folder_may_hold_something_else(self, tmp_path):
        write(tmp_path, "a.json", json.dumps(thing("Service", "s")))
        write(tmp_path, "b.json", json.dumps(NODES))
        notes: list[str] = []

        assert list(Dumps([str(tmp_path)], on_note=notes.append).nodes()) == NODES
        assert notes == [f"{tmp_path}/a.json: passed over what is no Node, Pod or Namespace: 1 Service"]


class TestProgress:
    def test_the_bytes_of_the_file_itself_are_told(self, tmp_path):
        packed = gzip.compress(FORMS["json-list"].encode())
        told = []
        list(Dumps([write(tmp_path, "dump.json.gz", packed)], on_read=told.append).nodes())

        assert (told[0].what, told[0].unit, told[0].total) == (f"{tmp_path}/dump.json.gz", "bytes", len(packed))
        assert max(reading.done for reading in told) == len(packed)
        assert [reading.is_over for reading in told].index(True) == len(told) - 1

    def test_an_end_is_told_even_if_the_pass_fails(self):
        told = []
        problem_of(Dumps(["-"], b"[", on_read=told.append))

        assert told[-1].is_over

    def test_a_file_without_the_kind_is_not_read_again(self, tmp_path):
        told = []
        source = Dumps([write(tmp_path, "nodes.json", json.dumps(NODES))], on_read=told.append)
        list(source.nodes())
        told.clear()

        assert (list(source.pods()), told) == ([], [])


class TestTwice:
    def test_the_same_object_in_two_dumps_counts_once(self, tmp_path):
        files = [write(tmp_path, "a.json", json.dumps(NODES)), write(tmp_path, "b.json", json.dumps(NODES))]

        assert list(Dumps(files).nodes()) == NODES

    def test_a_file_that_is_named_twice_is_read_once(self, tmp_path):
        file = write(tmp_path, "a.json", json.dumps(thing("Node", "a", version=None)))

        assert len(list(Dumps([file, file]).nodes())) == 1

    def test_two_moments_cannot_be_mixed(self, tmp_path):
        files = [
            write(tmp_path, "a.json", json.dumps(thing("Pod", "p", "x", version="5"))),
            write(tmp_path, "b.json", json.dumps(thing("Pod", "p", "x", version="9"))),
        ]
        problem = problem_of(Dumps(files), Dumps.pods)

        assert problem.message == (
            f"Pod x/p stands twice, in {files[0]} (resourceVersion 5) and in {files[1]} (resourceVersion 9); "
            "dumps of different moments or clusters cannot be counted together"
        )

    def test_without_a_version_nobody_knows(self):
        node = thing("Node", "a", version=None)

        assert problem_of(given_on_standard_input(json.dumps([node, node]))).message == (
            "Node a stands twice, in <stdin>; dumps of different moments or clusters cannot be counted together"
        )

    def test_a_node_and_a_pod_and_pods_of_two_namespaces_may_have_one_name(self):
        items = [thing("Node", "x"), thing("Pod", "x", "a"), thing("Pod", "x", "b")]

        assert len(list(given_on_standard_input(json.dumps(items)).objects(("Node", "Pod")))) == 3

    def test_two_groups_may_have_one_kind(self):
        jobs = [{**thing("Job", "x", "a"), "apiVersion": version} for version in ("batch/v1", "batch.volcano.sh/v1")]
        source = Dumps(["-"], json.dumps(jobs).encode(), also=("Job",))

        assert list(source.objects(("Job",))) == jobs


HOW = "kubectl get nodes,pods -A -o json makes a dump"
BAD = [
    pytest.param("", f"the file is empty; {HOW}", None, id="empty"),
    pytest.param(" \n\n", f"the file is empty; {HOW}", None, id="blank"),
    pytest.param("# nothing\n", f"holds no Node, Pod or Namespace; {HOW}", None, id="comment"),
    pytest.param(
        '{"kind": "GPUPolicy", "metadata": {"name": "x"}}',
        f"holds no Node, Pod or Namespace, but 1 GPUPolicy; {HOW}",
        None,
        id="policy",
    ),
    pytest.param("hello", f"an object is expected here; {HOW}", 1, id="text"),
    pytest.param("[1]", f"an object is expected here; {HOW}", 1, id="number-yaml"),
    pytest.param(
        '[{"kind": "Node", "metadata": {"name": "a"}},\n 7]', f"an object is expected here; {HOW}", 2, id="number"
    ),
    pytest.param('{"kind": "List", "items": {"a": 1}}', "the items of a List are no list", 1, id="items-mapping"),
    pytest.param("kind: PodList\nitems: 7\n", "the items of a PodList are no list", 1, id="items-number-yaml"),
    pytest.param(
        '{"x": ' + "9" * 5000 + "}", "the text is no JSON: a number has thousands of digits", 1, id="digits"
    ),
    pytest.param('[{"metadata": {"name": "a"}}]', "an object without a kind stands here", 1, id="no-kind"),
    pytest.param('{"items": [{"metadata": {}}]}', "an object without a kind stands here", 1, id="no-kind-anywhere"),
    pytest.param('{"kind": "Node", "metadata": {}}', "a Node without metadata.name stands here", 1, id="no-name"),
    pytest.param('{"kind": "Node"}', "a Node without metadata.name stands here", 1, id="no-metadata"),
    pytest.param('{"kind": "Node",\n "x": nope}', "the text is no JSON: expecting value", 2, id="no-json"),
    pytest.param('{"x": nope,' + 99 * " " + "}", "the text is no JSON: expecting value", 1, id="no-json-early"),
    pytest.param('{"kind": "Node" "x": 1}', "the text is no JSON: , or } is expected here, not \"", 1, id="no-comma"),
    pytest.param('{"kind": "Node", 7: 1}', "the text is no JSON: a key in double quotes is expected here", 1, id="key"),
    pytest.param('{"kind": "List",\n "items": [], "items": []}', "key items stands twice", 2, id="items-twice"),
    pytest.param('{"kind": "Node",\n "kind": "Pod"}', "key kind stands twice", 2, id="kind-twice"),
    pytest.param('{"x": NaN}', "the text is no JSON: NaN is no value of JSON", 1, id="nan"),
    pytest.param('[]}', "the text is no JSON: { or [ is expected here, not }", 1, id="brace-too-many"),
    pytest.param('[]-', "the text is no JSON: { or [ is expected here, not -", 1, id="dash"),
    pytest.param(
        '{"x": ' + "[" * 100_000, "the text is no JSON: too many levels stand inside each other", 1, id="deep"
    ),
    pytest.param(
        '[]\n\n---\nkind: Pod\n',
        "the text is no JSON: YAML follows JSON in one stream: give them as two files",
        4,
        id="json-then-yaml",
    ),
    pytest.param(
        "kind: Node\n x: [",
        "the text is no YAML: mapping values are not allowed in this context",
        2,
        id="no-yaml",
    ),
    pytest.param("items:\n- {kind: Node, kind: Pod}\nkind: List\n", "key kind stands twice", 2, id="key-twice"),
    pytest.param("items:\n- *a\nkind: List\n", "alias *a has no anchor &a before it", 2, id="alias"),
    pytest.param("? [a]\n: b\n", "a plain key is expected here", 1, id="key-is-a-list"),
]  # fmt: skip


class TestBadInput:
    @pytest.mark.parametrize(("text", "message", "line"), BAD)
    def test_what_is_wrong_is_said_with_its_line(self, text, message, line):
        problem = problem_of(given_on_standard_input(text))

        assert (problem.message, problem.file, problem.line) == (message, "<stdin>", line)

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            pytest.param("{}".encode("utf-16"), "the file is in UTF-16; expected is UTF-8", id="powershell"),
            pytest.param(b'{"x": "\xff"}', "byte 0xff stands here, which is no UTF-8", id="latin"),
            pytest.param(b'{"x": \0}', "a NUL byte stands here; the file is binary", id="nul"),
            pytest.param(b"PK\x03\x04", "is packed with zip; of packed files only gzip is read", id="zip"),
            pytest.param(b"\x28\xb5\x2f\xfd1", "is packed with zstd; of packed files only gzip is read", id="zstd"),
        ],
    )
    def test_other_bytes_than_text_are_named(self, data, message):
        assert problem_of(given_on_standard_input(data)).message == message

    def test_a_missing_file_is_named(self, tmp_path):
        assert problem_of(Dumps([f"{tmp_path}/none.json"])).message == (
            f"cannot read {tmp_path}/none.json: no such file or directory"
        )

    def test_a_name_that_no_file_has_is_refused(self):
        assert problem_of(Dumps(["a\0b"])).message == "no file has such a name"

    def test_a_folder_without_dumps_is_refused(self, tmp_path):
        with pytest.raises(InputError, match=r"file is in this folder$"):
            Dumps([str(tmp_path)])

    def test_a_folder_with_nothing_of_use_is_refused(self, tmp_path):
        write(tmp_path, "a.json", json.dumps(thing("Service", "s")))

        assert problem_of(Dumps([str(tmp_path)])).message == f"no Node, Pod or Namespace in {tmp_path}; {HOW}"

    def test_a_pattern_without_matches_is_refused(self, tmp_path):
        with pytest.raises(InputError, match=r"no file matches this pattern$"):
            Dumps([f"{tmp_path}/*.json"])

    def test_a_damaged_gzip_file_says_how_far_it_was_read(self):
        packed = bytearray(gzip.compress(FORMS["json-lines"].encode()))
        packed[-8] ^= 0xFF

        assert problem_of(given_on_standard_input(bytes(packed))).message.startswith(
            "the gzip file is damaged (crc check failed"
        )

    def test_an_object_without_end_is_not_read_into_memory_for_ever(self, monkeypatch):
        monkeypatch.setattr("gpupolicy.cluster.json_reader.MAX_CHARACTERS", 1000)

        assert problem_of(Dumps(["-"], b'[{"x": "' + b"y" * (3 << 20))).message == (
            "the text is no JSON: an object has more than 0 MiB"
        )


class TestCut:
    def test_the_message_says_where_and_how_much_was_read(self):
        text = FORMS["json-list"]
        problem = problem_of(given_on_standard_input(text[: text.index('"gpu-2"')]))

        assert (problem.message, problem.line, problem.column) == (
            "the text ends in the middle of an object: it was cut; objects read before: 2",
            34,
            25,
        )

    def test_a_yaml_list_without_its_end_is_cut(self):
        """What is left of it is good YAML: kubectl writes the kind behind the items."""
        text = FORMS["yaml-list"]
        problem = problem_of(given_on_standard_input(text[: text.index("kind: List")]))

        assert problem.message == "the list ends without its kind: the text was cut; objects read before: 8"

    def test_a_text_that_ends_inside_a_character_is_cut(self):
        assert problem_of(given_on_standard_input('[{"x": "ü'.encode()[:-1])).message == (
            "the file ends in the middle of a character: it was cut; objects read before: 0"
        )

    def test_a_gzip_file_that_is_cut_is_told(self):
        packed = gzip.compress(FORMS["json-list"].encode())

        assert problem_of(given_on_standard_input(packed[:-9])).message.startswith(
            "the gzip file ends before its end mark: it was cut; objects read before:"
        )

    @pytest.mark.parametrize("form", ["json-list", "json-compact", "json-array", "json-kind-first", "yaml-list"])
    @settings(max_examples=20)
    @given(data=st.data())
    def test_no_cut_of_a_list_is_taken_for_the_whole(self, form, data):
        text = FORMS[form].encode()
        end = data.draw(st.integers(0, len(text) - 1))
        source = given_on_standard_input(text[:end])

        try:
            found = [*source.nodes(), *source.pods(), *source.namespaces()]
        except InputError:
            return
        assert found == ALL

    @settings(max_examples=20)
    @given(data=st.data())
    def test_no_cut_of_a_packed_dump_is_taken_for_the_whole(self, data):
        packed = gzip.compress(FORMS["json-lines"].encode())
        end = data.draw(st.integers(1, len(packed) - 1))

        with pytest.raises(InputError):
            list(given_on_standard_input(packed[:end]).nodes())


SPACE = st.text(" \n\r\t", max_size=3)


class TestReaders:
    def test_a_number_may_go_on_in_the_next_piece(self):
        (element,) = JsonReader(iter(['{"x": 1', "2", ' , "y":', "-", "1}"]), "f").elements()

        assert element.value == {"x": 12, "y": -1}

    @pytest.mark.parametrize("form", FORMS)
    @settings(max_examples=20)
    @given(data=st.data())
    def test_it_does_not_matter_how_the_text_comes(self, form, data):
        """In pieces of any size, split in the middle of words, numbers and escapes."""
        text = FORMS[form].encode()
        cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=20)))
        pieces = [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        reader = JsonReader if form.startswith("json") else YamlReader

        assert list(reader(decoded(iter(pieces), "f"), "f").elements()) == list(
            reader(decoded(iter([text]), "f"), "f").elements()
        )

    @given(
        value=st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
            max_leaves=20,
        ),
        size=st.integers(1, 7),
    )
    def test_any_value_survives_in_pieces(self, value, size):
        text = json.dumps([{"value": value}, {"value": value}])
        pieces = (text[at : at + size] for at in range(0, len(text), size))

        assert [element.value for element in JsonReader(pieces, "f").elements()] == 2 * [{"value": value}]

    @settings(max_examples=40)
    @given(spaces=st.lists(SPACE, min_size=11, max_size=11))
    def test_spaces_may_stand_anywhere(self, spaces):
        words = ["{", '"items"', ":", "[", '{"kind": "Node"}', ",", '{"kind": "Pod"}', "]", "}", ""]
        text = "".join(space + word for space, word in zip(spaces, [*words, ""], strict=True))

        kinds = [
            element.value["kind"] for element in JsonReader(iter(text), "f").elements() if hasattr(element, "value")
        ]

        assert kinds == ["Node", "Pod"]

    @pytest.mark.parametrize(
        ("start", "answer"),
        [
            ('{"', True),
            ("{}", True),
            ("[{", True),
            ("[]", True),
            (" { \n", None),
            ("", None),
            ("{a", False),
            ("[a", False),
            ("---", False),
            ("kind", False),
        ],
    )
    def test_json_is_known_by_its_first_characters(self, start, answer):
        assert looks_like_json(start) is answer
