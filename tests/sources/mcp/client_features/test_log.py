"""Log messages of a server: in Python's logging and in its status."""

from __future__ import annotations

import logging

import pytest

from tests.support.bridges import status_of
from tests.support.processes import wait_until
from xai_mcp_agent import Bridge

# In the server, which here is in this process.
pytestmark = pytest.mark.filterwarnings("ignore:The logging capability is deprecated")
LOGGER = "xai_mcp_agent.servers"


def log(bridge: Bridge, server: str, level: str, text: str) -> None:
    """Have the server log a message."""
    bridge.call_tool(server, "log", {"level": level, "text": text})


def test_messages_of_a_server_are_in_pythons_log_and_in_its_status(
    servers: Bridge, server: str, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.DEBUG, logger=LOGGER):
        log(servers, server, "info", "too low")
        log(servers, server, "error", "the disk\nis full; the token is sesame-open-1234")
        line = "log, error: diary: the disk is full; the token is ***"  # a secret of the settings
        record = f"xai_mcp_agent.servers.{server}", logging.ERROR, line
        wait_until(lambda: record in caplog.record_tuples, "it is logged")
    assert line in status_of(servers, server).stderr_tail
    assert "too low" not in caplog.text


def test_the_settings_set_the_level_of_a_servers_log(
    servers: Bridge, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.DEBUG, logger=LOGGER):
        log(servers, "off", "emergency", "below the level")
        log(servers, "all", "debug", "a detail")
        wait_until(lambda: "a detail" in caplog.text, "it is logged")
    assert "below the level" not in caplog.text
