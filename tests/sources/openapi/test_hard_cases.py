"""Requests of hard cases, against a table: every style, form and body, with values that hurt."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from xai_mcp_agent import InvalidArguments
from xai_mcp_agent.sources.openapi import load_service

DATA = Path(__file__).parents[2] / "data" / "openapi"
SERVICE = load_service(DATA / "hard-3.1.json")
ROWS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "hard_requests.json").read_text())
SHOWN_HEADERS = ("content-type", "cookie", "x-a", "x-b", "id")


@pytest.mark.parametrize("tool", [x.name for x in SERVICE.tools])
def test_a_call_becomes_the_request_of_the_table(tool: str):
    rows = [x for x in ROWS if x["tool"] == tool]
    assert rows
    for row in rows:
        assert {"tool": tool, "arguments": row["arguments"], **result(row)} == row


def result(row: dict[str, Any]) -> dict[str, Any]:
    """The request that a row comes to, without what is always the same; or why there is none."""
    try:
        request = SERVICE.request(row["tool"], row["arguments"])
    except InvalidArguments as error:
        return {"error": str(error)}
    headers = {x: without_boundary(y) for x, y in request.headers.items() if x in SHOWN_HEADERS}
    body = without_boundary(request.read().decode("utf-8", "backslashreplace"))
    url = str(request.url).removeprefix("https://api.example.com/v1")
    return (
        {"url": url} | ({"headers": headers} if headers else {}) | ({"body": body} if body else {})
    )


def without_boundary(text: str) -> str:
    return re.sub(r"[0-9a-f]{32}", "BOUNDARY", text)
