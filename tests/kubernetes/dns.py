"""The cluster's DNS server: the names of Services."""

import ipaddress
import socketserver
import struct
import threading

A, NO_ERROR, FAILURE, NO_NAME = 1, 0, 2, 3
DOMAIN = "svc.cluster.local"


class Dns:
    """Answers from the API, so that it is never behind."""

    def __init__(self, api, host):
        self.api = api
        dns = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                data, socket = self.request
                socket.sendto(dns.answer(data), self.client_address)

        self.server = socketserver.ThreadingUDPServer((host, 53), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, query):
        labels, at = [], 12
        while length := query[at]:
            labels.append(query[at + 1 : at + 1 + length].decode("ascii", "replace").lower())
            at += length + 1
        kind = struct.unpack_from("!H", query, at + 1)[0]
        question = query[12 : at + 5]
        try:
            addresses = self.addresses(labels)
            code = NO_NAME if addresses is None else NO_ERROR
        except OSError:
            addresses, code = None, FAILURE
        found = addresses if addresses and kind == A else []
        header = struct.pack("!2sHHHHH", query[:2], 0x8580 | code, 1, len(found), 0, 0)
        # Each record repeats the name of the question, and is valid for 5 s.
        records = [struct.pack("!HHHIH4s", 0xC00C, A, 1, 5, 4, ipaddress.IPv4Address(each).packed) for each in found]
        return header + question + b"".join(records)

    def addresses(self, labels):
        """Returns the addresses of a name; None if it does not exist."""
        if len(labels) != 5 or ".".join(labels[2:]) != DOMAIN:
            return None
        name, namespace = labels[:2]
        service = self.api.find(f"/api/v1/namespaces/{namespace}/services/{name}")
        if service is None:
            return None
        if service["spec"]["clusterIP"] != "None":
            return [service["spec"]["clusterIP"]]
        path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
        slices = self.api.items(path, labelSelector=f"kubernetes.io/service-name={name}")
        ready = [each for found in slices for each in found["endpoints"] or [] if each["conditions"].get("ready")]
        return [address for each in ready for address in each["addresses"]]
