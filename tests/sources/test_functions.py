"""Python functions of a file as a source: listed, described, called, and prevented from harm."""

from __future__ import annotations

import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.support.bridges import failure_of, names_of, source_bridge, status_of
from tests.support.files import change
from tests.support.processes import wait_until
from xai_mcp_agent import Bridge, InvalidArguments, SourceFailed, ToolTimeout

# A function that waits for it hangs until the end of the test.
GATE = threading.Event()
HANGING = "import tests.sources.test_functions as t; t.GATE.wait()\n"

TOOLS = '''
from datetime import date
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal
import os.path
from os.path import join
from pydantic import BaseModel, Field

class Color(Enum):
    RED = "red"

class Item(BaseModel):
    name: str
    price: float = 1.0

def order(
    items: list[Item], when: date, where: Path, color: Color = Color.RED,
    how: Literal["fast", "slow"] = "fast",
    count: Annotated[int, Field(description="How many.", ge=1)] = 2,
) -> Item:
    """Order things.

    All of them at once.
    """
    assert isinstance(when, date) and isinstance(where, Path) and color is Color.RED
    return Item(name=f"{how} {when.year} {where.name}", price=sum(x.price for x in items) * count)

async def later(x: int) -> list[int]:
    return [x, x + 1]

@lru_cache
def cached(schema: str, model_config: int = 1) -> str:
    return f"{schema} {model_config}"

def first(a: int, b: int = 2, *rest: int, c: int = 3, **more: int) -> int:
    return a + b + c

def placed(a: int, /) -> int:
    return a

def unknown(a: "Nowhere") -> int:
    return a

def _hidden() -> None: ...
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tools.py"


def offering(file: Path, text: str | None = None, **entry: Any) -> Bridge:
    """A bridge whose source `it` is this file."""
    if text is not None:
        file.write_text(text, encoding="utf-8")
    return source_bridge("functions", file=str(file), **entry)


@pytest.fixture
def gate() -> Generator[None]:
    GATE.clear()
    yield
    GATE.set()


def failure_in(text: str | None, file: Path, **entry: Any) -> SourceFailed:
    with offering(file, text, **entry) as bridge:
        return failure_of(bridge)


# Listing


def test_public_functions_that_the_file_defines_are_tools(file: Path):
    with offering(file, TOOLS) as bridge:
        assert names_of(bridge.list_tools("it")) == ["order", "later", "cached", "first"]
        status = status_of(bridge, "it")
    assert (status.kind, status.transport, status.tool_count) == ("functions", "python", 4)
    assert (status.state, status.server) == ("ready", "tools.py")
    assert status.notes == (
        "placed is left out because its types cannot be understood: its parameter 'a' is "
        "positional-only, and tools pass arguments by name",
        "unknown is left out because its types cannot be understood: name 'Nowhere' is not defined",
    )
    with offering(file, TOOLS, exclude=["l*"], disabledTools=["Cached"]) as bridge:
        assert names_of(bridge.list_tools("it")) == ["order", "first"]


def test_a_tool_is_described_by_docstring_and_annotations(file: Path):
    with offering(file, TOOLS) as bridge:
        tool, *_ = bridge.list_tools("it")
    assert tool.description == "Order things.\n\nAll of them at once."
    properties = tool.input_schema["properties"]
    assert properties["count"] == {"type": "integer", "minimum": 1, "default": 2,
                              "description": "How many."}  # fmt: skip
    assert properties["how"]["enum"] == ["fast", "slow"]
    assert properties["when"] == {"type": "string", "format": "date"}
    assert tool.input_schema["required"] == ["items", "when", "where"]
    assert tool.output_schema is not None
    assert set(tool.output_schema["properties"]) == {"name", "price"}


def test_arguments_are_converted_and_models_come_back_as_json(file: Path):
    arguments = {"items": [{"name": "a", "price": 2}], "when": "2026-01-02", "where": "/x/y"}
    with offering(file, TOOLS) as bridge:
        result = bridge.call_tool("it", "order", arguments)
        assert bridge.call_tool("it", "later", {"x": 1}).structured == [1, 2]
        assert bridge.call_tool("it", "cached", {"schema": "s"}).text == "s 1"
        assert bridge.call_tool("it", "first", {"a": 1, "c": 5}).structured == 8
    assert result.structured == {"name": "fast 2026 y", "price": 4.0}
    assert result.text == '{"name": "fast 2026 y", "price": 4.0}'


def test_arguments_that_only_pydantic_can_check_are_refused_before_the_call(file: Path):
    wrong = {"items": [], "when": "yesterday", "where": "x"}
    with offering(file, TOOLS) as bridge, pytest.raises(InvalidArguments) as caught:
        bridge.call_tool("it", "order", wrong)
    assert caught.value.problems[0].startswith("when: ")
    assert "Expected: items: array" in str(caught.value)


# Errors in a call


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise KeyError('soup')", "f failed: KeyError: 'soup' (in tools.py, line 2)"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise BaseExceptionGroup('g', [SystemExit()])", "BaseExceptionGroup: g"),
        ("return f()", "RecursionError"),
        ("raise type('Odd', (Exception,), {'__str__': lambda s: 1 / 0})", "f failed: Odd"),
    ],
)
def test_an_exception_of_a_function_is_an_error_result_that_names_it(
    file: Path, body: str, words: str
):
    with offering(file, f"def f():\n    {body}\ndef ok(): return 'fine'\n") as bridge:
        result = bridge.call_tool("it", "f")
        assert result.is_error
        assert words in result.text
        assert bridge.call_tool("it", "ok").text == "fine"


def test_a_hanging_function_is_abandoned_and_the_others_can_be_called(file: Path, gate: None):
    text = f"def hang():\n    {HANGING}def ok(): return 'fine'\n"
    with offering(file, text, timeout=0.05) as bridge:
        with pytest.raises(ToolTimeout, match="goes on in the background"):
            bridge.call_tool("it", "hang")
        assert bridge.call_tool("it", "ok", timeout_seconds=20).text == "fine"


def test_a_function_that_never_ends_is_not_started_any_number_of_times(file: Path, gate: None):
    with offering(file, f"def hang():\n    {HANGING}", timeout=0.05) as bridge:
        others = {*threading.enumerate()}
        for _ in range(8):
            with pytest.raises(ToolTimeout):
                bridge.call_tool("it", "hang")
        with pytest.raises(SourceFailed, match="too many of its earlier calls"):
            bridge.call_tool("it", "hang")
        hanging = {x for x in threading.enumerate() if x.name == "it"} - others
        GATE.set()
        wait_until(lambda: not any(x.is_alive() for x in hanging), "they have ended")
        assert not bridge.call_tool("it", "hang", timeout_seconds=20).is_error


def test_prints_of_a_function_go_to_stderr(file: Path, capfd: pytest.CaptureFixture[str]):
    with offering(file, "print('at import')\ndef f():\n    print('in call')\n") as bridge:
        bridge.call_tool("it", "f")
    out, err = capfd.readouterr()
    assert out == ""
    assert "at import" in err
    assert "in call" in err


# Errors in the file


@pytest.mark.parametrize(
    ("text", "words", "step"),
    [
        ("def f(:\n", "line 1", "Correct the line"),
        ("x = 1\nimport nothing_of_that_name\n", "line 2", "pip install nothing_of_that_name"),
        ("import sys\nsys.exit(1)\n", "SystemExit: 1", "__main__"),
        ("raise KeyboardInterrupt\n", "KeyboardInterrupt", "Correct the file"),
        ("\0", "not Python", "Correct"),
        (None, "No such file", ""),
    ],
)
def test_a_failed_import_is_reported_with_its_line_and_the_next_step(
    file: Path, text: str | None, words: str, step: str
):
    error = failure_in(text, file)
    assert str(file) in error.problem
    assert words in error.problem
    assert step in error.next_step


def test_an_import_that_does_not_end_is_abandoned(file: Path, gate: None):
    error = failure_in(HANGING, file, startTimeout=0.2)
    assert "did not end within 0.2 s" in error.problem
    assert "startTimeout" in error.next_step


def test_no_key_of_the_environment_is_in_an_error(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("SOME_SERVICE_API_KEY", "verysecretvalue12345")
    key = "import os\nKEY = os.environ['SOME_SERVICE_API_KEY']\n"
    error = failure_in(f"{key}raise RuntimeError('401 for ' + KEY)\n", file)
    assert "401 for ***" in error.problem
    with offering(file, f"{key}def f(): raise RuntimeError('401 for ' + KEY)\n") as bridge:
        assert "401 for ***" in bridge.call_tool("it", "f").text


# Changes


def test_a_changed_file_is_listed_again_and_a_broken_one_keeps_the_last_tools(file: Path):
    with offering(file, "def a(): return 1\ndef b(): return 1\n") as bridge:
        assert names_of(bridge.list_tools("it")) == ["a", "b"]
        change(file, "def a(x: int = 2): return x\ndef c(): return 1\n")
        assert names_of(bridge.list_tools("it")) == ["a", "c"]
        assert bridge.call_tool("it", "a").structured == 2
        events = {(x.context_id, x.change) for x in bridge.history("it")}
        change(file, "def a(:\n")
        assert names_of(bridge.list_tools("it")) == ["a", "c"]
        assert bridge.call_tool("it", "a").structured == 2
        assert "not Python" in status_of(bridge, "it").error
        with pytest.raises(SourceFailed, match="not Python"):
            bridge.refresh("it")[0].require()
        change(file, "def a(): return 'new'\n")
        assert bridge.call_tool("it", "a").text == "new"
        assert status_of(bridge, "it").error == ""
    assert {("functions:it", "connected"), ("functions_tool:it_c", "discovered")} <= events
    assert ("functions_tool:it_b", "unavailable") in events
