"""An embeddings endpoint: OpenAI's wire protocol over loopback HTTP, for a model of a few meanings.

Words of one line of `MEANINGS` mean the same; all others mean nothing.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from .http_service import HttpService, Received, Reply, as_json, http_service

MEANINGS = ("weather rain forecast umbrella", "mail letter post stamp", "invoice bill pay money")


def meaning(text: str) -> list[float]:
    """Return the weight of each meaning in a text."""
    words = text.lower().replace(".", " ").replace("?", " ").split()
    return [float(sum(x in line.split() for x in words)) for line in MEANINGS]


def meanings(texts: Sequence[str]) -> list[list[float]]:
    """Return the vectors of the model."""
    return [meaning(x) for x in texts]


class EmbeddingsEndpoint:
    """`requests` has the texts of each request. `answer`, if set, is the body of all answers.

    While `is_open` is not set, no request is answered.
    """

    def __init__(self, http: HttpService) -> None:
        self.base_url = f"{http.url}/v1"
        self.requests: list[list[str]] = []
        self.status = 200
        self.answer: Any = None
        self.is_open = threading.Event()
        self.is_open.set()
        self._http = http
        http.replies["/v1/embeddings"] = self._reply

    @property
    def texts(self) -> list[str]:
        """All texts of the requests so far."""
        return [x for texts in self.requests for x in texts]

    @property
    def connections(self) -> int:
        """The number of connections so far."""
        return self._http.connections

    def _reply(self, got: Received) -> Reply:
        """Reply in another order than in the request, as services may."""
        texts = json.loads(got.body)["input"]
        self.requests.append(texts)
        self.is_open.wait()
        data = [
            {"object": "embedding", "index": n, "embedding": x}
            for n, x in enumerate(meanings(texts))
        ]
        body = {"object": "list", "model": "meanings", "data": data[::-1], "usage": {}}
        return as_json(body if self.answer is None else self.answer, self.status)


@contextmanager
def embeddings_endpoint() -> Generator[EmbeddingsEndpoint]:
    """Run an endpoint for the length of the block."""
    with http_service() as http:
        endpoint = EmbeddingsEndpoint(http)
        try:
            yield endpoint
        finally:
            endpoint.is_open.set()
