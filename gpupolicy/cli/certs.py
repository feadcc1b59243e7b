"""``gpupolicy certs``: a certificate authority and a serving certificate for the webhook, kept in a folder."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gpupolicy.cli.extras import needs_extra
from gpupolicy.cli.numbers import whole_number
from gpupolicy.cli.parser import Subparsers
from gpupolicy.cli.streams import STANDARD_OUTPUT, Streams
from gpupolicy.errors import UsageError

if TYPE_CHECKING:
    from gpupolicy.certificates import KeyPair, Renewal
    from gpupolicy.model import Webhook

_MOST_DAYS = 3650


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    parser = subparsers.add_parser(
        "certs",
        description="Make ca.crt, ca.key, tls.crt and tls.key for the webhook. Run again, it keeps the authority and "
        "makes the serving certificate new only where it has to: two thirds of its life over, other names, another "
        "authority.",
    )
    parser.add_argument("policy", metavar="POLICY", nargs="?", help="the policy, for the names of its webhook Service")
    parser.add_argument(
        "--dns", metavar="NAME", action="append", default=[], help="a further DNS name or IP address; repeatable"
    )
    parser.add_argument("-o", "--output", metavar="DIR", type=Path, required=True, help="the folder, made if missing")
    parser.add_argument(
        "--days",
        type=whole_number(1, _MOST_DAYS, f"is no life: days from 1 to {_MOST_DAYS} are expected"),
        default=90,
        metavar="N",
        help="life of the serving certificate (default: 90)",
    )
    parser.add_argument("--ca-cert", metavar="FILE", type=Path, help="sign by this authority instead of one of our own")
    parser.add_argument("--ca-key", metavar="FILE", type=Path, help="its key; it is not copied")
    parser.add_argument(
        "--secret", action="store_true", help="print the Secret that the policy's Deployment mounts (holds the key)"
    )


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Brings the folder up to date and says what was done."""
    if str(args.output) == STANDARD_OUTPUT:
        raise UsageError("-o takes a folder, where the authority's key stays; --secret prints the Secret")
    with needs_extra("webhook"):
        from gpupolicy.certificates import expires_at, renew, service_names, to_secret
    webhook = _read_webhook(args)
    names = (*(service_names(webhook.name, webhook.namespace) if webhook else ()), *args.dns)
    if not names:
        raise UsageError("certs needs a policy or --dns NAME, to know what the certificate is for")
    renewal = renew(args.output, names, now=datetime.now(UTC), days=args.days, authority=_read_authority(args))
    streams.tell(_told(args.output / "ca.crt", renewal.authority_reason, f"{expires_at(renewal.authority):%Y-%m-%d}"))
    ends = f"{expires_at(renewal.serving.certificate):%Y-%m-%d}"
    streams.tell(_told(args.output / "tls.crt", renewal.serving_reason, ends))
    streams.tell(f"it is good for {', '.join(names)}")
    _tell_registration(args, renewal, streams)
    if args.secret and webhook:
        from gpupolicy.compiler.yaml_text import to_yaml

        streams.write(to_yaml(to_secret(webhook.certificates.secret_name, webhook.namespace, renewal)))
    return 0


def _read_webhook(args: argparse.Namespace) -> Webhook | None:
    if args.policy is None:
        if args.secret:
            raise UsageError("--secret needs a policy, to know the Secret's name and namespace")
        return None
    from gpupolicy.loading import load

    return load(args.policy).webhook


def _read_authority(args: argparse.Namespace) -> KeyPair | None:
    from gpupolicy.certificates import read_pair

    if args.ca_cert and args.ca_key:
        return read_pair(args.ca_cert, args.ca_key)
    if args.ca_cert or args.ca_key:
        raise UsageError("--ca-cert and --ca-key are given together or not at all")
    return None


def _told(file: Path, reason: str | None, ends: str) -> str:
    return f"{file}: {f'made new, {reason}' if reason else 'kept'}, ends on {ends}"


def _tell_registration(args: argparse.Namespace, renewal: Renewal, streams: Streams) -> None:
    """The API server knows the authority from the registration: a new one has to get there."""
    if renewal.authority_reason or args.ca_cert:
        policy = args.policy or "POLICY"
        streams.tell(f"register it: gpupolicy compile {policy} --ca-bundle {args.output / 'ca.crt'}")
