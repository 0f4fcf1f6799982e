"""An OpenAPI service as a source of a bridge: reading, refreshing, calls and limits."""

from __future__ import annotations

import gc
import json
import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.bridges import failure_of, names_of, source_bridge, status_of
from tests.support.files import change
from tests.support.histories import events_of
from tests.support.http_service import (
    BrokenOff,
    HttpService,
    Reply,
    as_json,
    http_service,
    redirect,
)
from tests.support.stalls import watching
from xai_mcp_agent import Bridge, SourceClosed, SourceFailed, UnknownTool
from xai_mcp_agent.sources.openapi import BadDocument, load_service, source

MAX_HOLD_SECONDS = 0.25  # read at once it would be about half a second
KEY = "sesame-open-9876"
CUT_SHORT = Reply(200, pieces=BrokenOff(b"{"))
IN_HEADER: dict[str, Any] = {"components": {"securitySchemes": {
    "key": {"type": "apiKey", "in": "header", "name": "X-Key"}}},
    "security": [{"key": []}]}  # fmt: skip


def document(*names: str, server: str = "", **more: Any) -> dict[str, Any]:
    """Return a document with these operations, each at a path of its name."""
    paths = {f"/{x}": operation(x) for x in names} | more.pop("paths", {})
    root = {"openapi": "3.1.0", "info": {"title": "Things", "version": "1"}, "paths": paths, **more}
    return root | ({"servers": [{"url": server}]} if server else {})


def operation(name: str, **more: Any) -> dict[str, Any]:
    responses = {"200": {"description": "It."}}
    return {"get": {"operationId": name, "tags": [f"{name}s"], "responses": responses, **more}}


@pytest.fixture
def service(service: HttpService) -> HttpService:
    """A service with a document of two operations."""
    offer(service, "one", "two")
    service.replies["/one"] = as_json({"n": 1})
    return service


def offer(service: HttpService, *names: str, headers: Any = None, **more: Any) -> None:
    body = json.dumps(document(*names, **more)).encode()
    service.replies["/openapi.json"] = Reply(200, body, headers or {})


def using(spec: str | Path, **more: Any) -> Bridge:
    """A bridge with the service of this document as `it`."""
    return source_bridge("openapiServices", spec=str(spec), **more)


def at(service: HttpService) -> str:
    return f"{service.url}/openapi.json"


