"""The files of the Secrets: a CA, certificates of daemons, and tokens of callers."""

import base64
import subprocess

from api import CORE
from cluster import PROGRAMS

KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def make_authority(folder):
    openssl(folder, "req", "-x509", *KEY, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=test CA")


def issue(folder, name):
    """Returns the data of a Secret with a new certificate."""
    extensions = ["-addext", "basicConstraints=CA:false", "-addext", f"subjectAltName=DNS:{name}"]
    openssl(folder, "req", "-x509", *KEY, "-CA", "ca.crt", "-CAkey", "ca.key", *extensions, "-keyout", "tls.key", "-out",
            "tls.crt", "-subj", f"/CN={name}")  # fmt: skip
    return {file: (folder / file).read_bytes() for file in ("tls.crt", "tls.key", "ca.crt")}


def make_tokens(folder, jobs):
    """Writes the file `tokens`, and NAME.token for each role."""
    for role in ("operator", "trainer", "viewer", "worker"):
        command = [PROGRAMS / "penstock", "token", role, "--role", role, "--file", folder / "tokens"]
        if role == "trainer":
            command += ["--jobs", jobs]
        (folder / f"{role}.token").write_bytes(subprocess.run(command, check=True, capture_output=True).stdout)
        (folder / f"{role}.token").chmod(0o600)


def put_secret(api, namespace, name, data):
    """Makes or replaces a Secret."""
    text = {key: base64.b64encode(value).decode() for key, value in data.items()}
    path = f"{CORE}/namespaces/{namespace}/secrets"
    if api.find(f"{path}/{name}") is None:
        api.create(path, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": text})
    else:
        api.patch(f"{path}/{name}", {"data": text})
