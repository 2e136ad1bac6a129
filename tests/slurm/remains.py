"""What a job leaves behind, and what other users could read of it."""

import os
import pwd
import stat
from pathlib import Path


def processes(user):
    """Returns the processes of a user that live."""
    uid = pwd.getpwnam(user).pw_uid
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if entry.stat().st_uid == uid and (entry / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def ports(user):
    """Returns the lines of the TCP sockets of a user that listen."""
    uid = str(pwd.getpwnam(user).pw_uid)
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:] + Path("/proc/net/tcp6").read_text().splitlines()[1:]
    return [line for line in lines if line.split()[3] == "0A" and line.split()[7] == uid]


def shared_memory(user):
    """Returns the files of a user in /dev/shm, and the memfds that its processes made and that a process holds."""
    uid = pwd.getpwnam(user).pw_uid
    found = [str(path) for path in Path("/dev/shm").iterdir() if path.lstat().st_uid == uid]
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link).startswith("/memfd:") and link.stat().st_uid == uid:
                found.append(f"{link} {os.readlink(link)}")
        except OSError:
            continue
    return found


def unix_sockets(folder):
    """Returns the bound Unix sockets below a folder."""
    return [line for line in Path("/proc/net/unix").read_text().splitlines() if str(folder) in line]


def all_of(user, node_tmp):
    """Returns everything that is left of a user's jobs outside of its run folders."""
    files = [str(path) for path in node_tmp.iterdir()]
    return {
        name: value
        for name, value in {
            "processes": processes(user),
            "ports": ports(user),
            "memory": shared_memory(user),
            "sockets": unix_sockets(node_tmp),
            "files": files,
        }.items()
        if value
    }


def readable_by_others(folder):
    """Returns the files and folders, from a folder on, on which group or others have any right and which they can reach."""
    found = [f"{folder} {stat.filemode(folder.lstat().st_mode)}"] if folder.lstat().st_mode & 0o077 else []
    for path in folder.iterdir() if folder.is_dir() and folder.lstat().st_mode & 0o011 else []:
        found += readable_by_others(path)
    return found
