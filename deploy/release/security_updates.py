#!/usr/bin/env python3
"""Lists the libraries of SBOMs that have security updates, and exits with 1 if there are any.

    security_updates.py dist/*.cdx.json

Compares the versions in the SBOMs with those of Debian's security suite that apt knows: run `apt-get update` first, on the
release of Debian that the artifacts were built on. An artifact needs a new build with the updated packages.
"""
import json
import subprocess
import sys
from pathlib import Path
from typing import Dict, Set, Tuple


def fail(message: str) -> None:
    sys.exit(f"security_updates: {message}")


def bundled(files: list) -> Dict[Tuple[str, str], Set[str]]:
    """Returns the artifacts that hold each package, by its name and version."""
    found: Dict[Tuple[str, str], Set[str]] = {}
    for file in files:
        document = json.loads(Path(file).read_text())
        for component in document["components"]:
            holders = found.setdefault((component["name"], component["version"]), set())
            holders.add(document["metadata"]["component"]["name"])
    return found


def security_versions(names: Set[str]) -> Dict[str, Set[str]]:
    """Returns the versions of each package in the security suite."""
    done = subprocess.run(["apt-cache", "madison", *sorted(names)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        fail(f"apt-cache: {done.stderr.strip()}")
    found: Dict[str, Set[str]] = {}
    for line in done.stdout.splitlines():
        name, version, source = (part.strip() for part in line.split("|"))
        if "-security/" in source:
            found.setdefault(name, set()).add(version)
    return found


def newer(one: str, other: str) -> bool:
    return subprocess.run(["dpkg", "--compare-versions", one, "gt", other], check=False).returncode == 0


def main() -> None:
    if len(sys.argv) < 2:
        fail("name the SBOMs: dist/*.cdx.json")
    packages = bundled(sys.argv[1:])
    known = security_versions({name for name, _ in packages})
    if packages and not known:
        fail("apt knows no version of a security suite: add it to /etc/apt/sources.list, and run apt-get update")
    updates = 0
    for (name, version), artifacts in sorted(packages.items()):
        for update in sorted(known.get(name, set())):
            if newer(update, version):
                updates += 1
                print(f"{name} {version}: security update {update}, in {', '.join(sorted(artifacts))}")
    print(f"{updates} of {len(packages)} bundled packages have security updates")
    sys.exit(1 if updates else 0)


if __name__ == "__main__":
    main()
