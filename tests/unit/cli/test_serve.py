"""``gpupolicy serve``: wrong usage. What it does when it runs is tested with the webhook."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import POLICY, run

from gpupolicy.cli.extras import needs_extra
from gpupolicy.errors import MissingExtraError

NEEDS = "serve needs --cert and --key, or --self-managed alone, or --self-signed alone for trying"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param((POLICY,), NEEDS, id="without-certificate"),
        pytest.param(
            (POLICY, "--cert", "tls.crt"),
            NEEDS,
            id="without-key",
        ),
        pytest.param(
            (POLICY, "--cert", "tls.crt", "--key", "tls.key", "--self-signed"),
            NEEDS,
            id="both-kinds",
        ),
        pytest.param((POLICY, "--self-managed", "--self-signed"), NEEDS, id="managed-and-signed"),
        pytest.param(
            (POLICY, "--self-managed", "--cert", "tls.crt", "--key", "tls.key"), NEEDS, id="managed-and-files"
        ),
        pytest.param(
            (POLICY, "--self-signed", "--client-name", "kube-apiserver"),
            "--client-name needs --client-ca: without it a client may call itself as it likes",
            id="a-name-without-an-authority",
        ),
        pytest.param(
            (POLICY, "--self-signed", "--dns", "localhost"),
            "--dns is for --self-managed; certs takes it for certificates in files",
            id="names-for-files",
        ),
        pytest.param(
            ("-", "--self-signed"),
            "serve reads the policy again when it changes, so it needs a file, not standard input",
            id="standard-input",
        ),
        pytest.param(
            (POLICY, "--cert", "gone.crt", "--key", "gone.key"),
            "gone.crt: cannot be read: no such file or directory",
            id="no-such-certificate",
        ),
    ],
)
def test_what_cannot_be_served_is_said_in_one_line(arguments, message):
    outcome = run("serve", *arguments)

    assert (outcome.status, outcome.out, outcome.err) == (2, "", f"error: {message}\n")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        pytest.param("--port=80a", "--port: 80a is no port: a number from 0 to 65535 is expected", id="no-number"),
        pytest.param("--metrics-port=65536", "--metrics-port: 65536 is no port: a number from 0 to 65535 is", id="big"),
        pytest.param(
            "--drain-seconds=-1", "--drain-seconds: -1 is no time: whole seconds from 0 to 3600", id="negative"
        ),
    ],
)
def test_a_wrong_number_is_named(option, message):
    outcome = run("serve", POLICY, "--self-signed", option)

    assert outcome.status == 2
    assert outcome.err.startswith(f"error: argument {message}")


def test_a_missing_package_names_the_extra_that_brings_it():
    with pytest.raises(MissingExtraError) as caught, needs_extra("webhook"):
        raise ModuleNotFoundError("No module named 'flask'", name="flask.json")

    assert str(caught.value) == (
        "flask is not installed: install the extra webhook of gpupolicy (pip install 'CHECKOUT[webhook]')"
    )


def test_a_defect_of_ours_does_not_look_like_a_missing_package():
    with pytest.raises(ModuleNotFoundError), needs_extra("webhook"):
        raise ModuleNotFoundError("No module named 'gpupolicy.gone'", name="gpupolicy.gone")


def test_a_broken_policy_is_told_before_a_certificate_is_made(tmp_path: Path) -> None:
    outcome = run("serve", tmp_path / "none.yaml", "--self-signed")

    assert (outcome.status, outcome.err) == (
        2,
        f"error: {tmp_path / 'none.yaml'}: cannot be read: no such file or directory\n",
    )
