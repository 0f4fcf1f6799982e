"""What is kept of calls, as a person writes it: `record` in the settings, and a variable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from xai_mcp_agent import load_settings, settings_from

WRONG: list[tuple[Any, str, set[str], str]] = [
    ("arguments", "", set(), "record: must be a list, but is a text."),
    (["arguments", "argument"], "", {"arguments"}, "record: has words other than"),
    ([{}], "", set(), "record: has words other than"),
    ([], "all", set(), "XAI_MCP_RECORD: has words other than"),
]


@pytest.mark.parametrize(
    ("written", "variable", "kept"),
    [
        (None, "", set[str]()),
        (["results"], "", {"results"}),
        (["results"], "arguments", {"arguments"}),
        ([], "Arguments, results", {"arguments", "results"}),
        (["results"], "none", set[str]()),
    ],
)
def test_the_variable_decides_before_the_settings(
    written: list[str] | None, variable: str, kept: set[str]
):
    beside = {} if written is None else {"record": written}
    environ = {"XAI_MCP_RECORD": variable}
    read = settings_from({"mcpServers": {}, **beside}, environ=environ)
    assert (read.record, read.notes) == (kept, ())


@pytest.mark.parametrize(("written", "variable", "kept", "note"), WRONG)
def test_what_cannot_be_recorded_is_a_note(written: Any, variable: str, kept: set[str], note: str):
    environ = {"XAI_MCP_RECORD": variable}
    read = settings_from({"mcpServers": {}, "record": written}, environ=environ)
    assert read.record == kept
    (said,) = read.notes
    assert note in said
    assert "Until then" in said


def test_the_variable_counts_without_a_settings_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    read = load_settings(start=tmp_path, environ={"XAI_MCP_RECORD": "results"})
    assert (read.file, read.record) == ("", {"results"})
