#!/usr/bin/env python3
"""Writes the SBOMs of artifacts, ARTIFACT.cdx.json, in CycloneDX: each bundled library with its version and licenses.

    PYTHONPATH=client/python/wheel sbom.py VERSION BUILD_DIR ARTIFACT[:CONTENTS,...] ...

CONTENTS is what the artifact bundles:

    shared        the shared libraries that the programs load
    compiled      code that is compiled from headers and static libraries of Debian's packages
    certificates  the CA certificates of Debian's package

Needs Debian, where the artifacts were built, and ninja. Equal artifacts have equal SBOMs.
"""
import datetime
import hashlib
import json
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any, Dict, List, Set, Tuple
from urllib.parse import quote

import libraries
import licenses

SYSTEM_FOLDERS = ("/usr/", f"{libraries.ROOT / 'usr'}/")

def shared_libraries(programs: Path) -> Dict[libraries.Package, List[Path]]:
    needed: Set[Path] = set()
    for name in libraries.PROGRAMS:
        needed.update(libraries.libraries_of(programs / name).values())
    return libraries.owners(needed)


def compiled_sources(build: Path) -> Set[str]:
    """Returns the headers and static libraries of this machine that the programs are compiled from, according to ninja."""
    programs = [f"bin/{name}" for name in libraries.PROGRAMS]
    inputs = libraries.run("ninja", "-C", str(build), "--quiet", "-t", "inputs", *programs).splitlines()
    objects = [name for name in inputs if name.endswith((".o", ".gch"))]
    used = libraries.run("ninja", "-C", str(build), "--quiet", "-t", "deps", *objects).splitlines()
    files = {name.strip() for name in [*inputs, *used]}
    return {name for name in files if name.startswith(SYSTEM_FOLDERS) and name.endswith((".a", ".h", ".hpp"))}


def packages_of(query: Tuple[str, ...], files: List[str]) -> Set[libraries.Package]:
    done = subprocess.run([*query, "-S", *files], capture_output=True, text=True, check=False)
    names = {line.split(": ")[0] for line in done.stdout.splitlines() if not line.startswith("diversion ")}
    return {libraries.package(name.split(", ")[0], query) for name in names}


def compiled_packages(build: Path) -> List[libraries.Package]:
    sources = sorted(compiled_sources(build))
    if not sources:
        libraries.fail(f"ninja knows no headers of {build}: build it first")
    # The compiler's own headers and libraries are files of this machine, for each architecture.
    ours = [name for name in sources if name.startswith("/usr/")]
    theirs = [f"/{Path(name).relative_to(libraries.ROOT)}" for name in sources if not name.startswith("/usr/")]
    packages = [package for query, files in ((("dpkg-query",), ours), (libraries.DPKG_QUERY, theirs)) if files
                for package in packages_of(query, files)]
    return sorted(packages)


def release_of_debian() -> str:
    lines = Path("/etc/os-release").read_text().splitlines()
    values = dict(line.split("=", 1) for line in lines if "=" in line)
    return f"{values['ID']}-{values['VERSION_ID']}".replace('"', "")


def component(package: libraries.Package, kind: str, files: List[str]) -> Dict[str, Any]:
    release = release_of_debian()
    name, version = quote(package.name, safe=""), quote(package.version, safe="~")
    url = f"pkg:deb/{release.split('-')[0]}/{name}@{version}?arch={package.architecture}&distro={release}"
    out: Dict[str, Any] = {
        "type": "library",
        "bom-ref": f"{kind}:{package.name}",
        "name": package.name,
        "version": package.version,
        "licenses": licenses.cyclonedx(package.copyright.read_text(errors="replace")),
        "purl": url,
        "properties": [{"name": "penstock:bundled", "value": kind},
                       {"name": "penstock:source", "value": f"{package.source} {package.source_version}"}],
    }
    if files:
        out["evidence"] = {"occurrences": [{"location": file} for file in files]}
    return out


def document(artifact: Path, version: str, time: str, components: List[Dict[str, Any]]) -> Dict[str, Any]:
    digest = hashlib.sha256(artifact.read_bytes()).hexdigest()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, 'sha256:' + digest)}",
        "version": 1,
        "metadata": {
            "timestamp": time,
            "component": {"type": "application", "bom-ref": "artifact", "name": artifact.name, "version": version,
                          "licenses": [{"license": {"id": "Apache-2.0"}}], "hashes": [{"alg": "SHA-256", "content": digest}]},
        },
        "components": components,
        "dependencies": [{"ref": "artifact", "dependsOn": [one["bom-ref"] for one in components]}],
    }


def main() -> None:
    version, build = sys.argv[1], Path(sys.argv[2])
    project = Path(__file__).resolve().parents[2]
    seconds = int(libraries.run("git", "-C", str(project), "log", "-1", "--format=%ct"))
    time = datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    makers = {
        "shared": lambda: [component(package, "shared library", [path.name for path in paths])
                           for package, paths in shared_libraries(build / "bin").items()],
        "compiled": lambda: [component(package, "compiled in", []) for package in compiled_packages(build)],
        "certificates": lambda: [component(libraries.package("ca-certificates"), "files", [])],
    }
    made: Dict[str, List[Dict[str, Any]]] = {}
    for argument in sys.argv[3:]:
        name, _, contents = argument.partition(":")
        components: List[Dict[str, Any]] = []
        for kind in contents.split(",") if contents else []:
            if kind not in made:
                made[kind] = makers[kind]()
            components += made[kind]
        out = Path(name + ".cdx.json")
        out.write_text(json.dumps(document(Path(name), version, time, components), indent=1) + "\n")
        print(f"{out}: {len(components)} components")


if __name__ == "__main__":
    main()
