"""The shared libraries that the programs need, and the Debian packages that own them: for the wheel, the image and SBOMs.

The programs are those of this machine. If PENSTOCK_AARCH64_ROOT names a folder with Debian's packages for aarch64, the programs
are for that architecture, and the libraries and packages are those of the folder (see deploy/aarch64).
"""
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Dict, Iterable, NamedTuple, NoReturn, Tuple

PROGRAMS = ("penstock", "penstockd")
IS_FOREIGN = "PENSTOCK_AARCH64_ROOT" in os.environ
ROOT = Path(os.environ.get("PENSTOCK_AARCH64_ROOT", "/"))
MACHINE = "aarch64" if IS_FOREIGN else platform.machine()
DPKG_QUERY = ("dpkg-query", f"--admindir={ROOT / 'var/lib/dpkg'}")


class Package(NamedTuple):
    """An installed package of Debian."""

    name: str
    version: str
    source: str
    source_version: str
    architecture: str

    @property
    def copyright(self) -> Path:
        file = Path("usr/share/doc") / self.name / "copyright"
        return ROOT / file if (ROOT / file).exists() else "/" / file  # a compiler for another architecture is in /


def fail(message: str) -> NoReturn:
    sys.exit(f"{Path(sys.argv[0]).stem}: {message}")


def run(*command: str) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LD_")}
    environment["LC_ALL"] = "C"
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        fail("{}: {}".format(" ".join(command), done.stderr.strip() or done.stdout.strip()))
    return done.stdout


def real_path(path: Path) -> Path:
    """Follows symlinks as a program does whose root folder is ROOT."""
    while path.is_symlink():
        target = path.readlink()
        path = ROOT / target.relative_to("/") if target.is_absolute() else path.parent / target
    return path.resolve()


def libraries_of(program: Path) -> Dict[str, Path]:
    """Returns the libraries that the program needs, and the loader, by name."""
    if IS_FOREIGN:
        lines = run("qemu-aarch64-static", "-L", str(ROOT), "-E", "LD_TRACE_LOADED_OBJECTS=1", str(program)).splitlines()
    else:
        lines = run("ldd", str(program)).splitlines()
    found = {}
    for line in lines:
        words = line.split()
        if words[0].startswith("linux-vdso"):
            continue
        if "not found" in line:
            fail(f"{program} needs {words[0]}, which is not on this machine")
        path = ROOT / Path(words[2] if "=>" in words else words[0]).relative_to("/")
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
        shutil.copyfile(real_path(path), copy)
        run("aarch64-linux-gnu-strip" if IS_FOREIGN else "strip", "--strip-unneeded", str(copy))
        return copy.read_bytes()


def is_debian() -> bool:
    return shutil.which("dpkg-query") is not None


def owner(path: Path) -> Package:
    """Returns the package that owns the file."""
    # A package of Debian lists a file below /usr with or without /usr.
    name, real = (f"/{place.relative_to(ROOT)}" for place in (path, real_path(path)))
    names = {name, real, real[4:] if real.startswith("/usr/") else "/usr" + real}
    done = subprocess.run([*DPKG_QUERY, "-S", *sorted(names)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, check=False)
    match = re.match(r"([^,\s]+?)(:[^:,\s]+)?[,:]", done.stdout)
    if not match:
        fail(f"no package is known to own {path}: its license and version are unknown")
    return package(match.group(1) + (match.group(2) or ""))


def package(name: str, query: Tuple[str, ...] = DPKG_QUERY) -> Package:
    form = "${Package} ${Version} ${source:Package} ${source:Version} ${Architecture}\n"
    return Package(*run(*query, "-W", "-f", form, name).splitlines()[0].split(" "))


def owners(paths: Iterable[Path]) -> Dict[Package, list[Path]]:
    """Returns the packages that own the files, each with its files."""
    found: Dict[Package, list[Path]] = {}
    for path in sorted(set(paths)):
        found.setdefault(owner(path), []).append(path)
    for one in found:
        if not one.copyright.exists():
            fail(f"{one.copyright} is missing: reinstall the package with its documents")
    return dict(sorted(found.items()))
