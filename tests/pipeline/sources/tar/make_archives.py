#!/usr/bin/env python3
"""Writes the archives of tar_header_test, with Python's tarfile, GNU tar and the webdataset package.

    pip install webdataset==1.0.2
    make_archives.py archives
"""
import io, os, struct, subprocess, sys, tarfile, tempfile

import webdataset

folder = sys.argv[1]
tarfile.RECORDSIZE = 1024  # shorter archives: no padding after the end mark


def header(name, data=b"", kind=tarfile.REGTYPE, **fields):
    info = tarfile.TarInfo(name)
    info.size, info.type, info.mtime, info.mode = len(data), kind, 1, 0o644
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def add(archive, name, data=b"", kind=tarfile.REGTYPE, **fields):
    archive.addfile(header(name, data, kind, **fields), io.BytesIO(data))


def members(archive, longest):
    add(archive, "train", kind=tarfile.DIRTYPE)
    add(archive, "train/0001.jpg", b"\xff\xd8photograph")
    add(archive, "train/0001.cls", b"7\n")
    add(archive, "train/0001.empty")
    add(archive, "train/0001.again.jpg", kind=tarfile.SYMTYPE, linkname="0001.jpg")
    add(archive, "train/0001.hard.jpg", kind=tarfile.LNKTYPE, linkname="train/0001.jpg")
    add(archive, "train/fifo.jpg", kind=tarfile.FIFOTYPE)
    add(archive, "__meta__/sizes.txt", b"1")
    add(archive, "README", b"no dot")
    add(archive, longest, b"x" * 513)


def write(name, longest, fmt, **options):
    with tarfile.open(os.path.join(folder, name), "w", format=fmt, **options) as archive:
        members(archive, longest)


def pad(data):
    return data + bytes(-len(data) % 512)


def checksummed(block, signed=False):
    block = block[:148] + b" " * 8 + block[156:]
    total = sum(struct.unpack("512b" if signed else "512B", block))
    return block[:148] + b"%06o\0 " % total + block[156:]


def raw(name, blocks):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(b"".join(blocks))


write("ustar.tar", "train/" + "folder/" * 13 + "b" * 90 + ".Left.JPG", tarfile.USTAR_FORMAT)
write("pax.tar", "train/" + "p" * 290 + "\u00e9.Left.JPG", tarfile.PAX_FORMAT, pax_headers={"comment": "global"})
write("gnu.tar", "train/" + "g" * 290 + ".Left.JPG", tarfile.GNU_FORMAT)

# Sizes that headers of 12 octal digits cannot hold are written in other ways; small sizes show them as well.
block = header("base256.bin", b"12345").tobuf(tarfile.GNU_FORMAT)
block = checksummed(block[:124] + b"\x80" + struct.pack(">3xQ", 5) + block[136:])
info = header("paxsize.bin")
info.pax_headers = {"size": "6"}
raw("sizes.tar", [block, pad(b"12345"), info.tobuf(tarfile.PAX_FORMAT), pad(b"123456"),
                  checksummed(header("sign\u00e9.bin", b"1").tobuf(tarfile.GNU_FORMAT), signed=True), pad(b"1")])

with tempfile.TemporaryDirectory() as files:
    os.mkdir(os.path.join(files, "dir"))
    for name, data in ("dir/a.txt", b"text"), ("dir/" + "n" * 120 + ".txt", b"long"):
        with open(os.path.join(files, name), "wb") as file:
            file.write(data)
    for fmt, names in ("v7", ["dir/a.txt"]), ("oldgnu", []), ("gnu", []), ("posix", []):
        command = ["tar", "--format", fmt, "-b", "2", "--sort=name", "--owner=0", "--group=0", "--numeric-owner",
                   "--mode=644", "--mtime=@1", "--pax-option=exthdr.name=%d/%f,delete=atime,delete=ctime"]
        if fmt != "posix":
            command.pop()
        subprocess.run([*command, "-C", files, "-cf", os.path.abspath(os.path.join(folder, f"program-{fmt}.tar")),
                        *(names or ["dir"])], check=True)

    with open(os.path.join(files, "dir", "holes.bin"), "wb") as file:
        file.truncate(4 << 20)
        file.seek(0, os.SEEK_END)
        file.write(b"x")
    for name, options in (
        ("gnu", ["--format=gnu"]),
        ("0.0", ["--format=posix", "--sparse-version=0.0"]),
        ("0.1", ["--format=posix", "--sparse-version=0.1"]),
        ("1.0", ["--format=posix", "--sparse-version=1.0"]),
    ):
        command = ["tar", "--sparse", *options, "-b", "2", "--owner=0", "--group=0", "--numeric-owner", "--mode=644", "--mtime=@1"]
        if name != "gnu":
            command.append("--pax-option=exthdr.name=%d/%f,delete=atime,delete=ctime")
        archive = os.path.abspath(os.path.join(folder, f"sparse-{name}.tar"))
        subprocess.run([*command, "-C", files, "-cf", archive, "dir/holes.bin"], check=True)

with open(os.path.join(folder, "webdataset.tar"), "wb") as file:
    with webdataset.TarWriter(file, mtime=1) as writer:
        for i in range(2):
            writer.write({"__key__": f"val/{i:03}", "cls": i, "json": {"label": i}, "Left.txt": f"sample {i}"})


# The samples that the webdataset package reads from these archives, whole and cut off. samples.txt has a line for each case,
# "ARCHIVE BYTES ok|error SAMPLE...", where a sample is "KEY:EXTENSION=SIZE,...".
def samples(content):
    with tempfile.NamedTemporaryFile(suffix=".tar") as file:
        file.write(content)
        file.flush()
        found = []
        try:
            for sample in webdataset.WebDataset([file.name], shardshuffle=False, nodesplitter=None):
                members = ",".join(f"{k}={len(v)}" for k, v in sample.items() if not k.startswith("__"))
                found.append(f"{sample['__key__']}:{members}")
        except tarfile.ReadError:
            return ["error", *found]
        return ["ok", *found]


with open(os.path.join(folder, "cut.tar"), "wb") as file:
    with tarfile.open(fileobj=file, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for key in "a/0", "a/1", "g" * 120:
            add(archive, key + ".jpg", b"p" * 700)
            add(archive, key + ".cls", b"7")
            add(archive, key + ".txt")

with open(os.path.join(folder, "samples.txt"), "w", encoding="utf8") as out:
    for name in sorted(name for name in os.listdir(folder) if name.endswith(".tar") and not name.startswith("sparse-")):
        with open(os.path.join(folder, name), "rb") as file:
            content = file.read()
        cuts = [len(content)]
        if name == "cut.tar":  # in headers, data and padding, between members, and around the end mark
            cuts = [n for block in range(512, len(content) + 1, 512) for n in (block, block + 100, block + 300)]
        for n in cuts:
            if n <= len(content):
                out.write(" ".join([name, str(n), *samples(content[:n])]) + "\n")
