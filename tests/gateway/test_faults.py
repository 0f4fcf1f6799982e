"""The faults of the fault suite, behind the gateway: what goes wrong there is told as in front."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError

from tests.faults.fault import LONG_SECONDS, Fails, Fault
from tests.faults.stdio_calls import CALLS
from tests.support.fault_server import entry
from tests.support.gateways import Connect, text_of, with_gateway
from xai_mcp_agent.bridge.operations import Operations


def _kind(fault: Fault) -> type[Exception] | None:
    assert fault.call is not None
    expected = fault.call.expected
    return expected.kind if isinstance(expected, Fails) else None


# One of each kind: a result, and each error. The suite of faults has them all.
FAULTS = [*{_kind(x): x for x in reversed(CALLS) if x.call is not None}.values()]


@pytest.mark.anyio
@pytest.mark.timeout(300)
@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_a_call_that_fails_says_why_and_the_others_go_on(era: str, tmp_path: Path) -> None:
    """All at the same time, each to a server of its own."""
    told: dict[str, str] = {}

    async def play(connect: Connect, _: Operations) -> None:
        async with connect(mode=era) as client:

            async def call(fault: Fault) -> None:
                assert fault.call is not None
                name = f"{fault.name}_{fault.call.tool}"
                told[fault.name] = await _answer(client, name, fault.call.arguments)
                assert await _answer(client, "healthy_echo", {"text": "well"}) == "well"

            async with anyio.create_task_group() as tasks:
                for fault in FAULTS:
                    tasks.start_soon(call, fault)

    servers = {x.name: _entry(x, tmp_path) for x in FAULTS}
    await with_gateway({"mcpServers": {**servers, "healthy": entry()}}, play)
    for fault in FAULTS:
        assert fault.call is not None
        expected = fault.call.expected
        pattern = expected.words if isinstance(expected, Fails) else expected.text
        assert re.search(pattern, told[fault.name]), (fault.name, told[fault.name])


async def _answer(client: Client, tool: str, arguments: dict[str, Any]) -> str:
    """The text of a result, or of an error of the protocol."""
    try:
        return text_of(await client.call_tool(tool, arguments))
    except MCPError as error:
        return str(error)


def _entry(fault: Fault, folder: Path) -> dict[str, Any]:
    """Its server in a folder of its own; the settings limit the call, where a client does not."""
    assert isinstance(fault.server, dict)
    assert fault.call is not None
    own = folder / fault.name
    own.mkdir()
    limit = {"timeout": fault.call.seconds} if fault.call.seconds < LONG_SECONDS else {}
    return {**fault.server, **limit, "cwd": str(own)}
