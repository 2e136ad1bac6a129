"""The control plane: etcd, API server, controllers, scheduler and kube-proxy, in the network namespace of run.sh."""

import os
import secrets
import subprocess
import urllib.request
from pathlib import Path

import yaml

from api import Api, ApiError
from waiting import eventually

HOST, PORT = "10.97.0.1", 6443
SERVICES = "10.96.0.0/16"
NODES = ("node-a", "node-b")
# User and group of each token.
CALLERS = {
    "admin": ("admin", "system:masters"),
    "controller-manager": ("system:kube-controller-manager", ""),
    "scheduler": ("system:kube-scheduler", ""),
    "proxy": ("system:kube-proxy", ""),
    **{node: (f"system:node:{node}", "system:nodes") for node in NODES},
}


class ControlPlane:
    """Its files are in `folder`; NAME.log has the output of a program."""

    def __init__(self, folder):
        self.folder = folder
        self.programs = Path(os.environ["PENSTOCK_KUBERNETES"])
        self.tokens = {name: secrets.token_hex(16) for name in CALLERS}
        self.processes = {}

    def start(self):
        self._write_files()
        self._run(
            "etcd", "--data-dir", self.folder / "etcd", "--listen-client-urls", "http://127.0.0.1:2379", "--unsafe-no-fsync",
            "--advertise-client-urls", "http://127.0.0.1:2379", "--listen-peer-urls", "http://127.0.0.1:2380",
        )  # fmt: skip
        self._start_server()
        self._run(
            "kube-controller-manager", *self._caller("controller-manager"), "--leader-elect=false",
            "--use-service-account-credentials", f"--service-account-private-key-file={self.folder}/accounts.key",
            f"--root-ca-file={self.certificate}", "--bind-address=127.0.0.1", f"--cert-dir={self.folder}/controllers",
        )  # fmt: skip
        self._run("kube-scheduler", *self._caller("scheduler"), "--leader-elect=false", "--bind-address=127.0.0.1",
                  f"--cert-dir={self.folder}/scheduler")  # fmt: skip
        eventually("the controllers", lambda: self.admin.find("/api/v1/namespaces/default/serviceaccounts/default"),
                   context=self.logs)  # fmt: skip

    def start_proxy(self):
        """Starts kube-proxy, which needs the Node."""
        # It may not set limits of this machine: no conntrack settings.
        keep = [
            f"--conntrack-{name}=0" for name in ("max-per-core", "min", "tcp-timeout-established", "tcp-timeout-close-wait")
        ]
        self._run("kube-proxy", *self._caller("proxy"), "--proxy-mode=nftables", f"--hostname-override={NODES[0]}", *keep,
                  "--metrics-bind-address=127.0.0.1:10249", "--healthz-bind-address=127.0.0.1:10256")  # fmt: skip

        def ready():
            self._require_running()
            try:
                with urllib.request.urlopen("http://127.0.0.1:10256/healthz", timeout=10) as answer:
                    return answer.status == 200
            except OSError:
                return False

        eventually("kube-proxy", ready, context=self.logs)

    def api(self, name):
        return Api(HOST, PORT, self.certificate, self.tokens[name])

    def kubeconfig(self, name):
        return self.folder / f"{name}.kubeconfig"

    def logs(self):
        return "".join(f"-- {name}:\n{self._log(name).read_text()[-2000:]}" for name in self.processes)

    def stop(self):
        for process in reversed(self.processes.values()):
            process.terminate()
        for process in self.processes.values():
            process.wait()

    def _start_server(self):
        self._run(
            "kube-apiserver", "--etcd-servers=http://127.0.0.1:2379", f"--service-cluster-ip-range={SERVICES}",
            f"--advertise-address={HOST}", f"--secure-port={PORT}", f"--cert-dir={self.folder}/server",
            f"--token-auth-file={self.folder}/tokens.csv", "--authorization-mode=Node,RBAC",
            "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={self.folder}/accounts.pub",
            f"--service-account-signing-key-file={self.folder}/accounts.key", "--enable-aggregator-routing",
            f"--proxy-client-cert-file={self.folder}/front.crt", f"--proxy-client-key-file={self.folder}/front.key",
            f"--requestheader-client-ca-file={self.folder}/front.crt",
            # Debian's etcd lacks the notifications of progress that this needs.
            "--feature-gates=SizeBasedListCostEstimate=false",
        )  # fmt: skip
        eventually("the certificate of the API server", self.certificate.exists, context=self.logs)
        self.admin = self.api("admin")

        def ready():
            try:
                return self.admin.send("GET", "/readyz")[0] == 200
            except (OSError, ApiError):
                self._require_running()
                return False

        eventually("the API server", ready, context=self.logs)

    def _write_files(self):
        self.certificate = self.folder / "server" / "apiserver.crt"
        self.folder.mkdir()
        subprocess.run(["ip", "address", "add", f"{HOST}/32", "dev", "lo"], check=True)
        openssl = ["openssl", "genpkey", "-algorithm", "RSA", "-out", "accounts.key"]
        subprocess.run(openssl, cwd=self.folder, check=True, capture_output=True)
        subprocess.run(["openssl", "pkey", "-in", "accounts.key", "-pubout", "-out", "accounts.pub"], cwd=self.folder,
                       check=True)  # fmt: skip
        # The API server shows this certificate to the servers of other APIs.
        front = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "front.key", "-out", "front.crt",
                 "-subj", "/CN=front-proxy", "-days", "2"]  # fmt: skip
        subprocess.run(front, cwd=self.folder, check=True, capture_output=True)
        lines = [f'{self.tokens[name]},{user},{user},"{group}"\n' for name, (user, group) in CALLERS.items()]
        (self.folder / "tokens.csv").write_text("".join(lines))
        for name in CALLERS:
            config = {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "test",
                "clusters": [
                    {
                        "name": "test",
                        "cluster": {"server": f"https://{HOST}:{PORT}", "certificate-authority": str(self.certificate)},
                    }
                ],
                "users": [{"name": name, "user": {"token": self.tokens[name]}}],
                "contexts": [{"name": "test", "context": {"cluster": "test", "user": name}}],
            }
            self.kubeconfig(name).write_text(yaml.safe_dump(config))
            self.kubeconfig(name).chmod(0o600)

    def _caller(self, name):
        return [f"--kubeconfig={self.kubeconfig(name)}"]

    def _log(self, name):
        return self.folder / f"{name}.log"

    def _run(self, name, *arguments):
        program = self.programs / name if name.startswith("kube-") else name
        with open(self._log(name), "w") as log:
            self.processes[name] = subprocess.Popen([program, *arguments], cwd=self.folder, stdout=log, stderr=log)

    def _require_running(self):
        for name, process in self.processes.items():
            assert process.poll() is None, f"{name} ended:\n{self._log(name).read_text()[-4000:]}"
