"""Documents: read whatever they look like, from where they may be, and from nowhere else."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.sources.openapi.documents import OK, body, document, query, service, write
from xai_mcp_agent.sources.openapi import BadDocument, load_service
from xai_mcp_agent.sources.openapi.document import (
    BadReference,
    Document,
    NotReadable,
    files_beside,
    parse,
)
from xai_mcp_agent.sources.openapi.operations import convert

USUAL = """
openapi: 3.0.3
info: {title: Things, version: 1.0}
servers: [{url: "https://api.example.com/v1/"}]
paths:
  /things/{id}:
    get:
      operationId: getThing
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}}
        - {name: state, in: query, schema: {type: string, enum: [on, off, no]}}
        - {name: since, in: query, schema: {type: string, default: 2024-01-01}}
      responses:
        200: {description: Fine}
"""


# Texts


def test_yaml_is_read_by_the_rules_of_its_own_version_1_2():
    """OpenAPI 3.1, 4.3: words such as `no`, dates and times are texts; so is every key."""
    text = "{200: x, on: no, when: 2024-01-01, at: 18:00, n: 010, f: 1.5, h: 0x10, o: 0o7, e: }"
    assert parse(text) == {
        "200": "x", "on": "no", "when": "2024-01-01", "at": "18:00", "n": 10, "f": 1.5, "h": 16,
        "o": 7, "e": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}),
        ("a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}", {"a": {"b": 1, "c": 2}, "d": {"b": 1, "c": 3}}),
        ("a: !mine 5\nb: !!str 5\nc: '5'\nd: !!int 5", {"a": "5", "b": "5", "c": "5", "d": 5}),
        ("- .inf\n- 1e9\n- -1.5e3\n- +5\n- .5", [".inf", 1e9, -1500.0, 5, 0.5]),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        ("", None),
        ("{a: 1, b: [x,]}", {"a": 1, "b": ["x"]}),
        ('\ufeff{"a": 1}', {"a": 1}),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_what_yaml_and_json_say_is_read(text: str, value: Any):
    assert parse(text) == value


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_json_in_any_encoding_it_may_have_is_read(encoding: str):
    assert parse('{"a": "\u00e4"}'.encode(encoding)) == {"a": "\u00e4"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: &x [*x]", "stands for nothing, or for itself"),
        ("a: *nothing", "stands for nothing"),
        ("[" * 300, "not JSON"),
        ("- " * 300 + "x", "nested"),
        ("[" * 100_000, "nested"),
        ("a: [1", "not YAML"),
        ('{"a": 1,}}', "not JSON"),
        ("? [a]\n: 1", "a key that is a list"),
        (b"\xff\xfe\xff\xff\x00", "not text"),
    ],
)
def test_what_cannot_be_read_says_why(text: str | bytes, says: str):
    with pytest.raises(NotReadable, match=says):
        parse(text)


def test_aliases_that_would_make_a_billion_parts_are_refused_before_they_do():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(NotReadable, match="aliases written out"):
        parse("\n".join(lines))


# Documents


def test_a_document_in_yaml_with_numbers_as_keys_keeps_its_operations():
    """Written by hand, many have `200:`; in YAML 1.1 these are no texts."""
    (tool,) = load_service_text(USUAL).tools
    assert tool.name == "getThing"
    assert tool.input_schema["properties"]["state"]["enum"] == ["on", "off", "no"]
    assert tool.input_schema["properties"]["since"]["default"] == "2024-01-01"
    assert tool.plan.base_url == "https://api.example.com/v1"


def load_service_text(text: str):
    return load_service(parse(text))


@pytest.mark.parametrize("version", ["3.0.0", "3.0.4", "3.1.0", "3.1.1", "3.2.0", "3.7.0"])
def test_every_version_3_is_read(version: str):
    assert len(service({"/a": {"get": {"responses": OK}}}, version).tools) == 1


@pytest.mark.parametrize(
    ("root", "says"),
    [
        ({}, "neither `openapi` nor `swagger`"),
        ([], "neither `openapi` nor `swagger`"),
        ({"openapi": "4.0.0", "paths": {}}, "the version '4.0.0'"),
        ({"swagger": "1.2"}, "the version '1.2'"),
        ({"openapi": {"x": 1}}, "neither"),
        ("just text", "neither"),
    ],
)
def test_what_is_no_such_document_is_one_clear_error(root: Any, says: str):
    with pytest.raises(BadDocument, match=says) as found:
        Document(root)
    assert "OpenAPI 3.0, 3.1 or 3.2" in str(found.value)


def test_a_document_without_paths_has_no_tools_and_no_problems():
    """OpenAPI 3.1: one may describe webhooks only."""
    found = load_service({"openapi": "3.1.0", "info": {}, "webhooks": {"x": {"post": {}}}})
    assert (found.tools, found.problems) == ((), ())


def test_a_file_is_loaded_and_a_missing_one_says_so(tmp_path: Path):
    file = tmp_path / "things.yaml"
    file.write_text(USUAL, encoding="utf-8")
    assert load_service(file).title == "Things"
    assert load_service(str(file)).version == "1.0"
    with pytest.raises(BadDocument, match=r"nothing\.yaml cannot be read"):
        load_service(tmp_path / "nothing.yaml")
    with pytest.raises(BadDocument, match="cannot be read"):
        load_service(tmp_path)
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(BadDocument, match=r"broken\.json cannot be read: it is not JSON"):
        load_service(tmp_path / "broken.json")


# Files beside it


def split(tmp_path: Path, **files: Any) -> Path:
    things = {"get": {"operationId": "list", "parameters": [{"$ref": "parts/p.json#/limit"}]}}
    paths = {"/things": things, "/others": {"$ref": "parts/path.json"}}
    write(tmp_path, api=document(paths), **files)
    return tmp_path / "api.json"


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
    file = split(tmp_path, **PARTS)
    root = json.loads(file.read_text())
    root["x-s"] = {"type": "object", "properties": {"n": {"$ref": "parts/deep/s.json#/Count"}}}
    file.write_text(json.dumps(root))
    found = load_service(file)
    assert found.problems == ()
    assert {x.name for x in found.tools} == {"list", "look", "add"}
    for tool in found.tools:
        assert tool.input_schema["$defs"] == {"Count": {"type": "integer", "maximum": 9}}


@pytest.mark.parametrize(
    "reference",
    [
        "../secret.json", "parts/../../secret.json", "/etc/hostname", "file:///etc/hostname",
        "%2e%2e/secret.json", "..%2fsecret.json", "..\\secret.json", "link.json",
        "linked/secret.json",
        "http://127.0.0.1:9/x.json", "//127.0.0.1:9/x.json", "ftp://x/y", "C:\\x.json", ".", "",
        "parts", "nothing.json", "a\0b", "pipe",
    ],
)  # fmt: skip
def test_nothing_is_read_but_in_the_folder_of_the_document(
    reference: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Whatever the reference looks like; it costs that operation, and nothing else."""
    folder = tmp_path / "inside"
    write(tmp_path, secret={"type": "string", "const": "TOP SECRET"})
    paths = {"/bad": {"post": body({"$ref": reference})}, "/good": {"get": {"responses": OK}}}
    write(folder, api=document(paths), parts__x={})
    (folder / "link.json").symlink_to(tmp_path / "secret.json")
    (folder / "linked").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")  # reading it would never end
    monkeypatch.setattr(socket.socket, "connect", _no_network)
    found = load_service(folder / "api.json")
    assert [x.path for x in found.tools] == ["/good"] if reference else True
    assert "TOP SECRET" not in str([x.input_schema for x in found.tools])
    assert all(x.path == "/bad" and x.method == "POST" and x.reason for x in found.problems)


