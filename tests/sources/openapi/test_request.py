"""A plan, filled in, as a web framework reads it: nothing is lost, nothing is added."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from starlette.datastructures import QueryParams, UploadFile, URLPath
from starlette.requests import Request as Read

from xai_mcp_agent.core.errors import BadSetting, InvalidArguments
from xai_mcp_agent.sources.openapi.plan import Body, Part, Placement, RequestPlan
from xai_mcp_agent.sources.openapi.request import build_request, put_together, request_parts

pytestmark = pytest.mark.anyio
BASE = "https://api.example.com/v1"


def plan(
    *placements: Placement,
    path: str = "/things",
    method: str = "POST",
    body: Body | None = None,
    accept: str = "*/*",
) -> RequestPlan:
    return RequestPlan(method, path, BASE, placements, body, accept=accept)


def body_of(request: httpx2.Request) -> Any:
    return json.loads(request.content)


def as_read(request: httpx2.Request) -> Read:
    """The request as Starlette's applications are given it."""
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


def test_each_argument_goes_where_it_belongs():
    there = plan(
        Placement("id", "path", "id"),
        Placement("id__query", "query", "id", "form", True),
        Placement("x_trace", "header", "X-Trace"),
        Placement("session", "cookie", "session", "form", True),
        Placement("id__body", "body", "id"),
        path="/things/{id}/parts",
        body=Body("application/json"),
        accept="application/json",
    )
    given = {"id": "a/b ü", "id__query": [1, 2], "x_trace": "t 1", "session": "s=1", "id__body": 7}
    request = build_request(there, given)
    read = as_read(request)
    assert request.url.raw_path.startswith(b"/v1/things/a%2Fb%20%C3%BC/parts?")
    assert QueryParams(read.url.query).multi_items() == [("id", "1"), ("id", "2")]
    assert read.headers["x-trace"] == "t 1"
    assert read.headers["accept"] == "application/json"
    assert read.cookies == {"session": "s%3D1"}
    assert body_of(request) == {"id": 7}
    assert sorted(x.lower() for x in request.headers) == [
        "accept", "accept-encoding", "content-length", "content-type", "cookie", "host",
        "user-agent", "x-trace",
    ]  # fmt: skip


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
    given = {"q": 1} if "beta" in path else {}
    assert str(build_request(there, given, base_url=base).url) == url


@pytest.mark.parametrize("path", ["/a/../admin", "/./a", "/a/%2e%2e/b"])
def test_a_document_cannot_lead_out_of_the_base_url(path: str):
    with pytest.raises(InvalidArguments, match=r"would lead elsewhere"):
        build_request(plan(path=path), {})


def test_a_url_that_nobody_takes_is_reported():
    there = plan(Placement("q", "query", "q", "form", True))
    with pytest.raises(InvalidArguments, match="the URL: it would be longer than 65,536"):
        build_request(there, {"q": "x" * 70_000})
    with pytest.raises(BadSetting, match=r"base URL.*`baseUrl`"):
        build_request(plan(), {}, base_url="http://a:b")


def test_a_deep_object_has_an_end():
    value: Any = {}
    for _ in range(2_000):
        value = {"a": value or 1}
    with pytest.raises(InvalidArguments, match="q: it is nested too deeply"):
        build_request(plan(Placement("q", "query", "q", "deepObject", True)), {"q": value})


def test_a_base_url_is_needed():
    with pytest.raises(BadSetting, match="baseUrl"):
        build_request(RequestPlan("GET", "/a", ""), {})


def test_what_the_plan_does_not_know_is_refused_and_not_dropped():
    with pytest.raises(InvalidArguments, match="no argument 'y'") as caught:
        build_request(plan(Placement("x", "query", "x")), {"y": 1})
    assert "Expected: x" in str(caught.value)


def test_a_missing_part_of_the_path_is_reported():
    with pytest.raises(InvalidArguments, match="id is missing"):
        build_request(plan(Placement("id", "path", "id"), path="/x/{id}"), {})


@pytest.mark.parametrize("empty", [[], {}])
def test_a_hole_in_the_path_is_for_reading_only(empty: Any):
    """`DELETE /things/` would be another thing than `DELETE /things/7`."""
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


@pytest.mark.parametrize("value", ["a\r\nX: 1", "a\nb", "\0"])
def test_nothing_can_break_a_header(value: str):
    with pytest.raises(InvalidArguments, match="x: it has a line break"):
        build_request(plan(Placement("x", "header", "X-A")), {"x": value})
    with pytest.raises(InvalidArguments, match="header X-B: it has a line break"):
        put_together(request_parts(plan(), {}), {"X-B": value})


