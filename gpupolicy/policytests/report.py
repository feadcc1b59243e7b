"""What a policy test is, and what came out of it, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gpupolicy.errors import LocatedFinding
from gpupolicy.manifests.report import Verdict

JSONMap = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What has to come out; None is not compared. ``placement`` holds the keys that are compared, or is empty.

    ``mutated`` is compared as far as it goes, ``mutated_exactly`` as a whole; ``is_unchanged``: nothing may change.
    """

    verdict: Verdict | None = None
    rules: tuple[str, ...] | None = None
    placement: JSONMap | None = None
    is_unplaced: bool = False
    gpus: Mapping[str, int] | None = None
    mutated: JSONMap | None = None
    mutated_exactly: JSONMap | None = None
    is_unchanged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question to a policy: an object, what happens to it and where, and what the answer has to be."""

    name: str
    line: int
    column: int
    object: JSONMap
    expect: Expectation
    operation: str = "CREATE"
    old_object: JSONMap | None = None
    namespace: str | None = None
    namespace_labels: Mapping[str, str] = field(default_factory=dict)
    username: str | None = None
    now: datetime | None = None
    subresource: str = ""
    final: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTest:
    """A test file's document: cases for one policy, whose path counts from the working folder."""

    name: str
    file: str
    policy: str
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Where an answer is not the expected one. ``diff`` has lines that show it, as a unified diff does."""

    what: str
    expected: str
    got: str
    diff: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """A case and its differences; none means that it passed."""

    test: str
    file: str
    case: Case
    differences: tuple[Difference, ...]

    @property
    def passed(self) -> bool:
        """Whether the answer was the expected one."""
        return not self.differences


@dataclass(frozen=True, slots=True, kw_only=True)
class Covered:
    """A part of a policy, and how many cases it took part in. ``about`` is its kind: slot group, rule, exemption ..."""

    about: str
    name: str
    cases: int
    place: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """Which parts of a policy the cases of a run have to do with, and which admission rules fired in them."""

    policy: str
    cases: int
    parts: tuple[Covered, ...]
    rules: tuple[Covered, ...] = ()

    @property
    def percent(self) -> int:
        """How many of a hundred parts some case has to do with, rounded down; rules are not among them."""
        return 100 * sum(1 for part in self.parts if part.cases) // len(self.parts) if self.parts else 100


@dataclass(frozen=True, slots=True, kw_only=True)
class TestReport:
    """All of a run; ``findings`` say what kept tests from running."""

    __test__ = False  # pytest takes it for a class of tests otherwise

    tests: int
    results: tuple[CaseResult, ...] = ()
    findings: tuple[LocatedFinding, ...] = ()
    coverage: tuple[Coverage, ...] = ()

    @property
    def failed(self) -> int:
        """How many cases did not pass."""
        return sum(1 for result in self.results if not result.passed)
