"""Listeners for changes of resources and lists, in both eras and over new connections."""

from __future__ import annotations

import asyncio

import anyio
import pytest

from tests.support.bridges import bridge_with
from tests.support.fault_server import entry
from tests.support.mcp_servers import notes_entry
from xai_mcp_agent import Bridge, ServerError, SourceClosed, ToolTimeout, UnknownServer

TODAY = "notes://today"
SECONDS = 20.0


def test_a_change_of_a_resource_is_reported_until_closed(books: Bridge, server: str):
    uris: list[str] = []
    with books.subscribe(server, TODAY, uris.append) as subscription:
        assert subscription.wait(0) == "", "nothing changed yet"
        books.call_tool(server, "write", {"text": "fresh"})
        assert subscription.wait(SECONDS) == TODAY
        assert books.read_resource(server, TODAY)[0].text == "fresh"
        assert uris == [TODAY]
        books.call_tool(server, "write", {"text": "again and again", "times": 200})
        assert subscription.wait(SECONDS) == TODAY
    assert 2 <= len(uris) <= 20, "a burst is reported as one or few"
    uris.clear()
    with books.subscribe(server, TODAY) as later:
        books.call_tool(server, "write", {"text": "for another listener"})
        assert later.wait(SECONDS) == TODAY
    assert uris == [], "the first subscription is closed"
    subscription.close()


def test_lists_that_change_are_reported_by_their_names(books: Bridge, server: str):
    with books.watch(server) as lists:
        books.call_tool(server, "add", {"name": f"new-{server}"})
        assert {lists.wait(SECONDS), lists.wait(SECONDS)} == {"resources", "prompts"}
        assert f"notes://new-{server}" in [x.uri for x in books.list_resources(server)]


@pytest.mark.parametrize("server", ["stdio_old", "http_old"])
def test_a_server_of_the_older_era_gets_one_subscription_for_all_listeners(
    books: Bridge, server: str
):
    with books.subscribe(server, TODAY) as one, books.subscribe(server, TODAY) as other:
        assert books.call_tool(server, "subscriptions").structured == {"result": [TODAY]}
        books.call_tool(server, "write", {"text": "line", "uri": f"{TODAY}/line/1"})
        assert one.wait(SECONDS) == TODAY, "MCP: a change below the resource counts"
        one.close()
        assert other.wait(SECONDS) == TODAY
        assert books.call_tool(server, "subscriptions").structured == {"result": [TODAY]}
    assert books.call_tool(server, "subscriptions").structured == {"result": []}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_subscription_outlives_its_connection(mode: str):
    """Changes meanwhile are not replayed, so everything counts as changed."""
    with (
        bridge_with(it=notes_entry(mode=mode)) as bridge,
        bridge.subscribe("it", TODAY) as subscription,
    ):
        with pytest.raises(SourceClosed):
            bridge.call_tool("it", "die")
        assert subscription.wait(SECONDS) == TODAY, "it reconnects by itself"
        bridge.call_tool("it", "write", {"text": "after"})
        assert subscription.wait(SECONDS) == TODAY


def test_a_listener_is_called_when_a_disconnected_server_is_used_again():
    with bridge_with(it=entry()) as bridge, bridge.watch("it") as lists:
        bridge.disconnect("it")
        assert lists.wait(0) == ""
        bridge.list_tools("it")
        assert lists.wait(SECONDS) == "tools"


def test_a_server_that_announces_no_changes_cannot_be_subscribed_to(era: str):
    with bridge_with(it=entry(era=era)) as bridge:
        with pytest.raises(ServerError, match="it does not announce when x://y changes") as caught:
            bridge.subscribe("it", "x://y")
        assert "Read it again from time to time" in caught.value.next_step
        with pytest.raises(UnknownServer):
            bridge.subscribe("other", "x://y")


def test_a_subscription_that_is_never_confirmed_ends_at_the_limit_of_a_call():
    mute = entry(era="modern", mute_listen=True, timeout=0.2)
    with bridge_with(it=mute) as bridge, pytest.raises(ToolTimeout, match=r"after 0\.2 s"):
        bridge.subscribe("it", "x://y")


@pytest.mark.parametrize("error", [KeyError, SystemExit])
def test_other_listeners_and_calls_go_on_after_a_listener_has_raised(
    books: Bridge, caplog: pytest.LogCaptureFixture, error: type[BaseException]
):
    def clumsy(uri: str) -> None:
        raise error(uri)

    with books.subscribe("stdio", TODAY, clumsy), books.subscribe("stdio", TODAY) as other:
        books.call_tool("stdio", "write", {"text": "x"})
        assert other.wait(SECONDS) == TODAY
        assert books.call_tool("stdio", "write", {"text": "y"}).text == "written"
    assert "A listener for changes of notes://today raised" in caplog.text


@pytest.mark.anyio
@pytest.mark.parametrize("server", ["stdio", "http_old"])
async def test_a_program_with_a_loop_gets_changes_on_that_loop(books: Bridge, server: str):
    changed, loop = anyio.Event(), asyncio.get_running_loop()

    def on_change(_: str) -> None:
        assert asyncio.get_running_loop() is loop
        changed.set()

    async with await books.aio.subscribe(server, TODAY, on_change) as subscription:
        await books.aio.call_tool(server, "write", {"text": "x"})
        with anyio.fail_after(SECONDS):
            await changed.wait()
            assert await subscription.wait() == TODAY
    async with await books.aio.watch(server) as lists:
        await books.aio.call_tool(server, "add", {"name": f"aio-{server}"})
        assert await lists.wait(SECONDS) in ("resources", "prompts")


def test_closing_the_bridge_closes_its_subscriptions():
    with bridge_with(it=entry(era="modern")) as bridge:
        lists = bridge.watch("it")
    lists.close()
    assert lists.wait(0) == ""
