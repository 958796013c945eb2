"""As much of W&B's server as reading a run's history and writing its summary uses, in a thread."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Server:
    """One run, ``ent/proj/abc``; project ``secret`` is forbidden. ``summary`` has what was written."""

    def __init__(self, rows: Sequence[dict[str, Any]], config: dict[str, Any]) -> None:
        self.summary: dict[str, Any] = {}
        self._rows, self._config = rows, config

    def answer(self, query: str, variables: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """The status and body for a query of GraphQL."""
        if "viewer {" in query:
            user = {"id": "1", "entity": "ent", "username": "u", "email": "", "flags": "{}"}
            return 200, {"data": {"viewer": {**user, "teams": {"edges": []}}}}
        if "mutation" in query:
            given = variables.get("input", variables)
            self.summary |= json.loads(given["summaryMetrics"])
            return 200, {"data": {"upsertBucket": {"bucket": {"id": "1", "name": "abc"}, "inserted": False}}}
        if variables.get("project") == "secret":
            return 403, {"errors": [{"message": "permission denied to access secret"}]}
        if "abc" not in (variables.get("name"), variables.get("run"), variables.get("runName")):
            return 200, {"data": {"project": {"run": None}}}
        if "history(" in query:
            first, last = variables["minStep"], variables["maxStep"]
            page = [json.dumps(row) for row in self._rows if first <= row["_step"] < last]
            return 200, {"data": {"project": {"run": {"history": page}}}}
        return 200, {"data": {"project": {"run": self._run()}}}

    def _run(self) -> dict[str, Any]:
        empty = ("commit", "description", "group", "jobType", "notes", "sweepName")
        last = self._rows[-1]["_step"] if self._rows else -1
        return dict.fromkeys(empty) | {
            "id": "1",
            "projectId": "1",
            "name": "abc",
            "displayName": "my run",
            "state": "finished",
            "tags": [],
            "readOnly": False,
            "createdAt": "2025-01-01T00:00:00",
            "heartbeatAt": "2025-01-01T00:00:00",
            "config": json.dumps({name: {"value": value} for name, value in self._config.items()}),
            "systemMetrics": "{}",
            "summaryMetrics": json.dumps(self.summary),
            "historyLineCount": len(self._rows),
            "historyKeys": {"lastStep": last, "keys": {}},
            "user": {"name": "u", "username": "u"},
        }


@contextmanager
def serving(server: Server) -> Iterator[str]:
    """The address at which the server answers."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            status, answer = 200, dict[str, Any]()
            if self.path == "/graphql":
                asked = json.loads(body)
                status, answer = server.answer(asked["query"], asked.get("variables") or {})
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_port}"
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
