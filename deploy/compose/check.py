#!/usr/bin/env python3
"""Runs the services of compose.yaml one by one under runc, and checks that they work together by TLS and tokens.

    PYTHONPATH=deploy/image check.py BUILD_DIR ARCHIVE

Needs root, buildah, runc, openssl and Python's yaml. No engine is needed. A key of compose.yaml that this script does
not know is an error.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from containers import Container, Host, expect, output, say
from demo import demo_data, digest_outside

HERE = Path(__file__).resolve().parent
KNOWN = {"image", "read_only", "tmpfs", "cap_drop", "security_opt", "restart", "environment", "healthcheck", "entrypoint",
         "command", "hostname", "stop_grace_period", "volumes", "depends_on", "profiles"}


def substituted(text: str, variables: dict[str, str]) -> str:
    """Replaces ${NAME:-default} as Compose does."""
    return re.sub(r"\$\{(\w+):-([^}]*)\}", lambda match: variables.get(match[1]) or match[2], text)


class Services:
    """The services of the file, run on the host."""

    def __init__(self, host: Host, variables: dict[str, str]) -> None:
        self.host = host
        self.file = yaml.safe_load(substituted((HERE / "compose.yaml").read_text(), variables))
        self.services = self.file["services"]
        self.states: dict[str, Path] = {}
        self.running: dict[str, Container] = {}
        self.runs = 0
        for name, service in self.services.items():
            expect(set(service) <= KNOWN, f"{name}: this script does not know {sorted(set(service) - KNOWN)}")
            expect(service.get("hostname", name) == name, f"{name}: others do not know the host name {service.get('hostname')}")
            closed = {key: service.get(key) for key in ("read_only", "tmpfs", "cap_drop", "security_opt")}
            expect(closed == {"read_only": True, "tmpfs": ["/tmp"], "cap_drop": ["ALL"],
                              "security_opt": ["no-new-privileges:true"]}, f"{name} is not closed: {closed}")

    def mounts(self, service: dict) -> list[tuple[Path, str, bool]]:
        found = []
        for volume in service["volumes"]:
            source, place, *mode = volume.split(":")
            if source in self.file["volumes"]:
                if source not in self.states:
                    self.states[source] = self.host.state(source)
                found.append((self.states[source], place, True))
            else:
                expect(mode == ["ro"], f"{volume} is writable")
                found.append(((HERE / source).resolve(), place, False))
        return found

    def start(self, name: str, container: str, service: dict, text: str = "") -> Container:
        return self.host.start(container, entrypoint=service.get("entrypoint"), command=service["command"],
                               environment=service["environment"], mounts=self.mounts(service), text=text)

    def up(self) -> None:
        """Starts the services without a profile, each after those on which it depends."""
        waiting = {name: service for name, service in self.services.items() if "profiles" not in service}
        while waiting:
            name = next(name for name, service in waiting.items() if set(service.get("depends_on", {})) <= set(self.running))
            self.running[name] = self.start(name, name, waiting[name])
            test = waiting.pop(name)["healthcheck"]["test"]
            expect(test[0] == "CMD", f"{name}: the health check needs a shell, and the image has none")
            self.running[name].until_healthy(test[1:])

    def run(self, name: str, *command: str, text: str = "", **environment: str) -> subprocess.CompletedProcess:
        """Runs a service with another command, as `docker compose run` does. Returns its result; notes precede the output."""
        service = self.services[name]
        self.runs += 1
        changed = {**service, "command": list(command) or service["command"],
                   "environment": {**service["environment"], **environment}}
        container = self.start(name, f"{name}-run-{self.runs}", changed, text)
        code = container.wait()
        return subprocess.CompletedProcess(changed["command"], code, container.log.read_text(), "")

    def down(self) -> None:
        for name in reversed(self.running):
            self.running[name].signal("TERM")
            seconds = float(self.services[name]["stop_grace_period"].removesuffix("s"))
            expect(self.running[name].wait(seconds) == 0, f"{name} did not end with 0:\n{self.running[name].log.read_text()}")


def expect_rejected(done: subprocess.CompletedProcess, message: str) -> None:
    expect(done.returncode != 0, f"{done.args} succeeded, although {message}")
    say(f"rejected, because {message}: {done.stdout.strip().splitlines()[-1]}")


def main() -> None:
    build, archive = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory() as scratch, Host(archive) as host:
        folder = Path(scratch)
        os.chmod(folder, 0o755)
        job = demo_data(build / "bin", folder)
        outside = digest_outside(build / "bin", folder)
        secrets = folder / "secrets"
        output(subprocess.run([HERE / "prepare.sh", secrets], env={**os.environ, "PENSTOCK": str(build / "bin/penstock")},
                              capture_output=True, text=True, check=False))
        readable = [path for path in secrets.rglob("*") if path.stat().st_mode & 0o077]
        expect(not readable, f"other users may read {readable}")

        services = Services(host, {"SECRETS": str(secrets), "DATA": str(folder / "data"), "JOB": "demo", "EPOCHS": "2"})
        services.up()
        say(f"healthy: {', '.join(services.running)}")

        output(services.run("penstock", "submit", "-", text=job.read_text()))
        status = json.loads(output(services.run("penstock", "status", "--json")).splitlines()[-1])
        workers = sorted(worker["address"] for worker in status["workers"])
        expect(len(workers) == 2, f"there are other workers: {workers}")
        say(f"the operator submits a job; workers: {', '.join(workers)}")

        read = json.loads(output(services.run("trainer")).splitlines()[-1])
        expect(read["digest"] == outside, f"the digest is {read['digest']}, outside of containers {outside}")
        say(f"the trainer reads: the digest is that of programs outside, {outside}")

        expect_rejected(services.run("trainer", "submit", "-", "--replace", text=job.read_text()), "a trainer may not submit")
        expect_rejected(services.run("penstock", "status", PENSTOCK_TOKEN_FILE=""), "it has no token")
        expect_rejected(services.run("penstock", "status", PENSTOCK_TLS_CA="", PENSTOCK_TOKEN_FILE=""), "it uses no TLS")
        services.down()
        say("all services end with 0 on SIGTERM, within stop_grace_period")


if __name__ == "__main__":
    main()
