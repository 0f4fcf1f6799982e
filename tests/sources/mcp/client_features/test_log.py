"""What a server logs: in Python's logging and in its status."""

from __future__ import annotations

import logging

import pytest

from tests.support.bridges import status_of
from tests.support.processes import wait_until
from xai_mcp_agent import Bridge

# In the server, which here is in this process.
pytestmark = pytest.mark.filterwarnings("ignore:The logging capability is deprecated")
LOGGER = "xai_mcp_agent.servers"
WAYS = ["stdio", "stdio_old", "http", "http_old"]


def logged(bridge: Bridge, server: str, level: str, text: str) -> None:
    """Have the server log this."""
    bridge.call_tool(server, "log", {"level": level, "text": text})


@pytest.mark.parametrize("server", WAYS)
def test_what_a_server_logs_is_in_the_log_and_in_its_status(
    servers: Bridge, server: str, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.DEBUG, logger=LOGGER):
        logged(servers, server, "info", "not wanted")
        logged(servers, server, "error", "the disk\nis full")
        wanted = "log, error: diary: the disk is full"
        name, level = f"xai_mcp_agent.servers.{server}", logging.ERROR
        wait_until(lambda: (name, level, wanted) in caplog.record_tuples, "it is logged")
    assert wanted in status_of(servers, server).stderr_tail
    assert "not wanted" not in caplog.text


def test_the_settings_say_how_much_is_wanted(servers: Bridge, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.DEBUG, logger=LOGGER):
        logged(servers, "all", "debug", "a detail")
        wait_until(lambda: "a detail" in caplog.text, "it is logged")
        logged(servers, "off", "emergency", "unheard")
        logged(servers, "all", "debug", "the end")
        wait_until(lambda: "the end" in caplog.text, "it is logged")
    assert "unheard" not in caplog.text


def test_secrets_stay_hidden_in_what_a_server_logs(
    servers: Bridge, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.WARNING):
        logged(servers, "stdio", "error", "the token is sesame-open-1234")
        wait_until(lambda: "the token is" in caplog.text, "it is logged")
    assert "sesame-open" not in caplog.text + "".join(status_of(servers, "stdio").stderr_tail)
