"""Documents are read in any format, and only from the allowed places."""

from __future__ import annotations

import json
import os
import socket
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.sources.openapi.documents import OK, body, document, only, query, schemas, service, write
from xai_mcp_agent.sources.openapi import BadDocument, load_service
from xai_mcp_agent.sources.openapi.document import Document, NotReadable, parse
from xai_mcp_agent.sources.openapi.operations import convert

USUAL = """
openapi: 3.0.3
info: {title: Things, version: 1.0}
paths:
  /things:
    get:
      operationId: getThings
      parameters: [{name: state, in: query, schema: {type: string, enum: [on, off, no]}}]
      responses: {200: {description: Fine}}
"""


# Texts


def test_json_and_yaml_1_2_are_read_in_any_encoding():
    """OpenAPI 3.1, 4.3: words such as `no`, dates and times are texts; so is every key."""
    rows: list[tuple[str | bytes, Any]] = [
        ("{200: x, on: no, d: 2024-01-01, t: 18:00}",
         {"200": "x", "on": "no", "d": "2024-01-01", "t": "18:00"}),
        ("[010, 1.5, 0x10, 0o7, '5', +5, .5, 1e9, -1.5e3, .inf, ~]",
         [10, 1.5, 16, 7, "5", 5, 0.5, 1e9, -1500.0, ".inf", None]),
        ("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}),
        ("a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}", {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}),
        ("a: !mine 5\nb: !!str 5\nd: !!int 5", {"a": "5", "b": "5", "d": 5}),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        ("", None),
        ("{a: 1, b: [x,]}", {"a": 1, "b": ["x"]}),
        ("9" * 5000, "9" * 5000),
        *(('{"a": 1}'.encode(x), {"a": 1}) for x in ("utf-8-sig", "utf-16", "utf-32")),
    ]  # fmt: skip
    for text, value in rows:
        assert parse(text) == value


BILLION = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]" + "".join(
    f"\na{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)
)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: &x [*x]", "stands for nothing, or for itself"), ("a: *nothing", "stands for nothing"),
        ("- " * 300 + "x", "nested"), ("[" * 100_000, "nested"), ("a: [1", "not YAML"),
        ('{"a": 1,}}', "not JSON"), ("\n<!DOCTYPE html>", "it is a web page"),
        ("? [a]\n: 1", "a key that is a list"),
        (b"\xff\xfe\xff\xff\x00", "not text"), (BILLION, "aliases written out"),
    ],
)  # fmt: skip
def test_an_unreadable_text_is_reported_with_the_reason(text: str | bytes, says: str):
    with pytest.raises(NotReadable, match=says):
        parse(text)


# Documents


def test_an_unreadable_file_or_another_kind_of_document_is_one_clear_error(tmp_path: Path):
    rows: tuple[tuple[dict[str, Any], str], ...] = (
        ({}, "neither `openapi` nor `swagger`"),
        ({"openapi": {"x": 1}}, "neither `openapi` nor `swagger`"),
        ({"openapi": "4.0.0", "paths": {}}, "the version '4.0.0'"),
        ({"swagger": "1.2"}, "the version '1.2'"),
    )
    for root, words in rows:
        with pytest.raises(BadDocument, match=f"(?s){words}.*OpenAPI 3.0, 3.1 or 3.2"):
            load_service(root)
    file = tmp_path / "things.yaml"
    file.write_text(USUAL, encoding="utf-8")
    loaded = load_service(str(file))
    assert (loaded.version, loaded.tools[0].name) == ("1.0", "getThings")
    assert loaded.tools[0].input_schema["properties"]["state"]["enum"] == ["on", "off", "no"]
    (tmp_path / "broken.json").write_text("{")
    for name in ("nothing.yaml", "", "broken.json"):
        with pytest.raises(BadDocument, match="cannot be read"):
            load_service(tmp_path / name)


