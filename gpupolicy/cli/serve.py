"""``gpupolicy serve``: the admission webhook, in the foreground until a signal."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from gpupolicy.cli.extras import needs_extra
from gpupolicy.cli.parser import Subparsers
from gpupolicy.cli.streams import STANDARD_INPUT, Streams
from gpupolicy.errors import UsageError

_LOOPBACK, _EVERYWHERE = "127.0.0.1", "::"


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The certificate to serve with, its key, and what clients have to trust where we made them ourselves."""

    certificate: Path
    key: Path
    authority: Path | None = None


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    parser = subparsers.add_parser(
        "serve",
        description="Run the admission webhook: POST /mutate, /validate and /validate/final over TLS; /healthz, "
        "/readyz and /metrics on a second, plain port. Changed policy and certificate files are taken without a "
        "restart.",
    )
    parser.add_argument("policy", metavar="POLICY", help="the policy file")
    parser.add_argument(
        "--host", help=f"address to listen on (default: all, IPv4 and IPv6; with --self-signed {_LOOPBACK})"
    )
    parser.add_argument("--port", type=_port, default=8443, help="port for reviews, 0: a free one (default: 8443)")
    parser.add_argument(
        "--metrics-port", type=_port, default=8080, help="port for probes and metrics, 0: a free one (default: 8080)"
    )
    parser.add_argument("--cert", type=Path, metavar="FILE", help="the certificate, or a chain, leaf first (PEM)")
    parser.add_argument("--key", type=Path, metavar="FILE", help="its private key (PEM, no password)")
    parser.add_argument(
        "--self-signed", action="store_true", help="for trying: make a certificate for localhost that ends with the run"
    )
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="the way to the cluster, for a policy that selects namespaces by labels (default: inside a cluster, as "
        "the pod's service account)",
    )
    parser.add_argument(
        "--drain-seconds",
        type=_seconds,
        default=5.0,
        metavar="N",
        help="how long to go on answering after SIGTERM, until the Service sends no more (default: 5)",
    )


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Serves until a signal; the address goes to standard error when it is ready."""
    with needs_extra("webhook"):
        from gpupolicy.webhook.server import ServeOptions, serve
    if args.policy == STANDARD_INPUT:
        raise UsageError("serve reads the policy again when it changes, so it needs a file, not standard input")

    def report(line: str) -> None:
        streams.tell(line)
        streams.flush()

    with _files(args) as files:
        if files.authority:
            report(f"clients have to trust {files.authority}")
        options = ServeOptions(
            policy=Path(args.policy),
            certificate=files.certificate,
            key=files.key,
            host=args.host if args.host is not None else _LOOPBACK if args.self_signed else _EVERYWHERE,
            port=args.port,
            metrics_port=args.metrics_port,
            kubeconfig=args.kubeconfig,
            drain_seconds=args.drain_seconds,
        )
        serve(options, report)
    return 0


@contextmanager
def _files(args: argparse.Namespace) -> Iterator[Files]:
    """Gives the files of the options, or fresh ones that are gone afterwards."""
    if args.self_signed and not args.cert and not args.key:
        from gpupolicy.certificates import TRIAL_NAMES, renew

        with TemporaryDirectory(prefix="gpupolicy-") as name:
            folder = Path(name)
            names = TRIAL_NAMES if args.host in (None, "", "*", _EVERYWHERE, "0.0.0.0") else (*TRIAL_NAMES, args.host)
            renew(folder, names, now=datetime.now(UTC))
            yield Files(certificate=folder / "tls.crt", key=folder / "tls.key", authority=folder / "ca.crt")
    elif args.cert and args.key and not args.self_signed:
        yield Files(certificate=args.cert, key=args.key)
    else:
        raise UsageError("serve needs --cert and --key, or --self-signed alone for trying")


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text} is no port: a number from 0 to 65535 is expected")
    return int(text)


def _seconds(text: str) -> float:
    if not text.isdecimal() or int(text) > 3600:
        raise argparse.ArgumentTypeError(f"{text} is no time: whole seconds from 0 to 3600 are expected")
    return float(text)
