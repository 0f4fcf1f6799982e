"""The gateway with the SDK's client in both eras, in front of real servers."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import anyio
import mcp.types as types
import pytest
from mcp import Client, MCPError

from tests.support.asking_server import asking_entry, form
from tests.support.fault_server import entry, tool
from tests.support.gateways import ERAS, Connect, text_of, with_gateway
from tests.support.mcp_servers import PNG, gallery_entry
from tests.support.shredder_server import shredder_entry
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.core.results import Resource
from xai_mcp_agent.gateway.content import resource_json

pytestmark = pytest.mark.anyio
both_eras = pytest.mark.parametrize("era", ERAS)


async def test_tools_resources_and_prompts_of_a_server_reach_the_client():
    """Their names are accepted by every client."""

    async def play(connect: Connect, _: Operations) -> None:
        async with connect() as client:
            assert "Use add for sums." in client.instructions
            tools = {x.name: x for x in (await client.list_tools()).tools}
            assert tools["gallery_add"].input_schema["required"] == ["a", "b"]
            total = await client.call_tool("gallery_add", {"a": 1, "b": 2})
            assert (text_of(total), total.structured_content) == ("3", {"result": 3})
            parts = (await client.call_tool("gallery_parts")).content
            kinds = ["text", "image", "audio", "resource_link", "resource", "resource"]
            assert [x.type for x in parts] == kinds
            assert parts[1].data == PNG
            steps: list[float] = []

            async def report(progress: float, _total: float | None, _message: str | None) -> None:
                steps.append(progress)

            await client.call_tool("gallery_steps", {"count": 3}, progress_callback=report)
            assert steps == [1, 2, 3]

            # Wrong arguments are a result, which the model reads; a wrong name is an error.
            wrong = await client.call_tool("gallery_add", {"a": "x"})
            assert wrong.is_error
            assert 'Wrong arguments for gallery_add: "b" is a required property' in text_of(wrong)
            with pytest.raises(MCPError, match="Did you mean 'gallery_add'") as unknown:
                await client.call_tool("gallery_ad", {})
            assert unknown.value.code == types.INVALID_PARAMS
            assert (await client.call_tool("gallery_refuse", {})).is_error

            uris = [str(x.uri) for x in (await client.list_resources()).resources]
            assert uris == ["gallery://readme", "gallery://logo"]
            templates = (await client.list_resource_templates()).resource_templates
            assert [x.uri_template for x in templates] == ["gallery://item/{number}"]
            for uri, text in (("gallery://readme", "# Gallery"), ("gallery://item/7", "item 7")):
                read = (await client.read_resource(uri)).contents[0]
                assert (str(read.uri), read.text) == (uri, text)
            prompts = (await client.list_prompts()).prompts
            assert [x.name for x in prompts] == ["gallery_greet"]
            greeting = await client.get_prompt("gallery_greet", {"name": "Ada"})
            assert "Ada" in greeting.messages[0].content.text
            with pytest.raises(MCPError, match="There is no prompt 'gallery_gret'"):
                await client.get_prompt("gallery_gret")

    await with_gateway({"mcpServers": {"gallery": gallery_entry()}}, play)


async def test_two_servers_with_the_same_names_stay_distinct():
    """A name has no prefix if only one server has it; a URI belongs to the first server."""

    async def play(connect: Connect, _: Operations) -> None:
        async with connect() as client:
            names = [x.name for x in (await client.list_tools()).tools]
            assert {"one_add", "two_add", "plain"} <= set(names)
            assert text_of(await client.call_tool("two_add", {"a": 2, "b": 2})) == "4"
            uris = [str(x.uri) for x in (await client.list_resources()).resources]
            assert uris[0] == "gallery://readme"
            assert "two+gallery://readme" in uris
            read = (await client.read_resource("two+gallery://readme")).contents[0]
            assert (str(read.uri), read.text) == ("two+gallery://readme", "# Gallery")
            prompts = [x.name for x in (await client.list_prompts()).prompts]
            assert prompts == ["one_greet", "two_greet"]

    other = entry(tools=[tool("plain")])
    servers = {"one": gallery_entry(), "two": gallery_entry(), "other": other}
    await with_gateway({"mcpServers": servers}, play, prefixed=False)


async def test_the_only_server_is_asked_for_a_resource_that_it_does_not_list():
    """MCP 2025-06-18, server/tools: links in results need not be in the list."""

    async def play(connect: Connect, _: Operations) -> None:
        async with connect() as client:
            with pytest.raises(MCPError, match="Method not found"):  # its own answer
                await client.read_resource("plain://1")

    servers = {"plain": entry(tools=[tool("plain")], resources=[])}
    await with_gateway({"mcpServers": servers}, play)


async def test_a_hanging_server_does_not_delay_listings():
    """The others are listed at once; its own tools are announced when it is ready."""

    async def play(connect: Connect, _: Operations) -> None:
        async with connect() as client:
            started = anyio.current_time()
            names = [x.name for x in (await client.list_tools()).tools]
            assert "gallery_add" in names
            assert anyio.current_time() - started < 2  # 0.4 on an idle machine

    servers = {"gallery": gallery_entry(), "deaf": entry(hang=True, startTimeout=60)}
    await with_gateway({"mcpServers": servers}, play)


@both_eras
async def test_a_new_tool_reaches_the_client_and_a_cancellation_the_server(era: str):
    """Clients of the handshake era get a notification, later ones get it on their stream."""

    async def play(connect: Connect, _: Operations) -> None:
        changed = anyio.Event()

        async def on_message(message: Any) -> None:
            if isinstance(message, types.ToolListChangedNotification):
                changed.set()

        async with connect(mode=era, message_handler=on_message) as client:
            before = {x.name for x in (await client.list_tools()).tools}
            listening = client.listen(tools_list_changed=True)
            async with nullcontext() if era == "legacy" else listening:
                await client.call_tool("gallery_grow", {"name": "oak"})
                with anyio.fail_after(20):
                    await changed.wait()
            after = {x.name for x in (await client.list_tools()).tools}
            assert after - before == {"gallery_oak"}
            assert text_of(await client.call_tool("gallery_oak")) == "I am oak."

            async with anyio.create_task_group() as calls:
                calls.start_soon(client.call_tool, "gallery_wait", {"label": "it"})
                await _until_labelled(client, "gallery_has_begun")
                calls.cancel_scope.cancel()
            await _until_labelled(client, "gallery_was_stopped")

    await with_gateway({"mcpServers": {"gallery": gallery_entry()}}, play)


def test_fields_of_a_server_that_we_do_not_know_are_passed_on_as_they_are():
    """An empty file has the size 0."""
    listed = resource_json("file:///a", Resource("file:///a", "a", more={"size": 0}))
    assert listed == {"uri": "file:///a", "name": "a", "size": 0}


async def _until_labelled(client: Client, tool: str) -> None:
    with anyio.fail_after(20):
        while (await client.call_tool(tool)).structured_content != {"result": ["it"]}:
            await anyio.sleep(0.02)


@pytest.mark.filterwarnings("ignore:The logging capability is deprecated")
@both_eras
async def test_questions_and_log_messages_during_a_call_reach_its_client(era: str):
    """A question comes during the call, or as a result that needs input, whatever the server's era.

    The lowest level of log messages is in the request on 2026-07-28, and `logLevel` before.
    """
    questions: list[str] = []
    lines: list[str] = []

    async def answer(_: Any, params: Any) -> types.ElicitResult:
        questions.append(params.message)
        return types.ElicitResult(action="accept", content={"colour": "green"})

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        lines.append(f"{params.level} {params.data}")

    async def play(connect: Connect, _: Operations) -> None:
        async with connect(mode=era, elicitation_callback=answer) as client:
            for server in ("auto", "legacy"):
                result = await client.call_tool(f"{server}_ask", {**form(), "rounds": 2})
                assert json.loads(text_of(result).splitlines()[0])["content"] == {"colour": "green"}
        async with connect(mode=era, logging_callback=log, log_level="debug") as client:
            for level in ("debug", "error"):
                await client.call_tool("auto_log", {"level": level, "text": "the disk is full"})

    servers = {mode: asking_entry(mode=mode) for mode in ("auto", "legacy")}
    await with_gateway({"mcpServers": servers}, play)
    assert len(questions) == 4
    assert all("Which colour?" in x for x in questions)
    expected = ["debug the disk is full", "error the disk is full"]
    assert lines == (expected[1:] if era == "legacy" else expected)


@both_eras
async def test_a_destructive_call_waits_for_the_approval_of_the_clients_person(
    era: str, tmp_path: Path
):
    """Without a yes, or if the client cannot ask, the call is not sent."""
    journal = tmp_path / "journal"

    async def play(connect: Connect, operations: Operations) -> None:
        decisions = iter(["", "no", "once"])

        async def decide(_: Any, params: Any) -> types.ElicitResult:
            assert "shred" in params.message
            if decision := next(decisions):
                return types.ElicitResult(action="accept", content={"decision": decision})
            return types.ElicitResult(action="cancel")

        async with connect(mode=era, elicitation_callback=decide) as client:
            dismissed = await client.call_tool("shredder_shred", {"paper": "a letter"})
            assert "closed the question without an answer" in text_of(dismissed)
            refusal = await client.call_tool("shredder_shred", {"paper": "a letter"})
            assert refusal.is_error
            assert "not approved" in text_of(refusal)
            result = await client.call_tool("shredder_shred", {"paper": "a bill"})
            assert text_of(result) == "shredded a bill"
        async with connect(mode=era) as silent:
            refusal = await silent.call_tool("shredder_shred", {"paper": "a will"})
            assert refusal.is_error
            assert "nobody could be asked" in text_of(refusal)
        assert journal.read_text().split("\n")[:-1] == ["shredded a bill"]
        await operations.engine.flush()
        history = await operations.history(tool="shred")
        assert any(x.payload.get("caller") == "gateway" for x in history)

    servers = {"shredder": shredder_entry(journal)}
    await with_gateway({"mcpServers": servers}, play)


@both_eras
async def test_each_client_can_have_its_own_process_until_it_disconnects(era: str):
    """`"session": "client"`, for servers that keep state."""

    async def play(connect: Connect, operations: Operations) -> None:
        async with connect(mode=era) as one, connect(mode=era) as other:
            processes = [text_of(await x.call_tool("gallery_process")) for x in (one, other)]
            assert processes[0] != processes[1]
            assert [x.sessions for x in await operations.servers()] == [3]
        assert [x.sessions for x in await operations.servers()] == [1]

    await with_gateway({"mcpServers": {"gallery": gallery_entry(session="client")}}, play)
