from __future__ import annotations

from pathlib import Path

import pytest

from gpupolicy.errors import InputError, LocatedFinding, Part, Severity
from gpupolicy.loading.documents import Document, read_documents, read_file
from gpupolicy.loading.events import MAX_ALIAS_NODES, MAX_ODDITIES
from gpupolicy.loading.unreadable import MAX_DEPTH, MAX_DOCUMENTS
from gpupolicy.loading.yaml_text import MAX_BROKEN


def values(text: str | bytes) -> list[object]:
    """The values of a text's documents."""
    return [document.value for document in read_documents(text, "f.yaml")]


def the_document(text: str | bytes) -> Document:
    """The only document of a text."""
    (document,) = read_documents(text, "f.yaml")
    return document


def the_finding(text: str | bytes) -> LocatedFinding:
    """The only finding about the only document of a text."""
    (finding,) = the_document(text).findings
    return finding


def said(finding: LocatedFinding) -> tuple[int | None, int | None, str, str]:
    """Where a finding stands and what it says."""
    return finding.line, finding.column, finding.rule, finding.message


def test_a_document_is_plain_values() -> None:
    assert the_document("a: [1, x, true, null, 1.5]\n").value == {"a": [1, "x", True, None, 1.5]}


def test_quoted_scalars_are_text() -> None:
    assert the_document("""a: ["010", 'yes', "", ! 12]\n""").value == {"a": ["010", "yes", "", "12"]}


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing\n", "---\n---\n", "---\n# nothing\n...\n", "\ufeff"])
def test_an_empty_text_has_no_documents(text: str) -> None:
    assert values(text) == []


def test_empty_documents_are_left_out_but_counted() -> None:
    documents = read_documents("--- # first\na: 1\n---\n# only a comment\n---\n---\nb: 2\n", "f.yaml")

    assert [(d.index, d.line, d.value) for d in documents] == [(0, 2, {"a": 1}), (3, 7, {"b": 2})]


def test_windows_line_ends_are_line_ends() -> None:
    assert values("a: x\r\nb: w\r\n---\r\nc: z\r\n") == [{"a": "x", "b": "w"}, {"c": "z"}]


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    document = the_document(b"\xef\xbb\xbfa: 1\n")

    assert (document.value, document.place(("a",), Part.KEY)) == ({"a": 1}, (1, 1))


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
def test_a_byte_order_mark_of_a_file_behind_another_one_is_none_either(end: str) -> None:
    """As of cat with files of an editor on Windows; kubectl 1.37.2 reads both."""
    documents = read_documents(f"\ufeffa: 1{end}---{end}\ufeffb: 2{end}", "f.yaml")

    assert [document.value for document in documents] == [{"a": 1}, {"b": 2}]


def test_keys_are_text_as_in_json() -> None:
    assert the_document("{1: a, true: b, 1.5: c}\n").value == {"1": "a", "true": "b", "1.5": "c"}


class TestAliases:
    def test_an_alias_is_what_it_names(self) -> None:
        assert the_document("a: &x {b: 1}\nc: *x\n").value == {"a": {"b": 1}, "c": {"b": 1}}

    def test_merged_keys_give_way_to_those_behind_them(self) -> None:
        assert the_document("a: &x {b: 1, c: 2}\nd: {<<: *x, b: 3}\n").value == {
            "a": {"b": 1, "c": 2},
            "d": {"b": 3, "c": 2},
        }

    def test_the_first_of_several_merged_mappings_wins(self) -> None:
        text = "a: &x {k: 1}\nb: &y {k: 2, l: 2}\nc: {<<: [*x, *y]}\n"

        assert the_document(text).value == {"a": {"k": 1}, "b": {"k": 2, "l": 2}, "c": {"k": 1, "l": 2}}

    def test_merged_keys_replace_those_before_them_as_in_the_cluster(self) -> None:
        document = the_document("a: &x {b: 1}\nd: {b: 3, <<: *x}\n")

        assert document.value == {"a": {"b": 1}, "d": {"b": 1}}
        assert [finding.rule for finding in document.findings] == ["yaml-merge-overrides"]

    def test_a_quoted_merge_sign_is_a_key(self) -> None:
        assert the_document('"<<": 1\n').value == {"<<": 1}

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("a: *x\n", "alias *x has no anchor &x before it"),
            ("a: &x [*x]\n", "alias *x stands inside of what it names"),
            ("a: {<<: 1}\n", "<< takes a mapping or a list of mappings"),
            ("? [a]\n: b\n", "a mapping or a list stands where a key is expected"),
            ("? \n: b\n", "a key is neither text nor a number"),
            ("a: !!int x\n", '"x" is tagged !!int, but is none'),
        ],
        ids=["unknown", "recursive", "merge", "list-as-key", "null-as-key", "false-tag"],
    )
    def test_what_means_nothing_cannot_be_read(self, text: str, message: str) -> None:
        document = the_document(text)

        assert (document.value, document.readable) == (None, False)
        assert (document.findings[0].rule, document.findings[0].message) == ("yaml-unreadable", message)

    def test_a_bomb_is_stopped(self) -> None:
        lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
        lines += [f"l{i}: &l{i} [{', '.join([f'*l{i - 1}'] * 10)}]" for i in range(1, 9)]

        assert the_finding("\n".join(lines)).rule == "yaml-alias-bomb"

    def test_as_many_nodes_as_the_limit_are_read(self) -> None:
        text = f"a: &x [{'1, ' * 999}]\nb: [{'*x, ' * (MAX_ALIAS_NODES // 1000)}]\n"

        assert the_document(text).findings == ()


