"""What functions give back: any value, of any size, told to a model as JSON or refused in words."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.stalls import watching
from xai_mcp_agent import Bridge, ToolTimeout
from xai_mcp_agent.sources.plain_json import plain, write_json

# Written at once it would be some tenths of a second; a pass of Python's collector takes one.
_MAX_HOLD_SECONDS = 0.15


@contextmanager
def offering(folder: Path, text: str, **entry: Any) -> Generator[Bridge]:
    """A bridge whose `it` has this text as its file."""
    file = folder / "tools.py"
    file.write_text(text, encoding="utf-8")
    settings = {"functions": {"it": {"file": str(file), **entry}}}
    with Bridge(settings, store="memory") as bridge:
        bridge.list_tools("it")
        yield bridge


# Of any size


@pytest.mark.parametrize(
    ("value", "length"),
    [
        ("[{'a': 1, 'b': 'x'} for _ in range(200_000)]", 4_000_000),
        ("['x' * 1_000_000] * 15", 15_000_060),
    ],
    ids=["objects", "texts"],
)
def test_a_large_result_is_made_and_written_while_others_go_on(
    tmp_path: Path, value: str, length: int
) -> None:
    """Python's own writer would hold the interpreter from the first byte to the last."""
    with offering(tmp_path, f"VALUE = {value}\ndef f(): return VALUE\n") as bridge:

        def hold() -> float:
            with watching(bridge) as stalls:
                result = bridge.call_tool("it", "f")
            assert len(result.text) == length
            return stalls.longest_hold_seconds

        assert any(hold() < _MAX_HOLD_SECONDS for _ in range(3))


@pytest.mark.parametrize(
    "body",
    [
        "return 'x' * 17_000_000",
        "return {'a': ['x' * 1_000_000] * 17}",
        "while True: yield 'x' * 1_000_000",
    ],
)
def test_one_that_nobody_could_read_is_refused_with_what_to_do(tmp_path: Path, body: str) -> None:
    with offering(tmp_path, f"def f():\n    {body}\n") as bridge:
        result = bridge.call_tool("it", "f")
    assert result.is_error
    assert result.text == (
        "f failed: its result has more than 16 MB. Save it to a file and give back the file's name."
    )


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_generator_gives_back_all_that_it_gives(tmp_path: Path, kind: str) -> None:
    with offering(tmp_path, f"{kind} f():\n    yield 1\n    yield {{'a': 2}}\n") as bridge:
        assert bridge.call_tool("it", "f").structured == [1, {"a": 2}]


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    while True:\n        GATE.wait(0.01)\n        yield 1\n",
        "async def f():\n    while True:\n        await asyncio.sleep(0.01)\n        yield 1\n",
    ],
    ids=["def", "async def"],
)
def test_a_generator_without_an_end_ends_when_nobody_waits_any_more(
    tmp_path: Path, text: str
) -> None:
    head = "import asyncio, threading\nGATE = threading.Event()\nENDED = threading.Event()\n"
    body = text.replace("    while", "    try:\n     while", 1)
    ended = f"{head}{body}    finally: ENDED.set()\ndef wait(): return ENDED.wait(20)\n"
    with offering(tmp_path, ended) as bridge:
        with pytest.raises(ToolTimeout, match="We asked it to stop"):
            bridge.call_tool("it", "f", timeout_seconds=0.3)
        assert bridge.call_tool("it", "wait").structured is True


# Of any kind


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("b'\\xff\\x00'", "/wA="),
        ("None", "The tool ran and returned nothing."),
        ("'\\u00e4'.encode()", "\u00e4"),
        ("{'a': b'\\xff', 'b': bytearray(b'x')}", '{"a": "/w==", "b": "x"}'),
        ("{'a': float('nan'), float('-inf'): 1}", '{"a": "NaN", "-Infinity": 1}'),
        ("{None: 1, True: 2, 3: 4, (1, 2): 5}", '{"null": 1, "true": 2, "3": 4, "[1, 2]": 5}'),
        ("[Fraction(1, 3), Decimal('1.10'), date(2026, 1, 2), Kind.A]",
         '["1/3", "1.10", "2026-01-02", "a"]'),
        ("[Text('t'), Number(1.5), frozenset({1}), deque([2])]", '["t", 1.5, [1], [2]]'),
        ("[Model(a=1, b=[Model(a=2)]), Data(3)]",
         '[{"a": 1, "b": [{"a": 2, "b": []}]}, {"x": 3}]'),
    ],
)  # fmt: skip
def test_what_json_does_not_know_is_reported_as_near_as_can_be(
    tmp_path: Path, value: str, text: str
) -> None:
    names = (
        "from collections import deque\nfrom dataclasses import dataclass\n"
        "from datetime import date\n"
        "from decimal import Decimal\nfrom enum import Enum\nfrom fractions import Fraction\n"
        "from pydantic import BaseModel\n"
        "class Kind(str, Enum): A = 'a'\nclass Text(str): pass\nclass Number(float): pass\n"
        "class Model(BaseModel):\n    a: int\n    b: list['Model'] = []\n"
        "@dataclass\nclass Data:\n    x: int\n"
    )
    with offering(tmp_path, f"{names}def f(): return {value}\n") as bridge:
        result = bridge.call_tool("it", "f")
    assert (result.is_error, result.text) == (False, text)
    json.dumps(result.structured, allow_nan=False)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("x = []; x.append(x); return x", "holds itself"),
        ("x = {}; x['a'] = [x]; return x", "holds itself"),
        ("x = []\n    for _ in range(10_000): x = [x]\n    return x", "more than 200 deep"),
        ("return ToolResult(parts=('text',))", "`parts` of its ToolResult contain a str"),
        ("return ToolResult(parts=None)", "f failed: TypeError"),
    ],
)
def test_a_result_that_is_invalid_is_reported(tmp_path: Path, body: str, told: str) -> None:
    with offering(
        tmp_path, f"from xai_mcp_agent import ToolResult\ndef f():\n    {body}\n"
    ) as bridge:
        result = bridge.call_tool("it", "f")
    assert result.is_error
    assert told in result.text


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@settings(max_examples=40)
@given(_JSON)
def test_json_itself_stays_as_it_is_and_is_written_as_python_writes_it(value: Any) -> None:
    found = plain(value)
    infinite = "Infinity" in json.dumps(value)
    assert infinite or found == value
    assert write_json(found) == json.dumps(found, ensure_ascii=False)


# Defaults


def test_a_default_that_json_has_no_number_for_is_left_to_the_function(tmp_path: Path) -> None:
    """No service takes a request with NaN in it, and so no tool of it would be usable."""
    text = (
        "def f(x: float = float('nan'), y: float = float('-inf'), z: int = 3): "
        "return f'{x} {y} {z}'\n"
    )
    with offering(tmp_path, text) as bridge:
        (tool,) = bridge.list_tools("it")
        assert bridge.call_tool("it", "f").text == "nan -inf 3"
    json.dumps(tool.input_schema, allow_nan=False)
    assert [x.get("default") for x in tool.input_schema["properties"].values()] == [None, None, 3]
