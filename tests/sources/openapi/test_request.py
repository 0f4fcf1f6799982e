"""Requests from plans and arguments, compared with the specification and a web framework."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import UploadFile, URLPath
from starlette.requests import Request as Read

from xai_mcp_agent.core.errors import BadSetting, InvalidArguments
from xai_mcp_agent.sources.openapi import load_service
from xai_mcp_agent.sources.openapi.plan import (
    Body,
    FormPart,
    Location,
    Placement,
    RequestPlan,
    Style,
)
from xai_mcp_agent.sources.openapi.request import assemble_request, build_request, request_parts

pytestmark = pytest.mark.anyio
BASE = "https://api.example.com/v1"
DATA = Path(__file__).parents[2] / "data" / "openapi"
HARD = load_service(DATA / "hard-3.1.json")
ROWS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "hard_requests.json").read_text())
HEADERS = ("content-type", "cookie", "x-a", "x-b", "id")


def plan(
    *placements: Placement, path: str = "/things", method: str = "POST", body: Body | None = None
) -> RequestPlan:
    return RequestPlan(method, path, BASE, placements, body)


def as_read(request: httpx2.Request) -> Read:
    """Return the request as a Starlette application receives it."""
    raw_path, _, query = request.url.raw_path.partition(b"?")
    scope = {
        "type": "http",
        "method": request.method,
        "path": URLPath(raw_path.decode()),
        "query_string": query,
        "headers": [(x.lower(), y) for x, y in request.headers.raw],
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": request.content, "more_body": False}

    return Read(scope, receive)


def test_calls_become_the_requests_of_the_table():
    """Every style, form and body, with difficult values."""
    for row in ROWS:
        call = {x: row[x] for x in ("tool", "arguments")}
        assert {**call, **result(row)} == row


def result(row: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a row's request that differ between rows, or its error."""
    try:
        request = HARD.request(row["tool"], row["arguments"])
    except InvalidArguments as error:
        return {"error": str(error)}
    headers = {x: without_boundary(y) for x, y in request.headers.items() if x in HEADERS}
    body = without_boundary(request.read().decode("utf-8", "backslashreplace"))
    url = str(request.url).removeprefix(BASE)
    return (
        {"url": url} | ({"headers": headers} if headers else {}) | ({"body": body} if body else {})
    )


def without_boundary(text: str) -> str:
    return re.sub(r"[0-9a-f]{32}", "BOUNDARY", text)


def write_argument(location: Location, style: Style, explode: bool, value: Any, **more: Any) -> str:
    """Return the text of one argument in the request."""
    there = Placement("color", location, "color", style, explode, **more)
    path = "/{color}" if location == "path" else ""
    request = build_request(plan(there, path=path, method="GET"), {"color": value})
    if location == "cookie":
        return request.headers["cookie"]
    return request.url.raw_path.decode().removeprefix("/v1")[1:]


@pytest.mark.parametrize("reserved", [False, True])
def test_a_path_that_leads_elsewhere_is_refused(reserved: bool):
    """Servers decode before they check, some of them twice; HTTP clients remove a lone dot."""
    values = [
        "..", ".", "../x", "a/../b", "a\\..\\b", "%2e%2e", "%252e%252e", "%2E", "x%2f..%2Fy", "",
        [".."], ["a", "/../b"], None, "%" + "25" * 30 + "2e",
    ]  # fmt: skip
    for value in values:
        with pytest.raises(InvalidArguments, match=r"elsewhere|another address|too many|null"):
            write_argument("path", "simple", False, value, allow_reserved=reserved)
    for value in ("", [], {}, "."):
        with pytest.raises(InvalidArguments, match=r"elsewhere|another address"):
            write_argument("path", "label", False, value)


def test_reserved_characters_stay_where_they_are_allowed_and_end_nothing():
    text = write_argument("query", "form", True, "a/b?c=d&e#f%20g+h[", allow_reserved=True)
    assert text == "color=a/b?c%3Dd%26e%23f%20g%2Bh%5B"
    assert write_argument("path", "simple", False, "a/b:c?", allow_reserved=True) == "a%2Fb:c%3F"