class TestOddities:
    def test_a_repeated_key_names_both_lines_and_the_last_one_counts(self) -> None:
        document = the_document("limits:\n  nvidia.com/gpu: 4\n  nvidia.com/gpu: 3\n")
        (finding,) = document.findings

        assert document.value == {"limits": {"nvidia.com/gpu": 3}}
        assert said(finding) == (3, 3, "duplicate-key", "key nvidia.com/gpu stands twice; first in line 2")
        assert (finding.field, finding.part, finding.severity) == (
            ("limits", "nvidia.com/gpu"),
            Part.KEY,
            Severity.ERROR,
        )

    def test_a_repeated_key_in_json_is_found(self) -> None:
        assert said(the_finding('{\n  "a": 1,\n  "a": 2\n}')) == (
            3,
            3,
            "duplicate-key",
            "key a stands twice; first in line 2",
        )

    def test_a_surprise_knows_its_field(self) -> None:
        finding = the_finding("a:\n  - b: [x, no]\n")

        assert (finding.field, finding.line, finding.column) == (("a", 0, "b", 1), 2, 12)

    def test_columns_count_characters(self) -> None:
        assert said(the_finding("é: [ü, 😀, on]\n"))[:2] == (1, 11)

    @pytest.mark.parametrize("key", ["mode", "defaultMode"])
    def test_file_modes_are_octal_on_purpose(self, key: str) -> None:
        document = the_document(f"{key}: 0644\n")

        assert (document.value, document.findings) == ({key: 420}, ())

    def test_an_unknown_tag_is_an_error_and_the_text_is_kept(self) -> None:
        document = the_document("a: !!python/object:os.system x\n")

        assert document.value == {"a": "x"}
        assert said(document.findings[0]) == (
            1,
            4,
            "yaml-unknown-tag",
            "tag !!python/object:os.system means nothing to the cluster; "
            "only plain mappings, lists, texts, numbers and booleans do",
        )

    def test_tags_of_json_types_are_known(self) -> None:
        document = the_document("a: [!!str 5, !!int '5', !!float '5', !!bool yes, !!null ''] \nb: !!map {}\n")

        assert document.value == {"a": ["5", 5, 5, True, None], "b": {}}
        assert document.findings == ()

    def test_a_document_has_no_more_oddities_than_the_limit(self) -> None:
        assert len(the_document("- yes\n" * (MAX_ODDITIES + 5)).findings) == MAX_ODDITIES


