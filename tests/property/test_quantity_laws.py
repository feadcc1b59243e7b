"""Laws of amounts: what a naive reading by the grammar says, and nothing but a QuantityError for any text."""

import re
from fractions import Fraction
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpupolicy.quantity import MAX, QuantityError, parse_quantity

SUFFIXES = {
    "": Fraction(1),
    **{name: Fraction(10) ** power for name, power in zip("numkMGTPE", (-9, -6, -3, 3, 6, 9, 12, 15, 18), strict=True)},
    **{f"{name}i": Fraction(1024) ** power for power, name in enumerate("KMGTPE", start=1)},
}
REGEX = re.compile(r"^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$")

digits = st.text("0123456789", min_size=1, max_size=30)
signs = st.sampled_from(["", "+", "-"])


@st.composite
def numbers(draw):
    """A number with or without a point."""
    whole, fraction = draw(digits), draw(digits)
    return draw(signs) + draw(st.sampled_from([whole, f"{whole}.", f".{fraction}", f"{whole}.{fraction}"]))


def within_range(exact):
    """What the API server makes of an exact amount: cut at the largest, rounded up to billionths away from zero."""
    size = min(abs(exact), Fraction(MAX))
    rounded = Fraction(ceil(size * 10**9), 10**9)
    return rounded if exact >= 0 else -rounded


@given(numbers(), st.sampled_from(list(SUFFIXES)))
def test_a_number_with_a_suffix_is_what_it_says(number, suffix):
    assert parse_quantity(number + suffix) == within_range(Fraction(number.rstrip(".")) * SUFFIXES[suffix])


@given(numbers(), st.sampled_from("eE"), st.integers(-60, 60))
def test_a_number_with_an_exponent_is_what_it_says(number, letter, exponent):
    exact = Fraction(number.rstrip(".")) * Fraction(10) ** exponent

    assert parse_quantity(f"{number}{letter}{exponent}") == within_range(exact)


@given(st.integers())
def test_a_number_of_json_is_what_it_says(number):
    assert parse_quantity(number) == max(-MAX, min(MAX, number))


@given(st.integers(-MAX, MAX))
def test_a_whole_number_as_text_is_an_int(number):
    assert (parse_quantity(str(number)), type(parse_quantity(str(number)))) == (number, int)


def read(value):
    """The amount, or the message of the one error that is allowed."""
    try:
        return parse_quantity(value)
    except QuantityError as error:
        return str(error)


def is_amount_or_message(found):
    return found.endswith(" is not a quantity") if isinstance(found, str) else -MAX <= found <= MAX


@given(st.text() | st.text("0123456789.+-eEinumkKMGTP ", max_size=12))
def test_any_text_is_an_amount_or_a_quantity_error(text):
    assert is_amount_or_message(read(text))


@given(st.text("0123456789.+-eEinumkKMGTP ", max_size=8))
def test_what_is_read_fits_the_expression_that_the_api_server_names(text):
    assert isinstance(read(text), str) or REGEX.match(text.strip())


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists))
def test_any_json_is_an_amount_or_a_quantity_error(value):
    assert is_amount_or_message(read(value))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("9" * 1_000_000, MAX, id="digits"),
        pytest.param("0." + "9" * 1_000_000, 1, id="decimals"),
        pytest.param("1e" + "9" * 1_000_000, MAX, id="exponent"),
        pytest.param("1e-" + "9" * 1_000_000, Fraction(1, 10**9), id="negative-exponent"),
        pytest.param("4" + "0" * 1_000_000 + "e-1000000", 4, id="digits-against-exponent"),
        pytest.param("9" * 999_999 + "x", f"'{'9' * 40}'... (1000000 characters) is not a quantity", id="no-number"),
    ],
)
def test_a_million_characters_are_read_without_building_the_number(text, found):
    assert read(text) == found