@pytest.fixture
def conversions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the title of each converted document."""
    titles: list[str] = []
    convert = source.convert

    def record(document: Any, *args: Any) -> Any:
        titles.append(document.title)
        return convert(document, *args)

    monkeypatch.setattr(source, "convert", record)
    return titles


# What is offered


def test_operations_are_tools_with_tags_and_what_they_request(service: HttpService):
    with using(at(service)) as bridge:
        one, two = bridge.list_tools("it")
        status = status_of(bridge, "it")
        assert bridge.call_tool("it", "one").structured == {"n": 1}
    assert (one.name, one.tags, two.name) == ("one", ("ones",), "two")
    assert one.operation is not None
    assert (one.operation.method, one.operation.path) == ("GET", "/one")
    assert (status.kind, status.state, status.server) == ("openapi", "ready", "Things 1")
    assert (status.tool_count, status.error, status.notes) == (2, "", ())


def test_operations_are_chosen_by_name_patterns(service: HttpService):
    offer(service, "get_one", "get_two", "get_off", "put_one", "get_secret")
    lists = {"include": ["get_*", "got_one"], "exclude": ["*_secret", "get_on?"]}
    off = {"disabledTools": ["*_off"], "operations": {"get_thr": {}}}
    with using(at(service), **lists, **off) as bridge:
        assert names_of(bridge.list_tools("it")) == ["get_one", "get_two"]
        with pytest.raises(UnknownTool, match="left out by `disabledTools`"):
            bridge.call_tool("it", "get_off")
        included, excluded, operations = status_of(bridge, "it").notes
    assert included.startswith("`include` names 'got_one', which the document does not have.")
    assert "get_one" in included
    assert excluded.startswith("`exclude` names 'get_on?', which the document does not have.")
    assert operations.startswith("`operations` names 'get_thr'")


# Read again


def test_an_unchanged_document_is_not_converted_again(service: HttpService, conversions: list[str]):
    with using(at(service)) as bridge:
        before = bridge.list_tools("it")
        count = len(events_of(bridge))
        assert bridge.refresh("it")[0].require() == before
        assert all(x.links.reinforces for x in events_of(bridge)[count:])
    assert len(service.got) == 2
    assert conversions == ["Things"]


def test_a_part_that_changed_is_noticed_though_the_document_has_not(service: HttpService):
    offer(service, paths={"/one": {"$ref": "part.json"}})
    with using(at(service)) as bridge:
        for name in ("one", "uno"):
            service.replies["/part.json"] = as_json(operation(name))
            assert names_of(bridge.refresh("it")[0].require()) == [name]


def in_parts(service: HttpService, folder: str, part: str = "s.json") -> None:
    """Serve a document in this folder, with a schema in a file beside it."""
    content = {"application/json": {"schema": {"$ref": part}}}
    paths = {"/a": {"post": {"operationId": "add", "requestBody": {"content": content}}}}
    service.replies[f"{folder}/openapi.json"] = as_json(document(paths=paths))
    schema = {"type": "object", "properties": {"x": {}}}
    service.replies[f"{folder}/s.json"] = as_json(schema)


def test_references_are_relative_to_where_the_document_was_found(service: HttpService):
    """RFC 3986, 5.1.3: after redirects on its host, also those of its parts."""
    in_parts(service, "/docs/v1", part="moved.json")
    service.replies["/docs/v1/moved.json"] = redirect("s.json")
    service.replies["/openapi.json"] = redirect("/docs/v1/openapi.json")
    with using(at(service)) as bridge:
        (tool,) = bridge.list_tools("it")
        assert list(tool.input_schema["properties"]) == ["x"]
        assert status_of(bridge, "it").notes == ()
    loaded = load_service(at(service))
    assert list(loaded.tools[0].input_schema["properties"]) == ["x"]


@pytest.mark.parametrize("moved", ["/s.json", "/openapi.json"])
def test_no_redirect_leads_parts_or_programs_to_another_host(service: HttpService, moved: str):
    """Another port is another host. The document of a bridge may be elsewhere on the internet."""
    with http_service() as other:
        in_parts(service, "")
        in_parts(other, "")
        service.replies[moved] = redirect(f"{other.url}{moved}")
        if moved == "/s.json":
            with using(at(service)) as bridge:
                assert bridge.list_tools("it") == []
                assert "sent to another server" in status_of(bridge, "it").notes[0]
            assert "sent to another server" in load_service(at(service)).problems[0].reason
        else:
            with pytest.raises(BadDocument, match="sent to another server"):
                load_service(at(service))
        assert other.got == []


def test_a_failed_refresh_keeps_the_last_tools(
    service: HttpService, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(source, "MAX_BYTES", 1_000)
    rows = (
        (Reply(500, b"oops"), r"HTTP 500(?s:.*)Check its server\."),
        (Reply(404), r"HTTP 404(?s:.*)Correct `spec`"),
        (Reply(200, b"{"), "cannot be read"),
        (CUT_SHORT, "was not read"),
        (Reply(200, b"{" * 2_000), "larger than 1,000 bytes"),
    )
    with using(at(service)) as bridge:
        before = bridge.list_tools("it")
        for service.replies["/openapi.json"], words in rows:
            with pytest.raises(SourceFailed, match=words) as failed:
                bridge.refresh("it")[0].require()
            status = status_of(bridge, "it")
            assert (status.error, status.next_step, status.state) == (
                failed.value.problem, failed.value.next_step, "ready",
            )  # fmt: skip
            assert bridge.list_tools("it") == before
            assert bridge.call_tool("it", "one").structured == {"n": 1}
        offer(service, "one", "two", "three")
        assert len(bridge.refresh("it")[0].tools) == 3
        assert status_of(bridge, "it").error == ""


def test_a_document_without_an_end_is_left(service: HttpService):
    over = threading.Event()

    def hanging() -> Iterator[bytes]:
        yield b"{"
        over.wait(20)

    service.replies["/openapi.json"] = lambda _: Reply(pieces=hanging())
    with using(at(service), startTimeout=0.3) as bridge:
        error = failure_of(bridge)
    over.set()
    assert "0.3 s" in error.problem
    assert "`startTimeout`" in error.next_step


# In files


def test_a_changed_file_is_read_again(tmp_path: Path, service: HttpService, conversions: list[str]):
    file = tmp_path / "things.json"
    change(file, json.dumps(document("one", server=service.url)))
    with using(file) as bridge:
        assert names_of(bridge.list_tools("it")) == ["one"]
        bridge.list_tools("it")
        assert bridge.call_tool("it", "one").structured == {"n": 1}
        assert len(conversions) == 1
        change(file, json.dumps(document("one", "two", server=service.url)))
        assert names_of(bridge.list_tools("it")) == ["one", "two"]


def test_referenced_files_are_watched_even_missing_ones(tmp_path: Path, conversions: list[str]):
    file, part, later = (tmp_path / x for x in ("things.yaml", "parts/one.json", "later.json"))
    part.parent.mkdir()
    paths = {"/one": {"$ref": "parts/one.json"}, "/later": {"$ref": "later.json"}}
    change(file, json.dumps(document(paths=paths)))
    change(part, json.dumps(operation("one")))
    with using(file) as bridge:
        assert names_of(bridge.list_tools("it")) == ["one"]
        assert "later.json" in status_of(bridge, "it").notes[0]
        bridge.list_tools("it")
        bridge.list_tools("it")
        assert len(conversions) == 1
        change(later, json.dumps(operation("later")))
        assert names_of(bridge.list_tools("it")) == ["one", "later"]
        change(part, json.dumps(operation("uno")))
        assert names_of(bridge.list_tools("it")) == ["uno", "later"]
        part.unlink()
        assert names_of(bridge.list_tools("it")) == ["later"]


def test_a_file_that_is_not_there_is_reported_with_what_to_do(tmp_path: Path):
    with using(tmp_path / "no.json") as bridge:
        error = failure_of(bridge)
    assert "no.json cannot be read" in error.problem
    assert "`spec`" in error.next_step


# Credentials


def test_credentials_go_to_no_other_server_than_that_of_the_document(service: HttpService):
    with http_service() as other:
        other.replies["/one"] = as_json({"n": 2})
        offer(service, "one", server=other.url, **IN_HEADER)
        auth: dict[str, Any] = {"auth": {"apiKey": KEY}}
        mine: dict[str, Any] = {"headers": {"X-Mine": KEY}}
        for entry in (auth, mine):
            with using(at(service), **entry) as bridge:
                with pytest.raises(SourceFailed) as caught:
                    bridge.call_tool("it", "one")
                assert "baseUrl" in caught.value.next_step
                assert other.url in caught.value.next_step
        assert other.got == []
        with using(at(service), baseUrl=other.url, **auth) as bridge:
            assert bridge.call_tool("it", "one").structured == {"n": 2}
        assert other.last.headers["x-key"] == KEY
    assert not any("x-key" in x.headers for x in service.got)


def test_headers_go_with_the_document_at_the_origin_of_the_service_only(service: HttpService):
    with http_service() as other:
        with using(at(service), baseUrl=other.url, headers={"X-Mine": KEY}) as bridge:
            bridge.list_tools("it")
            assert "x-mine" not in service.last.headers
        with using(at(service), baseUrl=f"{service.url}/v1", headers={"X-Mine": KEY}) as bridge:
            bridge.list_tools("it")
            assert service.last.headers["x-mine"] == KEY


def test_no_secret_is_in_errors_statuses_or_the_history(service: HttpService, tmp_path: Path):
    offer(service, "one", "two", **IN_HEADER)
    service.replies["/one"] = lambda got: as_json({"headers": dict(got.headers)})
    service.replies["/two"] = lambda got: Reply(400, json.dumps(dict(got.headers)).encode())
    entry: dict[str, Any] = {"auth": {"apiKey": KEY}, "headers": {"X-Token": f"{KEY}-2"}}
    with using(at(service), store=tmp_path / "history.db", **entry) as bridge:
        outputs = [bridge.call_tool("it", x).text for x in ("one", "two")]
        service.replies["/openapi.json"] = lambda got: Reply(500, got.headers["x-token"].encode())
        with pytest.raises(SourceFailed) as caught:
            bridge.refresh("it")[0].require()
        outputs += [str(caught.value), repr(status_of(bridge, "it")), repr(bridge.list_tools("it"))]
    assert service.got[1].headers["x-key"] == KEY
    assert KEY not in str(outputs)
    assert not [x for x in tmp_path.iterdir() if KEY.encode() in x.read_bytes()]


# As the document says


def test_an_operation_that_is_public_is_sent_no_credentials(service: HttpService):
    """`security: []` overrides the document's default (OpenAPI, Operation Object)."""
    offer(service, "one", paths={"/two": operation("two", security=[])}, **IN_HEADER)
    service.replies["/two"] = service.replies["/one"]
    with using(at(service), auth={"apiKey": KEY, "bearer": KEY}) as bridge:
        bridge.call_tool("it", "one")
        assert "x-key" in service.last.headers
        bridge.call_tool("it", "two")
        assert not {"x-key", "authorization"} & {*service.last.headers}
    offer(service, "one", security=[])
    with using(at(service), auth={"bearer": KEY}) as bridge:
        bridge.call_tool("it", "one")
        assert "authorization" not in service.last.headers