def test_a_document_from_a_yaml_reader_of_python_is_like_a_file():
    """Such readers turn `200:` into a number and `2024-01-01` into a date."""
    since = query("since", {"type": "string", "default": date(2024, 1, 1)})
    responses = {200: {"description": "Fine", "content": {"application/json": {"schema": {}}}}}
    loaded = service({"/a": {"get": {"responses": responses, "parameters": (since,)}}})
    assert loaded.problems == ()
    assert loaded.tools[0].input_schema["properties"]["since"]["default"] == "2024-01-01"
    assert loaded.tools[0].plan.accept == "application/json"


# Files beside it


PARTS = {
    "parts__p": {"limit": query("limit", {"$ref": "deep/s.json#/Count"})},
    "parts__deep__s": {
        "Count": {"type": "integer", "maximum": 9},
        "Up": {"$ref": "../../api.json#/x-s"},
    },
    "parts__path": {
        "post": {"operationId": "add", **body({"$ref": "deep/s.json#/Up"})},
        "get": {"$ref": "op.json"},
    },
    "parts__op": {"operationId": "look", "parameters": [{"$ref": "p.json#/limit"}]},
}


def test_a_document_in_several_files_is_one(tmp_path: Path):
    """Paths, operations, parameters and schemas may each be elsewhere, and lead back."""
    things = {"get": {"operationId": "list", "parameters": [{"$ref": "parts/p.json#/limit"}]}}
    root = document({"/things": things, "/others": {"$ref": "parts/path.json"}})
    root["x-s"] = {"type": "object", "properties": {"n": {"$ref": "parts/deep/s.json#/Count"}}}
    loaded = load_service(write(tmp_path, api=root, **PARTS) / "api.json")
    assert loaded.problems == ()
    assert {x.name for x in loaded.tools} == {"list", "look", "add"}
    for tool in loaded.tools:
        assert tool.input_schema["$defs"] == {"Count": {"type": "integer", "maximum": 9}}


def test_references_lead_only_into_the_documents_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """In any spelling; only the operation with such a reference is not a tool."""
    references = [
        "../secret.json", "parts/../../secret.json", "/etc/hostname", "file:///etc/hostname",
        "%2e%2e/secret.json", "..%2fsecret.json", "..\\secret.json", "link.json", "broken.json",
        "linked/secret.json", "http://127.0.0.1:9/x.json", "//127.0.0.1:9/x.json", "ftp://x/y",
        "C:\\x.json", ".", "parts", "nothing.json", "a\0b", "pipe", "http://[bad",
    ]  # fmt: skip
    folder = tmp_path / "inside"
    write(tmp_path, secret={"type": "string", "const": "TOP SECRET"})
    paths = {f"/{n}": {"post": body({"$ref": x})} for n, x in enumerate(references)}
    write(folder, api=document({**paths, "/good": {"get": {"responses": OK}}}), broken="{")
    (folder / "parts").mkdir()
    (folder / "link.json").symlink_to(tmp_path / "secret.json")
    (folder / "linked").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")  # reading it would never end
    monkeypatch.setattr(socket.socket, "connect", _no_network)
    loaded = load_service(folder / "api.json")
    assert [x.path for x in loaded.tools] == ["/good"]
    assert [x.path for x in loaded.problems] == list(paths)
    assert all(x.reason for x in loaded.problems)


def _no_network(*_args: Any) -> None:
    raise AssertionError("somebody reached for the network")


def test_a_document_of_a_host_gets_files_from_it_alone():
    """Not from a file, nor from another host; each file is requested once, even if missing."""
    requests: list[str] = []

    def fetch(url: str) -> bytes:
        requests.append(url)
        if url.endswith("gone.json"):
            raise OSError("the answer is 404")
        return b'{"type": "integer"}'

    paths = {
        f"/{n}": {"post": body({"$ref": x})}
        for n, x in enumerate(
            ("s.json", "https://api.example.com/other/s.json", "/s.json", "gone.json", "gone.json",
             "https://evil.example/s.json", "http://api.example.com/s.json", "file:///etc/hostname",
             "https://api.example.com:8443/s.json", "https://api.example.com@evil.example/s.json")
        )
    }  # fmt: skip
    url = "https://api.example.com/v1/openapi.json"
    loaded = convert(Document(json.dumps(document(paths)), url, fetch))
    assert [x.path for x in loaded.operations] == ["/0", "/1", "/2"]
    assert requests == [
        "https://api.example.com/v1/s.json", "https://api.example.com/other/s.json",
        "https://api.example.com/s.json", "https://api.example.com/v1/gone.json",
    ]  # fmt: skip
    assert len(loaded.problems) == len(paths) - 3