def _no_network(*_args: Any) -> None:
    raise AssertionError("somebody reached for the network")


def test_a_document_given_as_it_is_reads_nothing(tmp_path: Path):
    write(tmp_path, s={"type": "string"})
    found = service({"/a": {"post": body({"$ref": f"{tmp_path}/s.json"})}})
    assert [x.path for x in found.problems] == ["/a"]


def test_a_document_of_a_host_gets_files_from_it_alone():
    """Never from a file, and from no other host; each once, whether it is there or not."""
    asked: list[str] = []

    def fetch(url: str) -> bytes:
        asked.append(url)
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
    found = convert(Document(document(paths), url, fetch))
    assert [x.path for x in found.operations] == ["/0", "/1", "/2"]
    assert asked == [
        "https://api.example.com/v1/s.json", "https://api.example.com/other/s.json",
        "https://api.example.com/s.json", "https://api.example.com/v1/gone.json",
    ]  # fmt: skip
    assert len(found.problems) == len(paths) - 3


def test_a_document_may_name_itself():
    """OpenAPI 3.2, `$self`: such a reference leads into the document, and nowhere else."""
    named = document(
        {"/a": {"post": body({"$ref": "https://else.example/api.json#/components/schemas/A"})}},
        "3.2.0",
        components={"schemas": {"A": {"type": "object", "properties": {"x": {}}}}},
    )
    found = load_service({**named, "$self": "https://else.example/api.json"})
    assert list(found.tools[0].input_schema["properties"]) == ["x"]
    assert load_service(named).problems


def test_a_file_that_says_nothing_useful_costs_the_operations_that_need_it(tmp_path: Path):
    write(tmp_path, api=document({"/a": {"post": body({"$ref": "x.json"})}}), x="{")
    file = tmp_path / "api.json"
    found = load_service(file)
    assert "cannot be read" in found.problems[0].reason
    with pytest.raises(BadReference):
        Document(document({}), file.as_uri(), files_beside(file)).file("x.json")


def test_when_a_document_is_large_enough_no_more_of_it_is_read(monkeypatch: pytest.MonkeyPatch):
    """Its host may offer any number of files, each of them as large as one may be."""
    monkeypatch.setattr("xai_mcp_agent.sources.openapi.document._BUDGET", 10_000)
    asked: list[str] = []

    def fetch(url: str) -> bytes:
        asked.append(url)
        return b'{"type": "string", "description": "%s"}' % (b"x" * 600)

    paths = {f"/{n}": {"post": body({"$ref": f"s{n}.json"})} for n in range(50)}
    found = convert(Document(document(paths), "https://h.example/x.json", fetch))
    assert len(asked) == 2
    assert len(found.operations) == 1
    assert all("too large" in x.reason for x in found.problems)
