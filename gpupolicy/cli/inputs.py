"""What several verbs read: the policy, manifests from files, folders and standard input, and the clock."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from gpupolicy.cli.streams import STANDARD_INPUT, Streams, check_read_once
from gpupolicy.errors import InputError, LocatedFinding, PolicyError
from gpupolicy.loading import load, load_text
from gpupolicy.loading.documents import Document
from gpupolicy.manifests.files import find_files
from gpupolicy.manifests.reading import read_manifests
from gpupolicy.manifests.report import CheckedObject
from gpupolicy.model import KIND, Policy


def policy_argument(parser: argparse.ArgumentParser) -> None:
    """Adds the argument POLICY."""
    parser.add_argument("policy", metavar="POLICY", help="the policy's file")


def manifest_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments FILE..."""
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="a manifest, a folder (searched for .yaml, .yml and .json), a pattern, or - for standard input",
    )
    parser.add_argument(
        "--namespace", default="default", metavar="NAME", help="of objects that name none (default: default)"
    )


def read_policy(path: str, streams: Streams) -> Policy:
    """Loads the policy that an argument names.

    Raises:
        PolicyError: it has errors.
        InputError: it cannot be read.
    """
    try:
        if path != STANDARD_INPUT:
            return load(path)
        return load_text(streams.read_bytes().decode("utf-8"), "<stdin>")
    except UnicodeDecodeError:
        raise InputError("the text is not UTF-8", file="<stdin>") from None
    except PolicyError as error:
        raise PolicyError(map(_hint_order, error.findings)) from None


def _hint_order(finding: LocatedFinding) -> LocatedFinding:
    """Adds what has happened, most likely, where something else stands in a policy's place."""
    return replace(finding, hint="the policy comes first, other files after it") if _is_other(finding) else finding


def _is_other(finding: LocatedFinding) -> bool:
    return finding.rule == "wrong-kind" and finding.hint is None and finding.field in ((), ("kind",))


def find_nothing(objects: Sequence[CheckedObject], files: Sequence[str]) -> str | None:
    """Returns why files hold nothing to judge: no object, or policies alone; None where there is something."""
    if not objects:
        return f"no Kubernetes object in {', '.join(files)}"
    if all(each.kind == KIND for each in objects):
        return f"{objects[0].file} is a policy itself; manifests follow POLICY"
    return None


class Manifests:
    """The manifests that arguments name; standard input is read once."""

    def __init__(self, arguments: Sequence[str], streams: Streams) -> None:
        check_read_once(*arguments)
        named = [argument for argument in arguments if argument != STANDARD_INPUT]
        self.files = find_files(named)
        self.files += (STANDARD_INPUT,) if len(named) < len(arguments) else ()
        self.standard_input = streams.read_bytes() if STANDARD_INPUT in self.files else b""

    def read_bytes(self, file: str) -> bytes:
        """Returns what stands in one of the files.

        Raises:
            OSError: it cannot be read.
        """
        return self.standard_input if file == STANDARD_INPUT else Path(file).read_bytes()

    def documents(self) -> Iterator[Document]:
        """Yields every document, those that cannot be read among them."""
        return read_manifests(self.files, self.standard_input)


def current_time() -> datetime:
    """Returns the moment by which exemptions expire."""
    return datetime.now(UTC)
