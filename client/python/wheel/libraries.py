"""The shared libraries that the programs need, and the Debian packages that own them: for the wheel, the image and SBOMs."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterable, NamedTuple, NoReturn

PROGRAMS = ("penstock", "penstockd")


class Package(NamedTuple):
    """An installed package of Debian."""

    name: str
    version: str
    source: str
    source_version: str
    architecture: str

    @property
    def copyright(self) -> Path:
        return Path("/usr/share/doc") / self.name / "copyright"


def fail(message: str) -> NoReturn:
    sys.exit(f"{Path(sys.argv[0]).stem}: {message}")


def run(*command: str) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LD_")}
    environment["LC_ALL"] = "C"
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        fail("{}: {}".format(" ".join(command), done.stderr.strip() or done.stdout.strip()))
    return done.stdout


def libraries_of(program: Path) -> Dict[str, Path]:
    """Returns the libraries that the program needs, and the loader, by name."""
    found = {}
    for line in run("ldd", str(program)).splitlines():
        words = line.split()
        if words[0].startswith("linux-vdso"):
            continue
        if "not found" in line:
            fail(f"{program} needs {words[0]}, which is not on this machine")
        path = Path(words[2] if "=>" in words else words[0])
        found[path.name if "=>" not in words else words[0]] = path
    return found


def loader_of(program: Path) -> Path:
    loaders = [path for name, path in libraries_of(program).items() if name.startswith("ld-linux")]
    if len(loaders) != 1:
        fail(f"{program}: one dynamic loader was expected, not {loaders}")
    return loaders[0]


def stripped(path: Path) -> bytes:
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "stripped"
        shutil.copyfile(path.resolve(), copy)
        run("strip", "--strip-unneeded", str(copy))
        return copy.read_bytes()


def is_debian() -> bool:
    return shutil.which("dpkg-query") is not None


def owner(path: Path) -> Package:
    """Returns the package that owns the file."""
    # A package of Debian lists a file below /usr with or without /usr.
    real = str(path.resolve())
    names = {str(path), real, real[4:] if real.startswith("/usr/") else "/usr" + real}
    done = subprocess.run(["dpkg-query", "-S", *sorted(names)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=False)
    match = re.match(r"([^,\s]+?)(:[^:,\s]+)?[,:]", done.stdout)
    if not match:
        fail(f"no package is known to own {path}: its license and version are unknown")
    return package(match.group(1) + (match.group(2) or ""))


def package(name: str) -> Package:
    form = "${Package} ${Version} ${source:Package} ${source:Version} ${Architecture}\n"
    return Package(*run("dpkg-query", "-W", "-f", form, name).splitlines()[0].split(" "))


def owners(paths: Iterable[Path]) -> Dict[Package, list[Path]]:
    """Returns the packages that own the files, each with its files."""
    found: Dict[Package, list[Path]] = {}
    for path in sorted(set(paths)):
        found.setdefault(owner(path), []).append(path)
    for one in found:
        if not one.copyright.exists():
            fail(f"{one.copyright} is missing: reinstall the package with its documents")
    return dict(sorted(found.items()))
