"""Errors: what, where, and what next, in the text and as facts."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from xai_mcp_agent import SettingsError, SourceClosed, XaiMcpError
from xai_mcp_agent.core.errors import let_go_of_frames


class Held:
    """Something that a frame holds."""


def test_a_frame_that_an_error_came_through_is_gone_with_the_error():
    def pass_on(held: Held) -> None:
        """Raise an error in place of another one that its own frame holds."""
        causes: list[BaseException] = []
        try:
            raise ValueError(held)
        except ValueError as cause:
            causes.append(cause)
            cause.args = ()
            raise KeyError("in its place") from cause

    gc.disable()
    try:
        held = Held()
        left = weakref.ref(held)
        try:
            pass_on(held)
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
    assert (error.source, error.next_step, error.stderr_tail) == (
        "db",
        "Try again.",
        ("one", "two"),
    )


def test_the_panel_names_the_node_and_shows_the_message_without_a_traceback():
    """IPython asks an exception for `_render_traceback_` before it writes one of its own."""
    assert shown_in_the_panel(SettingsError("s.json", "", "not JSON.", "Fix it.")) == [
        "The workflow stopped at AgentOfThisTest (SettingsError):",
        "",
        "  s.json: not JSON. Fix it.",
    ]
    error = SourceClosed("db", "it is gone. " * 10, "Try again.", ["a\x1b[2Jb"])
    lines = "\n".join(shown_in_the_panel(error)).splitlines()
    assert max(map(len, lines)) <= 80, "broken between words"
    assert " ".join(" ".join(lines).split()).count("it is gone.") == 10
    assert lines[-2:] == ["      a?[2Jb", "    Next step: Try again."]
    with pytest.raises(XaiMcpError) as raised:
        raise XaiMcpError("no")
    assert not hasattr(raised.value, "_render_traceback_"), "raised by no node: as Python does"
