"""Tools that are always shown, blocked or trusted, by names of tools, servers and groups."""

from __future__ import annotations

import pytest

from xai_mcp_agent.core.tools import ToolKey
from xai_mcp_agent.search.preferences import Preferences

READ = ToolKey("mcp", "files", "read_file")
WRITE = ToolKey("mcp", "files", "write_file")
BOOKS = ToolKey("mcp", "library", "search_books")
DRAWN = ToolKey("static", "", "shout")


@pytest.mark.parametrize(
    ("pattern", "named"),
    [
        ("read_file", {READ}),
        ("files", {READ, WRITE}),
        ("files/*", {READ, WRITE}),
        ("*_file", {READ, WRITE}),
        ("f*/*r*_file", {READ, WRITE}),
        ("read", set[ToolKey]()),
        ("[rw]*_file", set[ToolKey]()),
    ],
)
def test_a_pattern_names_tools_servers_and_parts_of_their_names(pattern: str, named: set[ToolKey]):
    preferences = Preferences(always_shown=(pattern,))
    assert {x for x in (READ, WRITE, BOOKS) if preferences.is_always_shown(x)} == named


def test_a_group_stands_for_what_is_in_it_however_deep():
    names = [f"g{i}" for i in range(30)]
    groups = {name: (inner,) for name, inner in zip(names, [*names[1:], "files/*"], strict=True)}
    preferences = Preferences(blocked=("g0",), always_shown=("g29",), groups=groups)
    assert preferences.is_blocked(READ)
    assert preferences.is_always_shown(WRITE)
    assert not preferences.is_blocked(BOOKS)


def test_a_group_that_is_no_pattern_is_named_like_any_other():
    def is_book(key: ToolKey) -> bool:
        return "books" in key.name

    sets = {"reading": is_book, "read_file": is_book}
    assert Preferences(blocked=("reading",), sets=sets).is_blocked(BOOKS)
    assert Preferences(always_shown=("read*",), sets=sets).is_always_shown(BOOKS)
    inner = Preferences(trusted=("mine",), groups={"mine": ("reading",)}, sets=sets)
    assert inner.is_trusted(BOOKS)
    assert not inner.is_trusted(READ)
    both = Preferences(blocked=("read_file",), sets=sets)
    assert {x for x in (READ, WRITE, BOOKS) if both.is_blocked(x)} == {READ, BOOKS}, "all it means"
    assert Preferences(blocked=("reading", "other"), sets=sets).idle([READ]) == ("other",)


def test_groups_may_be_named_by_patterns_and_name_each_other():
    groups = {"dangerous": ("b", "dangerous"), "b": ("dangerous", "library")}
    preferences = Preferences(blocked=("danger*",), groups=groups)
    assert preferences.is_blocked(BOOKS)
    assert not preferences.is_blocked(READ)
    drawn = Preferences(always_shown=("shout",), blocked=("shout", "*"))
    assert drawn.is_always_shown(DRAWN)
    assert not drawn.is_blocked(DRAWN), "somebody drew it for this very agent"


def test_joined_preferences_block_what_either_blocks():
    """A group of the same name in both blocks the tools of either."""
    one = Preferences(blocked=("bad",), groups={"bad": ("files",)})
    other = Preferences(blocked=("search_books",), groups={"bad": ()})
    for joined in (one.joined(other), other.joined(one)):
        assert joined.is_blocked(READ)
        assert joined.is_blocked(BOOKS)


def test_patterns_that_name_nothing_are_reported():
    preferences = Preferences(
        always_shown=("files/reed_file", "read_file", "shout"), blocked=("empty", "bad", "librar*"),
        trusted=("library", "files/reed_file"), groups={"bad": ()},
    )  # fmt: skip
    assert preferences.idle([READ, BOOKS, DRAWN], ["empty"]) == ("files/reed_file",)
    assert preferences.idle([READ]) == (
        "files/reed_file", "shout", "empty", "librar*", "library",
    )  # fmt: skip
