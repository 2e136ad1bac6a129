#!/usr/bin/env python3
"""Checks the image under runc: a coordinator and two workers with limits, each the first process of its container.

    check.py BUILD_DIR ARCHIVE

Compares the digest of an epoch with that of the programs of BUILD_DIR outside of a container. Needs root, buildah and runc.
"""
import json
import os
import re
import sys
import tempfile
import time
from pathlib import Path

from containers import Container, Host, expect, output, say, until
from demo import demo_data, digest_outside

MEMORY, CPUS, TASKS = 1 << 30, 1.0, 300


def check_files(host: Host) -> None:
    expect(host.config["User"] == "7070:7070", f"the user is {host.config['User']}, not 7070:7070")
    bundle = (host.root / "etc/ssl/certs/ca-certificates.crt").read_text()
    expect(bundle.count("BEGIN CERTIFICATE") > 100, "there are no CA certificates")
    others = [path for path in host.root.rglob("*") if path.lstat().st_uid != 0]
    expect(others == [host.root / "var/lib/penstock"], f"root does not own {others}")
    writable = [path for path in host.root.rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o022]
    expect(writable == [host.root / "tmp"], f"other users may write {writable}")
    expect(not (host.root / "usr/bin/sh").exists(), "there is a shell")
    say(f"files: user {host.config['User']}, {bundle.count('BEGIN CERTIFICATE')} CA certificates, no shell")


def check_process(container: Container) -> None:
    status = container.proc("status")
    expect("Uid:\t7070\t7070" in status and "Gid:\t7070\t7070" in status, f"{container.name} runs as another user")
    expect(re.search(r"NSpid:\t\d+\t1\n", status) is not None, f"{container.name} is not PID 1")
    expect(re.search(r"CapBnd:\t0+\n", status) is not None, f"{container.name} has capabilities")
    root = next(line for line in container.proc("mountinfo").splitlines() if line.split()[4] == "/")
    expect(root.split()[5].startswith("ro"), f"the root of {container.name} is writable")


def check_names(container: Container) -> None:
    """/etc/hosts has the names, and there is no DNS server: programs must not wait for one, which takes 3 s."""
    def seconds() -> float:
        begin = time.monotonic()
        output(container.exec("penstock", "status"))
        return time.monotonic() - begin

    fastest = min(seconds() for _ in range(5))
    expect(fastest < 2, f"`penstock status` takes {fastest:.1f} s at best where no DNS server answers")


def main() -> None:
    build, archive = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    programs = build / "bin"
    with tempfile.TemporaryDirectory() as scratch, Host(archive) as host:
        folder = Path(scratch)
        os.chmod(folder, 0o755)
        job = demo_data(programs, folder)
        outside = digest_outside(programs, folder)
        check_files(host)

        environment = {"PENSTOCK_COORDINATOR": "coordinator:7070"}
        limits = {"memory": MEMORY, "cpus": CPUS, "tasks": TASKS}

        def start(name: str, *command: str) -> Container:
            mounts = [(host.state(name), "/var/lib/penstock", True), (folder / "data", "/data", False)]
            return host.start(name, command=[*command, "--insecure"], environment=environment, mounts=mounts, **limits)

        coordinator = start("coordinator", "coordinator", "--listen", "0.0.0.0:7070")
        coordinator.until_healthy(["penstock", "health"])
        workers = [start(name, "worker", "--listen", "0.0.0.0:7071", "--advertise", f"{name}:7071", "--name", name,
                         "--data-root", "/data", "--coordinator", "coordinator:7070") for name in ("worker-1", "worker-2")]
        for container in workers:
            container.until_healthy(["penstock", "health"])
        for container in (coordinator, *workers):
            check_process(container)
        check_names(coordinator)
        say("coordinator and workers are healthy as PID 1, with user 7070, a read-only root and no capabilities")

        status = json.loads(output(coordinator.exec("penstock", "status", "--json")))
        for worker in status["workers"]:
            source = worker["memory_budget_source"]
            expect(re.search(r"memory\.(max|limit_in_bytes)", source) is not None, f"the memory budget comes from {source}")
            expect(int(worker["memory_budget_bytes"]) == MEMORY // 2, f"the memory budget is {worker['memory_budget_bytes']}")
        say(f"memory budget: {MEMORY // 2} bytes: {source}")

        output(coordinator.exec("penstock", "submit", "-", text=job.read_text()))
        inside = json.loads(output(coordinator.exec("penstock", "read", "demo", "--epochs", "2", "--json")))["digest"]
        expect(inside == outside, f"the digest is {inside}, outside of containers {outside}")
        say(f"read: the digest is that of programs outside, {inside}")

        trainer = host.start("trainer", entrypoint=["penstock"], environment=environment,
                             command=["read", "demo", "--epochs", "2", "--pace", "300", "--prefetch-steps", "1", "--json"])

        def reads() -> bool:
            job = json.loads(output(coordinator.exec("penstock", "status", "--json")))["jobs"][0]
            return any(int(session["position"]) > 0 for session in job.get("sessions", []))

        until(reads, "the trainer reads")
        workers[0].signal("TERM")
        workers[0].expect_success()
        expect(trainer.process.poll() is None, "the trainer ended before the worker was drained")
        expect("drain" in workers[0].log.read_text(), f"worker-1 did not drain:\n{workers[0].log.read_text()}")
        trainer.expect_success()
        read = json.loads(trainer.log.read_text().splitlines()[-1])["digest"]  # after notes
        expect(read == outside, f"with a drained worker the digest is {read}")
        say("SIGTERM: worker-1 drains under a reading trainer and ends with 0; the digest is the same")
        for container in (workers[1], coordinator):
            container.signal("TERM")
            container.expect_success()
        say("SIGTERM: the others end with 0")


if __name__ == "__main__":
    main()
