"""Calls of every operation of a folder of documents, judged by Prism, which reads these itself.

    python -m benchmarks.openapi_calls --data FOLDER [--only petstore] [--most 60] [--verbose]

Two calls of each operation: with what is required only, and with all that is optional to a depth
of two. Prism (`@stoplight/prism-cli` from npm, in the folder that XAI_TEST_NPM names) serves a
document in validation mode. What it cannot judge is counted apart: it crashes on lists in headers
and paths, does not find spaces between values, and reads of a list in a form the last item only.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from hypothesis import find
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException

from xai_mcp_agent.core.errors import InvalidArguments
from xai_mcp_agent.core.json import JsonObject
from xai_mcp_agent.core.schema_check import ArgumentChecks
from xai_mcp_agent.secrets.secrets import Secret
from xai_mcp_agent.settings.openapi import ANY_SCHEME, CredentialSettings
from xai_mcp_agent.sources.openapi.auth import CredentialsMissing, add_credentials, grants_for
from xai_mcp_agent.sources.openapi.document import BadDocument
from xai_mcp_agent.sources.openapi.operations import Operation
from xai_mcp_agent.sources.openapi.plan import Placement
from xai_mcp_agent.sources.openapi.request import build_request
from xai_mcp_agent.sources.openapi.service import Service, load_service

from .rows import IS_SMALLEST

ROOT = Path(__file__).parents[1]
NPM = Path(os.environ.get("XAI_TEST_NPM") or ROOT / ".cache" / "npm")
PRISM = NPM / "node_modules" / "@stoplight" / "prism-cli" / "dist" / "index.js"
TARGET_PERCENT = 99.0

_START_SECONDS = 120  # large documents take it a while
_ANSWER_SECONDS = 20.0
_DEEP, _DEEPEST = 2, 12
_TIMES = 300  # a request is built for the measurement
_CREDENTIALS = {
    ANY_SCHEME: CredentialSettings(
        api_key=Secret("key"), bearer=Secret("token"), username="user", password=Secret("word")
    )
}
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
_WRONG = (
    "UNPROCESSABLE_ENTITY", "NO_PATH_MATCHED", "NO_METHOD_MATCHED", "METHOD_NOT_ALLOWED",
    "UNAUTHORIZED", "INVALID_CONTENT_TYPE", "UNSUPPORTED_MEDIA", "NO_SERVER_MATCHED",
)  # fmt: skip
_FORMATS = {
    "date": "2026-03-12", "date-time": "2026-03-12T14:30:00Z", "time": "14:30:00Z",
    "email": "ada@example.org", "uuid": "123e4567-e89b-42d3-a456-426614174000", "byte": "dGV4dA==",
    "uri": "https://example.org/page", "url": "https://example.org/page", "ipv4": "192.0.2.1",
    "hostname": "example.org", "snowflake": "80351110224678912", "duration": "PT30M",
}  # fmt: skip


@dataclass
class Score:
    """Results of the calls of one document."""

    operations: int = 0
    calls: Counter[str] = field(default_factory=Counter[str])
    wrong: list[str] = field(default_factory=list[str])
    build_seconds: list[float] = field(default_factory=list[float])

    @property
    def right(self) -> int:
        """Number of calls that Prism accepted."""
        return self.calls["right"]

    @property
    def judged(self) -> int:
        """Number of calls that it could judge."""
        return self.right + self.calls["wrong"]


def prism_command() -> list[str] | None:
    """Return the command that starts Prism, or None if it is not installed."""
    node = shutil.which("node")
    return [node, str(PRISM)] if node and PRISM.exists() else None


@contextmanager
def prism(document: Path) -> Generator[str]:
    """Prism for a document, in validation mode: its base URL.

    Raises:
        RuntimeError: it does not start with this document.
    """
    command = prism_command()
    if command is None:
        raise RuntimeError(f"Prism is not in {NPM}")
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port = place.getsockname()[1]
    arguments = ["mock", "--errors", "--host", "127.0.0.1", "--port", str(port), str(document)]
    process = subprocess.Popen(
        [*command, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _wait_for(process, port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


class Prism:
    """Prism for one document, started again when a call has made it crash."""

    def __init__(self, document: Path) -> None:
        self._document = document
        self._stack = ExitStack()
        self.url = ""

    def __enter__(self) -> Prism:
        self.start()
        return self

    def start(self) -> None:
        """Start it, again if need be."""
        self._stack.close()
        self.url = self._stack.enter_context(prism(self._document))

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def _wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError("it ended at once")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError(f"it did not start in {_START_SECONDS} s")


class Sample:
    """Makes arguments that fit a tool's input schema."""

    def __init__(self, schema: JsonObject, *, optional: bool) -> None:
        self._definitions = schema.get("$defs", {})
        self._optional = optional
        self.arguments: JsonObject = self._value(schema, 0)

    def _value(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, dict):
            return "text"
        schema = self._merged(schema, depth)
        for key in ("const", "default"):
            if key in schema and key == "const":
                return schema[key]
        if options := schema.get("enum"):
            return next((x for x in options if x is not None), None)
        for key in ("oneOf", "anyOf"):
            if choices := schema.get(key):
                rest = {name: x for name, x in schema.items() if name != key}
                chosen = next((x for x in choices if x != {"type": "null"}), choices[0])
                return self._value(_joined(rest, self._merged(chosen, depth)), depth + 1)
        return self._of_type(_type_of(schema), schema, depth)

    def _of_type(self, kind: str, schema: JsonObject, depth: int) -> Any:
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            count = max(schema.get("minItems", 0), min(2, schema.get("maxItems", 2)))
            if depth > _DEEPEST:
                count = 0
            items = schema.get("items", {})
            found = [self._value(items, depth + 1) for _ in range(count)]
            if not schema.get("uniqueItems"):
                return found
            return _distinct(found)[: max(schema.get("minItems", 0), len({*map(str, found)}))]
        if kind in ("integer", "number"):
            return _number(kind, schema)
        return {"boolean": True, "null": None}.get(kind, _text(schema) if kind == "string" else "")

    def _object(self, schema: JsonObject, depth: int) -> JsonObject:
        properties = schema.get("properties", {})
        wanted = list(schema.get("required", []))
        if self._optional and depth < _DEEP:
            wanted += [x for x in properties if x not in wanted]
        if depth > _DEEPEST:
            wanted = []
        if not wanted and schema.get("minProperties"):
            wanted = list(properties)[:1]
        found = {x: self._value(properties.get(x, {}), depth + 1) for x in wanted}
        more = schema.get("additionalProperties")
        if not properties and isinstance(more, dict) and self._optional and depth <= _DEEP:
            found["k 1"] = self._value(more, depth + 1)
        return found

    def _merged(self, schema: Any, depth: int) -> JsonObject:
        """A schema with what it refers to, and all parts of its `allOf`, in it."""
        if not isinstance(schema, dict) or depth > _DEEPEST + 4:
            return {}
        found = {name: x for name, x in schema.items() if name not in ("$ref", "allOf")}
        parts = list(schema.get("allOf", []))
        if "$ref" in schema:
            parts.append(self._definitions.get(schema["$ref"].rpartition("/")[2], {}))
        for part in parts:
            found = _joined(found, self._merged(part, depth + 1))
        return found


