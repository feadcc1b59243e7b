"""``gpupolicy explain``: how the decision on a manifest comes about, rule by rule and line by line."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from gpupolicy.cli.inputs import Manifests, find_nothing, manifest_arguments, policy_argument, read_policy
from gpupolicy.cli.parser import Subparsers, format_option
from gpupolicy.cli.streams import Streams
from gpupolicy.cli.surroundings import read_surroundings
from gpupolicy.errors import Severity
from gpupolicy.loading.documents import Document
from gpupolicy.manifests.explanation import Explanation, explain_object
from gpupolicy.manifests.objects import read_content
from gpupolicy.manifests.report import Verdict
from gpupolicy.manifests.unrendered import tell_templates
from gpupolicy.reporting.json_format import explain_to_json, to_text
from gpupolicy.reporting.story_format import format_story
from gpupolicy.reporting.text_format import format_findings


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """The arguments of the verb."""

    policy: str
    files: tuple[str, ...]
    namespace: str
    format: str


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    parser = subparsers.add_parser(
        "explain",
        description="Tell for each pod what it asks for, where it goes and why, by which line of the policy, and what "
        "the webhook changes.",
    )
    policy_argument(parser)
    manifest_arguments(parser)
    format_option(parser, "text", "json")


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Explains; the exit status is that of a check."""
    options = ExplainOptions(policy=args.policy, files=tuple(args.files), namespace=args.namespace, format=args.format)
    policy = read_policy(options.policy, streams)
    manifests = Manifests(options.files, streams)
    surroundings = read_surroundings(policy, manifests, options.namespace)
    explanations: list[Explanation] = []
    unreadable: list[Document] = []
    has_errors = False
    for document in manifests.documents():
        if not document.readable:
            unreadable.append(document)
            continue
        content = read_content(document)
        has_errors |= any(finding.severity is Severity.ERROR for finding in content.findings)
        if content.findings:
            streams.stderr.write(format_findings((*document.findings, *content.findings)))
        for manifest in content.objects:
            explanations.extend(explain_object(policy, manifest, surroundings))
    streams.stderr.write(format_findings(tell_templates(unreadable)))
    is_json = options.format == "json"
    streams.write(to_text(explain_to_json(explanations)) if is_json else format_story(explanations))
    nothing = find_nothing([explanation.entry for explanation in explanations], options.files)
    if unreadable or nothing:
        streams.tell(f"error: {'something could not be read' if unreadable else f'nothing was explained: {nothing}'}")
        return 2
    is_denied = any(explanation.entry.verdict is Verdict.DENY for explanation in explanations)
    return 1 if has_errors or is_denied else 0