def test_an_operators_header_counts_in_place_of_an_arguments():
    there = plan(Placement("x", "header", "x-tenant"))
    request = put_together(request_parts(there, {"x": "other"}), {"X-Tenant": "mine"})
    assert request.headers.get_list("x-tenant") == ["mine"]


BODY = Body("application/json", is_required=True)


@pytest.mark.parametrize(
    ("body", "given", "content"),
    [
        (BODY, {}, b"{}"),
        (Body("application/json"), {}, b""),
        (BODY, {"a": None}, b'{"a":null}'),
        (Body("application/json", "whole"), {"whole": [{"a": "\u00e9"}]}, b'[{"a":"\\u00e9"}]'),
        (Body("application/json", "whole"), {"whole": None}, b"null"),
        (Body("application/merge-patch+json"), {"a": 1}, b'{"a":1}'),
        (Body("application/x-ndjson", "whole"), {"whole": [1, {"a": 2}]}, b'1\n{"a":2}\n'),
        (Body("application/json-seq", "whole"), {"whole": [1]}, b"\x1e1\n"),
        (Body("text/plain", "whole"), {"whole": "h\u00e9"}, "h\u00e9".encode()),
        (Body("application/octet-stream", "whole"), {"whole": "text"}, b"text"),
        (Body("image/png", "whole"), {"whole": "data:image/png;base64,iVBO"}, b"\x89PN"),
        (Body("application/octet-stream", "whole"), {"whole": "data:,a%00b"}, b"a\0b"),
        (Body("application/x-www-form-urlencoded", is_required=True), {}, b""),
    ],
)  # fmt: skip
def test_a_body_is_written_as_its_media_type(body: Body, given: dict[str, Any], content: bytes):
    request = build_request(plan(Placement("a", "body", "a"), body=body), given)
    assert request.content == content
    assert request.headers.get("content-type", "").startswith(body.media_type if content else "")


def test_a_required_whole_body_that_is_missing_is_reported():
    with pytest.raises(InvalidArguments, match="whole is missing"):
        build_request(plan(body=Body("application/json", "whole", True)), {})


@pytest.mark.parametrize("value", ["data:;base64", "data:;base64,a$b!", "data:image/png"])
def test_data_that_is_invalid_is_refused(value: str):
    with pytest.raises(InvalidArguments, match="whole: "):
        build_request(plan(body=Body("image/png", "whole")), {"whole": value})


@pytest.mark.parametrize("value", ["/etc/passwd", "file:///etc/passwd", "@/etc/passwd"])
def test_no_file_of_this_machine_is_ever_read(value: str):
    request = build_request(plan(body=Body("image/png", "whole")), {"whole": value})
    assert request.content == value.encode()


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
    "object": Part("application/json"),
    "meta": Part(style="deepObject"),
    "joined": Part(style="form", explode=False),
    "spread": Part(style="form"),
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
        "picture": Part("image/*", is_file=True),
        "more": Part(is_file=True, is_list=True),
        "about": Part("application/json", headers={"X-Part": "1"}),
    }
    there = plan(
        *(Placement(x, "body", x) for x in parts), body=Body("multipart/form-data", parts=parts)
    )
    given = {
        "picture": 'data:image/png;name=..%2Fa"%0d%0ab.png;base64,iVBORw0KGgo=',
        "more": ["one", "data:text/csv,a%2Cb"],
        "about": {"by": "me"},
    }
    request = build_request(there, given)
    async with as_read(request).form() as form:
        picture, one, two = form["picture"], *form.getlist("more")
        assert isinstance(picture, UploadFile)
        assert isinstance(one, UploadFile)
        assert isinstance(two, UploadFile)
        assert await picture.read() == b"\x89PNG\r\n\x1a\n"
        assert (picture.content_type, picture.filename) == ("image/png", "a%22%0D%0Ab.png")
        assert await one.read() == b"one"
        assert (await two.read(), two.content_type) == (b"a,b", "text/csv")
        assert json.loads(str(form["about"])) == {"by": "me"}
    assert b"X-Part: 1\r\n" in request.content


async def test_an_empty_form_with_files_is_still_one():
    there = plan(body=Body("multipart/form-data", is_required=True))
    request = build_request(there, {})
    assert request.content.endswith(b"--\r\n")
    assert (await as_read(request).form()).multi_items() == []


@pytest.mark.parametrize("value", ["text", [1], 5])
def test_a_form_of_no_object_is_refused(value: Any):
    for kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
        with pytest.raises(InvalidArguments, match="named fields"):
            build_request(plan(body=Body(kind, "whole")), {"whole": value})


def test_json_that_is_too_deep_is_refused():
    value: Any = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(InvalidArguments, match="too deeply"):
        build_request(plan(body=Body("application/json", "whole")), {"whole": value})
