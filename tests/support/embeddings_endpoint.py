"""An embeddings endpoint: OpenAI's wire protocol over loopback HTTP, for a model of a few meanings.

Words of one line of `MEANINGS` mean the same; all others mean nothing.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MEANINGS = ("weather rain forecast umbrella", "mail letter post stamp", "invoice bill pay money")
_STOP_SECONDS = 10.0


def meaning(text: str) -> list[float]:
    """How much of each meaning is in a text."""
    words = text.lower().replace(".", " ").replace("?", " ").split()
    return [float(sum(x in line.split() for x in words)) for line in MEANINGS]


def meanings(texts: Sequence[str]) -> list[list[float]]:
    """The vectors of the model."""
    return [meaning(x) for x in texts]


@dataclass
class EmbeddingsEndpoint:
    """`asked` has the texts of each request. `answer`, if set, is the body of all answers.

    While `is_open` is not set, no request is answered.
    """

    base_url: str = ""
    asked: list[list[str]] = field(default_factory=list[list[str]])
    keys: list[str] = field(default_factory=list[str])
    status: int = 200
    answer: Any = None
    connections: int = 0
    is_open: threading.Event = field(default_factory=threading.Event)

    @property
    def texts(self) -> list[str]:
        """All texts that were asked for."""
        return [x for texts in self.asked for x in texts]

    def body(self, texts: list[str]) -> Any:
        """What it answers. In another order than asked, as services may."""
        if self.answer is not None:
            return self.answer
        data = [
            {"object": "embedding", "index": n, "embedding": x}
            for n, x in enumerate(meanings(texts))
        ]
        return {"object": "list", "model": "meanings", "data": data[::-1], "usage": {}}


@contextmanager
def embeddings_endpoint() -> Generator[EmbeddingsEndpoint]:
    """Run one."""
    endpoint = EmbeddingsEndpoint()
    endpoint.is_open.set()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(endpoint))
    endpoint.base_url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.is_open.set()
        server.shutdown()
        server.server_close()
        thread.join(_STOP_SECONDS)


def _handler(endpoint: EmbeddingsEndpoint) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # a client may keep its connection
        disable_nagle_algorithm = True  # else an answer in pieces waits for 40 milliseconds

        def setup(self) -> None:
            super().setup()
            endpoint.connections += 1

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            assert self.path == "/v1/embeddings"
            texts = asked["input"]
            endpoint.asked.append(texts)
            endpoint.keys.append(self.headers.get("authorization", ""))
            endpoint.is_open.wait()
            body = json.dumps(endpoint.body(texts)).encode()
            self.send_response(endpoint.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
