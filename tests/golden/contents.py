"""What the golden files hold: for each policy the compiled folder and the proof, for some fleets what init writes."""

from __future__ import annotations

from pathlib import Path

from fleets import FLEETS

from gpupolicy.compiler import Order, compile_manifests
from gpupolicy.compiler.explanation import explain
from gpupolicy.compiler.rendering import render_files
from gpupolicy.compiler.scheduler import prove_all
from gpupolicy.discovery import discover
from gpupolicy.loading import load, read_file
from gpupolicy.model import CertificateMode

HERE = Path(__file__).resolve().parent
SHIPPED = HERE.parents[1] / "policies"
EXPECTED = HERE / "expected"
DISCOVERED = HERE / "discovered"
DISCOVERED_FLEETS = ("eks", "labelled", "mig", "two-types")
CA_BUNDLE = b"-----BEGIN CERTIFICATE-----\nZ29sZGVu\n-----END CERTIFICATE-----\n"


def policy_files() -> dict[str, Path]:
    """Every policy by the name of its folder of golden files: those that we ship and those of the tests."""
    return {path.stem: path for folder in (SHIPPED, HERE / "policies") for path in sorted(folder.glob("*.yaml"))}


def compiled(name: str) -> dict[str, str]:
    """The texts that a policy compiles to, by path below its golden folder."""
    policy = load(policy_files()[name])
    bundle = CA_BUNDLE if policy.webhook.certificates.mode is CertificateMode.SECRET else None
    order = Order(policy=policy, nodes=_nodes(name), ca_bundle=bundle)
    files = render_files(policy, compile_manifests(order))
    proof = "\n".join(explain(proof) for proof in prove_all(policy))
    return {**{file.path: file.text for file in files}, "explain.txt": proof}


def expected(name: str) -> dict[str, str]:
    """The golden files of a policy."""
    folder = EXPECTED / name
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def discovered(fleet: str) -> str:
    """The policy that init writes for a fleet."""
    return discover(FLEETS[fleet](), source="nodes.json").text


def _nodes(name: str) -> tuple[dict[str, object], ...] | None:
    path = HERE / "nodes" / f"{name}.yaml"
    if not path.exists():
        return None
    (document,) = read_file(path)
    value = document.value
    assert isinstance(value, dict)
    return tuple(value["items"])
