"""The REST interface on a bridge's own loop, and a client that holds it to its OpenAPI document."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

import httpx2
import jsonschema_rs
import uvicorn

from tests.support.processes import free_port, wait_until
from xai_mcp_agent import Bridge
from xai_mcp_agent.admin.app import admin_app
from xai_mcp_agent.admin.document import EVENTS, OPERATIONS, document
from xai_mcp_agent.bridge.operations import Operations

TOKEN = "for-tests"
SECONDS = 30.0


@contextmanager
def serving_admin(
    bridge: Bridge, token: str | None = TOKEN, socket: Path | None = None
) -> Generator[str]:
    """Serve it for the length of the block, at an address or a socket file; yield the address."""
    port = free_port()
    servers: list[uvicorn.Server] = []

    async def serve(operations: Operations) -> None:
        where: dict[str, Any] = {"uds": str(socket)} if socket else {"port": port}
        config = uvicorn.Config(
            admin_app(operations, token), lifespan="off", log_level="critical",
            timeout_graceful_shutdown=1, **where,
        )  # fmt: skip
        servers.append(uvicorn.Server(config))
        await servers[0].serve()

    future = bridge.submit(serve)
    try:
        wait_until(lambda: bool(servers and servers[0].started), "the REST interface answers")
        yield f"http://127.0.0.1:{port}"
    finally:
        servers[0].should_exit = True
        future.result(SECONDS)


class Event(NamedTuple):
    """A server-sent event."""

    name: str
    data: dict[str, Any]
    id: str


class AdminClient:
    """Every answer is checked against the document: its status, its type, its content."""

    def __init__(self, address: str, token: str = TOKEN, socket: Path | None = None) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        transport = httpx2.HTTPTransport(uds=str(socket)) if socket else None
        self.http = httpx2.Client(
            base_url=address, headers=headers, timeout=SECONDS, transport=transport
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def get(self, path: str, **query: Any) -> Any:
        """Return the answer of 200."""
        return self.ask("GET", path, 200, params=query)

    def post(self, path: str, status: int = 200, body: Any = None, **query: Any) -> Any:
        """Return the answer, which must have this status."""
        return self.ask("POST", path, status, json=body, params=query)

    def ask(self, method: str, path: str, status: int, **options: Any) -> Any:
        """Return the answer, which must have this status."""
        answer = self.http.request(method, path, **options)
        assert answer.status_code == status, answer.text
        check(method, path, answer)
        return answer.json()

    @contextmanager
    def events(self, **headers: str) -> Generator[Iterator[Event]]:
        """Yield the events from now on."""
        with self.http.stream("GET", "/api/events", headers=headers) as answer:
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith("text/event-stream")
            yield _events(answer.iter_lines())


def check(method: str, path: str, answer: httpx2.Response) -> None:
    """Check an answer against the document."""
    (route, *_) = sorted((x.path for x in OPERATIONS if _fits(x.path, path)), key=_free_chars)
    responses = document()["paths"][route][method.lower()]["responses"]
    content = responses[str(answer.status_code)]["content"]
    media_type = answer.headers["content-type"].partition(";")[0]
    validate(content[media_type]["schema"], answer.json())


def validate(schema: dict[str, Any], value: Any) -> None:
    """Check a value against a schema of the document."""
    whole = {**schema, "components": document()["components"]}
    jsonschema_rs.validator_for(whole).validate(value)


def next_event(events: Iterator[Event], name: str, /, **facts: Any) -> Event:
    """Return the next event of this name that has these facts."""
    return next(x for x in events if x.name == name and facts.items() <= x.data.items())


def all_events(events: Iterator[Event], *expected: tuple[str, dict[str, Any]]) -> list[Event]:
    """Return the next events of these names and facts, in whatever order they come."""
    matches: dict[int, Event] = {}
    for event in events:
        for number, (name, facts) in enumerate(expected):
            if event.name == name and facts.items() <= event.data.items():
                matches.setdefault(number, event)
        if len(matches) == len(expected):
            break
    return [matches[x] for x in range(len(expected))]


def _events(lines: Iterator[str]) -> Iterator[Event]:
    fields: dict[str, str] = {}
    deadline = time.monotonic() + SECONDS
    for line in lines:  # a silent stream has a line every 15 seconds
        assert time.monotonic() < deadline, f"no such event within {SECONDS:g} s"
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "event" in fields:
            data = json.loads(fields["data"])
            validate({"$ref": f"#/components/schemas/{EVENTS[fields['event']]}"}, data)
            yield Event(fields["event"], data, fields.get("id", ""))
            fields = {}


def _fits(route: str, path: str) -> bool:
    return bool(re.fullmatch(re.sub(r"\{\w+\}", ".+", route), path))


def _free_chars(route: str) -> tuple[int, int]:
    return route.count("{"), -len(route)
