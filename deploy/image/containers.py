"""Containers for tests: runc runs the image of an OCI archive as an engine would. Each has a network address and a name.

Needs root, buildah, runc and iproute2. There is no daemon, and nothing remains after close().
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

TOOLS = {"buildah": "buildah", "runc": "runc", "ip": "iproute2"}


def fail(message: str) -> NoReturn:
    sys.exit(f"FAILED: {message}")


def expect(condition: bool, message: str) -> None:
    if not condition:
        fail(message)


def say(message: str) -> None:
    print(f"== {message}", flush=True)


def run(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"{' '.join(map(str, command))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def output(done: subprocess.CompletedProcess) -> str:
    expect(done.returncode == 0, f"{done.args}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def until(condition, what: str, seconds: float = 60):
    """Returns the first value of condition() that is true."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > deadline:
            fail(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.05)
    return value


class Container:
    """One container. Its program is the first process of a PID namespace."""

    def __init__(self, host: "Host", name: str, spec: dict, text: str) -> None:
        self.host, self.name = host, name
        self.bundle = host.work / name
        self.bundle.mkdir()
        (self.bundle / "config.json").write_text(json.dumps(spec))
        self.log = self.bundle / "log"
        self.id = f"{host.prefix}-{name}"
        (self.bundle / "input").write_text(text)
        with self.log.open("wb") as log, (self.bundle / "input").open("rb") as file:
            self.process = subprocess.Popen([*host.runc, "run", "--bundle", str(self.bundle), self.id],
                                            stdin=file, stdout=log, stderr=log)

    def exec(self, *command: str, text: str = "") -> subprocess.CompletedProcess:
        return subprocess.run([*self.host.runc, "exec", self.id, *command], input=text, capture_output=True, text=True,
                              check=False)

    def until_healthy(self, command: list[str]) -> None:
        def healthy() -> bool:
            if self.process.poll() is not None:
                fail(f"{self.name} ended with {self.process.returncode}:\n{self.log.read_text()}")
            return self.exec(*command).returncode == 0

        until(healthy, f"{self.name} is healthy")

    def pid(self) -> int:
        return json.loads(run(*self.host.runc, "state", self.id))["pid"]

    def proc(self, file: str) -> str:
        """Returns a file of the first process in /proc."""
        return Path(f"/proc/{self.pid()}/{file}").read_text()

    def signal(self, name: str) -> None:
        run(*self.host.runc, "kill", self.id, name)

    def wait(self, seconds: float = 90) -> int:
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            fail(f"{self.name} still runs after {seconds:.0f} s:\n{self.log.read_text()}")

    def expect_success(self) -> None:
        """Waits until the program has ended with 0."""
        expect(self.wait() == 0, f"{self.name} ended with {self.process.returncode}:\n{self.log.read_text()}")

    def close(self) -> None:
        if self.process.poll() is None:
            subprocess.run([*self.host.runc, "delete", "--force", self.id], capture_output=True, check=False)
            self.process.wait()