def test_an_obtained_token_is_masked_in_a_result(service: HttpService):
    scheme = {"type": "oauth2", "flows": {}}
    offer(service, "one", components={"securitySchemes": {"o": scheme}}, security=[{"o": []}])
    service.replies["/token"] = as_json({"access_token": KEY, "token_type": "Bearer"})
    service.replies["/one"] = lambda got: as_json(got.headers["authorization"])
    auth = {"clientId": "me", "clientSecret": "s3same-s3cret", "tokenUrl": f"{service.url}/token"}
    with using(at(service), auth=auth) as bridge:
        assert bridge.call_tool("it", "one").structured == "Bearer ***"


def test_a_job_survives_status_requests_that_are_lost_but_not_for_ever(service: HttpService):
    """The service may restart, and answer 503 five times in a row."""
    states = iter([CUT_SHORT, CUT_SHORT, as_json({"status": "done"})])
    service.replies["/one"] = redirect("/job", 202, **{"retry-after": "0"})
    service.replies["/job"] = lambda _: next(states, CUT_SHORT)
    with using(at(service), operations={"one": {"async": {"interval": 0.05}}}) as bridge:
        assert bridge.call_tool("it", "one").structured == {"status": "done"}
        with pytest.raises(SourceClosed):
            bridge.call_tool("it", "one")


