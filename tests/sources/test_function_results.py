"""Results of functions: values of any type and size become JSON or an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sources.test_functions import offering
from tests.support.any_json import SCALARS, nested
from tests.support.stalls import watching
from xai_mcp_agent import ToolTimeout
from xai_mcp_agent.sources.results import result_of

# Writing it at once would take some tenths of a second; Python's garbage collection takes one.
_MAX_HOLD_SECONDS = 0.15


# Of any size


def test_a_large_result_is_converted_without_blocking_other_work(tmp_path: Path):
    """Python's writer and pydantic's hold the interpreter from the first byte to the last."""
    text = "VALUE = [{'a': 1, 'b': 'x'} for _ in range(200_000)]\ndef f(): return VALUE\n"
    with offering(tmp_path / "tools.py", text) as bridge:

        def hold() -> float:
            with watching(bridge) as stalls:
                assert len(bridge.call_tool("it", "f").text) == 4_000_000
            return stalls.longest_hold_seconds

        assert any(hold() < _MAX_HOLD_SECONDS for _ in range(6))  # a busy machine adds as much


@pytest.mark.parametrize("body", ["return {'a': ['x' * 1_000_000] * 9}", "while True: yield 1"])
def test_a_result_that_is_too_large_is_refused_with_advice(tmp_path: Path, body: str):
    with offering(tmp_path / "tools.py", f"def f():\n    {body}\n") as bridge:
        result = bridge.call_tool("it", "f")
    assert result.is_error
    assert result.text == (
        "f failed: ResultTooLarge: its result has more than 8 MB. "
        "Save it to a file and return the file's name."
    )


@pytest.mark.parametrize(
    ("kind", "wait"), [("def", "GATE.wait(0.01)"), ("async def", "await asyncio.sleep(0.01)")]
)
def test_an_endless_generator_ends_with_its_call(tmp_path: Path, kind: str, wait: str):
    """A generator with an end returns all its values."""
    text = f"""
import asyncio, threading
GATE, ENDED = threading.Event(), threading.Event()
{kind} endless():
    try:
        while True:
            {wait}
            yield 1
    finally: ENDED.set()
{kind} two():
    yield 1
    yield {{"a": 2}}
def wait(): return ENDED.wait(20)
"""
    with offering(tmp_path / "tools.py", text) as bridge:
        assert bridge.call_tool("it", "two").structured == [1, {"a": 2}]
        with pytest.raises(ToolTimeout, match="We asked it to stop"):
            bridge.call_tool("it", "endless", timeout_seconds=0.2)
        assert bridge.call_tool("it", "wait").structured is True


# Of any kind


KINDS = """
from collections import deque
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pydantic import BaseModel
class Kind(str, Enum): A = 'a'
class Text(str): pass
class Number(float): pass
class Model(BaseModel):
    a: int
    b: list['Model'] = []
@dataclass
class Data:
    x: int
def f(expression: str): return eval(expression)
"""
VALUES = {
    "b'\\xff\\xfe\\xfb'": "//77",
    "None": "The tool ran and returned nothing.",
    "'\\u00e4'.encode()": "\u00e4",
    "{'a': b'\\xff', 'b': bytearray(b'x'), 1: (b'y', {2})}":
        '{"a": "/w==", "b": "x", "1": ["y", [2]]}',
    "[Data(b'\\xff'), Model(a=1)]": '[{"x": "/w=="}, {"a": 1, "b": []}]',
    "{'caf\\udce9': ['\\udce9.txt']}": '{"caf?": ["?.txt"]}',
    "{'a': float('nan'), float('-inf'): 1}": '{"a": "NaN", "-inf": 1}',
    "{None: 1, True: 2, 3: 4, (1, 2): 5}": '{"None": 1, "true": 2, "3": 4, "1,2": 5}',
    "[Fraction(1, 3), Decimal('1.10'), date(2026, 1, 2), Kind.A]":
        '["1/3", "1.10", "2026-01-02", "a"]',
    "[Text('t'), Number(1.5), frozenset({1}), deque([2])]": '["t", 1.5, [1], [2]]',
    "[Model(a=1, b=[Model(a=2)]), Data(3)]": '[{"a": 1, "b": [{"a": 2, "b": []}]}, {"x": 3}]',
}  # fmt: skip


def test_values_that_json_does_not_have_become_similar_ones(tmp_path: Path):
    with offering(tmp_path / "tools.py", KINDS) as bridge:
        for expression, text in VALUES.items():
            result = bridge.call_tool("it", "f", {"expression": expression})
            assert (result.is_error, result.text) == (False, text)
            json.dumps(result.structured, allow_nan=False)


TABLES = r"""
from datetime import datetime
import numpy
class Table:  # as a DataFrame of pandas
    def __init__(self, rows): self.size = rows
    def __str__(self): return "0\n...\n9"
    def to_string(self): return "\n".join(map(str, range(self.size)))
class Missing(datetime):  # as NaT of pandas
    year = property(lambda self: float("nan"))
    def __str__(self): return "NaT"
def f(expression: str): return eval(expression)
"""


def test_tables_and_arrays_are_written_whole(tmp_path: Path):
    """Printed, pandas and numpy leave the middle out; one missing date is no error."""
    with offering(tmp_path / "tools.py", TABLES) as bridge:
        for expression, text in {
            "Table(4)": "0\n1\n2\n3",
            "numpy.arange(2000)": str(list(range(2000))),
            "{'n': numpy.int64(3), 'x': numpy.float32(1.5), 't': Table(2)}":
                '{"n": 3, "x": 1.5, "t": "0\\n1"}',
            "[Missing(2026, 1, 2), datetime(2026, 1, 2), 1]": '["NaT", "2026-01-02T00:00:00", 1]',
        }.items():  # fmt: skip
            assert bridge.call_tool("it", "f", {"expression": expression}).text == text
        for expression in ("Table(10**9)", "{'a': numpy.zeros(10**6)}"):
            result = bridge.call_tool("it", "f", {"expression": expression})
            assert "its result has more than 8 MB" in result.text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("x = {}; x['a'] = [x]; return x", "Circular reference"),
        ("x = []\n    for _ in range(10_000): x = [x]\n    return x", "depth exceeded"),
        ("return ToolResult(parts=('text',))", "`parts` of its ToolResult contain a str"),
        ("return ToolResult(parts=None)", "f failed: TypeError"),
    ],
)
def test_a_result_that_is_invalid_is_reported(tmp_path: Path, body: str, words: str):
    text = f"from xai_mcp_agent import ToolResult\ndef f():\n    {body}\n"
    with offering(tmp_path / "tools.py", text) as bridge:
        result = bridge.call_tool("it", "f")
    assert result.is_error
    assert words in result.text


@settings(max_examples=40)
@given(nested(SCALARS | st.floats(allow_nan=False, allow_infinity=False) | st.text(), st.text()))
def test_json_values_stay_unchanged(value: Any):
    result = result_of([value])
    assert result.structured == [value]
    assert result.text == json.dumps([value], ensure_ascii=False)
