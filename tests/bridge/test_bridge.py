"""The Python interface of the bridge, used from threads and from event loops."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.support.bridges import bridge_with, names_of, status_of
from tests.support.commands import write_settings
from tests.support.fault_server import entry
from tests.support.watchdog import ends_within
from xai_mcp_agent import (
    BadSetting,
    Bridge,
    InvalidArguments,
    SettingsError,
    SourceFailed,
    ToolKey,
    UnknownServer,
)
from xai_mcp_agent.bridge.operations import Operations
from xai_mcp_agent.bridge.source_toolset import SourceToolset
from xai_mcp_agent.core.names import ShownNames


@pytest.fixture(scope="module")
def bridge() -> Any:
    """A bridge with healthy servers, which the tests of this module share and do not change."""
    with bridge_with(a=entry(), b=entry(era="modern"), c=entry()) as bridge:
        bridge.connect(wait=True)
        yield bridge


def test_a_bridge_is_opened_from_a_file_and_reports_states_without_connecting(tmp_path: Path):
    wrong = {"command": "x", "env": {"TOKEN": "${NO_SUCH_VARIABLE_HERE}"}}
    servers = {"it": entry(), "off": {**entry(), "disabled": True}, "wrong": wrong}
    with Bridge.open(write_settings(tmp_path, servers)) as bridge:
        states = {x.name: x.state for x in bridge.servers()}
        assert states == {"it": "idle", "off": "disabled", "wrong": "disabled"}
        assert "NO_SUCH_VARIABLE_HERE" in status_of(bridge, "wrong").error
        assert bridge.usable_servers() == ("it",)
        with pytest.raises(SettingsError, match="NO_SUCH_VARIABLE_HERE"):
            bridge.list_tools("wrong")
        with pytest.raises(UnknownServer):
            bridge.connect("nope", "it")
        assert bridge.call_tool("it", "echo", {"text": "from a file"}).text == "from a file"
    with pytest.raises(SettingsError, match=str(tmp_path / "no.json")):
        Bridge.open(tmp_path / "no.json")


def test_calls_from_eight_threads_get_their_own_answers_from_one_process_a_server(bridge: Bridge):
    """Calls share sessions."""

    def call(number: int) -> tuple[str, str]:
        server = "abc"[number % 3]
        text = bridge.call_tool(server, "echo", {"text": str(number)}).text
        return text, bridge.call_tool(server, "pid").text

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(call, range(90)))
    assert [text for text, _ in answers] == [str(x) for x in range(90)]
    assert len({pid for _, pid in answers}) == 3


def test_a_slow_call_does_not_hold_up_others_on_the_same_server(bridge: Bridge):
    waiting = bridge.submit(Operations.call_tool, "a", "never")
    assert bridge.call_tool("a", "echo", {"text": "meanwhile"}).text == "meanwhile"
    assert not waiting.done()
    waiting.cancel()


@pytest.mark.anyio
async def test_the_same_methods_exist_as_coroutines(bridge: Bridge):
    aio = bridge.aio
    await aio.connect("a", "b", wait=True)
    assert {x.name for x in await aio.servers()} == {"a", "b", "c"}
    assert "echo" in names_of(await aio.list_tools("a"))
    assert await aio.find_server("echo", ["b", "a"]) == "b"
    assert (await aio.call_tool("a", "echo", {"text": "hello"})).text == "hello"
    # A notebook's thread runs the kernel's loop, and a node in it calls without `await`.
    assert bridge.call_tool("a", "echo", {"text": "from a kernel"}).text == "from a kernel"
    assert names_of((await aio.refresh("a"))[0].require())
    assert await aio.list_resources("a") == await aio.list_prompts("a") == []
    with pytest.raises(UnknownServer):
        await aio.list_tools("nope")
    with pytest.raises(InvalidArguments):
        await aio.call_tool("a", "echo", {})


@pytest.mark.anyio
async def test_cancelling_a_coroutine_cancels_the_call_at_the_server():
    with bridge_with(it=entry()) as bridge:
        await bridge.aio.connect("it", wait=True)
        with anyio.move_on_after(0.2) as scope:
            await bridge.aio.call_tool("it", "never")
        assert scope.cancelled_caught
        methods = json.loads((await bridge.aio.call_tool("it", "seen")).text)
        assert methods[-2:] == ["notifications/cancelled", "tools/call"]


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), ValueError("x")])
def test_an_error_of_any_kind_reaches_the_caller_and_the_loop_goes_on(
    bridge: Bridge, error: BaseException
):
    """A task that raises SystemExit or KeyboardInterrupt ends its event loop."""

    async def fail(_: Operations) -> None:
        raise error

    for run in (
        lambda: bridge.run(fail),
        lambda: bridge.submit(fail).result(),
        lambda: asyncio.run(bridge.aio.run(fail)),
    ):
        with pytest.raises(type(error)) as raised:
            run()
        assert raised.value is error
        assert bridge.call_tool("a", "echo", {"text": "hello"}).text == "hello"


def test_a_call_from_the_bridges_own_loop_is_refused(bridge: Bridge):
    """It would wait for itself forever. Progress listeners, for example, are called there."""
    errors: list[str] = []

    def listen(*_: Any) -> None:
        try:
            bridge.call_tool("a", "echo", {"text": "x"})
        except RuntimeError as error:
            errors.append(str(error))

    bridge.call_tool("a", "progress", {"steps": 1}, on_progress=listen)
    assert len(errors) == 1
    assert "called from its own event loop" in errors[0]
    assert "Use the coroutines of `bridge.aio`" in errors[0]


def test_a_server_is_found_by_one_of_its_tools(bridge: Bridge):
    assert bridge.find_server("no_such_tool", ["a", "b"]) is None
    with bridge_with(missing={"command": "no-such-command"}, it=entry()) as other:
        assert other.find_server("echo", ["missing", "unknown", "it"]) == "it"


def test_impossible_limits_and_arguments_are_our_errors(bridge: Bridge):
    limits: list[Any] = [0, float("nan"), float("inf"), "5", True]
    for limit in limits:
        with pytest.raises(BadSetting, match=r"`timeout_seconds` is .* Give a number above 0"):
            bridge.call_tool("a", "echo", timeout_seconds=limit)
    wrong_lists: list[Any] = [{"limit": -1}, {"offset": -1}, {"named": "regex:("}]
    for options in wrong_lists:
        with pytest.raises(BadSetting):
            bridge.list_tools(**options)
    with pytest.raises(BadSetting, match="`limit` is -3"):
        bridge.history(limit=-3)
    wrong: list[Any] = ["text", "", 0, False, ()]
    for arguments in wrong:
        words = re.escape(f"a dict with the arguments by name, not {arguments!r}")
        with pytest.raises(InvalidArguments, match=words):
            bridge.call_tool("a", "pid", arguments)


@pytest.mark.parametrize("closes_bridge", [False, True])
def test_a_subscription_or_bridge_that_closes_ends_a_wait_for_changes(*, closes_bridge: bool):
    changes = list[str]()
    with bridge_with(one=entry(tools=[])) as bridge:
        subscription = bridge.watch("one")
        waiting = threading.Thread(target=lambda: changes.append(subscription.wait()), daemon=True)
        waiting.start()
        if not closes_bridge:
            subscription.close()
            waiting.join(20)
    waiting.join(20)
    assert changes == [""]


def test_a_bridge_without_references_is_closed_without_garbage_collection():
    """No part of it may be in a reference cycle with it."""
    others = set(threading.enumerate())
    gc.disable()
    try:
        bridge = Bridge({"mcpServers": {}})
        asyncio.run(bridge.aio.servers())
        (thread,) = (x for x in threading.enumerate() if x not in others)
        del bridge
        thread.join(20)
        assert not thread.is_alive()
    finally:
        gc.enable()


def test_the_limit_of_a_call_covers_connecting():
    late = pytest.raises(SourceFailed, match="was not ready within")
    with bridge_with(it=entry(hang=True)) as bridge, ends_within(25), late:
        bridge.call_tool("it", "echo", {"text": "x"}, timeout_seconds=0.2)


async def _why_not(operations: Operations, *names: str) -> list[str]:
    tools = SourceToolset(operations, operations.choice(["my server", "git", "git_hub"]), {})
    await tools.connect(lambda _: None)
    return [tools.why_not(x) for x in names]


def test_a_call_of_a_tool_of_a_failed_server_blames_that_server():
    broken = {"command": "/no/such/thing"}
    with bridge_with(**{"my server": broken, "git": broken, "git_hub": broken}) as bridge:
        name = ShownNames().show(ToolKey("mcp", "my server", "do"))
        reasons = bridge.run(_why_not, "git_hub_search", "git_log", name)
    for reason, source in zip(reasons, ("git_hub", "git", "my server"), strict=True):
        assert f"cannot be used now. {source}: " in reason


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_cannot_use_the_bridge_of_its_parent(bridge: Bridge):
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            bridge.list_tools("a")
        except RuntimeError as error:
            os.write(write, str(error).encode())
        os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    assert os.read(read, 1000).decode() == "This bridge is closed; open a new one."
    os.close(read)
    assert bridge.call_tool("a", "echo", {"text": "the parent's is open"}).text