def _joined(one: JsonObject, other: JsonObject) -> JsonObject:
    required = [*one.get("required", []), *other.get("required", [])]
    properties = {**other.get("properties", {}), **one.get("properties", {})}
    found = {**other, **one}
    if required:
        found["required"] = list(dict.fromkeys(required))
    if properties:
        found["properties"] = properties
    return found


def _type_of(schema: JsonObject) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((x for x in kind if x != "null"), "null")
    if kind is None:
        kind = "object" if "properties" in schema else "array" if "items" in schema else "string"
    return kind


def _number(kind: str, schema: JsonObject) -> Any:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    value = low + 1 if "exclusiveMinimum" in schema else low if low is not None else 1
    if high is not None and value > high:
        value = high - 1 if "exclusiveMaximum" in schema else high
    step = schema.get("multipleOf")
    if step:
        value = step * max(1, -(-value // step))
    return int(value) if kind == "integer" else value


def _text(schema: JsonObject) -> str:
    low, high = schema.get("minLength", 0), schema.get("maxLength", 10**6)
    if pattern := schema.get("pattern"):
        try:
            return find(st.from_regex(pattern), lambda x: low <= len(x) <= high and x.isprintable())
        except (re.error, HypothesisException):
            return "text"
    text = _FORMATS.get(schema.get("format", ""), "a b&c")
    return text.ljust(low, "x")[:high] if low <= 10_000 else text


def _distinct(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
        elif isinstance(value, str):
            found.append(str(int(value) + len(found)) if value.isdigit() else f"{value}2")
    return found


def judge(service: Service, judging: Prism, *, most: int = 10**6) -> Score:
    """Have Prism judge two calls of each of these operations."""
    score = Score()
    checks = ArgumentChecks()
    with httpx2.Client(timeout=_ANSWER_SECONDS, trust_env=False) as client:
        for tool in service.tools[:most]:
            score.operations += 1
            for arguments in _samples(tool):
                name, said = _judged(tool, arguments, judging.url, client, checks, score)
                score.calls[name] += 1
                if name == "no answer":
                    judging.start()
                if name in ("wrong", "no answer"):
                    score.wrong.append(f"{name}: {tool.method} {tool.path} {arguments}: {said}")
    return score


def _samples(tool: Operation) -> Iterator[JsonObject]:
    first = Sample(tool.input_schema, optional=False).arguments
    yield first
    second = Sample(tool.input_schema, optional=True).arguments
    if second != first:
        yield second


def _judged(
    tool: Operation,
    arguments: JsonObject,
    base_url: str,
    client: httpx2.Client,
    checks: ArgumentChecks,
    score: Score,
) -> tuple[str, str]:
    if checks.problems(tool.name, tool.input_schema, arguments):
        return "no arguments made", ""
    if any(_is_not_read_by_prism(x, tool) for x in tool.plan.placements):
        return "not read by Prism", ""
    try:
        began = time.perf_counter()
        request = build_request(tool.plan, arguments, base_url=base_url)
        score.build_seconds.append(time.perf_counter() - began)
    except InvalidArguments as cause:
        return "refused by us", str(cause)
    _sign(request, tool)
    try:
        answer = client.send(request)
    except httpx2.HTTPError as cause:
        return "no answer", str(cause)
    return _verdict(answer, request)


def _is_not_read_by_prism(place: Placement, tool: Operation) -> bool:
    """Prism crashes on lists and objects in headers and paths, and misses spaces."""
    schema = tool.input_schema["properties"][place.argument]
    is_plain = not {"items", "properties", "$ref", "allOf"} & schema.keys()
    if place.location in ("header", "path"):
        return not is_plain
    is_object = "properties" in schema or "$ref" in schema
    return place.style == "spaceDelimited" or (place.style == "pipeDelimited" and is_object)


def _sign(request: httpx2.Request, tool: Operation) -> None:
    with suppress(CredentialsMissing):
        grants = grants_for(tool.plan.security, _CREDENTIALS, tool.plan.base_url)
        add_credentials(request, grants, "token")


def _verdict(answer: httpx2.Response, request: httpx2.Request) -> tuple[str, str]:
    if "problem+json" not in answer.headers.get("content-type", ""):
        return "right", ""
    said: Mapping[str, Any] = answer.json()
    if not any(x in str(said.get("type", "")) for x in _WRONG):
        return "right", ""  # it is about its own answer
    faults = said.get("validation", [])
    if "No supported content types" in str(said.get("detail")):
        return "no media type in the document", ""  # of Swagger 2.0, without `consumes`
    if request.method not in _METHODS:
        return "method that Prism does not know", ""
    is_form = "form" in request.headers.get("content-type", "")
    if is_form and faults and all(_is_prisms_own(x) for x in faults):
        return "form that Prism does not read", str(faults)
    return "wrong", f"{said.get('title')} {faults or said.get('detail')}"[:500]


def _is_prisms_own(fault: Mapping[str, Any]) -> bool:
    """Prism reads only the last field of a name, and mistakes a form with files for a plain one."""
    said = str(fault.get("message"))
    known = ("must be array", "must be object", "Reserved characters")
    return fault.get("location", [""])[0] == "body" and any(x in said for x in known)


def documents(folder: Path, only: str) -> list[Path]:
    """The documents in a folder that are whole by themselves, the small ones first."""
    found = [x for x in folder.rglob("*") if x.suffix in (".json", ".yaml", ".yml")]
    return sorted((x for x in found if only in str(x)), key=lambda x: x.stat().st_size)


def main() -> int:
    """Print a line for each document, and what all come to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--most", type=int, default=10**6, help="operations of each document")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    total = Score()
    for file in documents(options.data, options.only):
        _judge_file(file, options, total)
    percent = 100 * total.right / (total.judged or 1)
    built = sorted(total.build_seconds)
    middle = f", {built[len(built) // 2] * 1e6:.0f} us to build one" if built else ""
    print(f"all: {total.operations} operations, {total.judged} calls judged, {percent:.2f} % right"
          f"{middle}; {dict(total.calls)}")  # fmt: skip
    return 0 if percent >= TARGET_PERCENT or IS_SMALLEST else 1


def _judge_file(file: Path, options: argparse.Namespace, total: Score) -> None:
    try:
        service = load_service(file)
        if not service.tools:
            return
        with Prism(file) as judging:
            score = judge(service, judging, most=options.most)
    except (BadDocument, RuntimeError) as cause:
        print(f"{file.name}: not judged, {cause}", flush=True)
        return
    total.operations += score.operations
    total.calls += score.calls
    total.build_seconds += score.build_seconds
    print(f"{file.name}: {score.operations} operations, {dict(score.calls)}", flush=True)
    for line in score.wrong if options.verbose else ():
        print(f"    {line[:700]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
