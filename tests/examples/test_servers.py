"""The bundled example servers as real processes: over stdio and HTTP, in both protocol eras."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from subprocess import PIPE
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client

from tests.support.commands import SERVERS
from tests.support.processes import free_port, listening_process
from tests.support.warm_python import warm_python

from .servers import answer, load, refusal

ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
START_SECONDS = 30.0  # a server imports for about a second, on a busy machine for ten

# For each server its tools, a call that succeeds, and one that is refused with these words.
EXPECTED: dict[str, tuple[set[str], tuple[str, Any], tuple[str, Any], str]] = {
    "library": (
        {"search_books", "get_book", "borrow_book", "return_book", "list_loans",
         "library_statistics"},
        ("search_books", {"query": "dracula"}),
        ("get_book", {"book_id": 999}),
        "There is no book 999. Find its book_id with search_books.",
    ),
    "units": (
        {"convert_units", "list_units"},
        ("convert_units", {"value": 1, "from_unit": "mi", "to_unit": "m"}),
        ("convert_units", {"value": 1, "from_unit": "kilometr", "to_unit": "m"}),
        "There is no unit 'kilometr' here. Did you mean km (kilometre)?",
    ),
    "calendar_tools": (
        {"current_time", "convert_time", "days_between", "add_days", "weekday_of"},
        ("weekday_of", {"date": "2026-07-28"}),
        ("current_time", {"timezone": "Berlin"}),
        "There is no time zone 'Berlin'. Did you mean Europe/Berlin?",
    ),
    "workbench": (
        set(load("workbench").ROWS),
        ("miles_to_kilometres", {"value": 26.2}),
        ("is_leap_year", {"year": 0}),
        "year: 0 is less than the minimum of 1",
    ),
}  # fmt: skip


@asynccontextmanager
async def over_stdio(name: str, mode: str, *options: str) -> AsyncIterator[Client]:
    """Yield a client of the server's own process, which must write nothing to standard error."""
    parameters = StdioServerParameters(
        command=warm_python(), args=[str(SERVERS / f"{name}.py"), *options]
    )
    with tempfile.TemporaryFile("w+") as errors:
        with anyio.fail_after(START_SECONDS):
            async with Client(stdio_client(parameters, errlog=errors), mode=mode) as client:
                yield client
        errors.seek(0)
        assert errors.read() == ""


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("name", "mode"), [*((name, "auto") for name in EXPECTED), ("library", "legacy")]
)
async def test_a_server_explains_itself_and_answers_over_stdio(name: str, mode: str) -> None:
    """Every tool and parameter is described, because a model knows nothing else about it."""
    names, (good, arguments), (bad, mistake), words = EXPECTED[name]
    async with over_stdio(name, mode) as client:
        assert client.protocol_version == ERAS[mode]
        assert (client.instructions or "").count(". ") == 1, "two sentences"
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == names
        for tool in tools:
            check_is_described(tool)
        assert await answer(client, good, **arguments)
        error = await refusal(client, bad, **mistake)
        assert error.removeprefix(f"Error executing tool {bad}: ") == words


def check_is_described(tool: Any) -> None:
    """Check title, one line of description, annotations, and descriptions of all parameters."""
    assert tool.title
    assert tool.description.endswith(".")
    assert "\n" not in tool.description
    assert tool.output_schema["type"] == "object", "an object, as the handshake era needs"
    assert tool.annotations.read_only_hint is not None
    assert tool.annotations.open_world_hint is False
    for name, schema in tool.input_schema["properties"].items():
        assert schema.get("description"), f"{tool.name}: {name}"


@pytest.mark.anyio
async def test_only_borrowing_and_returning_declare_that_they_change_something() -> None:
    """A client that asks before a destructive call asks before a book is returned."""
    changing: dict[str, Any] = {}
    for name in EXPECTED:
        async with Client(load(name).server) as client:
            for tool in (await client.list_tools()).tools:
                if not tool.annotations.read_only_hint:
                    changing[tool.name] = tool.annotations
    assert set(changing) == {"borrow_book", "return_book"}
    assert changing["borrow_book"].destructive_hint is False
    assert changing["return_book"].destructive_hint is True


@pytest.mark.anyio
async def test_a_catalogue_in_a_file_keeps_the_loans_for_the_next_start(tmp_path: Any) -> None:
    file = str(tmp_path / "loans.db")
    async with over_stdio("library", "auto", "--db", file) as client:
        await answer(client, "borrow_book", book_id=1, reader="Chiara")
    async with over_stdio("library", "auto", "--db", file) as client:
        assert (await answer(client, "get_book", book_id=1))["on_loan_to"] == "Chiara"


def test_standard_error_names_a_file_that_is_not_a_catalogue() -> None:
    command = [warm_python(), SERVERS / "library.py", "--db", __file__]
    process = subprocess.run(command, capture_output=True, text=True, timeout=START_SECONDS)
    assert (process.returncode, process.stdout) == (2, "")
    assert f"{__file__} cannot be used as the catalogue: file is not a database" in process.stderr


def request(number: int, method: str, **parameters: Any) -> dict[str, Any]:
    """A JSON-RPC request as it goes over the wire."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}


def test_standard_output_carries_the_protocol_and_nothing_else() -> None:
    """MCP, transports, stdio: only valid messages. The server ends when its input ends."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}}
    messages = [
        request(1, "initialize", **hello, clientInfo={"name": "test", "version": "0"}),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        request(2, "tools/list"),
        request(3, "tools/call", name="get_book", arguments={"book_id": 999}),
        request(4, "no/such/method"),
    ]
    wire = "".join(json.dumps(message) + "\n" for message in messages).encode()
    command = [warm_python(), SERVERS / "library.py"]
    with subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(wire)
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(4)]
        assert process.communicate(timeout=START_SECONDS) == (b"", b"")
        assert process.returncode == 0
    assert {message["id"] for message in answers} == {1, 2, 3, 4}


@pytest.mark.anyio
@pytest.mark.parametrize("option", ["--http", "--sse"])
async def test_a_server_answers_over_http_in_both_eras(option: str) -> None:
    port = free_port()
    command = [warm_python(), str(SERVERS / "units.py"), option, str(port)]
    with listening_process(command, port), anyio.fail_after(START_SECONDS):
        for mode, version in ERAS.items():
            url = f"http://127.0.0.1:{port}"
            target: Any = f"{url}/mcp" if option == "--http" else sse_client(f"{url}/sse")
            async with Client(target, mode=mode) as client:
                assert client.protocol_version == version
                tool, arguments = EXPECTED["units"][1]
                assert (await answer(client, tool, **arguments))["result"] == 1609.344