# Trouble


def test_an_outage_is_distinguished_from_a_refusal(service: HttpService):
    """The circuit breaker counts outages, and a refusal of a request is none."""
    with using(at(service)) as bridge:
        for status in (400, 401, 404, 422, 500, 503, 429):
            service.replies["/one"] = Reply(status, b"no")
            result = bridge.call_tool("it", "one")
            assert (result.is_error, result.is_outage) == (True, status in (500, 503, 429))


def test_a_large_answer_blocks_no_other_work(service: HttpService):
    """Python's own reader would hold the interpreter for half a second."""
    rows = [{"id": n, "name": f"thing {n}", "tags": ["a", "b"]} for n in range(100_000)]
    body = json.dumps(rows).encode()
    service.replies["/one"] = Reply(200, body, {"content-type": "application/json"})
    gc.collect()
    gc.disable()  # a collection of other tests' objects takes much longer
    try:
        with using(at(service)) as bridge:
            bridge.list_tools("it")

            def hold_seconds() -> float:
                with watching(bridge) as stalls:
                    assert bridge.call_tool("it", "one").structured == rows
                return max(stalls.longest_step_seconds, stalls.longest_hold_seconds)

            # A busy machine may cause a stall too, but not three times.
            assert any(hold_seconds() < MAX_HOLD_SECONDS for _ in range(3))
    finally:
        gc.enable()