class TestUnreadable:
    @pytest.mark.parametrize(
        ("text", "place", "message"),
        [
            ("a:\n\tb: 1\n", (2, 1), "a tab stands in the indentation; YAML takes spaces only"),
            ("a: @x\n", (1, 4), "no value may start with @"),
            ("a: b: c\n", (1, 5), "a second colon stands in the line; quote the text"),
            ("é\na: \x01\n", (2, 4), "character U+0001 stands here, which YAML does not allow"),
            ("a: [1,\n", (2, 1), "the text is no YAML: did not find expected node content"),
            (
                "a:\n  b:1\n  c: 2\n",
                (3, 4),
                "a colon ends a key here, but the text before it began in a line above; a colon or a blank is missing",
            ),
            (
                "a:\n  b: 1\n  c 2\n  d: 3\n",
                (3, 3),
                "a line is neither a key with a colon nor part of the text above it",
            ),
            (
                "a: [1\nb: 2\n",
                (2, 2),
                "a comma or the end of the list (]) is expected here; it opens in line 1",
            ),
            ("a: {b: c: d}\n", (1, 9), "a comma or the end of the mapping (}) is expected here"),
            ("a: [*]\n", (1, 5), "the name of an alias (*) or anchor (&) is expected here"),
        ],
        ids=[
            "tab",
            "at-sign",
            "two-colons",
            "control-character",
            "unclosed",
            "no-blank",
            "no-colon",
            "open-list",
            "colon-in-a-mapping",
            "star",
        ],
    )
    def test_a_text_that_is_no_yaml_is_told_with_its_place(
        self, text: str, place: tuple[int, int], message: str
    ) -> None:
        assert said(the_finding(text)) == (*place, "yaml-unreadable", message)

    @pytest.mark.parametrize(
        ("text", "hint"),
        [
            ("a: [*]\n", "quote the text that starts with *"),
            ("a: [*-gpu]\n", 'write "*-gpu" for the text'),
            ("a: %x\n", "quote the text that starts with %"),
            ("{% if x %}\na: 1\n", "render the template first, as in: helm template CHART"),
            ("a: {{ .Values.a }}\n", "render the template first, as in: helm template CHART"),
            ("a: [1\n---\nb: {{ x }}\n", None),
        ],
        ids=["star", "pattern", "percent", "condition", "value", "only-the-next-is-a-template"],
    )
    def test_what_to_write_instead_is_told(self, text: str, hint: str | None) -> None:
        assert read_documents(text, "f.yaml")[0].findings[0].hint == hint

    def test_documents_around_a_broken_one_are_read(self) -> None:
        documents = read_documents("a: 1\n---\nb: [\n---\nc: 3\n---\nd: *x\n---\ne: 5\n", "f.yaml")

        assert [(d.index, d.line, d.value, d.readable) for d in documents] == [
            (0, 1, {"a": 1}, True),
            (1, 4, None, False),
            (2, 5, {"c": 3}, True),
            (3, 7, None, False),
            (4, 9, {"e": 5}, True),
        ]

    def test_places_behind_a_broken_document_are_right(self) -> None:
        document = read_documents("a: [\n---\nb:\n  c: 3\n", "f.yaml")[1]

        assert document.place(("b", "c")) == (4, 6)

    def test_after_many_broken_documents_the_rest_is_not_read(self) -> None:
        documents = read_documents("a: @\n---\n" * 50, "f.yaml")

        assert len(documents) == MAX_BROKEN
        assert documents[-1].findings[0].message == "no value may start with @; the rest of the file is not read"

    @pytest.mark.parametrize("text", ["[" * 5000, "- " * 5000, "{a: " * 500, '{"a":' * 5000], ids=str.strip)
    def test_what_is_too_deep_is_stopped(self, text: str) -> None:
        assert the_finding(text).severity is Severity.ERROR

    def test_as_deep_as_the_limit_is_read(self) -> None:
        text = "[" * MAX_DEPTH + "]" * MAX_DEPTH

        assert the_document(text).readable
        assert the_document("# no JSON\n" + text).readable

    @pytest.mark.parametrize("text", ["[" * 5000, '{"a":' * 5000], ids=["lists", "mappings"])
    def test_brackets_without_end_are_too_deep(self, text: str) -> None:
        assert the_finding(text).rule == "yaml-too-deep"

    def test_deeper_than_the_limit_is_not_read_as_json_either(self) -> None:
        text = "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)

        assert said(the_finding(text)) == (1, 101, "yaml-too-deep", "more than 100 levels stand inside each other")

    def test_an_alias_does_not_go_round_the_depth(self) -> None:
        text = f"a: &x {'[' * 60}{']' * 60}\nb: {'[' * 60}*x{']' * 60}\n"

        assert the_finding(text).rule == "yaml-too-deep"

    def test_a_large_text_is_not_read(self) -> None:
        (document,) = read_documents("a: 1234567890\n", "f.yaml", max_bytes=10)

        assert document.findings[0].message == "the text has more than 10 bytes, which is the most that is read"

    @pytest.mark.parametrize("text", ["{}\n", "a\n---\n"], ids=["json", "yaml"])
    def test_too_many_documents_are_not_read(self, text: str) -> None:
        documents = read_documents(text * (MAX_DOCUMENTS + 2), "f.yaml")

        assert documents[-1].findings[0].message == (
            "the text has more than 100000 documents, which is the most that are read"
        )


class TestEncoding:
    @pytest.mark.parametrize(
        ("data", "place", "message"),
        [
            ("a: 1\n".encode("utf-16"), (1, 1), "the file is in UTF-16; expected is UTF-8"),
            (b"\xfe\xff\x00a", (1, 1), "the file is in UTF-16; expected is UTF-8"),
            ("a: 1\n".encode("utf-32"), (1, 1), "the file is in UTF-32; expected is UTF-8"),
            (b"a: 1\nb: \xe9\n", (2, 4), "byte 0xe9 stands here, which is no UTF-8"),
            (b"a: 1\n\x00", (2, 1), "a NUL byte stands here; the file is binary, or not in UTF-8"),
            ("a: \ud800", (1, 4), "half a surrogate pair stands here, which is no UTF-8"),
        ],
        ids=["utf-16", "utf-16-big-endian", "utf-32", "latin-1", "binary", "surrogate"],
    )
    def test_what_is_no_utf_8_is_refused(self, data: str | bytes, place: tuple[int, int], message: str) -> None:
        assert said(the_finding(data)) == (*place, "not-utf-8", message)


