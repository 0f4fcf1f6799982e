"""The offline model with real MCP servers: the bundled ones, as a newcomer meets them."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client

from tests.support.offline_talk import MOST_TURNS, Call, ask
from xai_mcp_agent.agent.conversation import call_message, result_messages
from xai_mcp_agent.agent.messages import Message
from xai_mcp_agent.core.provider_schema import FunctionSpec
from xai_mcp_agent.core.results import ToolResult

pytestmark = pytest.mark.anyio

SERVERS = Path(__file__).parents[2] / "examples" / "servers"


@pytest.fixture(autouse=True, scope="module")
def _loaded() -> None:
    """The SDK's own client and the workbench import it in the middle of a call, for a second."""
    import jsonschema  # noqa: F401


class House:
    """Several servers behind shown names, and the talk with the model about them."""

    def __init__(self) -> None:
        self.functions: list[FunctionSpec] = []
        self.clients: dict[str, tuple[Client, str]] = {}
        self.messages: list[Message] = []
        self.calls: list[Call] = []

    async def add(self, name: str, client: Client) -> None:
        for found in (await client.list_tools()).tools:
            shown = f"{name}_{found.name}"
            self.functions.append(FunctionSpec(shown, found.description or "", found.input_schema))
            self.clients[shown] = client, found.name

    async def call(self, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
        client, own_name = self.clients[name]
        result = await client.call_tool(own_name, arguments)
        text = "\n".join(getattr(x, "text", "") for x in result.content)
        return (f"ERROR: {text}" if result.is_error else text), bool(result.is_error)

    async def ask(self, request: str) -> str:
        """The answer to a request; its calls are in `calls`."""
        self.messages.append({"role": "user", "content": request})
        self.calls = []
        for _ in range(MOST_TURNS):
            reply = await ask(self.messages, self.functions)
            thought, calls = reply.text, reply.calls
            if not calls:
                self.messages.append({"role": "assistant", "content": thought})
                return thought
            await self._answer(thought, calls)
        raise AssertionError(f"no answer after {MOST_TURNS} turns")

    async def _answer(self, thought: str, calls: Sequence[Any]) -> None:
        results: list[tuple[Any, str, ToolResult]] = []
        for call in calls:
            arguments = json.loads(call.arguments)
            self.calls.append((call.name, arguments))
            text, is_error = await self.call(call.name, arguments)
            results.append((call, text, ToolResult.of_text(text, is_error=is_error)))
        self.messages.append(call_message(thought, calls))
        self.messages += result_messages(results)


@asynccontextmanager
async def bundled(*names: str) -> AsyncIterator[House]:
    """The named servers of `examples/servers`, each in this process."""
    house = House()
    async with AsyncExitStack() as stack:
        for name in names:
            server = await anyio.to_thread.run_sync(server_of, name)  # it imports for long
            client = await stack.enter_async_context(Client(server))
            await house.add(name.removesuffix("_tools"), client)
        yield house


def server_of(name: str) -> Any:
    """The server object of an example file, loaded afresh."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", SERVERS / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module.server


async def test_a_first_conversation_with_the_library() -> None:
    """What thirty learners try first."""
    with anyio.fail_after(60):
        async with bundled("library") as house:
            found = await house.ask("Search for books about the sea")
            assert "Moby-Dick by Herman Melville" in found
            lent = await house.ask("Borrow the second one for Ada")
            assert house.calls == [("library_borrow_book", {"book_id": 23, "reader": "Ada"})]
            assert "due on" in lent
            assert "Twenty Thousand" in await house.ask("Show Ada's loans")
            assert "Books: 30" in await house.ask("How many books are there?")
            refused = await house.ask("Borrow Moby-Dick for Ben")
            assert "library_borrow_book failed: Moby-Dick (book 14) is on loan to Esi" in refused


async def test_units_and_days() -> None:
    with anyio.fail_after(60):
        async with bundled("units", "calendar_tools") as house:
            assert await house.ask("How many km are 5 miles?") == "5 mi = 8.04672 km"
            assert "37" in await house.ask("convert 98.6 fahrenheit to celsius")
            mended = await house.ask("convert 5 mils to km")
            assert len(house.calls) == 2
            assert mended == "5 mi = 8.04672 km"
            said = await house.ask("What weekday is 12 March 2026?")
            assert said.startswith("The weekday is Thursday")
            both = await house.ask(
                "What date is 3 weeks after 12 March 2026, and what weekday is it?"
            )
            assert "2026-04-02" in both
            assert house.calls[1] == ("calendar_weekday_of", {"date": "2026-04-02"})
            times = await house.ask("What time is it in Tokyo and New York?")
            assert times.count("calendar_current_time") == 2


async def test_the_request_of_the_quickstart() -> None:
    """The example workflow: two servers and a drawn tool, no key."""
    with anyio.fail_after(60):
        async with bundled("library", "units") as house:
            poster = {"type": "object", "properties": {"title": {"type": "string"}},
                      "required": ["title"]}  # fmt: skip
            house.functions.insert(
                0, FunctionSpec("make_poster", "Makes a poster of a title.", poster)
            )

            async def call(name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
                if name == "make_poster":
                    return f"*** {arguments['title']} ***", False
                return await House.call(house, name, arguments)

            house.call = call  # type: ignore[method-assign]
            answer = await house.ask(
                "How many weeks are 80 days? Find a book about travel and make a poster for it."
            )
            assert "11.42857143 wk" in answer
            assert "*** Around the World in Eighty Days ***" in answer
