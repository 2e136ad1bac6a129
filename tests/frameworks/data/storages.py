"""Stand-ins for a web server and for S3, which serve a folder and count what they send."""

import http.server
import threading
from collections import Counter
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "bucket"


class Storage:
    """What a server did, and what it shall do."""

    def __init__(self, folder):
        self.folder = folder
        self.url = ""
        #: By path, the bytes of all answers.
        self.sent = Counter()
        #: Is called with the path before each answer with content. Returns how many bytes to leave out at its end.
        self.before = lambda path: 0
        #: The environment of a program that reads this storage.
        self.environment = {}


class Ranges(http.server.BaseHTTPRequestHandler):
    """Answers HEAD, and GET of a range, with an ETag."""

    protocol_version = "HTTP/1.1"

    def __init__(self, storage, *arguments):
        self.storage = storage
        super().__init__(*arguments)

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(self.named())

    def do_GET(self):
        path = self.named()
        cut = self.storage.before(path)
        data = self.answer(path)
        self.storage.sent[path] += len(data)
        self.wfile.write(data[: len(data) - cut])
        if cut:
            self.close_connection = True

    def named(self):
        return unquote(urlsplit(self.path).path).lstrip("/")

    def answer(self, name):
        path = Path(self.storage.folder, name)
        found = path.is_file()
        size = path.stat().st_size if found else 0
        begin, end = 0, size
        if "Range" in self.headers:
            first, last = self.headers["Range"].removeprefix("bytes=").split("-")
            begin, end = int(first), min(end, int(last) + 1) if last else end
        self.send_response(404 if not found else 206 if "Range" in self.headers else 200)
        if found:
            self.send_header("ETag", f'"{path.stat().st_mtime_ns}"')
        if "Range" in self.headers:
            self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{size}")
        self.send_header("Content-Length", str(end - begin))
        self.end_headers()
        if not found:
            return b""
        with path.open("rb") as file:
            file.seek(begin)
            return file.read(end - begin)


class S3(Ranges):
    """Lists folders too. Signatures are not checked."""

    def do_GET(self):
        query = parse_qs(urlsplit(self.path).query)
        if "list-type" in query:
            self.list(query.get("prefix", [""])[0])
        else:
            super().do_GET()

    def named(self):
        return super().named().removeprefix(f"{BUCKET}/")

    def list(self, prefix):
        folder, _, begin = prefix.rpartition("/")
        inside = Path(self.storage.folder, folder)
        parts = []
        for path in sorted(inside.iterdir()) if inside.is_dir() else []:
            key = escape(f"{folder}/{path.name}".lstrip("/"))
            if not path.name.startswith(begin):
                continue
            if path.is_dir():
                parts.append(f"<CommonPrefixes><Prefix>{key}/</Prefix></CommonPrefixes>")
            else:
                facts = path.stat()
                parts.append(
                    f"<Contents><Key>{key}</Key><Size>{facts.st_size}</Size><ETag>&quot;{facts.st_mtime_ns}&quot;</ETag>"
                    "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
                )
        body = f"<ListBucketResult><IsTruncated>false</IsTruncated>{''.join(parts)}</ListBucketResult>".encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/xml")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def serving(folder, kind):
    """Yields the storage of a folder: Ranges or S3."""
    storage = Storage(folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(kind, storage)) as server:
        endpoint = f"http://127.0.0.1:{server.server_port}"
        storage.url = endpoint if kind is Ranges else f"s3://{BUCKET}"
        storage.environment = {
            "no_proxy": "127.0.0.1",
            "AWS_ENDPOINT_URL_S3": endpoint,
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield storage
        finally:
            server.shutdown()


