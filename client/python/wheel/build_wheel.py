#!/usr/bin/env python3
"""Builds the wheel: the Python package, and the programs with every shared library that they need.

    build_wheel.py --version 0.3.0 --programs build/release/bin --out build/wheel

Needs only Python, ldd and strip. Equal inputs give equal bytes.
"""
import argparse
import base64
import hashlib
import os
import zipfile
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Set

import libraries

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "penstock"
PROJECT = HERE.parents[2]
LAUNCHER = "penstock_launcher"

# The wheel contains the C library, so the programs run on every kernel with their system calls (pidfd_open, Linux 5.3).
# Debian 11 is the oldest tested system. Its C library is 2.31, and no system with that library has an older kernel than
# 5.3.
PLATFORM = f"manylinux_2_31_{libraries.MACHINE}"
LARGEST_WHEEL = 60 << 20
PROJECT_URL = "https://penstock.example"

METADATA = """\
Metadata-Version: 2.1
Name: penstock
Version: {version}
Summary: Data preparation for training: reads TFRecord shards, decodes and augments, feeds PyTorch, TensorFlow and JAX
License: Apache-2.0
Project-URL: Homepage, {url}
Requires-Python: >=3.9
Requires-Dist: numpy
{extras}Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Description-Content-Type: text/markdown

{description}"""

WHEEL = """\
Wheel-Version: 1.0
Generator: penstock
Root-Is-Purelib: false
Tag: py3-none-{platform}
"""

# Packages that `penstock convert` needs for a format or a tokenizer: pip install penstock[parquet].
EXTRAS = {
    "parquet": "pyarrow",
    "hf": "datasets>=4",
    "hdf5": "h5py",
    "lmdb": "lmdb",
    "arrayrecord": "array-record",
    "mds": "mosaicml-streaming",
    "litdata": "litdata>=0.2.76",
    "tokenizers": "tokenizers",
    "tiktoken": "tiktoken",
    "sentencepiece": "sentencepiece",
}

# Installed as a command. It finds the package without importing it: the program starts at once, and without NumPy.
COMMAND = """\
#!python
import importlib.util
import os
import sys

if ["{name}", *sys.argv[1:2]] == ["penstock", "convert"]:
    from penstock._convert_command import main

    sys.exit(main(sys.argv[2:]))
spec = importlib.util.find_spec("penstock")
if spec is None or not spec.submodule_search_locations:
    sys.exit("{name}: the package penstock is not installed beside this command; pip install penstock")
program = os.path.join(spec.submodule_search_locations[0], "_programs", "bin", "{name}")
os.execv(program, ["{name}"] + sys.argv[1:])
"""


class Content(NamedTuple):
    """A file of the wheel."""

    data: bytes
    executable: bool = False


def copyright_files(paths: Set[Path]) -> Dict[str, Content]:
    """Returns the licenses of these files from Debian's packages. Returns none on other systems."""
    if not libraries.is_debian():
        return {}
    return {package.name + ".txt": Content(package.copyright.read_bytes()) for package in libraries.owners(paths)}


def programs(folder: Path) -> Dict[str, Content]:
    """Returns _programs: bin (the launchers), libexec (the programs), lib, and loader (the dynamic loader, for each)."""
    out = {}
    launcher = Content((folder / LAUNCHER).read_bytes(), True)
    needed: Dict[str, Path] = {}
    for name in libraries.PROGRAMS:
        needed.update(libraries.libraries_of(folder / name))
        out["bin/" + name] = launcher
        out["libexec/" + name] = Content(libraries.stripped(folder / name), True)
        out["loader/" + name] = Content(libraries.stripped(libraries.loader_of(folder / name)), True)
    for name, path in needed.items():
        out["lib/" + name] = Content(libraries.stripped(path))
    for name, content in copyright_files(set(needed.values())).items():
        out["licenses/" + name] = content
    return out


def package_files() -> Dict[str, Content]:
    kinds = {".py", ".pyi", ".typed", ".json"}
    files = sorted(p for p in PACKAGE.rglob("*") if p.suffix in kinds or p.name == "py.typed")
    return {str(Path("penstock") / p.relative_to(PACKAGE)): Content(p.read_bytes()) for p in files
            if "_programs" not in p.parts}


def tree(folder: Path, place: str) -> Dict[str, Content]:
    """Returns the files below a folder, by their names in the wheel."""
    files = sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return {f"{place}/{p.relative_to(folder)}": Content(p.read_bytes()) for p in files}


def documents() -> Dict[str, Content]:
    """Returns the examples, and the messages of a job file for programs in other languages."""
    protos = {name: content for name, content in tree(PROJECT / "proto", "penstock/proto").items()
              if name.endswith(".proto")}
    return {**tree(PROJECT / "examples", "penstock/examples"), **protos}


def metadata(version: str) -> str:
    description = (HERE / "DESCRIPTION.md").read_text()
    extras = "".join(f'Provides-Extra: {name}\nRequires-Dist: {package}; extra == "{name}"\n'
                     for name, package in EXTRAS.items())
    return METADATA.format(version=version, url=PROJECT_URL, description=description, extras=extras)


def record_line(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def write_wheel(path: Path, files: Dict[str, Content], info: str) -> None:
    record = "".join(record_line(name, files[name].data) for name in sorted(files)) + f"{info}/RECORD,,\n"
    part = path.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name in [*sorted(files), f"{info}/RECORD"]:
            content = files.get(name, Content(record.encode()))
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if content.executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content.data)
    os.replace(part, path)


def build(version: str, folder: Path, out: Path) -> Path:
    info = f"penstock-{version}.dist-info"
    files = package_files()
    if "penstock/__init__.py" not in files:
        libraries.fail(f"{PACKAGE} holds no package")
    files.update(documents())
    for name, content in programs(folder).items():
        files["penstock/_programs/" + name] = content
    for name in libraries.PROGRAMS:
        files[f"penstock-{version}.data/scripts/{name}"] = Content(COMMAND.format(name=name).encode(), True)
    files[f"{info}/METADATA"] = Content(metadata(version).encode())
    files[f"{info}/WHEEL"] = Content(WHEEL.format(platform=PLATFORM).encode())
    files[f"{info}/licenses/LICENSE"] = Content((PROJECT / "LICENSE").read_bytes())

    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob(f"penstock-*-{PLATFORM}.whl"):
        old.unlink()
    path = out / f"penstock-{version}-py3-none-{PLATFORM}.whl"
    write_wheel(path, files, info)
    if path.stat().st_size > LARGEST_WHEEL:
        libraries.fail(f"{path} has {path.stat().st_size} bytes, more than {LARGEST_WHEEL}")
    return path


def main(arguments: Optional[List[str]] = None) -> None:
    parser = argparse.ArgumentParser(description="Puts the wheel of Penstock together.")
    parser.add_argument("--version", required=True)
    parser.add_argument("--programs", required=True, type=Path, help="folder with penstock, penstockd, penstock_launcher")
    parser.add_argument("--out", required=True, type=Path)
    given = parser.parse_args(arguments)
    path = build(given.version, given.programs, given.out)
    print(f"{path} ({path.stat().st_size / 2**20:.1f} MiB)")


if __name__ == "__main__":
    main()
