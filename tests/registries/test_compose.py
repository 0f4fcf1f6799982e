"""From any document to an entry: it means what it says, whatever a stranger wrote.

Who decided it: reference sources.md 5.2 and 5.4.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.any_json import SCALARS, nested
from xai_mcp_agent import BadSetting, settings_from
from xai_mcp_agent.registries.entries import compose
from xai_mcp_agent.registries.offers import Listing, looks_like, manifest_of, signals_of
from xai_mcp_agent.registries.readers import document_of
from xai_mcp_agent.registries.server_json import (
    Refused,
    read_server,
    version_order,
    wrong_with_version,
)
from xai_mcp_agent.settings.registries import USUAL_REGISTRIES

SECRET = "sk-of-the-person"
PIECES = ["$", "${KEY}", "{KEY}", "$${", "${v}", "{v}", "{w}", "${env:KEY}", "x"]
WORDS = st.lists(st.sampled_from(PIECES), max_size=3).map("".join)


def read_with_secret(entry: dict[str, Any], needs: list[str]) -> str:
    """Return the entry with variables filled in, and a key in the environment."""
    environ = {"KEY": SECRET, **dict.fromkeys(needs, "given")}
    read = settings_from({"mcpServers": {"it": entry}}, environ=environ)
    if "it" not in read.sources:
        return ""
    server = read.server("it")
    parts = (server.command, server.args, server.url, dict(server.env), dict(server.headers))
    return json.dumps(parts)


@example(value="${KEY}", default="", inner="", other="", typed="")
@example(value="${v}", default="", inner="{KEY}", other="", typed="")
@example(value="{w}{KEY}", default="", inner="", other="", typed="$")
@given(value=WORDS, default=WORDS, inner=WORDS, other=WORDS, typed=st.sampled_from(["", "$", "{"]))
def test_no_text_of_a_registry_names_a_variable_of_the_person(
    value: str, default: str, inner: str, other: str, typed: str
):
    """In any combination of its parts with a person's values."""
    variables = {"v": {"default": inner}, "w": {"isRequired": True}}
    fields = {"value": value, "variables": variables}
    package = {
        "registryType": "npm", "identifier": "a", "version": "1.0.0",
        "packageArguments": [
            {"type": "positional", **fields},
            {"type": "named", "name": "--flag", "default": default},
        ],
        "environmentVariables": [{"name": "A", **fields}, {"name": "B", "default": other}],
    }  # fmt: skip
    remote = {
        "type": "sse", "url": f"https://example.com/{value}", "variables": variables,
        "headers": [{"name": "A", **fields, "default": default}],
    }  # fmt: skip
    values = {"w": typed} if typed and "{w}" in value else None
    for way in ({"packages": [package]}, {"remotes": [remote]}):
        try:
            composition = compose(
                read_server({"name": "a/b", "version": "1", **way}), "it", values=values
            )
        except (Refused, BadSetting):
            continue
        needs = [x.variable for x in composition.needs]
        assert "KEY" not in needs
        assert SECRET not in read_with_secret(composition.entry, needs)


ANYTHING = nested(SCALARS | st.floats() | WORDS, st.text(max_size=5), 8)
_INPUT_KEYS = """
    name type value default isRequired isSecret format choices variables valueHint description
    isRepeated
"""
INPUTS = (
    st.lists(st.dictionaries(st.sampled_from(_INPUT_KEYS.split()), ANYTHING), max_size=2) | ANYTHING
)
PACKAGE = st.fixed_dictionaries(
    {"registryType": st.sampled_from(["npm", "pypi", "oci", "nuget", "mcpb", "cargo", "x"])},
    optional={
        "identifier": st.sampled_from(["a", "@a/b", "a/b:1", "-x"]) | ANYTHING,
        "version": st.sampled_from(["1.0.0", "latest", "^1"]) | ANYTHING,
        "transport": ANYTHING | st.just({"type": "stdio"}), "fileSha256": ANYTHING,
        "runtimeArguments": INPUTS, "packageArguments": INPUTS, "environmentVariables": INPUTS,
    },
)  # fmt: skip
REMOTE = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["sse", "streamable-http"]),
        "url": st.sampled_from(["https://x/{v}", "http://127.0.0.1", "{v}"]) | WORDS,
    },
    optional={"headers": INPUTS, "variables": ANYTHING},
)
SERVER = st.fixed_dictionaries(
    {"name": st.sampled_from(["a/b", "x", ""]) | ANYTHING, "version": st.just("1") | ANYTHING},
    optional={
        "packages": st.lists(PACKAGE, max_size=2) | ANYTHING,
        "remotes": st.lists(REMOTE, max_size=2) | ANYTHING,
        "description": ANYTHING, "repository": ANYTHING, "tags": ANYTHING, "$schema": ANYTHING,
    },
)  # fmt: skip


