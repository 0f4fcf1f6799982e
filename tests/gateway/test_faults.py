"""A fault of a server reads the same behind the gateway as in front of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError

from tests.faults.fault import LONG_SECONDS, Fault
from tests.faults.stdio_calls import CALLS
from tests.oracle import tables
from tests.support.fault_server import entry
from tests.support.gateways import Connect, text_of, with_gateway
from xai_mcp_agent.bridge.operations import Operations

ROWS = {
    name: row["call"]
    for name, row in tables.read("faults").items()
    if isinstance(row.get("call"), dict)
}
# One of each kind: a result, and each error. The suite of faults has them all.
FAULTS = [*{ROWS[x.name].get("error"): x for x in reversed(CALLS) if x.name in ROWS}.values()]


@pytest.mark.anyio
@pytest.mark.timeout(300)
@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_a_failed_call_is_explained_and_other_calls_go_on(era: str, tmp_path: Path):
    """All run at the same time, each with its own server."""
    answers: dict[str, str] = {}

    async def play(connect: Connect, _: Operations) -> None:
        async with connect(mode=era) as client:

            async def call(fault: Fault) -> None:
                assert fault.call is not None
                name = f"{fault.name}_{fault.call.tool}"
                answers[fault.name] = await _answer(client, name, fault.call.arguments)
                assert await _answer(client, "healthy_echo", {"text": "well"}) == "well"

            async with anyio.create_task_group() as tasks:
                for fault in FAULTS:
                    tasks.start_soon(call, fault)

    servers = {x.name: _entry(x, tmp_path) for x in FAULTS}
    await with_gateway({"mcpServers": {**servers, "healthy": entry()}}, play)
    for fault in FAULTS:
        row = ROWS[fault.name]
        assert row.get("problem", row.get("text")) in tables.stable_text(answers[fault.name])


async def _answer(client: Client, tool: str, arguments: dict[str, Any]) -> str:
    """Return the text of a result or of a protocol error."""
    try:
        return text_of(await client.call_tool(tool, arguments))
    except MCPError as error:
        return str(error)


def _entry(fault: Fault, folder: Path) -> dict[str, Any]:
    """Return the fault's server in its own folder; its settings limit the call."""
    assert isinstance(fault.server, dict)
    assert fault.call is not None
    own = folder / fault.name
    own.mkdir()
    limit = {"timeout": fault.call.seconds} if fault.call.seconds < LONG_SECONDS else {}
    return {**fault.server, **limit, "cwd": str(own)}
