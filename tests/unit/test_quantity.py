"""Amounts are read by the API server's grammar: what it takes, what it refuses, and what is cut or rounded."""

from fractions import Fraction

import pytest

from gpupolicy.quantity import MAX, QuantityError, parse_quantity

# Measured on 1.37.2: what the API server makes of a GPU amount.
WHOLE = [
    (8, 8),
    ("8", 8),
    (8.0, 8),
    ("8.0", 8),
    (" 8", 8),
    ("8 ", 8),
    ("\u20038", 8),
    ("8\x85", 8),
    ("8.", 8),
    ("+8", 8),
    ("08", 8),
    ("2000m", 2),
    ("0.8e1", 8),
    ("8e0", 8),
    ("1e3", 1000),
    ("1E3", 1000),
    ("8k", 8000),
    ("8Ki", 8192),
    (".5k", 500),
    ("0.5Ki", 512),
    (None, 0),
    ("0", 0),
    ("0.0", 0),
    ("00", 0),
    ("-0", 0),
    ("-1", -1),
    ("1Ei", 2**60),
    ("8E", 8 * 10**18),
    ("3000000u", 3),
    ("4000000000n", 4),
]


@pytest.mark.parametrize("written", [" 4", "4 ", "\xa04", "4\u3000"], ids=["before", "behind", "no-break", "wide"])
def test_blanks_around_an_amount_are_trimmed_as_the_api_server_does(written: str) -> None:
    assert parse_quantity(written) == 4


@pytest.mark.parametrize(("written", "amount"), WHOLE, ids=[repr(written) for written, _ in WHOLE])
def test_a_whole_amount_is_an_int(written, amount):
    assert parse_quantity(written) == amount


@pytest.mark.parametrize("written", [written for written, _ in WHOLE], ids=repr)
def test_a_whole_amount_is_no_fraction(written):
    assert type(parse_quantity(written)) is int


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        pytest.param(0.5, Fraction(1, 2), id="float"),
        pytest.param("0.5", Fraction(1, 2), id="text"),
        pytest.param("500m", Fraction(1, 2), id="thousandths"),
        pytest.param("-1500m", Fraction(-3, 2), id="negative"),
        pytest.param("1e-1", Fraction(1, 10), id="exponent"),
        pytest.param("0.0001Ki", Fraction(128, 1250), id="part-of-binary"),
    ],
)
def test_a_part_of_one_is_a_fraction(written, amount):
    assert parse_quantity(written) == amount


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        pytest.param("0.1n", Fraction(1, 10**9), id="below-a-billionth"),
        pytest.param("-0.1n", Fraction(-1, 10**9), id="negative-away-from-zero"),
        pytest.param("1e-99999999999", Fraction(1, 10**9), id="tiny-exponent"),
        pytest.param("3.9999999999", 4, id="up-to-a-whole"),
        pytest.param("4." + "0" * 80 + "1", 4 + Fraction(1, 10**9), id="after-eighty-zeros"),
    ],
)
def test_what_is_finer_than_a_billionth_is_rounded_up(written, amount):
    assert parse_quantity(written) == amount


@pytest.mark.parametrize(
    "written",
    [
        "9223372036854775807",
        "9223372036854775808",
        "1e30",
        "8Ei",
        "99999999999999999999",
        "1e99999999999",
        10**30,
        1e30,
    ],
    ids=str,
)
def test_a_huge_amount_is_cut_to_the_largest(written):
    assert parse_quantity(written) == MAX


def test_a_huge_negative_amount_is_cut_too():
    assert parse_quantity("-1e30") == -MAX


@pytest.mark.parametrize(
    "written",
    [
        pytest.param("0." + "0" * 69 + "4e70", id="leading-zeros-against-exponent"),
        pytest.param("4" + "0" * 70 + "e-70", id="trailing-zeros-against-exponent"),
        pytest.param("0" * 5000 + "4", id="five-thousand-zeros"),
    ],
)
def test_a_long_text_is_read_exactly(written):
    assert parse_quantity(written) == 4


@pytest.mark.parametrize(
    ("written", "message"),
    [
        pytest.param("", '"" is not a quantity', id="empty"),
        pytest.param("0x8", '"0x8" is not a quantity', id="hexadecimal"),
        pytest.param("2K", '"2K" is not a quantity', id="upper-case-k"),
        pytest.param("1e", '"1e" is not a quantity', id="no-exponent"),
        pytest.param("1 000", '"1 000" is not a quantity', id="space-inside"),
        pytest.param("1_0", '"1_0" is not a quantity', id="underscore"),
        pytest.param("1:30", '"1:30" is not a quantity', id="sexagesimal"),
        pytest.param("--1", '"--1" is not a quantity', id="two-signs"),
        pytest.param("²", '"²" is not a quantity', id="superscript"),
        pytest.param("٤", '"٤" is not a quantity', id="arabic-digit"),
        pytest.param("yes", '"yes" is not a quantity', id="word"),
        pytest.param("1\n2", "'1\\n2' is not a quantity", id="line-break"),
        pytest.param("4\n", "'4\\n' is not a quantity", id="line-break-at-the-end"),
        pytest.param("\t4", "'\\t4' is not a quantity", id="tab-before"),
        pytest.param("4\u2028", "'4\\u2028' is not a quantity", id="line-separator"),
        pytest.param(True, "true is not a quantity", id="boolean"),
        pytest.param([1], "a list is not a quantity", id="list"),
        pytest.param({"a": 1}, "a mapping is not a quantity", id="mapping"),
        pytest.param(float("inf"), '"inf" is not a quantity', id="infinity"),
        pytest.param(float("nan"), '"nan" is not a quantity', id="no-number"),
        pytest.param("x" * 99, "'" + "x" * 40 + "'... (99 characters) is not a quantity", id="long"),
    ],
)
def test_what_the_api_server_cannot_read_is_refused(written, message):
    with pytest.raises(QuantityError) as caught:
        parse_quantity(written)

    assert str(caught.value) == message