def test_values_are_written_in_the_styles_that_the_table_lacks():
    """OpenAPI 3.2, Style Values; `tabDelimited` is of Swagger 2.0."""
    values, members = ["blue", "black"], {"R": 100, "G": 200}
    assert write_argument("query", "tabDelimited", False, values) == "color=blue%09black"
    assert write_argument("cookie", "cookie", True, values) == "color=blue; color=black"
    assert write_argument("cookie", "cookie", True, members) == "R=100; G=200"
    assert write_argument("cookie", "cookie", False, "a b&c") == "color=a b&c"


TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)


@given(TEXTS, st.sampled_from(["simple", "label", "matrix"]), st.booleans())
def test_any_text_stays_in_its_segment(value: str, style: Style, reserved: bool):
    try:
        text = write_argument("path", style, False, value, allow_reserved=reserved)
    except InvalidArguments:
        return
    assert not set(text) & set("/?# ")
    before = {"simple": "", "label": ".", "matrix": ";color=" if value else ";color"}[style]
    assert text.startswith(before)
    assert reserved or unquote(text[len(before) :]) == value


# Whole requests


@pytest.mark.parametrize(
    ("base", "path", "url"),
    [
        (BASE, "/a", f"{BASE}/a"),
        (f"{BASE}/", "/a/", f"{BASE}/a/"),
        (BASE, "/a?beta=true", f"{BASE}/a?beta=true&q=1"),
        (BASE, "/a b/{other}/ü", f"{BASE}/a%20b/%7Bother%7D/%C3%BC"),
        ("http://[::1]:8080/x%2Fy", "/a;b=c", "http://[::1]:8080/x%2Fy/a;b=c"),
    ],
)
def test_the_path_is_appended_to_the_base_url_as_it_is(base: str, path: str, url: str):
    there = plan(Placement("q", "query", "q", "form", True), path=path)
    arguments = {"q": 1} if "beta" in path else {}
    assert str(build_request(there, arguments, base_url=base).url) == url


DEEP: Any = 1
for _ in range(100_000):
    DEEP = [DEEP]
IMAGE = Body("image/png", "whole")


@pytest.mark.parametrize(
    ("there", "arguments", "says"),
    [
        (plan(path="/a/../admin"), {}, "would lead elsewhere"),
        (plan(path="/a/%2e%2e/b"), {}, "would lead elsewhere"),
        (plan(Placement("q", "query", "q")), {"q": "x" * 70_000}, "the URL: .* 65,536"),
        (plan(Placement("q", "query", "q", "deepObject", True)), {"q": DEEP}, "q: .* too deeply"),
        (plan(body=Body("application/json", "whole")), {"whole": DEEP}, "whole: .* too deeply"),
        (plan(Placement("x", "query", "x")), {"y": 1}, "(?s)no argument 'y'.*Expected: x"),
        (plan(Placement("x", "path", "x", is_required=True), path="/{x}"), {}, "x is missing"),
        (plan(body=Body("application/json", "whole", True)), {}, "whole is missing"),
        (plan(Placement("x", "header", "X-A")), {"x": "a\r\nX: 1"}, "x: it has a line break"),
        (plan(Placement("q", "query", "q", "form")), {"q": "\ud800"}, "q: .* half of a character"),
        (plan(Placement("q", "query", "q", "form", True, True)), {"q": "\ud800"}, "q: .* half"),
        (plan(body=IMAGE), {"whole": "data:;base64"}, "whole: .* no comma"),
        (plan(body=IMAGE), {"whole": "data:;base64,a$b!"}, "whole: .* not base64"),
        (plan(body=Body("multipart/form-data", "whole")), {"whole": "text"}, "named fields"),
    ],
)  # fmt: skip
def test_an_unsendable_call_is_refused(there: RequestPlan, arguments: dict[str, Any], says: str):
    with pytest.raises(InvalidArguments, match=says):
        build_request(there, arguments)


def test_a_base_url_that_is_invalid_is_reported():
    with pytest.raises(BadSetting, match=r"base URL.*`baseUrl`"):
        build_request(plan(), {}, base_url="http://a:b")


@pytest.mark.parametrize("empty", [[], {}])
def test_an_empty_path_parameter_is_for_reading_only(empty: Any):
    """`DELETE /things/` would mean something else than `DELETE /things/7`."""
    there = Placement("ids", "path", "ids")
    reading = plan(there, path="/things/{ids}", method="GET")
    assert str(build_request(reading, {"ids": empty}).url) == f"{BASE}/things/"
    with pytest.raises(InvalidArguments, match="something else"):
        build_request(plan(there, path="/things/{ids}", method="DELETE"), {"ids": empty})


