"""Debian's Prometheus and Alertmanager on a cluster of live_cluster.py, with a webhook that receives the alerts."""

import json
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from live_cluster import free_port, stop_process, wait_until

HERE = Path(__file__).resolve().parent


@dataclass
class Notice:
    status: str  # "firing" or "resolved"
    name: str
    labels: dict
    annotations: dict
    time: float  # arrival, by time.monotonic()


class Webhook:
    """Keeps what Alertmanager sends."""

    def __init__(self):
        self.notices = []
        self.changed = threading.Condition()
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                webhook._add(body["alerts"])
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def _add(self, alerts):
        with self.changed:
            for alert in alerts:
                self.notices.append(Notice(alert["status"], alert["labels"]["alertname"], alert["labels"],
                                           alert["annotations"], time.monotonic()))
            self.changed.notify_all()

    def wait(self, status, name, since, deadline):
        """Returns the first such notice after `since`, or None at `deadline`."""
        with self.changed:
            while True:
                for notice in self.notices:
                    if (notice.status, notice.name) == (status, name) and notice.time >= since:
                        return notice
                if not self.changed.wait(max(0, deadline - time.monotonic())) and time.monotonic() >= deadline:
                    return None

    def fired_since(self, begin):
        with self.changed:
            return {notice.name for notice in self.notices if notice.status == "firing" and notice.time >= begin}


class Monitoring:
    def __init__(self, work, cluster):
        self.work = work
        self.webhook = Webhook()
        self.port, self.alertmanager_port = free_port(), free_port()
        self.processes = []
        self._write_configuration(cluster)
        self._start("prometheus-alertmanager", f"--config.file={work}/alertmanager.yml", f"--storage.path={work}/am",
                    f"--web.listen-address=127.0.0.1:{self.alertmanager_port}", "--cluster.listen-address=")
        self._start("prometheus", f"--config.file={work}/prometheus.yml", f"--storage.tsdb.path={work}/tsdb",
                    f"--web.listen-address=127.0.0.1:{self.port}")
        wait_until("Prometheus, and its targets", 60, lambda: self._up() == len(cluster.daemons))

    def _write_configuration(self, cluster):
        targets = {role: [f"127.0.0.1:{daemon.http}" for daemon in cluster.daemons if daemon.role == role]
                   for role in ("coordinator", "worker")}
        tls = cluster.certificates.folder
        text = (HERE / "prometheus.yml").read_text()
        text = text.replace("[alerts.yml]", f"[{HERE / 'alerts.yml'}]").replace(
            "    honor_labels: true\n",
            f"    honor_labels: true\n    scheme: https\n    tls_config: {{ca_file: {tls}/ca.pem, "
            f"cert_file: {tls}/trainer.pem, key_file: {tls}/trainer.key}}\n")
        text = text.replace('["coordinator.example:7072"]', json.dumps(targets["coordinator"]))
        text = text.replace('["worker1.example:7072", "worker2.example:7072"]', json.dumps(targets["worker"]))
        text += f"alerting: {{alertmanagers: [{{static_configs: [{{targets: ['127.0.0.1:{self.alertmanager_port}']}}]}}]}}\n"
        (self.work / "prometheus.yml").write_text(text)
        (self.work / "alertmanager.yml").write_text(f"""
route: {{receiver: webhook, group_by: ["..."], group_wait: 1s, group_interval: 5s, repeat_interval: 4h}}
receivers:
  - name: webhook
    webhook_configs: [{{url: "http://127.0.0.1:{self.webhook.server.server_port}/", send_resolved: true}}]
""")

    def _start(self, program, *arguments):
        with open(self.work / f"{program}.log", "w") as log:
            self.processes.append(subprocess.Popen([program, *arguments], stdout=log, stderr=log))

    def _get(self, path):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=30) as answer:
            return json.load(answer)["data"]

    def _up(self):
        try:
            return len(self.query("up == 1"))
        except OSError:
            return 0

    def query(self, query):
        """Returns the values of an instant query that are numbers."""
        result = self._get("/api/v1/query?" + urllib.parse.urlencode({"query": query}))["result"]
        return [series for series in result if series["value"][1] != "NaN"]

    def wait_for_no_alert(self, seconds):
        """Waits until no alert is pending or firing. Prints those that remain."""
        try:
            wait_until("no alert", seconds, lambda: not self._get("/api/v1/alerts")["alerts"])
        except TimeoutError:
            names = {alert["labels"]["alertname"] for alert in self._get("/api/v1/alerts")["alerts"]}
            print(f"still active after {seconds} s: {', '.join(sorted(names))}", flush=True)

    def stop(self):
        for process in self.processes:
            stop_process(process)
        self.webhook.server.shutdown()
