"""Real clusters for tests: a penstockd standalone that serves the job `small`."""

import contextlib
import signal
import subprocess

from fixtures import BIN, eventually


class Served(str):
    """An address that also has the daemon and the folder of the worker's sockets."""

    sockets = ""
    daemon = None


@contextlib.contextmanager
def standalone(small_files, folder, *flags, connection=(), port=0):
    """Runs a daemon with its state in `folder`, and submits the job. `connection`: flags of the submission."""
    port_file = folder / "port"
    port_file.unlink(missing_ok=True)
    with open(folder / "log", "w") as log:
        daemon = subprocess.Popen(
            [BIN / "penstockd", "standalone", "--listen", f"127.0.0.1:{port}", "--port-file", port_file, "--state-dir",
             folder / "state", "--data-root", small_files.data, "--socket-dir", folder / "sockets", *flags],
            stdout=log, stderr=log,
        )
    try:
        def ready():
            assert daemon.poll() is None, (folder / "log").read_text()
            return port_file.exists()

        assert eventually(ready, 60), (folder / "log").read_text()
        address = Served(f"127.0.0.1:{port_file.read_text().strip()}")
        address.sockets = str(folder / "sockets")
        address.daemon = daemon
        subprocess.run([BIN / "penstock", "submit", small_files.path, "--coordinator", address, *connection], check=True,
                       timeout=60, stdout=subprocess.DEVNULL)
        yield address
    finally:
        daemon.send_signal(signal.SIGKILL)
        daemon.wait()
