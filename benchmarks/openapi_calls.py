"""Calls of every operation of a folder of documents, judged by Prism, which reads them itself.

    python -m benchmarks.openapi_calls --data FOLDER [--only petstore] [--most 60] [--verbose]

Each operation is called twice: with required arguments only, and with all optional ones to a depth
of two. Prism (`@stoplight/prism-cli` from npm, in the folder that XAI_TEST_NPM names) serves a
document in validation mode. Calls that it cannot judge are counted apart: it crashes on lists in
headers and paths, does not split values at spaces, and reads only the last item of a list in a
form.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from tests.support.processes import free_port, listening_process
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

from .openapi_samples import sample_arguments
from .rows import IS_SMALLEST

ROOT = Path(__file__).parents[1]
NPM = Path(os.environ.get("XAI_TEST_NPM") or ROOT / ".cache" / "npm")
PRISM = NPM / "node_modules" / "@stoplight" / "prism-cli" / "dist" / "index.js"
TARGET_PERCENT = 99.0

_START_SECONDS = 120  # large documents take it a while
_ANSWER_SECONDS = 20.0
_CREDENTIALS = {
    ANY_SCHEME: CredentialSettings(
        api_key=Secret("key"), bearer=Secret("token"), username="user", password=Secret("word")
    )
}
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
_REJECTIONS = (
    "UNPROCESSABLE_ENTITY", "NO_PATH_MATCHED", "NO_METHOD_MATCHED", "METHOD_NOT_ALLOWED",
    "UNAUTHORIZED", "INVALID_CONTENT_TYPE", "UNSUPPORTED_MEDIA", "NO_SERVER_MATCHED",
)  # fmt: skip


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


class Prism:
    """Prism for one document in validation mode; it is started again after a call that crashed it.

    Raises:
        AssertionError: it does not start with this document.
    """

    def __init__(self, document: Path) -> None:
        self._document = document
        self._stack = ExitStack()
        self.url = ""

    def __enter__(self) -> Prism:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start(self) -> None:
        """Start it, or start it again."""
        self._stack.close()
        command, port = prism_command(), free_port()
        assert command is not None, f"Prism is not in {NPM}"
        command += ["mock", "--errors", "--host", "127.0.0.1", "--port", str(port)]
        command.append(str(self._document))
        self._stack.enter_context(listening_process(command, port, _START_SECONDS))
        self.url = f"http://127.0.0.1:{port}"


def judge(service: Service, prism: Prism, most: int) -> Score:
    """Have Prism judge two calls of each of these operations."""
    score = Score()
    checks = ArgumentChecks()
    with httpx2.Client(timeout=_ANSWER_SECONDS, trust_env=False) as client:
        for tool in service.tools[:most]:
            score.operations += 1
            for arguments in _samples(tool):
                verdict, reason = _judge_call(tool, arguments, prism.url, client, checks, score)
                score.calls[verdict] += 1
                if verdict == "no answer":
                    prism.start()
                if verdict in ("wrong", "no answer"):
                    call = f"{tool.method} {tool.path} {arguments}"
                    score.wrong.append(f"{verdict}: {call}: {reason}")
    return score


def _samples(tool: Operation) -> Iterator[JsonObject]:
    first = sample_arguments(tool.input_schema, optional=False)
    yield first
    second = sample_arguments(tool.input_schema, optional=True)
    if second != first:
        yield second


def _judge_call(
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
        start = time.perf_counter()
        request = build_request(tool.plan, arguments, base_url=base_url)
        score.build_seconds.append(time.perf_counter() - start)
    except InvalidArguments as error:
        return "refused by us", str(error)
    with suppress(CredentialsMissing):
        grants = grants_for(tool.plan.security, _CREDENTIALS, tool.plan.base_url)
        add_credentials(request, grants, "token")
    try:
        response = client.send(request)
    except httpx2.HTTPError as error:
        return "no answer", str(error)
    return _verdict(response, request)


def _is_not_read_by_prism(place: Placement, tool: Operation) -> bool:
    """Prism crashes on lists and objects in headers and paths, and misses spaces."""
    schema = tool.input_schema["properties"][place.argument]
    is_plain = not {"items", "properties", "$ref", "allOf"} & schema.keys()
    if place.location in ("header", "path"):
        return not is_plain
    is_object = "properties" in schema or "$ref" in schema
    return place.style == "spaceDelimited" or (place.style == "pipeDelimited" and is_object)


def _verdict(response: httpx2.Response, request: httpx2.Request) -> tuple[str, str]:
    if "problem+json" not in response.headers.get("content-type", ""):
        return "right", ""
    problem: Mapping[str, Any] = response.json()
    if not any(x in str(problem.get("type", "")) for x in _REJECTIONS):
        return "right", ""  # it is about its own answer
    faults = problem.get("validation", [])
    if "No supported content types" in str(problem.get("detail")):
        return "no media type in the document", ""  # of Swagger 2.0, without `consumes`
    if request.method not in _METHODS:
        return "method that Prism does not know", ""
    is_form = "form" in request.headers.get("content-type", "")
    if is_form and faults and all(_is_prisms_own(x) for x in faults):
        return "form that Prism does not read", str(faults)
    return "wrong", f"{problem.get('title')} {faults or problem.get('detail')}"[:500]


def _is_prisms_own(fault: Mapping[str, Any]) -> bool:
    """Prism reads only the last field of a name, and mistakes a form with files for a plain one."""
    message = str(fault.get("message"))
    mistakes = ("must be array", "must be object", "Reserved characters")
    return fault.get("location", [""])[0] == "body" and any(x in message for x in mistakes)


def documents(folder: Path, only: str) -> list[Path]:
    """Return the documents in a folder, the small ones first."""
    files = (x for x in folder.rglob("*") if x.suffix in (".json", ".yaml", ".yml"))
    return sorted((x for x in files if only in str(x)), key=lambda x: x.stat().st_size)


def main() -> int:
    """Print a line for each document, and one for all."""
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
    times = total.build_seconds
    median = f", {statistics.median(times) * 1e6:.0f} us to build one" if times else ""
    print(f"all: {total.operations} operations, {total.judged} calls judged, {percent:.2f} % right"
          f"{median}; {dict(total.calls)}")  # fmt: skip
    return 0 if percent >= TARGET_PERCENT or IS_SMALLEST else 1


def _judge_file(file: Path, options: argparse.Namespace, total: Score) -> None:
    try:
        service = load_service(file)
        if not service.tools:
            return
        with Prism(file) as prism:
            score = judge(service, prism, options.most)
    except (BadDocument, AssertionError) as error:
        print(f"{file.name}: not judged, {error}", flush=True)
        return
    total.operations += score.operations
    total.calls += score.calls
    total.build_seconds += score.build_seconds
    print(f"{file.name}: {score.operations} operations, {dict(score.calls)}", flush=True)
    for line in score.wrong if options.verbose else ():
        print(f"    {line[:700]}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
