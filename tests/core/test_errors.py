"""Errors: what, where, and what next, in the text and as facts."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from xai_mcp_agent import (
    SettingsError,
    SourceClosed,
    XaiMcpError,
)
from xai_mcp_agent.core.errors import let_go_of_frames


class Held:
    """Something that a frame holds."""


def passed_on(held: Held) -> None:
    """Raise an error in place of another one that its own frame holds."""
    kept: list[BaseException] = []
    try:
        raise ValueError(held)
    except ValueError as cause:
        kept.append(cause)
        cause.args = ()
        raise KeyError("in its place") from cause


def test_what_an_error_came_through_is_gone_with_the_error():
    gc.disable()
    try:
        held = Held()
        left = weakref.ref(held)
        try:
            passed_on(held)
        except KeyError as error:
            let_go_of_frames(error)
        del held
        assert left() is None
    finally:
        gc.enable()


class AgentOfThisTest:
    """Raises where nodes raise."""

    def execute(self, ctx: Any) -> None:
        raise ctx


class Flow:
    """Runs a node, as the class of a compiled workflow does."""

    def execute(self, ctx: Any) -> None:
        AgentOfThisTest().execute(ctx)


def shown_in_the_panel(error: XaiMcpError) -> list[str]:
    """The lines that IPython shows when a node raises this."""
    with pytest.raises(XaiMcpError):
        Flow().execute(error)
    return error._render_traceback_()


def test_an_error_about_a_source_quotes_its_last_words_and_the_next_step():
    error = SourceClosed("db", "the connection was lost.", "Try again.", ["one", "two"])
    assert str(error) == (
        "db: the connection was lost.\n"
        "  Its last words on stderr:\n"
        "    one\n"
        "    two\n"
        "  Next step: Try again."
    )
    assert (error.source, error.problem, error.next_step) == (
        "db",
        "the connection was lost.",
        "Try again.",
    )
    assert error.stderr_tail == ("one", "two")


def test_the_panel_names_the_node_and_tells_the_message_without_a_traceback():
    """IPython asks an exception for `_render_traceback_` before it writes one of its own."""
    assert shown_in_the_panel(SettingsError("s.json", "", "not JSON.", "Fix it.")) == [
        "The workflow stopped at AgentOfThisTest (SettingsError):",
        "",
        "  s.json: not JSON. Fix it.",
    ]


def test_the_panel_breaks_long_lines_between_words_and_keeps_the_shape_of_the_rest():
    error = SourceClosed("db", "it is gone. " * 10, "Try again.", ["a\x1b[2Jb"])
    lines = "\n".join(shown_in_the_panel(error)).splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(" ".join(lines).split()).count("it is gone.") == 10
    assert lines[-2:] == ["      a?[2Jb", "    Next step: Try again."]


def test_an_error_that_no_node_raised_is_shown_as_python_does():
    """Who writes Python in a notebook wants to see where."""
    with pytest.raises(XaiMcpError) as raised:
        raise XaiMcpError("no")
    assert not hasattr(raised.value, "_render_traceback_")
