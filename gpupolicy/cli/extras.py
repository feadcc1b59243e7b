"""Optional packages: a verb that needs them says which extra brings them, instead of an ImportError."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gpupolicy.errors import MissingExtraError


@contextmanager
def needs_extra(extra: str) -> Iterator[None]:
    """Wraps the imports of a verb.

    Args:
        extra: the extra of the package that brings them.

    Raises:
        MissingExtraError: one of them is not installed.
    """
    try:
        yield
    except ImportError as error:
        package = (error.name or "").split(".")[0]
        if package in ("", "gpupolicy"):  # a defect of ours must not look like a missing package
            raise
        raise MissingExtraError(extra, package) from error
