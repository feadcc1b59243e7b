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
from gpupolicy.cli.numbers import seconds, whole_number
from gpupolicy.cli.parser import Subparsers
from gpupolicy.cli.streams import STANDARD_INPUT, Streams
from gpupolicy.errors import UsageError
from gpupolicy.loading import load

_LOOPBACK, _EVERYWHERE = "127.0.0.1", "::"
_PORT = whole_number(0, 65535, "is no port: a number from 0 to 65535 is expected")


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """The certificate to serve with, its key, and what clients have to trust where we made them ourselves."""

    certificate: Path | None = None
    key: Path | None = None
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
    parser.add_argument("--port", type=_PORT, default=8443, help="port for reviews, 0: a free one (default: 8443)")
    parser.add_argument(
        "--metrics-port", type=_PORT, default=8080, help="port for probes and metrics, 0: a free one (default: 8080)"
    )
    parser.add_argument("--cert", type=Path, metavar="FILE", help="the certificate, or a chain, leaf first (PEM)")
    parser.add_argument("--key", type=Path, metavar="FILE", help="its private key (PEM, no password)")
    parser.add_argument(
        "--self-signed", action="store_true", help="for trying: make a certificate for localhost that ends with the run"
    )
    parser.add_argument(
        "--self-managed",
        action="store_true",
        help="keep an authority and the certificate in the Secret that the policy names, make them new in time, and "
        "have the policy's registrations trust them",
    )
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        metavar="FILE",
        help="the way to the cluster, for --self-managed and for a policy that selects namespaces by labels (default: "
        "inside a cluster, as the pod's service account)",
    )
    parser.add_argument(
        "--dns",
        metavar="NAME",
        action="append",
        default=[],
        help="with --self-managed: a further DNS name or IP address of the certificate; repeatable",
    )
    parser.add_argument(
        "--settle-seconds",
        type=seconds(0, 3600),
        default=60.0,
        metavar="N",
        help="with --self-managed: how long API servers get to hear of a new authority before it signs (default: 60)",
    )
    parser.add_argument(
        "--client-ca",
        type=Path,
        metavar="FILE",
        help="let in only clients with a certificate of these authorities (PEM), by TLS 1.3 alone",
    )
    parser.add_argument(
        "--client-name",
        metavar="NAME",
        action="append",
        default=[],
        help="of these clients, let in only who bears this common or alternative name; repeatable",
    )
    parser.add_argument(
        "--log-format", choices=("text", "json"), default="text", help="how standard error is written (default: text)"
    )
    parser.add_argument(
        "--drain-seconds",
        type=seconds(0, 3600),
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

    if args.client_name and not args.client_ca:
        raise UsageError("--client-name needs --client-ca: without it a client may call itself as it likes")
    if args.dns and not args.self_managed:
        raise UsageError("--dns is for --self-managed; certs takes it for certificates in files")

    def write(line: str) -> None:
        streams.tell(line)
        streams.flush()

    if args.self_signed:
        load(args.policy)  # a policy that cannot be served needs no certificate
    with _files(args) as files:
        if files.authority:
            write(f"clients have to trust {files.authority}")
        options = ServeOptions(
            policy=Path(args.policy),
            certificate=files.certificate,
            key=files.key,
            host=args.host if args.host is not None else _LOOPBACK if args.self_signed else _EVERYWHERE,
            port=args.port,
            metrics_port=args.metrics_port,
            kubeconfig=args.kubeconfig,
            client_authority=args.client_ca,
            client_names=tuple(args.client_name),
            extra_names=tuple(args.dns),
            settle_seconds=args.settle_seconds,
            json_log=args.log_format == "json",
            drain_seconds=args.drain_seconds,
        )
        serve(options, write)
    return 0


@contextmanager
def _files(args: argparse.Namespace) -> Iterator[Files]:
    """Gives the files of the options, or fresh ones that are gone afterwards; none where the cluster keeps them."""
    if args.self_managed and not (args.self_signed or args.cert or args.key):
        yield Files()
    elif args.self_signed and not (args.self_managed or args.cert or args.key):
        from gpupolicy.certificates import TRIAL_NAMES, renew

        with TemporaryDirectory(prefix="gpupolicy-") as name:
            folder = Path(name)
            names = TRIAL_NAMES if args.host in (None, "", "*", _EVERYWHERE, "0.0.0.0") else (*TRIAL_NAMES, args.host)
            renew(folder, names, now=datetime.now(UTC))
            yield Files(certificate=folder / "tls.crt", key=folder / "tls.key", authority=folder / "ca.crt")
    elif args.cert and args.key and not args.self_signed and not args.self_managed:
        yield Files(certificate=args.cert, key=args.key)
    else:
        raise UsageError("serve needs --cert and --key, or --self-managed alone, or --self-signed alone for trying")
