from __future__ import annotations

import pytest

from gpupolicy.errors import Severity
from gpupolicy.loading.scalars import HINTS, read_plain

AS_THE_CLUSTER = [  # each line was put through sigs.k8s.io/yaml 1.6.0, which kubectl 1.37.2 is built with
    ("", None),
    ("~", None),
    ("Null", None),
    ("nULL", "nULL"),
    ("TRUE", True),
    ("tRUE", "tRUE"),
    ("y", True),
    ("No", False),
    ("oN", "oN"),
    ("010", 8),
    ("08", 8),
    ("-010", -8),
    ("0o10", 8),
    ("0b101", 5),
    ("0x1F", 31),
    ("0xZ", "0xZ"),
    ("+8", 8),
    ("8.", 8),
    ("8.0", 8),
    ("1e1", 10),
    ("1.5e-1", 0.15),
    (".5", 0.5),
    (".75_86", 0.7586),
    (".35E-_9", ".35E-_9"),
    ("1_000", 1000),
    ("-_1", -1),
    ("_1", "_1"),
    ("1e20", 10**20),
    ("1e21", 1e21),
    ("1:30", "1:30"),
    ("2026-01-31", "2026-01-31"),
    ("18446744073709551615", 2**64 - 1),
    ("99999999999999999999", 10**20),
    ("0xFFFFFFFFFFFFFFFFFF", "0xFFFFFFFFFFFFFFFFFF"),
    ("1e400", "1e400"),
    ("500m", "500m"),
    ("1Gi", "1Gi"),
    ("=", "="),
    ("1.2.3", "1.2.3"),
]


@pytest.mark.parametrize(("text", "value"), AS_THE_CLUSTER, ids=[text or "empty" for text, _ in AS_THE_CLUSTER])
def test_a_plain_scalar_is_what_it_is_for_the_cluster(text: str, value: object) -> None:
    read, _ = read_plain(text)

    assert (read, type(read)) == (value, type(value))


def test_five_thousand_digits_stay_text() -> None:
    """Python refuses to convert them; the cluster cannot hold them either."""
    digits = "9" * 5000

    assert read_plain(digits) == (digits, None)


@pytest.mark.parametrize(
    ("text", "rule", "message", "hint"),
    [
        ("NO", "yaml-boolean-word", "NO is read as false, not as text", 'write false, or "NO" for the text'),
        (
            "010",
            "yaml-octal",
            "010 is read as 8 by the cluster and as 10 by YAML 1.2 tools",
            'write 8, or "010" for the text',
        ),
        (
            "1_000",
            "yaml-underscore-number",
            "1_000 is read as 1000 by the cluster and as text by YAML 1.2 tools",
            'write 1000, or "1_000" for the text',
        ),
        (
            "1:30",
            "yaml-sexagesimal",
            "1:30 is text for the cluster and a number of base 60 for YAML 1.1 tools",
            'write "1:30"',
        ),
    ],
    ids=["boolean-word", "octal", "underscore", "sexagesimal"],
)
def test_a_surprise_is_a_warning_that_says_how_to_write_it(text: str, rule: str, message: str, hint: str) -> None:
    _, surprise = read_plain(text)

    assert surprise is not None
    assert (surprise.rule, surprise.severity, surprise.message, surprise.hint) == (
        rule,
        Severity.WARNING,
        message,
        hint,
    )


def test_infinity_is_an_error() -> None:
    """JSON has no such number, so kubectl stops."""
    _, surprise = read_plain("-.Inf")

    assert surprise is not None
    assert surprise.severity is Severity.ERROR


@pytest.mark.parametrize("text", ["true", "8", "08", "007", "00", "8080:80", "yes-man", "1e1", "0x1F", "off-peak"])
def test_what_everybody_reads_alike_is_no_surprise(text: str) -> None:
    assert read_plain(text)[1] is None


@pytest.mark.parametrize("text", [text for text, value in AS_THE_CLUSTER if text and value != text])
def test_whatever_is_no_text_starts_with_a_hint(text: str) -> None:
    """The reader looks only at scalars that start so."""
    assert text[0] in HINTS
