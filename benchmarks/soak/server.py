"""A server of the soak: it fails as the call demands, or by an attack from outside.

`python -S -E server.py '{"era": "modern"}'` speaks over stdio; with `"port"` among the options
it listens there. Standard library only, so that it starts at once, again and again.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.support.fault_http import FaultHttp
from tests.support.fault_server import FaultServer, journal

_LIFE_SECONDS = 1800.0  # then it ends itself, if nobody has
_NOTICES = 300  # of a noisy call

KINDS = {
    "echo": "Say the text.",
    "slow": "Say the text after so many seconds.",
    "large": "Say the text with so many kilobytes behind it.",
    "noisy": "Write to standard error, report progress and send logs, then say the text.",
    "change": "Change the tools and their schemas, and send notices.",
    "fails": "Fail, and say why.",
    "refuses": "Answer with a protocol error.",
    "garbles": "Answer with bytes that are no message.",
    "hangs": "Never answer.",
    "freezes": "Never answer this or any later message.",
    "drops": "Close the connection instead of an answer.",
    "cuts": "Stop in the middle of the answer.",
    "dies": "End the process instead of an answer.",
}


class SoakServer(FaultServer):
    """Has a tool for each kind of failure, and some that come and go."""

    def __init__(self, options: dict) -> None:
        self._version = 0
        super().__init__({**options, "tools": self._current_tools()})

    def handle(self, message: dict) -> Iterator[dict | bytes]:
        """Answer like the fault server, but with other tools and without keeping the messages."""
        if message.get("method") != "tools/call":
            yield from self.usual(message)
            return
        for answer in self.call_tool(message):
            is_answer = isinstance(answer, dict) and "method" not in answer
            yield {"jsonrpc": "2.0", "id": message["id"], **answer} if is_answer else answer

    def call_tool(self, message: dict) -> Iterator[dict | bytes]:
        """Behave as the tool's name says."""
        name, arguments = message["params"]["name"], message["params"].get("arguments") or {}
        text = str(arguments.get("text", name))
        match name:
            case "slow":
                time.sleep(float(arguments.get("seconds", 0)))
            case "large":
                text += " " * (1024 * int(arguments.get("kilobytes", 0)))
            case "noisy":
                yield from self._noise(message)
            case "change":
                self._version += 1
                yield from self.change_tools(self._current_tools(), notices=3)
            case "fails":
                yield {"result": {**_text("told on purpose"), "isError": True}}
                return
            case "refuses":
                yield {"error": {"code": -32011, "message": "refused on purpose"}}
                return
            case "garbles":
                yield b'{"jsonrpc": "2.0", "id": %d, "result": nonsense' % message["id"]
                return
            case "hangs":
                return
            case "freezes":
                time.sleep(_LIFE_SECONDS)
            case "drops" | "cuts":
                os.close(1)
                time.sleep(_LIFE_SECONDS)
            case "dies":
                os.write(2, b"last words\n")
                os._exit(3)
            case _:
                pass
        yield {"result": _text(text)}

    def _current_tools(self) -> list[dict]:
        tools = [_tool(name, text, self._version) for name, text in KINDS.items()]
        return [*tools, _tool(f"extra_{self._version % 3}", "Comes and goes.", self._version)]

    def _noise(self, message: dict) -> Iterator[dict]:
        os.write(2, b"a line of complaint, and many more of the kind\n" * 1000)
        token = (message["params"].get("_meta") or {}).get("progressToken")
        for step in range(_NOTICES):
            params: dict = {"progressToken": token, "progress": step + 1}
            yield {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
            params = {"level": "info", "data": f"line {step}"}
            yield {"jsonrpc": "2.0", "method": "notifications/message", "params": params}


def _tool(name: str, description: str, version: int) -> dict:
    properties: dict[str, Any] = {"text": {"type": "string"}, "seconds": {"type": "number"}}
    properties["kilobytes"] = {"type": "integer"}
    if version % 2:
        properties["added"] = {"type": "string", "description": f"new in version {version}"}
    schema = {"type": "object", "properties": properties, "required": ["text"]}
    return {"name": name, "description": description, "inputSchema": schema}


def _text(text: str) -> dict:
    return {"content": [{"type": "text", "text": text}], "resultType": "complete"}


def _call_over_http(handler: Any, message: dict) -> None:
    """Break the connection for some tools, and answer the others."""
    match message["params"]["name"]:
        case "drops":
            _close_connection(handler)
        case "cuts":
            head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n"
            handler.wfile.write(head + b'\r\n{"jsonrpc": "2.0", "result"')
            _close_connection(handler)
        case "hangs" | "freezes":
            handler.connection.recv(1)  # until the client gives up
            handler.close_connection = True
        case "refuses":
            handler.answer(503, b"busy on purpose", "text/plain", retry_after="1")
        case _:
            handler.answer_message(message)


def _close_connection(handler: Any) -> None:
    handler.close_connection = True
    handler.connection.shutdown(socket.SHUT_RDWR)


def _serve_http(options: dict) -> None:
    http = FaultHttp(sessions=options.get("era") == "legacy", port=options["port"])
    http.peer = SoakServer(options)
    http.faults["tools/call"] = _call_over_http
    print("listening", flush=True)
    sys.stdin.read()  # its end is ours


def _serve_stdio(options: dict) -> None:
    server = SoakServer(options)
    for line in sys.stdin.buffer:
        for answer in server.handle(json.loads(line)):
            data = (answer if isinstance(answer, bytes) else json.dumps(answer).encode()) + b"\n"
            while data:
                data = data[os.write(1, data) :]


def main() -> None:
    """Serve until stdin ends."""
    watchdog = threading.Timer(_LIFE_SECONDS, os._exit, [99])
    watchdog.daemon = True
    watchdog.start()
    options = json.loads(sys.argv[1])
    journal(options, "start")
    if "port" in options:
        _serve_http(options)
    else:
        _serve_stdio(options)


if __name__ == "__main__":
    main()
