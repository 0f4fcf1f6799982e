"""A server that wants authorization: somebody signs in, and everything works from then on."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support.authorization_server import Protected, go_there, protected_server
from xai_mcp_agent import Bridge
from xai_mcp_agent.core.errors import SourceFailed

ERAS = ["auto", "legacy"]


@pytest.fixture
def protected() -> Generator[Protected]:
    """A server that wants a token, and the service that gives it."""
    with protected_server() as found:
        yield found


def bridge_to(protected: Protected, folder: Path, sign_in=go_there, **more) -> Bridge:
    """A bridge to it alone, as `it`."""
    servers = {"it": {**protected.entry, **more}}
    return Bridge({"mcpServers": servers}, sign_in=sign_in, token_folder=folder)


@pytest.mark.parametrize("mode", ERAS)
def test_somebody_signs_in_once_and_calls_go_through(
    protected: Protected, tmp_path: Path, mode: str
):
    with bridge_to(protected, tmp_path, mode=mode) as bridge:
        token = bridge.call_tool("it", "who").text.removeprefix("Bearer ")
        assert token in protected.service.tokens
        assert protected.service.asked == [
            "metadata", "register", "authorize", "authorization_code",
        ]  # fmt: skip


def test_the_next_bridge_uses_the_token_that_is_kept(protected: Protected, tmp_path: Path):
    with bridge_to(protected, tmp_path) as bridge:
        bridge.call_tool("it", "who")
    with bridge_to(protected, tmp_path, sign_in=None) as bridge:
        assert bridge.call_tool("it", "who").text.startswith("Bearer access-")
    assert protected.service.count("authorize") == 1


def test_where_nobody_is_there_the_command_to_sign_in_is_named(
    protected: Protected, tmp_path: Path
):
    with bridge_to(protected, tmp_path, sign_in=None) as bridge:
        with pytest.raises(SourceFailed) as raised:
            bridge.list_tools("it")
        assert "somebody has to sign in" in raised.value.problem
        assert "xai-mcp-agent login it" in raised.value.next_step
    assert protected.service.asked == ["metadata"], "nothing is registered for nobody"
