"""docs/admin.md is true: its commands do what it says, and no route, event or status is missing."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Generator
from subprocess import PIPE
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.support.admin import SECONDS, TOKEN, check, serving_admin
from tests.support.commands import SERVERS, write_settings
from tests.support.pages import ROOT, Row, blocks_of, rows_of, text_of
from tests.support.warm_python import python_entry
from xai_mcp_agent import Bridge
from xai_mcp_agent.admin.document import EVENTS, OPERATIONS
from xai_mcp_agent.policy.approvals import ApprovalRequest

PAGE = ROOT / "docs" / "admin.md"
COMMANDS = [
    x for block in blocks_of(PAGE) if block.language == "sh" for x in block.text.splitlines()
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """The interface for those servers of `xai-mcp-agent init` that the page names."""
    servers = {x: python_entry(SERVERS / f"{x}.py") for x in ("library", "units")}
    file = write_settings(tmp_path_factory.mktemp("admin-page"), servers)
    with Bridge.open(file) as bridge, serving_admin(bridge) as address:
        bridge.connect(wait=True)
        yield address


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_does_what_it_says(command: str, address: str):
    around = {**os.environ, "ADMIN": address, "TOKEN": TOKEN}
    command = f"exec {command} --max-time {SECONDS}"
    if "/api/events" in command:
        with subprocess.Popen(["bash", "-c", command], env=around, stdout=PIPE, text=True) as curl:
            assert curl.stdout is not None
            assert "event: source\n" in curl.stdout
            curl.kill()
        return
    facts = "%{http_code} %{method} %{url_effective} %{content_type}"
    process = subprocess.run(
        ["bash", "-c", f"{command} -w '\n{facts}'"],
        env=around, capture_output=True, text=True, timeout=2 * SECONDS,
    )  # fmt: skip
    body, _, facts = process.stdout.rpartition("\n")
    status, method, url, media_type = facts.split(" ", 3)
    assert status == "200", process
    answer = httpx2.Response(200, headers={"content-type": media_type}, content=body.encode())
    check(method, urlsplit(url).path, answer)
    assert json.loads(body)


def _cells(column: str) -> list[str]:
    return [x for row in rows_of(PAGE) if column in row.cells for x in _codes(row, column)]


def _codes(row: Row, column: str) -> list[str]:
    return row.codes(column) or [row.cells[column]]


def test_every_route_event_and_status_is_on_the_page():
    assert _cells("route") == [f"{x.method.upper()} {x.path}" for x in OPERATIONS]
    assert _cells("event") == list(EVENTS)
    statuses = {int(x) for cell in _cells("status") for x in re.findall(r"\d+", cell)}
    assert statuses | {401, 421} == {401, 421, 403, *(y for x in OPERATIONS for y in x.problems)}


def test_the_time_limit_on_the_page_is_that_of_the_code():
    limit = ApprovalRequest("server", "tool", {}).limit_seconds
    assert f"After {limit:g} seconds without an answer it is no" in text_of(PAGE)