def test_headers_of_the_connection_are_not_for_arguments():
    names = ("Host", "Content-Length", "Transfer-Encoding", "Connection")
    there = plan(*(Placement(x, "header", x) for x in names), method="GET")
    request = build_request(there, dict.fromkeys(names, "evil"))
    assert "evil" not in str(request.headers)


def test_an_operators_header_counts_in_place_of_an_arguments():
    there = plan(Placement("x", "header", "x-tenant"))
    request = assemble_request(request_parts(there, {"x": "other"}), {"X-Tenant": "mine"})
    assert request.headers.get_list("x-tenant") == ["mine"]
    with pytest.raises(InvalidArguments, match="header X-B: it has a line break"):
        assemble_request(request_parts(plan(), {}), {"X-B": "a\nb"})


BODY = Body("application/json", is_required=True)


@pytest.mark.parametrize(
    ("body", "arguments", "content"),
    [
        (BODY, {}, b"{}"),
        (Body("application/json"), {}, b""),
        (BODY, {"a": None}, b'{"a":null}'),
        (Body("application/json", "whole"), {"whole": None}, b"null"),
        (Body("application/merge-patch+json"), {"a": 1}, b'{"a":1}'),
        (Body("application/x-ndjson", "whole"), {"whole": [1, {"a": 2}]}, b'1\n{"a":2}\n'),
        (Body("application/octet-stream", "whole"), {"whole": "data:,a%00b"}, b"a\0b"),
        (Body("image/png", "whole"), {"whole": "file:///etc/passwd"}, b"file:///etc/passwd"),
    ],
)
def test_a_body_is_written_as_its_media_type(body: Body, arguments: Any, content: bytes):
    request = build_request(plan(Placement("a", "body", "a"), body=body), arguments)
    assert request.content == content
    assert request.headers.get("content-type", "").startswith(body.media_type if content else "")


FORM = {
    "text": "a b&c=d+é",
    "number": 1.5,
    "list": ["x", "y z"],
    "joined": ["x", "y"],
    "object": {"a": [1], "b": "é"},
    "meta": {"k1": "v 1", "deep": {"x": True}},
    "spread": {"r": 1},
}
PARTS = {
    "object": FormPart("application/json"),
    "meta": FormPart(style="deepObject"),
    "joined": FormPart(style="form", explode=False),
    "spread": FormPart(style="form"),
}
FIELDS = [
    ("text", "a b&c=d+é"), ("number", "1.5"), ("list", "x"), ("list", "y z"), ("joined", "x,y"),
    ("object", '{"a":[1],"b":"\\u00e9"}'), ("meta[k1]", "v 1"),
    ("meta[deep][x]", "true"), ("r", "1"),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data"])
async def test_a_form_is_read_as_it_was_meant(kind: str):
    """Read by Starlette, with python-multipart."""
    there = plan(*(Placement(x, "body", x) for x in FORM), body=Body(kind, parts=PARTS))
    form = await as_read(build_request(there, FORM)).form()
    assert form.multi_items() == FIELDS


async def test_files_have_their_bytes_names_and_types():
    parts = {
        "picture": FormPart("image/*", is_file=True),
        "more": FormPart(is_file=True, is_list=True),
    }
    places = (Placement(x, "body", x) for x in parts)
    there = plan(*places, body=Body("multipart/form-data", parts=parts))
    arguments = {
        "picture": 'data:image/png;name=..%2Fa"%0d%0ab.png;base64,iVBORw0KGgo=',
        "more": ["one", "data:text/csv,a%2Cb"],
    }
    async with as_read(build_request(there, arguments)).form() as form:
        files = [x for _, x in form.multi_items() if isinstance(x, UploadFile)]
        assert [(x.content_type, await x.read()) for x in files][::2] == [
            ("image/png", b"\x89PNG\r\n\x1a\n"), ("text/csv", b"a,b"),
        ]  # fmt: skip
        assert files[0].filename == "a%22%0D%0Ab.png"


async def test_an_empty_form_with_files_is_still_one():
    there = plan(body=Body("multipart/form-data", is_required=True))
    request = build_request(there, {})
    assert request.content.endswith(b"--\r\n")
    assert (await as_read(request).form()).multi_items() == []
