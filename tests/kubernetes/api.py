"""A client of the API server for one caller."""

import http.client
import json
import ssl
import threading
from urllib.parse import urlencode

CORE = "/api/v1"
MERGE = "application/merge-patch+json"


class ApiError(Exception):
    """An answer other than 2xx."""

    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status = status


class Api:
    """The objects as a caller with this token sees them. Any thread may use it."""

    def __init__(self, host, port, certificate, token):
        self.place = host, port
        self.context = ssl.create_default_context(cafile=certificate)
        self.token = token
        self.of_thread = threading.local()

    def send(self, method, path, body=None, content="application/json"):
        """Returns the status and the bytes of an answer."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content}
        text = None if body is None else json.dumps(body)
        # The server closes idle connections, so a second try has a new one.
        for attempt in range(2):
            if getattr(self.of_thread, "connection", None) is None:
                self.of_thread.connection = http.client.HTTPSConnection(*self.place, timeout=60, context=self.context)
            try:
                self.of_thread.connection.request(method, path, text, headers)
                answer = self.of_thread.connection.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException):
                self.of_thread.connection.close()
                self.of_thread.connection = None
                if attempt == 1:
                    raise
        raise AssertionError

    def request(self, method, path, body=None, content="application/json"):
        status, answer = self.send(method, path, body, content)
        if status >= 300:
            raise ApiError(status, f"{method} {path}: {answer.decode(errors='replace')}")
        return json.loads(answer)

    def get(self, path, **query):
        return self.request("GET", f"{path}?{urlencode(query)}" if query else path)

    def find(self, path):
        """Returns an object, or None if it does not exist."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status != 404:
                raise
            return None

    def items(self, path, **query):
        return self.get(path, **query)["items"]

    def create(self, path, body):
        return self.request("POST", path, body)

    def patch(self, path, body):
        """Merges `body` into an object."""
        return self.request("PATCH", path, body, MERGE)

    def delete(self, path, **options):
        """Deletes an object; true unless it did not exist."""
        try:
            self.request("DELETE", path, options or None)
        except ApiError as error:
            if error.status not in (404, 409):
                raise
            return False
        return True