class TestJSON:
    def test_json_with_tabs_is_read(self) -> None:
        document = the_document('{\n\t"a": {"b": [1, 2.0, "x\\u0041"]}\n}')

        assert document.value == {"a": {"b": [1, 2, "xA"]}}
        assert document.place(("a", "b", 1)) == (2, 17)

    def test_a_stream_of_json_is_read(self) -> None:
        documents = read_documents('{"a": 1} {"b": 2}\n  {"c": 3}', "f.json")

        assert [(d.index, d.line, d.value) for d in documents] == [(0, 1, {"a": 1}), (1, 1, {"b": 2}), (2, 2, {"c": 3})]
        assert [d.place((key,)) for d, key in zip(documents, "abc", strict=True)] == [(1, 7), (1, 16), (2, 9)]

    def test_numbers_mean_what_they_mean_in_yaml(self) -> None:
        text = '{"a": 1e1, "b": 1e21, "c": 99999999999999999999, "d": -1.50}'

        assert the_document(text).value == the_document("# YAML\n" + text).value

    def test_many_digits_stay_text(self) -> None:
        assert the_document(f'{{"a": {"9" * 5000}}}').value == {"a": "9" * 5000}

    def test_flow_yaml_that_looks_like_json_is_read_as_yaml(self) -> None:
        assert the_document("{a: yes-man, b: [x,]}").value == {"a": "yes-man", "b": ["x"]}


class TestPlaces:
    TEXT = "a:\n  b: [1, {c: 2}]\n  d: &x {e: f}\ng: {<<: *x, h: i}\n"

    @pytest.mark.parametrize(
        ("path", "part", "place"),
        [
            ((), Part.VALUE, (1, 1)),
            (("a",), Part.KEY, (1, 1)),
            (("a",), Part.VALUE, (2, 3)),
            (("a", "b", 1, "c"), Part.VALUE, (2, 14)),
            (("a", "b", 1, "c"), Part.KEY, (2, 11)),
            (("a", "missing"), Part.VALUE, (2, 3)),
            (("a", "missing"), Part.KEY, (2, 3)),
            (("a", "b", 9), Part.VALUE, (2, 6)),
            (("a", "b", 0, "x"), Part.VALUE, (2, 7)),
            (("g", "e"), Part.VALUE, (3, 13)),
            (("g", "h"), Part.KEY, (4, 13)),
        ],
    )
    def test_a_field_has_its_place_and_a_missing_one_that_of_its_mapping(
        self, path: tuple[str | int, ...], part: Part, place: tuple[int, int]
    ) -> None:
        assert the_document(self.TEXT).place(path, part) == place

    def test_of_repeated_keys_the_last_one_has_the_place(self) -> None:
        assert the_document("a: 1\na: 2\n").place(("a",)) == (2, 4)

    def test_places_in_later_documents_count_from_the_start_of_the_file(self) -> None:
        document = read_documents("a: 1\n--- # next\n\n  b: 2\n  c: 3\n", "f.yaml")[1]

        assert document.place(("c",)) == (5, 6)

    def test_json_that_the_yaml_composer_refuses_has_its_line(self) -> None:
        document = read_documents('{"a": 1}\n{"a": "\x7f"}', "f.json")[1]

        assert document.place(("a",)) == (2, 1)

    def test_json_with_escaped_characters_beyond_16_bits_has_its_places(self) -> None:
        document = the_document('{"a": "\\ud83d\\ude00", "b": 1}')

        assert (document.value, document.place(("b",))) == ({"a": "\U0001f600", "b": 1}, (1, 28))


@pytest.mark.parametrize(
    ("escaped", "value"),
    [
        (r"\ud83d", "\ufffd"),
        (r"\uDE00\ud83d", "\ufffd\ufffd"),
        (r"\ud83d\ude00", "\U0001f600"),
        (r"\\ud83d", r"\ud83d"),
    ],
    ids=["half", "halves-in-the-wrong-order", "pair", "no-escape"],
)
def test_half_of_a_surrogate_pair_in_json_is_read_as_the_cluster_does(escaped: str, value: str) -> None:
    assert the_document(f'{{"a{escaped}": "{escaped}"}}').value == {f"a{value}": value}

    def test_an_unreadable_document_has_the_place_of_its_fault(self) -> None:
        assert the_document("a: 1\nb: @\n").place(("a",)) == (2, 1)


def test_a_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "f.yaml"
    file.write_text("a: 1\n")

    (document,) = read_file(file)

    assert (document.value, document.file) == ({"a": 1}, str(file))


def test_a_file_that_is_not_there_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.yaml: cannot be read: no such file or directory"):
        read_file(tmp_path / "nothing.yaml")
