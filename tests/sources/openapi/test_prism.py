"""Requests as Prism reads them, which knows the document and nothing of us."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from benchmarks.openapi_calls import NPM, Prism, judge, prism_command
from xai_mcp_agent.sources.openapi import load_service
from xai_mcp_agent.sources.openapi.request import build_request

pytestmark = pytest.mark.npm

TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT, "minItems": 2}
POINT = {
    "type": "object", "required": ["x", "y"],
    "properties": {"x": {"type": "integer"}, "y": TEXT},
}  # fmt: skip
DEEP = {
    "type": "object", "required": ["at", "list"], "properties": {"at": POINT, "list": TEXTS},
}  # fmt: skip
OK = {"responses": {"200": {"description": "OK"}}}


def parameter(place: str, name: str, schema: Any, **more: Any) -> dict[str, Any]:
    return {"in": place, "name": name, "schema": schema, "required": True, **more}


def body(kind: str, schema: Any, **more: Any) -> dict[str, Any]:
    return {"required": True, "content": {kind: {"schema": schema, **more}}}


def paths() -> dict[str, Any]:
    """An operation for each way of writing a value that Prism can read."""
    found: dict[str, Any] = {}
    for style in ("simple", "label", "matrix"):
        for explode in (False, True):
            place = parameter("path", "a", TEXT, style=style, explode=explode)
            path = f"/{style}/{str(explode).lower()}/{{a}}"
            found[path] = {"get": {**OK, "parameters": [place]}}
    queries: list[tuple[str, bool, Any]] = [
        ("form", False, TEXTS), ("form", True, TEXTS), ("form", False, POINT),
        ("form", True, POINT), ("pipeDelimited", False, TEXTS), ("deepObject", True, DEEP),
    ]  # fmt: skip
    for n, (style, explode, schema) in enumerate(queries):
        place = parameter("query", "q", schema, style=style, explode=explode)
        found[f"/query/{n}"] = {"get": {**OK, "parameters": [place]}}
    kept = parameter("header", "X-Count", {"type": "integer"})
    found["/header"] = {"get": {**OK, "parameters": [kept]}}
    number = {"type": "number"}
    whole = {"type": "object", "required": ["n"], "properties": {"n": number, "o": DEEP}}
    found["/json"] = {"post": {**OK, "requestBody": body("application/json", whole)}}
    form = {"type": "object", "required": ["t", "o"], "properties": {"t": TEXT, "o": DEEP}}
    encoding = {"o": {"style": "deepObject", "explode": True}}
    kind = "application/x-www-form-urlencoded"
    found["/form"] = {"post": {**OK, "requestBody": body(kind, form, encoding=encoding)}}
    file = {"type": "object", "required": ["f"], "properties": {"f": {**TEXT, "format": "binary"}}}
    found["/file"] = {"post": {**OK, "requestBody": body("multipart/form-data", file)}}
    return found


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if prism_command() is None:
        pytest.skip(f"needs Node.js and @stoplight/prism-cli in {NPM} (.ci/run installs it)")
    file = tmp_path_factory.mktemp("prism") / "api.json"
    said = {"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": paths()}
    file.write_text(json.dumps(said), encoding="utf-8")
    return file


def test_prism_takes_every_call_and_would_not_take_wrong_ones(document: Path):
    service = load_service(document, base_url="http://127.0.0.1")
    with Prism(document) as prism:
        score = judge(service, prism)
        assert score.wrong == []
        assert score.calls.keys() == {"right"}
        assert score.operations == len(paths())
        tool = next(x for x in service.tools if x.path == "/header")
        request = build_request(tool.plan, {"X-Count": "no number"}, base_url=prism.url)
        with httpx2.Client(trust_env=False) as client:
            assert client.send(request).status_code == 422
