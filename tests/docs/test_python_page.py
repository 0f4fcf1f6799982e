"""docs/python.md is true: its examples run, its calls fit, and nothing public is left out."""

from __future__ import annotations

import ast
import inspect
import json
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from tests.support.pages import ROOT, Block, blocks_of, codes_of, text_of
from tests.support.scripts import run_script
from xai_mcp_agent import (
    AioBridge,
    Bridge,
    InvalidArguments,
    ResultPart,
    ServerError,
    SettingsError,
    SourceClosed,
    SourceFailed,
    SourceRecord,
    SourceState,
    SourceStatus,
    StoreFailed,
    Tool,
    ToolChanged,
    ToolRecord,
    ToolResult,
    ToolTimeout,
    UnknownServer,
    UnknownTool,
    Usage,
    Version,
)
from xai_mcp_agent.agent.events import RunEvent
from xai_mcp_agent.cli.init import init_folder

PAGE = ROOT / "docs" / "python.md"
EXAMPLES = [x for x in blocks_of(PAGE) if x.language == "python"]
CODES = codes_of(PAGE)
# For inner parts of the package, which run coroutines on the bridge's loop.
FOR_US = {"run", "submit"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `xai-mcp-agent init` makes it."""
    return init_folder(tmp_path_factory.mktemp("python")).folder


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_an_example_runs_in_a_prepared_folder(example: Block, folder: Path):
    script = folder / f"example_{example.line}.py"
    script.write_text(example.text, encoding="utf-8")
    process = run_script(script)
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout


def test_every_call_on_the_page_fits_the_method():
    expressions = [
        ast.parse(x.replace("...", "None"), mode="eval").body
        for x in CODES
        if x.startswith("bridge.")
    ]
    calls = [x for x in expressions if isinstance(x, ast.Call)]
    assert calls
    for call in calls:
        assert isinstance(call.func, ast.Attribute)
        arguments = [None] * len(call.args), {x.arg or "": None for x in call.keywords}
        inspect.signature(getattr(Bridge, call.func.attr)).bind(None, *arguments[0], **arguments[1])


def test_every_public_method_is_on_the_page():
    public = {name for name in dir(Bridge) if not name.startswith("_")} - FOR_US
    assert [
        x
        for x in sorted(public)
        if not any(f"{owner}.{x}" in text_of(PAGE) for owner in ("bridge", "Bridge"))
    ] == []


def test_the_coroutines_have_the_names_and_parameters_of_the_methods():
    for name, coroutine in inspect.getmembers(AioBridge, inspect.iscoroutinefunction):
        if not name.startswith("_"):
            assert (
                inspect.signature(coroutine).parameters.keys()
                == inspect.signature(getattr(Bridge, name)).parameters.keys()
            )


def test_every_field_of_a_result_is_on_the_page():
    classes = (
        SourceStatus,
        Tool,
        ToolResult,
        ToolChanged,
        Version,
        ToolRecord,
        SourceRecord,
        Usage,
    )
    names = {x.name for cls in classes for x in fields(cls) if not x.name.startswith("durations")}
    kinds = {*get_args(SourceState), *(x.__name__ for x in get_args(ResultPart))}
    assert (names | kinds) - {*CODES} == set()


def test_every_error_of_a_bridge_is_on_the_page_with_its_facts():
    """Errors of agents and models do not occur here."""
    raised = (
        SettingsError, UnknownServer, UnknownTool, InvalidArguments, SourceFailed, SourceClosed,
        ToolTimeout, ServerError, StoreFailed,
    )  # fmt: skip
    facts = (
        "file", "key_path", "problem", "fix", "server", "known", "problems", "code", "source",
        "next_step", "stderr_tail",
    )  # fmt: skip
    assert {*facts, *(x.__name__ for x in raised)} - {*CODES} == set()


def test_the_line_of_a_transcript_on_the_page_is_an_existing_event():
    (line,) = (x.text for x in blocks_of(PAGE) if x.language == "jsonl")
    event = json.loads(line)["event"]
    assert event in {x.__name__ for x in get_args(RunEvent)}
    # These report progress to the screen; other events report the results.
    progress = {"ModelAsked", "TextArrived", "ToolReturned"}
    assert {x.__name__ for x in get_args(RunEvent)} - {*CODES} == progress
