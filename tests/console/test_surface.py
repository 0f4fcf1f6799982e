"""Where colours go, and how wide lines are."""

from __future__ import annotations

import io
import os
import pty
import struct
from collections.abc import Iterator
from typing import IO, Any

import pytest

from xai_mcp_agent.console import surface
from xai_mcp_agent.console.surface import Surface, surface_of, write_to_stdout

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no pseudo terminals there")


@pytest.fixture
def terminal() -> Iterator[IO[str]]:
    """One end of a pseudo terminal."""
    main, other = pty.openpty()
    with open(other, "w", encoding="utf-8") as stream:
        yield stream
    os.close(main)


def set_columns(stream: IO[str], number: int) -> None:
    """Make the terminal so wide."""
    import fcntl
    import termios

    fcntl.ioctl(stream.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 24, number, 0, 0))


def test_a_terminal_has_colours_and_is_rewritten(terminal: IO[str]) -> None:
    found = surface_of(terminal, {"TERM": "xterm"})
    assert (found.kind, found.has_colours, found.rewrites) == ("terminal", True, True)


def test_files_and_pipes_get_plain_text() -> None:
    assert surface_of(io.StringIO(), {"TERM": "xterm"}) == Surface("plain", False)


@pytest.mark.parametrize(
    ("given", "colours"),
    [
        ({"NO_COLOR": "1"}, False),
        ({"NO_COLOR": "", "TERM": "xterm"}, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ({"FORCE_COLOR": "0"}, False),
    ],
)
def test_a_person_decides_about_colours(
    terminal: IO[str], given: dict[str, str], colours: bool
) -> None:
    assert surface_of(terminal, given).has_colours is colours


def test_colours_can_be_forced_into_a_pipe() -> None:
    assert surface_of(io.StringIO(), {"FORCE_COLOR": "1"}) == Surface("plain", True)


def test_a_terminal_that_knows_no_codes_gets_none(terminal: IO[str]) -> None:
    assert surface_of(terminal, {"TERM": "dumb"}) == Surface("plain", False)


@pytest.mark.parametrize(("columns", "width"), [(0, 80), (20, 40), (60, 60), (80, 80), (300, 100)])
def test_lines_are_as_wide_as_the_terminal_within_reason(
    terminal: IO[str], columns: int, width: int
) -> None:
    set_columns(terminal, columns)
    assert surface_of(terminal, {}).width == width


@pytest.mark.parametrize("stream", [None, object(), io.StringIO()])
def test_any_stream_and_none_is_written_to_without_an_error(
    monkeypatch: pytest.MonkeyPatch, stream: Any
) -> None:
    """A Python without a console has no stdout."""
    if stream is None or isinstance(stream, io.StringIO):
        monkeypatch.setattr("sys.stdout", stream)
        write_to_stdout("\u2192 \ud800\n")
    assert surface_of(stream, {}).kind == "plain"


def test_what_an_encoding_cannot_say_does_not_end_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr("sys.stdout", stream)
    write_to_stdout("日本 ok\n")
    assert stream.buffer.getvalue() == b"?? ok\n"  # pyright: ignore[reportAttributeAccessIssue]


def test_a_reader_that_is_gone_does_not_end_a_run_and_is_reported_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(surface, "_reported", set())
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb", buffering=0) as raw:
        stream = io.TextIOWrapper(raw, write_through=True)
        monkeypatch.setattr("sys.stdout", stream)
        for _ in range(3):
            write_to_stdout("line\n")
    write_to_stdout("it is closed now\n")
    told = "What runs print is not shown: {}. They go on."
    assert caplog.messages == [
        told.format("[Errno 32] Broken pipe"),
        told.format("I/O operation on closed file"),
    ]
