"""The MCP server of all measurements; standard library only, so that it starts at once.

`python -I -S raw_server.py '{"tools": 500}' MARK` over stdio; `"http": true` puts it behind a
URL on 127.0.0.1, whose port is printed. Other options make it fail: `"exit"` (with this code, at
once), `"mute"` (never answers), `"slow_seconds"` (before it reads anything). It speaks the
handshake era, which all clients speak. MARK identifies it in the list of processes.
"""

from __future__ import annotations

import json
import sys
import time

PROBLEM = "the licence file is missing"


class RawServer:
    """Answers messages."""

    def __init__(self, options: dict) -> None:
        self.tools = [_listed("echo", "text"), _listed("blob", "characters", "integer")]
        more = options.get("tools", 0) - len(self.tools)
        self.tools += [_listed(f"tool_{number}", "text", extra=True) for number in range(more)]

    def answer(self, message: dict) -> bytes | None:
        """Return the answer as JSON; None for a message that is no request."""
        if "method" not in message or "id" not in message:
            return None
        body: dict = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            body["result"] = self._result(message["method"], message.get("params") or {})
        except LookupError:
            body["error"] = {"code": -32601, "message": "Method not found"}
        return json.dumps(body, separators=(",", ":")).encode()

    def _result(self, method: str, params: dict) -> dict:
        if method == "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "raw", "version": "1"},
            }
        if method == "tools/list":
            return {"tools": self.tools}
        if method == "tools/call":
            return {"content": [{"type": "text", "text": _text(params)}], "isError": False}
        if method == "ping":
            return {}
        raise LookupError(method)


def _text(params: dict) -> str:
    arguments = params["arguments"]
    return arguments["text"] if params["name"] == "echo" else "x" * arguments["characters"]


def _listed(name: str, parameter: str, kind: str = "string", extra: bool = False) -> dict:
    properties = {parameter: {"type": kind, "description": f"The {parameter}."}}
    if extra:
        properties["limit"] = {"type": "integer", "minimum": 1, "maximum": 100, "default": 10}
        properties["order"] = {"type": "string", "enum": ["newest", "oldest", "best"]}
    return {
        "name": name,
        "description": f"The tool {name}: takes a few things, does what it says, and answers.",
        "inputSchema": {"type": "object", "properties": properties, "required": [parameter]},
        "annotations": {"readOnlyHint": True},
    }


def serve_stdio(options: dict) -> None:
    """Answer each line until stdin ends, which it does when the client is gone."""
    if "exit" in options:
        print(f"fatal: {PROBLEM}", file=sys.stderr, flush=True)
        raise SystemExit(options["exit"])
    time.sleep(options.get("slow_seconds", 0.0))
    server, out = RawServer(options), sys.stdout.buffer
    for line in sys.stdin.buffer:
        answer = None if options.get("mute") else server.answer(json.loads(line))
        if answer is not None:
            out.write(answer + b"\n")
            out.flush()


def serve_http(options: dict) -> None:
    """Answer each POST with JSON until stdin ends."""
    import threading
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    server = RawServer(options)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            answer = server.answer(json.loads(self.rfile.read(length)))
            self._send("202 Accepted" if answer is None else "200 OK", answer or b"")

        def do_GET(self) -> None:
            self._send("405 Method Not Allowed")

        do_DELETE = do_GET

        def _send(self, status: str, body: bytes = b"") -> None:
            head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n"
            # In one piece: head and body apart would wait for each other's acknowledgement.
            self.wfile.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

        def log_message(self, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128  # many connect at once; without this some would have to try again

    http = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    print(http.server_address[1], flush=True)
    sys.stdin.buffer.read()


if __name__ == "__main__":
    _options = json.loads(sys.argv[1])
    (serve_http if _options.get("http") else serve_stdio)(_options)
