"""``gpupolicy certs``: what it makes, keeps, says and refuses."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from commands import POLICY, run

from gpupolicy.certificates import create_authority, expires_at
from gpupolicy.loading import load

WEBHOOK = load(POLICY).webhook
NAMES = f"{WEBHOOK.name}.{WEBHOOK.namespace}.svc, {WEBHOOK.name}.{WEBHOOK.namespace}.svc.cluster.local"


def ends(file: Path) -> str:
    return f"{expires_at(file.read_bytes()):%Y-%m-%d}"


def test_the_first_run_says_what_it_made_and_how_to_register_it(tmp_path):
    outcome = run("certs", POLICY, "-o", tmp_path, "--dns", "10.1.2.3")

    assert (outcome.status, outcome.out) == (0, "")
    assert outcome.err.splitlines() == [
        f"{tmp_path / 'ca.crt'}: made new, there was none, ends on {ends(tmp_path / 'ca.crt')}",
        f"{tmp_path / 'tls.crt'}: made new, there was none, ends on {ends(tmp_path / 'tls.crt')}",
        f"it is good for {NAMES}, 10.1.2.3",
        f"register it: gpupolicy compile {POLICY} --ca-bundle {tmp_path / 'ca.crt'}",
    ]


def test_standard_output_is_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = run("certs", "--dns", "localhost", "-o", "-")

    assert (outcome.status, outcome.err.startswith("error: -o takes a folder"), [*tmp_path.iterdir()]) == (2, True, [])


def test_a_second_run_keeps_everything_and_says_so(tmp_path):
    run("certs", POLICY, "-o", tmp_path)

    assert run("certs", POLICY, "-o", tmp_path).err.splitlines() == [
        f"{tmp_path / 'ca.crt'}: kept, ends on {ends(tmp_path / 'ca.crt')}",
        f"{tmp_path / 'tls.crt'}: kept, ends on {ends(tmp_path / 'tls.crt')}",
        f"it is good for {NAMES}",
    ]


def test_days_set_the_life_of_the_serving_certificate(tmp_path):
    run("certs", "--dns", "localhost", "-o", tmp_path, "--days", "7")
    left = expires_at((tmp_path / "tls.crt").read_bytes()) - datetime.now(UTC)

    assert timedelta(days=6, hours=23) < left <= timedelta(days=7)


def test_the_secret_is_the_one_that_the_deployment_mounts(tmp_path):
    secret = yaml.safe_load(run("certs", POLICY, "-o", tmp_path, "--secret").out)

    assert secret["metadata"] == {"name": WEBHOOK.certificates.secret_name, "namespace": WEBHOOK.namespace}
    assert base64.b64decode(secret["data"]["tls.crt"]) == (tmp_path / "tls.crt").read_bytes()


def test_an_authority_of_ones_own_signs_and_is_to_be_registered(tmp_path):
    pair = create_authority(now=datetime.now(UTC))
    (tmp_path / "own.crt").write_bytes(pair.certificate)
    (tmp_path / "own.key").write_bytes(pair.key)
    own = ("--ca-cert", tmp_path / "own.crt", "--ca-key", tmp_path / "own.key")

    outcome = run("certs", "--dns", "localhost", "-o", tmp_path / "pki", *own)

    assert (tmp_path / "pki" / "ca.crt").read_bytes() == pair.certificate
    assert outcome.err.splitlines()[-1] == (
        f"register it: gpupolicy compile POLICY --ca-bundle {tmp_path / 'pki' / 'ca.crt'}"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param((), "certs needs a policy or --dns NAME, to know what the certificate is for", id="no-name"),
        pytest.param(
            ("--dns", "localhost", "--secret"),
            "--secret needs a policy, to know the Secret's name and namespace",
            id="secret-without-policy",
        ),
        pytest.param(
            ("--dns", "localhost", "--ca-cert", "ca.crt"),
            "--ca-cert and --ca-key are given together or not at all",
            id="half-an-authority",
        ),
        pytest.param(
            ("--dns", "localhost", "--ca-cert", "gone.crt", "--ca-key", "gone.key"),
            "gone.crt: cannot be read: no such file or directory",
            id="no-such-authority",
        ),
    ],
)
def test_what_cannot_be_made_is_said_in_one_line_and_nothing_is_written(tmp_path, arguments, message):
    outcome = run("certs", "-o", tmp_path / "pki", *arguments)

    assert (outcome.status, outcome.out, outcome.err) == (2, "", f"error: {message}\n")
    assert not (tmp_path / "pki").exists()


@pytest.mark.parametrize("days", ["0", "-1", "3651", "many"])
def test_a_life_must_be_a_number_of_days(tmp_path, days):
    outcome = run("certs", "--dns", "localhost", "-o", tmp_path, f"--days={days}")

    assert outcome.status == 2
    assert outcome.err.startswith(f"error: argument --days: {days} is no life: days from 1 to 3650 are expected\n")
