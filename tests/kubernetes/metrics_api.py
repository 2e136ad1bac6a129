"""An API of external metrics in place of Prometheus and prometheus-adapter: it reads the metric from the coordinator."""

import json
import re
import ssl
import threading
import urllib.request
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

from api import CORE
from certificates import issue
from control_plane import HOST

GROUP, VERSION, METRIC = "external.metrics.k8s.io", "v1beta1", "penstock_workers_wanted"
PORT, NAMESPACE, NAME = 6444, "kube-system", "metrics"
BASE = f"/apis/{GROUP}/{VERSION}"


class MetricsApi:
    """Registers itself with the API server, and counts the values that it returned."""

    def __init__(self, release):
        self.release = release
        self.values = []
        self.context = ssl.create_default_context(cafile=release.folder / "ca.crt")
        self.server = ThreadingHTTPServer((HOST, PORT), self._handler())
        issue(release.folder, "metrics.test")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(release.folder / "tls.crt", release.folder / "tls.key")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self._register()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def wanted(self):
        """Returns the metric, or None while the coordinator is away."""
        host = f"penstock-coordinator.{self.release.namespace}.svc"
        token = (self.release.folder / "viewer.token").read_text().strip()
        request = urllib.request.Request(f"https://{host}:7072/metrics", headers={"Authorization": f"Bearer {token}"})
        try:
            with urllib.request.urlopen(request, timeout=10, context=self.context) as answer:
                return int(float(re.search(rf"^{METRIC} (\S+)$", answer.read().decode(), re.MULTILINE)[1]))
        except OSError:
            return None

    def _answer(self, path):
        parsed = urlparse(path)
        if parsed.path == BASE:
            resource = {
                "name": METRIC,
                "singularName": "",
                "namespaced": True,
                "kind": "ExternalMetricValueList",
                "verbs": ["get"],
            }
            return {
                "kind": "APIResourceList",
                "apiVersion": "v1",
                "groupVersion": f"{GROUP}/{VERSION}",
                "resources": [resource],
            }
        if parsed.path != f"{BASE}/namespaces/{self.release.namespace}/{METRIC}":
            return None
        value, items = self.wanted(), []
        # The labels that Prometheus adds to a target of a ServiceMonitor.
        if value is not None and parse_qs(parsed.query).get("labelSelector") == ["service=penstock-coordinator"]:
            self.values.append(value)
            time = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            items = [{"metricName": METRIC, "metricLabels": {}, "timestamp": time, "value": str(value)}]
        return {"kind": "ExternalMetricValueList", "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}, "items": items}

    def _handler(self):
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                answer = api._answer(self.path)
                text = json.dumps(answer or {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404}).encode()
                self.send_response(404 if answer is None else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        return Handler

    def _register(self):
        admin, metadata = self.release.api, {"name": NAME}
        admin.create(f"{CORE}/namespaces/{NAMESPACE}/services", {
            "apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 443, "targetPort": PORT}]},
        })  # fmt: skip
        admin.create(f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices", {
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "metadata": {"name": NAME, "labels": {"kubernetes.io/service-name": NAME}},
            "endpoints": [{"addresses": [HOST], "conditions": {"ready": True}}], "ports": [{"port": PORT, "name": ""}],
        })  # fmt: skip
        admin.create("/apis/apiregistration.k8s.io/v1/apiservices", {
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": f"{VERSION}.{GROUP}"},
            "spec": {"group": GROUP, "version": VERSION, "service": {"name": NAME, "namespace": NAMESPACE},
                     "insecureSkipTLSVerify": True, "groupPriorityMinimum": 100, "versionPriority": 100},
        })  # fmt: skip
