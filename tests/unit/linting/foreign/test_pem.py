"""What a caBundle holds."""

from __future__ import annotations

import base64

import pytest
from foreign_builders import CERTIFICATE

from gpupolicy.linting.foreign.pem import decode_base64, has_certificate, is_encoded_twice


def test_base64_of_a_pem_file_holds_a_certificate() -> None:
    assert has_certificate(CERTIFICATE)


@pytest.mark.parametrize("text", ["Q0EtT05F", "Cg==", "!!", "-----BEGIN CERTIFICATE-----"])
def test_anything_else_holds_none(text: str) -> None:
    assert not has_certificate(text)


def test_a_text_that_was_encoded_twice_is_recognised() -> None:
    assert is_encoded_twice(base64.b64encode(CERTIFICATE.encode()).decode())


def test_a_text_that_was_encoded_once_is_not_taken_for_twice() -> None:
    assert not is_encoded_twice(CERTIFICATE)


def test_line_ends_inside_base64_are_skipped() -> None:
    assert decode_base64("Y\r\nQ==\n") == b"a"