def test_a_document_of_too_many_files_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch):
    """Its host may have any number of files, each as large as allowed."""
    monkeypatch.setattr("xai_mcp_agent.sources.openapi.document._BUDGET", 10_000)
    requests: list[str] = []

    def fetch(url: str) -> bytes:
        requests.append(url)
        return b'{"type": "string", "description": "%s"}' % (b"x" * 600)

    paths = {f"/{n}": {"post": body({"$ref": f"s{n}.json"})} for n in range(50)}
    loaded = convert(Document(json.dumps(document(paths)), "https://h.example/x.json", fetch))
    assert len(requests) == 2
    assert len(loaded.operations) == 1
    assert all("too large" in x.reason for x in loaded.problems)


# References


COUNT = {"type": "integer", "maximum": 9}


def test_a_reference_to_a_reference_with_words_beside_it_is_followed_to_its_end():
    """OpenAPI 3.1, Reference Object: it may have a summary and a description of its own."""
    parts = {
        "parameters": {"A": {"$ref": "#/components/parameters/B", "description": "How many"},
                       "B": query("limit", COUNT)},
        "requestBodies": {"A": {"$ref": "#/components/requestBodies/B", "description": "It"},
                          "B": body({"type": "object", "properties": {"x": COUNT}})["requestBody"]},
        "pathItems": {"A": {"$ref": "#/components/pathItems/B", "summary": "Things"},
                      "B": {"post": {"parameters": [{"$ref": "#/components/parameters/A"}],
                                     "requestBody": {"$ref": "#/components/requestBodies/A"}}}},
    }  # fmt: skip
    loaded = service({"/a": {"$ref": "#/components/pathItems/A"}}, components=parts)
    assert loaded.problems == ()
    (tool,) = loaded.tools
    assert tool.input_schema["properties"] == {
        "limit": {**COUNT, "description": "How many"},
        "x": COUNT,
    }


def test_a_definition_with_a_bad_reference_costs_each_operation_that_needs_it():
    """A failed translation leaves nothing behind for the second operation."""
    definitions = schemas(A={"properties": {"x": {"$ref": "#/components/schemas/Nothing"}}})
    paths = {x: {"post": body({"$ref": "#/components/schemas/A"})} for x in ("/a", "/b")}
    loaded = service(paths, components=definitions)
    assert [x.path for x in loaded.problems] == ["/a", "/b"]


def test_names_in_references_may_be_encoded_or_not():
    rows = [
        ("My Pet", "My%20Pet"), ("My Pet", "My Pet"), ("My%20Pet", "My%20Pet"),
        ("My%20Pet", "My%2520Pet"), ("a/b~c", "a~1b~0c"), ("List«Pet»", "List«Pet»"),
    ]  # fmt: skip
    for name, reference in rows:
        parameter = query("x", {"$ref": f"#/components/schemas/{reference}"})
        tool = only({"parameters": [parameter]}, components=schemas(**{name: COUNT}))
        assert list(tool.input_schema["$defs"].values()) == [COUNT]


def test_a_document_is_known_by_the_address_that_it_gives_itself():
    """OpenAPI 3.2: `$self` may be relative to where the document is."""
    definitions = schemas(A={"type": "object", "properties": {"x": {}}})
    paths = {"/a": {"post": body({"$ref": "things#/components/schemas/A"})}}
    root = {**document(paths, "3.2.0", components=definitions), "$self": "/v1/things"}
    url = "https://api.example.com/v1/openapi.json"
    (operation,) = convert(Document(json.dumps(root), url)).operations
    assert list(operation.input_schema["properties"]) == ["x"]
