"""The colours and the width of lines on each kind of surface."""

from __future__ import annotations

import io
import os
import pty
import struct
from collections.abc import Iterator
from typing import IO

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


def test_a_terminal_has_colours_and_is_rewritten_unless_a_person_says_otherwise(
    terminal: IO[str],
) -> None:
    for variables, kind, has_colours in (
        ({"TERM": "xterm"}, "terminal", True),
        ({"TERM": "dumb"}, "plain", False),
        ({"NO_COLOR": "", "TERM": "xterm"}, "terminal", True),
        ({"NO_COLOR": "1", "TERM": "xterm"}, "terminal", False),
        ({"FORCE_COLOR": "0", "TERM": "xterm"}, "terminal", False),
    ):
        surface = surface_of(terminal, variables)
        assert (surface.kind, surface.has_colours) == (kind, has_colours), variables
    for columns, width in ((0, 80), (20, 40), (80, 80), (300, 100)):
        set_columns(terminal, columns)
        assert surface_of(terminal, {}).width == width
    assert surface_of(io.StringIO(), {"TERM": "xterm"}) == Surface("plain", False)
    assert surface_of(io.StringIO(), {"FORCE_COLOR": "1"}) == Surface("plain", True)


def test_any_stream_and_none_is_written_to_without_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A Python without a console has no stdout, and some encodings lack letters."""
    for stream in (None, io.StringIO()):
        monkeypatch.setattr("sys.stdout", stream)
        write_to_stdout("\u2192 \ud800\n")
        assert surface_of(stream, {}).kind == "plain"
    western = io.TextIOWrapper(io.BytesIO(), encoding="cp1252")
    monkeypatch.setattr("sys.stdout", western)
    write_to_stdout("日本 ok\n")
    assert western.buffer.getvalue() == b"?? ok\n"  # pyright: ignore[reportAttributeAccessIssue]


def test_a_reader_that_is_gone_does_not_end_a_run_and_is_reported_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(surface, "_reported_errors", set())
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb", buffering=0) as raw:
        stream = io.TextIOWrapper(raw, write_through=True)
        monkeypatch.setattr("sys.stdout", stream)
        for _ in range(3):
            write_to_stdout("line\n")
    write_to_stdout("it is closed now\n")
    message = "What runs print is not shown: {}. They go on."
    assert caplog.messages == [
        message.format("[Errno 32] Broken pipe"),
        message.format("I/O operation on closed file"),
    ]
