"""A release of the chart in a namespace, and its callers."""

import itertools
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor

import yaml

from api import CORE
from certificates import issue, make_authority, make_tokens, put_secret
from cluster import CHART, IMAGE, PROGRAMS, is_ready
from waiting import eventually

RESTRICTED = {
    "runAsNonRoot": True,
    "runAsUser": 7070,
    "runAsGroup": 7070,
    "fsGroup": 7070,
    "seccompProfile": {"type": "RuntimeDefault"},
}
TOKEN = "/etc/penstock/caller/token"
EPOCHS = 2


class Release:
    """The release `penstock` with TLS and tokens. Operators call it from this process, trainers are pods."""

    def __init__(self, cluster, namespace, folder, data):
        self.cluster, self.namespace, self.folder, self.data = cluster, namespace, folder, data
        self.api = cluster.admin
        self.numbers = itertools.count()
        self.values = {
            "image": dict(zip(("repository", "tag"), IMAGE.name.split(":"), strict=True)),
            "tls": {
                "source": "secrets",
                "coordinatorSecret": "coordinator-tls",
                "workerSecret": "worker-tls",
                "clients": "any",
            },
            "auth": {"tokensSecret": "penstock-tokens", "workerTokenSecret": "penstock-worker-token"},
            "dataRoots": [{"name": "data", "claim": "data"}],
            "coordinator": {"resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "1Gi"}}},
            "worker": {
                "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
                "minReadySeconds": 1,
            },
        }

    def prepare(self):
        """Makes the namespace, the Secrets and the claim with the data."""
        self.cluster.create_namespace(self.namespace)
        make_authority(self.folder)
        make_tokens(self.folder, "demo")
        self.rotate("coordinator")
        self.rotate("worker")
        put_secret(self.api, self.namespace, "penstock-tokens", {"tokens": (self.folder / "tokens").read_bytes()})
        put_secret(self.api, self.namespace, "penstock-worker-token", {"token": (self.folder / "worker.token").read_bytes()})
        put_secret(self.api, self.namespace, "trainer", {"token": (self.folder / "trainer.token").read_bytes(),
                                                         "ca.crt": (self.folder / "ca.crt").read_bytes()})  # fmt: skip
        claims = f"{CORE}/namespaces/{self.namespace}/persistentvolumeclaims"
        spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
        self.api.create(
            claims, {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": spec}
        )
        bound = eventually("the claim", lambda: self.api.get(f"{claims}/data")["spec"].get("volumeName"))
        place = self.api.get(f"{CORE}/persistentvolumes/{bound}")["spec"]["local"]["path"]
        subprocess.run(["cp", "-r", f"{self.data.folder}/data/.", place], check=True)

    def rotate(self, role):
        """Puts a new certificate of a role into its Secret, and returns its PEM text."""
        data = issue(self.folder, f"penstock-{role}.{self.namespace}.svc")
        put_secret(self.api, self.namespace, f"{role}-tls", data)
        return data["tls.crt"].decode()

    def helm(self, command, **changes):
        """Runs `helm install` or `helm upgrade` with changed values, and waits until all pods are ready."""
        for name, value in changes.items():
            self.values[name] = {**self.values.get(name, {}), **value}
        file = self.folder / "values.yaml"
        file.write_text(yaml.safe_dump(self.values))
        self.cluster.helm(
            f"{command} penstock", CHART, "--namespace", self.namespace, "--values", file, "--wait", "--timeout", "10m"
        )

    def pods(self, role):
        return self.cluster.pods(self.namespace, **{"app.kubernetes.io/component": role})

    def ready(self, role):
        return [pod for pod in self.pods(role) if is_ready(pod)]

    def delete(self, pod):
        """Deletes a pod with its own grace period, as `kubectl delete pod` does."""
        self.api.delete(f"{CORE}/namespaces/{self.namespace}/pods/{pod['metadata']['name']}")

    def penstock(self, caller, *arguments, text=None):
        """Runs the command as an operator or another caller of this machine, and returns what it prints."""
        words = [PROGRAMS / "penstock", *arguments, "--coordinator", f"penstock-coordinator.{self.namespace}.svc:7070",
                 "--tls-ca", self.folder / "ca.crt", "--token-file", self.folder / f"{caller}.token"]  # fmt: skip
        done = subprocess.run(words, input=text, capture_output=True, text=True)
        assert done.returncode == 0, f"{done.stderr}\n{self.cluster.problems()}"
        return done.stdout

    def submit(self):
        self.penstock("operator", "submit", "-", text=self.data.job)

    def trainer(self, *arguments):
        """Starts a pod that reads the job, and returns it."""
        variables = {
            "PENSTOCK_COORDINATOR": f"penstock-coordinator.{self.namespace}.svc:7070",
            "PENSTOCK_TLS_CA": "/etc/penstock/caller/ca.crt",
            "PENSTOCK_TOKEN_FILE": TOKEN,
        }
        container = {
            "name": "trainer",
            "image": IMAGE.name,
            "command": ["penstock", "read", "demo", "--json", *arguments],
            "env": [{"name": name, "value": value} for name, value in variables.items()],
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            "volumeMounts": [{"name": "caller", "mountPath": "/etc/penstock/caller", "readOnly": True}],
        }
        spec = {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "securityContext": RESTRICTED,
            "containers": [container],
            "volumes": [{"name": "caller", "secret": {"secretName": "trainer", "defaultMode": 0o440}}],
        }
        metadata = {"name": f"trainer-{next(self.numbers)}", "labels": {"app": "trainer"}}
        pods = f"{CORE}/namespaces/{self.namespace}/pods"
        return self.api.create(pods, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    def final_phase(self, pod):
        """Returns None while a pod runs."""
        phase = self.api.get(f"{CORE}/namespaces/{self.namespace}/pods/{pod['metadata']['name']}")["status"]["phase"]
        return None if phase in ("Pending", "Running") else phase

    def result(self, trainer):
        """Waits for the end of a trainer, and returns its digest."""
        record = self.cluster.running(trainer)
        phase = eventually("the end of the trainer", lambda: self.final_phase(trainer),
                           context=self.cluster.problems)  # fmt: skip
        text = record.log.read_text()
        assert phase == "Succeeded", text + self.cluster.problems()
        self.delete(trainer)
        return json.loads(text.splitlines()[-1])["digest"]  # after notes

    def positions(self):
        """Returns the positions of all sessions."""
        jobs = json.loads(self.penstock("operator", "status", "--json"))["jobs"]
        return [int(session["position"]) for job in jobs for session in job.get("sessions", [])]

    def read_during(self, change, is_done):
        """Makes a change while a trainer reads. Requires the digest of all trainers that read until the change is done."""
        flags = ("--epochs", str(EPOCHS), "--pace", "300", "--prefetch-steps", "1")
        trainer = self.trainer(*flags)
        eventually("the trainer reads", lambda: any(self.positions()), context=self.cluster.problems)
        with ThreadPoolExecutor(1) as pool:
            changed = pool.submit(change)
            while True:
                over = changed.done() and is_done(changed.result())
                assert self.result(trainer) == self.data.digest
                if over:
                    return changed.result()
                trainer = self.trainer(*flags)
