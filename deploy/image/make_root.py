#!/usr/bin/env python3
"""Makes the root folder of the image: the programs, their libraries and loader, CA certificates, the user, and licenses.

    PYTHONPATH=client/python/wheel make_root.py BUILD_DIR/bin ROOT

Needs Python, ldd, strip and, for the certificates, Debian's package ca-certificates. Equal inputs give equal files.
"""
import sys
from pathlib import Path

import libraries

CERTIFICATES = libraries.ROOT / "usr/share/ca-certificates/mozilla"
ETC = {
    "passwd": "root:x:0:0:root:/:/sbin/nologin\npenstock:x:7070:7070:Penstock:/var/lib/penstock:/sbin/nologin\n",
    "group": "root:x:0:\npenstock:x:7070:\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "os-release": 'ID=penstock\nNAME="Penstock"\n',
}


def write(path: Path, data: bytes, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)


def add_programs(programs: Path, root: Path) -> None:
    needed = {}
    for name in libraries.PROGRAMS:
        needed.update(libraries.libraries_of(programs / name))
        write(root / "usr/bin" / name, libraries.stripped(programs / name), 0o755)
    loader = libraries.loader_of(programs / "penstockd")
    # The loader searches this folder without a cache, and each program names the loader's path.
    folder = root / "usr/lib" / libraries.run("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
    for name, path in needed.items():
        place = root / "usr" / loader.relative_to(libraries.ROOT) if path == loader else folder / name
        write(place, libraries.stripped(path), 0o755)
    for folder in ("bin", "lib", loader.parent.name):
        if not (root / folder).is_symlink():
            (root / folder).symlink_to(f"usr/{folder}")
    for package in libraries.owners(needed.values()):
        write(root / "usr/share/doc" / package.name / "copyright", package.copyright.read_bytes())


def add_certificates(root: Path) -> None:
    """Adds the authorities of the package, and none that this machine has besides."""
    files = sorted(CERTIFICATES.glob("*.crt"))
    if not files:
        libraries.fail(f"{CERTIFICATES} has no certificates: apt-get install ca-certificates")
    write(root / "etc/ssl/certs/ca-certificates.crt", b"".join(file.read_bytes().strip() + b"\n" for file in files))


def main() -> None:
    programs, root = Path(sys.argv[1]), Path(sys.argv[2])
    add_programs(programs, root)
    add_certificates(root)
    for name, text in ETC.items():
        write(root / "etc" / name, text.encode())
    project = Path(__file__).resolve().parents[2]
    write(root / "usr/share/doc/penstock/copyright", (project / "LICENSE").read_bytes())
    (root / "tmp").mkdir()
    (root / "tmp").chmod(0o1777)
    # Mount points, because the root is read-only.
    for folder in ("data", "dev", "etc/penstock", "jobs", "proc", "run", "sys", "var/lib"):
        (root / folder).mkdir(parents=True)
    for folder in [root, *root.rglob("*")]:
        if folder.is_dir() and not folder.is_symlink() and folder != root / "tmp":
            folder.chmod(0o755)


if __name__ == "__main__":
    main()
