"""Records, a job, and the digest of its epochs as programs outside of containers read them."""
import json
import re
import subprocess
from pathlib import Path

from containers import run, until


def demo_data(programs: Path, folder: Path) -> Path:
    """Makes records in folder/data, which containers have as /data, and a job. Returns the job's file."""
    run(programs / "make_demo_dataset", folder / "data", 600, 4)
    job = run(programs / "penstock", "init", folder / "data", "--name", "demo")
    file = folder / "job.textproto"
    file.write_text(re.sub(r"(?m)^batch \{ size: \d+", "batch { size: 32", job).replace(f"{folder}/data", "/data"))
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    return file


def digest_outside(programs: Path, folder: Path) -> str:
    """Returns the digest of two epochs that a daemon outside of containers serves."""
    port, job = folder / "port", folder / "outside.textproto"
    job.write_text((folder / "job.textproto").read_text().replace("/data", f"{folder}/data"))
    command = [programs / "penstockd", "standalone", "--data-root", f"data={folder}/data", "--state-dir", folder / "state",
               "--listen", "127.0.0.1:0", "--port-file", port]
    daemon = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: port.exists() and port.read_text().strip(), "the daemon outside listens")
        coordinator = ("--coordinator", f"localhost:{port.read_text().strip()}")
        run(programs / "penstock", "submit", job, *coordinator)
        return json.loads(run(programs / "penstock", "read", "demo", "--epochs", 2, "--json", *coordinator))["digest"]
    finally:
        daemon.terminate()
        daemon.wait()