@settings(max_examples=50)
@given(server=SERVER, meta=ANYTHING)
def test_a_document_of_anything_is_read_or_refused(server: Any, meta: Any):
    document = document_of({"server": server, "_meta": meta}, "https://host/here")
    if document.refused:
        return
    read = read_server(document.server)
    assert manifest_of(document, {}).as_json()["name"] == document.name
    try:
        composition = compose(read, "it", allow=("image-tag", "runtime-options", "secret-argument"))
    except (Refused, BadSetting):
        return
    listing = Listing(USUAL_REGISTRIES["official"], document, ("1",))
    assert list(signals_of(listing, composition, "npm was not asked", "it", {"it": 3}))
    assert all(isinstance(x, str) for x in composition.entry.get("args", []))
    environ = {x.variable: "x" for x in composition.needs}
    read_settings = settings_from({"mcpServers": {"it": composition.entry}}, environ=environ)
    assert read_settings.notes == ()


def test_arguments_become_words_of_a_command():
    rows: list[tuple[dict[str, Any], list[str]]] = [
        ({"type": "named", "name": "--a", "value": "b"}, ["--a", "b"]),
        ({"type": "named", "name": "--a", "value": "-b"}, ["--a=-b"]),
        ({"type": "named", "name": "-a", "default": "b"}, ["-a", "b"]),
        ({"type": "named", "name": "--on", "format": "boolean", "value": "true"}, ["--on"]),
        ({"type": "named", "name": "--on", "format": "boolean", "value": "false"}, []),
        ({"type": "named", "name": "--on", "isRequired": True}, ["--on"]),
        ({"type": "named", "name": "--on"}, []),
        ({"type": "named", "name": "--a", "description": "what", "isRequired": True},
         ["--a", "${IT_A}"]),
        ({"type": "positional", "valueHint": "port", "isRequired": True}, ["${IT_PORT}"]),
        ({"type": "positional", "valueHint": "PATH", "isRequired": True}, ["${IT_PATH}"]),
        ({"type": "positional", "valueHint": "path"}, []),
        ({"type": "positional", "value": "{a}", "variables": {"a": {"default": "x"}}}, ["x"]),
        ({"type": "positional", "value": "{a}"}, ["{a}"]),
    ]  # fmt: skip
    for argument, args in rows:
        package = {"registryType": "pypi", "identifier": "a", "version": "1.0",
                   "packageArguments": [argument]}  # fmt: skip
        server = read_server({"name": "a/b", "version": "1", "packages": [package]})
        assert compose(server, "it").entry["args"] == ["a==1.0", *args]


def test_only_exact_versions_are_taken():
    """Versions have their order."""
    for version in ("1.0.0", "1.0.0-beta.1", "1.2.3+build", "10.20.30", "0.0.1-seed"):
        assert wrong_with_version(version, "npm") == ""
    moving = ("", "latest", "^1.0.0", "~1", ">=1", "1.x", "*", "1 || 2", "1.0", "1.0.0 ", "v\n1")
    for version in moving:
        assert wrong_with_version(version, "npm")
    order = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-beta", "1.0.0", "1.0.1", "1.2.0", "1.10.0", "2"]
    assert sorted([*order[::2], *order[1::2]], key=version_order) == order


def test_names_that_look_alike():
    rows = [
        ("notes", "n0tes", True), ("github-tools", "githud-tools", True),
        ("filesystem", "fliesystem", True), ("a", "b", False), ("git", "gut", False),
        ("weather", "whether-or-not", False), ("slack", "black", False),
    ]  # fmt: skip
    for name, other, alike in rows:
        assert looks_like(name, other) is alike
