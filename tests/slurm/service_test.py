"""service.sbatch and service-trainer.sbatch: a service of one user, trainers of another."""

import os
import re

import remains
from conftest import EPOCHS, STEPS
from private_slurm import as_user, eventually


def start_service(alice, *flags):
    alice.runs.chmod(0o711)
    service = alice.submit("service.sbatch", "penstock", *flags, arguments=(alice.data.root, alice.data.job))
    address = alice.run("penstock") / "public" / "address"

    def published():
        assert service.state() in {"PENDING", "CONFIGURING", "RUNNING"}, service.output()
        return address.exists()

    eventually("the address", published, context=service.output)
    return service, address


def make_token(bob):
    """Returns the file of a new token. The file `line` has its line for the operator of a service."""
    made = as_user(bob.user, [bob.place / "bin" / "penstock", "token", "bob", "--role", "trainer", "--file", bob.home / "line"])
    token = bob.home / "token"
    with open(os.open(token, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(made.stdout)
    bob.give(token)
    return token


def admit(alice, bob):
    """Bob makes a token, and the service's operator adds the line to the file of the service."""
    token = make_token(bob)
    with (alice.run("penstock") / "keys" / "tokens").open("a") as tokens:
        tokens.write((bob.home / "line").read_text())
    public = alice.run("penstock") / "public"
    status = [bob.place / "bin" / "penstock", "status", "--tls-ca", public / "ca.pem", "--token-file", token, "--coordinator"]

    def known():
        return as_user(bob.user, [*status, (public / "address").read_text().strip()]).returncode == 0

    eventually("the coordinator reads the changed file", known)
    return token


def environment(address, token):
    return {"PENSTOCK_SERVICE": str(address.parent), "PENSTOCK_TOKEN_FILE": str(token)}


def test_another_user_reads_from_the_service_with_a_token_of_its_own(alice, bob):
    service, address = start_service(alice)
    token = admit(alice, bob)
    reader = bob.submit(
        "service-trainer.sbatch", "reader", environment=environment(address, token),
        arguments=("penstock", "read", "train", "--epochs", EPOCHS),
    )  # fmt: skip
    reader.wait("COMPLETED")
    assert re.search(r"^digest (\w+)$", reader.output(), re.MULTILINE).group(1) == bob.data.digests[0, 1]
    service.cancel()
    alice.check_nothing_remains("penstock")
    bob.check_nothing_remains("reader")
    assert not address.exists()


def test_users_reach_address_and_ca_of_the_service_but_no_secret(alice, bob):
    service, address = start_service(alice)
    readable = remains.readable_by_others(alice.run("penstock"))
    names = {line.split()[0].removeprefix(f"{alice.run('penstock')}") for line in readable}
    assert names == {"", "/public", "/public/ca.pem", "/public/address"}
    assert as_user(bob.user, ["cat", address]).stdout.strip() == address.read_text().strip()
    token = make_token(bob)  # which the operator does not know
    reader = bob.submit(
        "service-trainer.sbatch", "stranger", environment=environment(address, token), arguments=("penstock", "read", "train")
    )
    reader.wait("FAILED")
    assert "does not know the caller's token" in reader.output()
    service.cancel()
    alice.check_nothing_remains("penstock")


def test_the_operator_checks_the_service_and_submits_another_job(alice):
    service, address = start_service(alice)
    folder = alice.run("penstock")
    operator = {
        "PENSTOCK_COORDINATOR": address.read_text().strip(),
        "PENSTOCK_TLS_CA": folder / "public" / "ca.pem",
        "PENSTOCK_TOKEN_FILE": folder / "keys" / "operator.token",
    }

    def penstock(*arguments):
        return as_user(alice.user, [alice.place / "bin" / "penstock", *arguments], operator).stdout

    findings = [line for line in penstock("doctor").splitlines() if " certificate: " in line]
    assert len(findings) == 4, findings  # one each for this host, the coordinator and two workers
    assert [line for line in findings if not line.startswith("ok ")] == []
    other = alice.home / "other.textproto"
    other.write_text(alice.data.job.read_text().replace('"train"', '"other"'))
    alice.give(other)
    penstock("submit", other)
    assert penstock("jobs", "--names").split() == ["other", "train"]
    service.cancel()
    alice.check_nothing_remains("penstock")


def test_trainers_follow_a_requeued_service(alice, bob):
    service, address = start_service(alice)
    token = admit(alice, bob)
    bob.allow("follower", 7)
    trainer = bob.submit("service-trainer.sbatch", "follower", environment=environment(address, token), arguments=bob.trainer)
    bob.wait_for_steps("follower", 7, 1, trainer)
    before = address.read_text()
    service.requeue()
    eventually("the new address", lambda: address.exists() and address.read_text() != before, context=service.output)
    bob.allow("follower", STEPS)
    trainer.wait("COMPLETED")
    bob.check_digests("follower", 1)
    assert "the service has moved" in trainer.output()
    service.cancel()
    alice.check_nothing_remains("penstock")
    bob.check_nothing_remains("follower")