def test_no_log_of_the_library_has_a_key(service: HttpService, caplog: pytest.LogCaptureFixture):
    """The library logs the URL of each request, usually to stderr."""
    scheme = {"type": "apiKey", "in": "query", "name": "key"}
    keyed = {"components": {"securitySchemes": {"key": scheme}}, "security": [{"key": []}]}
    offer(service, "one", **keyed)
    with caplog.at_level(logging.INFO, "httpx2"):
        with using(f"{at(service)}?token={KEY}", auth={"apiKey": f"{KEY}&é"}) as bridge:
            bridge.call_tool("it", "one")
        assert service.last.query == f"key={KEY}%26%C3%A9"
        assert caplog.text.count("HTTP Request: GET") == 2
        assert f"{service.url}/one?key=***" in caplog.text
        assert KEY not in caplog.text
    assert logging.getLogger("httpx2").filters == []


def test_an_unusable_template_is_reported_when_the_document_is_read(service: HttpService):
    wrong = {"one": {"url": "{% for x in range(9) %}"}, "two": {"body": "{{ " + "(" * 3000}}
    with using(at(service), operations=wrong) as bridge:
        assert [x.name for x in bridge.list_tools("it")] == ["one", "two"]
        one, two = status_of(bridge, "it").notes
    assert one.startswith("`operations`, at one: `url` of an operation is no usable template")
    assert two.startswith("`operations`, at two: `body` of an operation is no usable template")


def test_an_operation_that_leads_elsewhere_does_not_open_the_circuit_breaker(service: HttpService):
    """The service itself has answered, so its circuit breaker does not count a failure."""
    for status, location in ((302, "http://10.0.0.1/"), (202, "http://nobody.invalid/job")):
        service.replies["/two"] = redirect(location, status)
        with using(at(service)) as bridge:
            for _ in range(6):
                with pytest.raises(SourceFailed, match=r"in a private network|at another host"):
                    bridge.call_tool("it", "two")
            assert bridge.call_tool("it", "one").structured == {"n": 1}


# Bytes


def test_bytes_are_kept_as_a_file_of_this_user_for_a_week(
    service: HttpService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    headers = {"content-type": "application/pdf"}
    service.replies["/one"] = Reply(200, b"%PDF\0", headers)
    folder = tmp_path / "xai-mcp-agent" / "answers" / "it"
    folder.mkdir(parents=True)
    (folder / "old.bin").write_bytes(b"x")
    os.utime(folder / "old.bin", (0, 0))
    with using(at(service)) as bridge:
        result = bridge.call_tool("it", "one")
    (file,) = folder.iterdir()
    assert file.suffix == ".pdf"
    assert (file.read_bytes(), file.stat().st_mode & 0o077) == (b"%PDF\0", 0)
    assert result.notes == (f"its 5 bytes are kept for 7 days as the file {file}",)
    monkeypatch.setenv("XDG_CACHE_HOME", str(file))
    with using(at(service)) as bridge:
        result = bridge.call_tool("it", "one")
    assert not result.is_error
    assert "could not be written to a file" in result.notes[0]
