#!/usr/bin/env python3
"""Checks the files of a release: sums, signature, SBOMs against the contents, commits, and the list of security updates.

    check.py DIST_DIR [PUBLIC_KEY]

PUBLIC_KEY is that of the release key, for the signature.
"""
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import NoReturn

HERE = Path(__file__).resolve().parent
SUMS = "SHA256SUMS"


def fail(message: str) -> NoReturn:
    sys.exit(f"FAILED: {message}")


def expect(condition: bool, message: str) -> None:
    if not condition:
        fail(message)


def run(*command: object, text: str | None = None, code: int = 0) -> str:
    done = subprocess.run([str(word) for word in command], input=text, capture_output=True, text=True, check=False)
    expect(done.returncode == code, f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def only(dist: Path, pattern: str) -> Path:
    found = list(dist.glob(pattern))
    expect(len(found) == 1, f"{dist} has {len(found)} files {pattern}, not one")
    return found[0]


def check_sums(dist: Path, public_key: Path | None) -> None:
    lines = dict(reversed(line.split("  ")) for line in (dist / SUMS).read_text().splitlines())
    files = {path.name for path in dist.iterdir()} - {SUMS, f"{SUMS}.sig"}
    expect(files == set(lines), f"{SUMS} lists other files: {sorted(files ^ set(lines))}")
    for name, digest in lines.items():
        expect(hashlib.sha256((dist / name).read_bytes()).hexdigest() == digest, f"{name} has another sum")
    signed = "the signature is not checked without a public key"
    if public_key is not None:
        with tempfile.NamedTemporaryFile("w", suffix=".signers") as signers:
            signers.write(f"release {public_key.read_text()}")
            signers.flush()
            signature = dist / f"{SUMS}.sig"
            verify = ("ssh-keygen", "-Y", "verify", "-f", signers.name, "-I", "release", "-n", "penstock-release",
                      "-s", signature)
            run(*verify, text=(dist / SUMS).read_text())
            run(*verify, text=(dist / SUMS).read_text() + "\n", code=255)
        signed = "the signature is that of the release key"
    print(f"== {len(lines)} files have the sums of {SUMS}; {signed}")


def layer(image: Path) -> tarfile.TarFile:
    """Returns the last layer with the root folder."""
    with tarfile.open(image) as archive:
        def blob(digest: str) -> bytes:
            return archive.extractfile("./blobs/" + digest.replace(":", "/")).read()

        index = json.load(archive.extractfile("./index.json"))
        manifest = json.loads(blob(index["manifests"][0]["digest"]))
        expect(len(manifest["layers"]) == 1, "the image has several layers")
        return tarfile.open(fileobj=io.BytesIO(blob(manifest["layers"][0]["digest"])))


def libraries_in(artifact: Path) -> set[str]:
    """Returns the names of the shared libraries that the artifact holds."""
    if artifact.suffix == ".whl":
        with zipfile.ZipFile(artifact) as wheel:
            names = {Path(name).name for name in wheel.namelist() if name.startswith("penstock/_programs/lib/")}
    elif artifact.name.endswith(".oci.tar"):
        with layer(artifact) as root:
            names = {Path(name).name for name in root.getnames() if ".so" in Path(name).name}
    else:
        return set()
    expect(len(names) > 50, f"{artifact.name} has only {len(names)} libraries")
    return names


def check_sboms(dist: Path) -> None:
    artifacts = [path for path in sorted(dist.iterdir()) if not path.name.startswith(SUMS) and path.suffix != ".json"]
    for artifact in artifacts:
        sbom = json.loads((dist / f"{artifact.name}.cdx.json").read_text())
        described = sbom["metadata"]["component"]
        digest = hashlib.sha256(artifact.read_bytes()).hexdigest()
        expect(described["hashes"][0]["content"] == digest, f"the SBOM of {artifact.name} is that of other bytes")
        files = {place["location"] for one in sbom["components"] for place in one.get("evidence", {}).get("occurrences", [])}
        wanted = libraries_in(artifact)
        expect(files == wanted, f"the SBOM of {artifact.name} has other libraries: {sorted(files ^ wanted)}")
        for one in sbom["components"]:
            expect(bool(one["version"] and one["licenses"] and one["purl"]), f"{artifact.name}: {one['name']} is incomplete")
    print(f"== {len(artifacts)} SBOMs; those of wheel and image list each library")


def check_commit(dist: Path) -> None:
    commit = run("git", "-C", HERE, "rev-parse", "HEAD").strip()
    own = run("dpkg", "--print-architecture").strip()
    with tempfile.TemporaryDirectory() as scratch:
        run("dpkg-deb", "-x", only(dist, f"penstock_*_{own}.deb"), scratch)
        for program in ("penstock", "penstockd"):
            version = run(f"{scratch}/usr/bin/{program}", "--version").strip()
            expect(version.endswith(f"(commit {commit[:12]})"), f"{program} --version: {version}")
    with tarfile.open(only(dist, "*.tar.gz")) as source:
        file = next(name for name in source.getnames() if name.endswith("/cmake/commit.txt"))
        expect(source.extractfile(file).read().decode().strip() == commit, f"{file} has another commit")
    with tarfile.open(only(dist, "*.tgz")) as chart:
        expect("penstock/Chart.yaml" in chart.getnames(), "the chart has no penstock/Chart.yaml")
    print(f"== programs and source name the commit; {version}")


def check_security_updates(dist: Path) -> None:
    """A library that is older than its security update is listed, with the artifact."""
    script = HERE / "security_updates.py"
    with tempfile.TemporaryDirectory() as scratch:
        old, new = Path(scratch) / "old.json", Path(scratch) / "new.json"
        artifact = {"metadata": {"component": {"name": "made-up.whl"}}}
        old.write_text(json.dumps({**artifact, "components": [{"name": "libssl3", "version": "3.0.0-1"}]}))
        new.write_text(json.dumps({**artifact, "components": [{"name": "libssl3", "version": "9:1"}]}))
        listed = run(sys.executable, script, old, code=1)
        expect("libssl3 3.0.0-1: security update" in listed and "made-up.whl" in listed, f"{script.name} lists {listed}")
        run(sys.executable, script, new)
    done = subprocess.run([sys.executable, script, *dist.glob("*.cdx.json")], capture_output=True, text=True, check=False)
    print(f"== security updates: {done.stdout.strip().splitlines()[-1]}")


def main() -> None:
    dist = Path(sys.argv[1])
    check_sums(dist, Path(sys.argv[2]) if len(sys.argv) > 2 else None)
    check_sboms(dist)
    check_commit(dist)
    check_security_updates(dist)


if __name__ == "__main__":
    main()