class Host:
    """The image, unpacked, a network, and the containers in it."""

    def __init__(self, archive: Path) -> None:
        for tool, package in TOOLS.items():
            if shutil.which(tool) is None:
                fail(f"{tool} is missing: apt-get install {package}")
        if os.getuid() != 0:
            fail("this user may not make containers: run this as root")
        self.work = Path(tempfile.mkdtemp(prefix="penstock-containers-"))
        self.prefix = f"penstock{os.getpid()}"
        self.runc = ["runc", "--root", str(self.work / "runc")]
        self.containers: list[Container] = []
        self.networks: list[str] = []
        self.addresses: dict[str, str] = {}
        self.hosts = self.work / "hosts"
        self.hosts.write_text("127.0.0.1 localhost\n")

        storage = self.work / "storage"
        buildah = ("buildah", "--root", storage / "root", "--runroot", storage / "run", "--storage-driver", "vfs")
        container = run(*buildah, "from", "--quiet", f"oci-archive:{archive}").strip()
        self.root = Path(run(*buildah, "mount", container).strip())
        self.config = json.loads(run(*buildah, "inspect", container))["OCIv1"]["config"]
        run(*buildah, "umount", container)  # with this driver the folder remains

        self.switch = self.network("switch")
        run("ip", "-n", self.switch, "link", "add", "switch", "type", "bridge")
        run("ip", "-n", self.switch, "link", "set", "switch", "up")

    def __enter__(self) -> "Host":
        return self

    def __exit__(self, error, *_) -> None:
        for container in self.containers:
            if error is not None:
                print(f"-- the end of the log of {container.name}:\n{container.log.read_text()[-4000:]}", file=sys.stderr)
            container.close()
        for name in self.networks:
            run("ip", "netns", "delete", name)
        shutil.rmtree(self.work)

    def network(self, name: str) -> str:
        name = f"{self.prefix}-{name}"
        run("ip", "netns", "add", name)
        self.networks.append(name)
        run("ip", "-n", name, "link", "set", "lo", "up")
        return name

    def join(self, name: str) -> str:
        """Returns a new network namespace with an address, which all containers know by the name."""
        made = self.network(name)
        number = len(self.networks)
        port, address = f"port{number}", f"10.70.70.{number}"
        run("ip", "-n", self.switch, "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", made)
        run("ip", "-n", self.switch, "link", "set", port, "master", "switch", "up")
        run("ip", "-n", made, "address", "add", f"{address}/24", "dev", "eth0")
        run("ip", "-n", made, "link", "set", "eth0", "up")
        with self.hosts.open("a") as hosts:
            hosts.write(f"{address} {name}\n")
        return made

    def start(self, name: str, *, entrypoint: list[str] | None = None, command: list[str] | None = None,
              environment: dict[str, str] | None = None, mounts: Sequence[tuple[Path, str, bool]] = (),
              memory: int = 0, cpus: float = 0, tasks: int = 0, text: str = "") -> Container:
        """Starts a container with a read-only root and no capabilities. `text` is its standard input.

        `mounts` are (folder of this host, place, writable).
        """
        closed = ("nosuid", "noexec", "nodev")
        spec = {
            "ociVersion": "1.0.2",
            "hostname": name,
            "root": {"path": str(self.root), "readonly": True},
            "process": {
                "args": [*(entrypoint or self.config["Entrypoint"]),
                         *(command if command is not None else [] if entrypoint else self.config["Cmd"])],
                "cwd": self.config["WorkingDir"],
                "env": [*self.config["Env"], *(f"{key}={value}" for key, value in (environment or {}).items())],
                "user": dict(zip(("uid", "gid"), map(int, self.config["User"].split(":")), strict=True)),
                "capabilities": {},
                "noNewPrivileges": True,
            },
            "mounts": [
                {"destination": "/proc", "type": "proc", "source": "proc"},
                {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["ro", *closed]},
                {"destination": "/sys/fs/cgroup", "type": "cgroup", "source": "cgroup", "options": ["ro", *closed]},
                {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "mode=755"]},
                {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "nodev", "mode=1777"]},
                {"destination": "/etc/hosts", "source": str(self.hosts), "options": ["bind", "ro"]},
                *({"destination": place, "source": str(folder), "options": ["rbind", "rw" if writable else "ro"]}
                  for folder, place, writable in mounts),
            ],
            "linux": {
                "cgroupsPath": f"/{self.prefix}/{name}",
                "resources": {
                    **({"memory": {"limit": memory}} if memory else {}),
                    **({"cpu": {"quota": int(cpus * 100000), "period": 100000}} if cpus else {}),
                    **({"pids": {"limit": tasks}} if tasks else {}),
                },
                "namespaces": [{"type": kind} for kind in ("pid", "ipc", "uts", "mount")] +
                              [{"type": "network", "path": f"/run/netns/{self.join(name)}"}],
            },
        }
        container = Container(self, name, spec, text)
        self.containers.append(container)
        return container

    def state(self, name: str) -> Path:
        """Returns an empty folder that the image's user may write, as an engine makes it for the image's volume."""
        folder = self.work / f"state-{name}"
        folder.mkdir()
        os.chown(folder, *map(int, self.config["User"].split(":")))
        return folder
