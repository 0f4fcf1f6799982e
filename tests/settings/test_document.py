"""The text of a settings file: what is accepted, and where a mistake is."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xai_mcp_agent import SettingsError
from xai_mcp_agent.settings.document import read_document


def written(folder: Path, content: str | bytes) -> Path:
    file = folder / "mcp_settings.json"
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def error_of(file: Path) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        read_document(file)
    assert caught.value.file == str(file)
    return caught.value


def test_comments_and_trailing_commas_are_fine(tmp_path: Path) -> None:
    """VS Code writes both."""
    text = "{\n  // mine\n  'a': {b: 1,}, /* more */\n}\n"
    assert read_document(written(tmp_path, text)) == {"a": {"b": 1}}


def test_a_mistake_is_reported_with_line_and_column_and_without_the_text(tmp_path: Path) -> None:
    error = error_of(written(tmp_path, '{\n  "TOKEN": "hidden-value"\n  "b": 1\n}'))
    assert error.key_path == "line 3, column 3"
    assert "Expecting ',' delimiter" in error.problem
    assert "hidden" not in str(error)


def test_a_mistake_after_a_comment_is_found_where_it_is(tmp_path: Path) -> None:
    """Plain JSON would stop at the comment."""
    error = error_of(written(tmp_path, '{\n  // fine\n  "a": 1,\n  "b": ]\n}'))
    assert error.key_path == "line 4, column 8"


def test_what_cannot_be_settings_is_reported_clearly(tmp_path: Path) -> None:
    cases: list[tuple[bytes, str]] = [
        (b"", "empty"),
        (b"  \n", "empty"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8"),
        (b"[1]", "a list"),
        (b"null", "null"),
        (b'"text"', "a text"),
        (b"[" * 100_000, "nested too deeply"),
        (b"/**/" + b"[" * 3_000, "nested too deeply"),
        (b'{"a": ' + b"1" * 5_000 + b"}", "too many digits"),
        (b" " * 1_000_001, "larger than 1,000,000 bytes"),
    ]
    for content, problem in cases:
        assert problem in error_of(written(tmp_path, content)).problem


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="only POSIX has named pipes")
def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "not a regular file" in error_of(pipe).problem


def test_keys_written_twice_are_remembered(tmp_path: Path) -> None:
    document = read_document(written(tmp_path, '{"a": 1, "b": 2, "a": 3}'))
    assert document.repeated == ("a",)
    assert document == {"a": 3, "b": 2}


@given(text=st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_any_text_is_settings_or_a_settings_error(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    file = written(tmp_path_factory.mktemp("any"), text)
    with suppress(SettingsError):
        assert isinstance(read_document(file), dict)
