"""Any document gives tools and problems, or one clear error."""

from __future__ import annotations

import copy
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sources.openapi.documents import body, document
from tests.support.any_json import SCALARS, nested
from xai_mcp_agent.core.json import JsonObject
from xai_mcp_agent.core.schema_check import SchemaCheck
from xai_mcp_agent.sources.openapi import BadDocument, Service, load_service
from xai_mcp_agent.sources.openapi.document import NotReadable, parse

DATA = Path(__file__).parents[2] / "data" / "openapi"
FILES = sorted(DATA.glob("*"))
ODD: list[Any] = [
    None, True, False, 0, -1, 1.5, 10**400, "", "x", "a\x00b\u202e", "{{ 7*7 }}", "../x", "\ud800",
    "#/components/schemas/Node", "#/nothing", "#", "#/", "file:///etc/hostname", "http://127.0.0.1:9/x",
    [], [None], ["x", 5], {}, {"$ref": "#"}, {"$ref": "#/paths"}, {"$ref": 5}, {"": ""}, [[[[[]]]]],
    {"$ref": "#/components/schemas/Node"}, {"type": ["object", 5]},
    {"allOf": [{"$ref": "#/components"}]},
]  # fmt: skip
WORDS = ["$ref", "type", "name", "in", "schema", "allOf", "x", "required"]
ANYTHING = nested(SCALARS | st.floats() | st.sampled_from(ODD), st.text(max_size=8), 8)


def check_service(loaded: Service) -> None:
    """Check the rules for every service."""
    names = [x.name for x in loaded.tools]
    assert len(set(names)) == len(names)
    for tool in loaded.tools:
        assert tool.name.isascii()
        assert 0 < len(tool.name) <= 128
        assert tool.input_schema["type"] == "object"
        check = SchemaCheck(tool.input_schema)
        # A type may be defined by itself; arguments of such a tool are not checked.
        assert not check.broken or "lead back to themselves" in check.broken
        placed = [x.argument for x in tool.plan.placements]
        placed += [tool.plan.body.argument] if tool.plan.body and tool.plan.body.argument else []
        assert sorted(placed) == sorted(tool.input_schema["properties"])
        json.dumps(tool.plan.as_json())
    assert all(x.reason for x in loaded.problems)
    assert len(loaded.inventory_hash) == 64


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every list and object with each of its keys."""
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from places(value[key])


def mutate(root: JsonObject, choose: random.Random, other: Any) -> JsonObject:
    """Return a copy of the document with a few parts replaced, moved or removed."""
    loaded = copy.deepcopy(root)
    for _ in range(choose.randint(1, 6)):
        all_places = list(places(loaded))
        if not all_places:
            break
        inner, key = choose.choice(all_places)
        match choose.randint(0, 3):
            case 0:
                inner[key] = copy.deepcopy(other)
            case 1 if isinstance(inner, dict):
                inner[choose.choice(WORDS)] = copy.deepcopy(other)
            case 2:
                outer, another = choose.choice(all_places)
                inner[key] = copy.deepcopy(outer[another])
            case _:
                del inner[key]
    return loaded


def outcome(load: Callable[[], Any]) -> Any:
    """Return the result, or None after an error of the expected types."""
    with suppress(BadDocument, NotReadable):
        return load()
    return None


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
@settings(max_examples=15)
@given(st.randoms(use_true_random=False), ANYTHING | st.sampled_from(ODD))
def test_any_document_loads_or_fails_clearly(file: Path, choose: random.Random, other: Any):
    root = parse(file.read_bytes())
    loaded = outcome(lambda: load_service(mutate(root, choose, other)))
    if loaded is not None:
        check_service(loaded)
        assert [x for x in loaded.problems if "cannot be understood" in x.reason] == []


@settings(max_examples=60)
@given(st.text() | st.binary() | st.text("[]{}:,-&*!|>'\"% \n#?ab01~<").map(lambda x: f"a: {x}"))
def test_any_text_is_read_or_refused(text: str | bytes):
    json.dumps(outcome(lambda: parse(text)))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_document_of_the_tests_is_converted_whole(file: Path):
    loaded = load_service(file)
    check_service(loaded)
    assert loaded.problems == ()
    assert len(loaded.tools) > 2
    assert load_service(file).inventory_hash == loaded.inventory_hash


# Hostile ones


def test_a_document_with_doubling_references_loads_quickly():
    """References that double at every step must be counted, not followed."""
    definitions = {
        f"S{n}": {"allOf": [{"$ref": f"#/components/schemas/S{n + 1}"}] * 10, "properties": {
            x: {"$ref": f"#/components/schemas/S{(n * 7 + ord(x)) % 100}"} for x in "abcdef"
        }} for n in range(100)
    }  # fmt: skip
    paths = {f"/{n}": {"post": body({"$ref": f"#/components/schemas/S{n}"})} for n in range(100)}
    started = time.process_time()
    loaded = load_service(document(paths, components={"schemas": {**definitions, "S100": {}}}))
    assert time.process_time() - started < 3
    assert len(loaded.tools) + len(loaded.problems) == 100
