"""Tools that are always shown, blocked or trusted, by names of tools, servers and groups."""

from __future__ import annotations

import pytest

from xai_mcp_agent.core.tools import ToolKey
from xai_mcp_agent.search.preferences import Preferences

READ = ToolKey("mcp", "files", "read_file")
WRITE = ToolKey("mcp", "files", "write_file")
BOOKS = ToolKey("mcp", "library", "search_books")
SHOUT = ToolKey("static", "", "shout")


@pytest.mark.parametrize(
    ("pattern", "tools"),
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
def test_a_pattern_names_tools_servers_and_parts_of_their_names(pattern: str, tools: set[ToolKey]):
    preferences = Preferences(always_shown=(pattern,))
    assert {x for x in (READ, WRITE, BOOKS) if preferences.is_always_shown(x)} == tools


def test_a_group_means_all_its_tools_at_any_depth():
    names = [f"g{i}" for i in range(30)]
    groups = {name: (inner,) for name, inner in zip(names, [*names[1:], "files/*"], strict=True)}
    preferences = Preferences(blocked=("g0",), always_shown=("g29",), groups=groups)
    assert preferences.is_blocked(READ)
    assert preferences.is_always_shown(WRITE)
    assert not preferences.is_blocked(BOOKS)


def test_a_group_without_patterns_is_used_like_any_other():
    def is_book(key: ToolKey) -> bool:
        return "books" in key.name

    sets = {"reading": is_book, "read_file": is_book}
    assert Preferences(blocked=("reading",), sets=sets).is_blocked(BOOKS)
    assert Preferences(always_shown=("read*",), sets=sets).is_always_shown(BOOKS)
    inner = Preferences(trusted=("mine",), groups={"mine": ("reading",)}, sets=sets)
    assert inner.is_trusted(BOOKS)
    assert not inner.is_trusted(READ)
    both = Preferences(blocked=("read_file",), sets=sets)
    assert {x for x in (READ, WRITE, BOOKS) if both.is_blocked(x)} == {READ, BOOKS}, (
        "the group and the tool"
    )
    assert Preferences(blocked=("reading", "other"), sets=sets).unmatched([READ]) == ("other",)


def test_patterns_may_match_groups_and_groups_may_contain_each_other():
    groups = {"dangerous": ("b", "dangerous"), "b": ("dangerous", "library")}
    preferences = Preferences(blocked=("danger*",), groups=groups)
    assert preferences.is_blocked(BOOKS)
    assert not preferences.is_blocked(READ)
    everything = Preferences(always_shown=("shout",), blocked=("shout", "*"))
    assert everything.is_always_shown(SHOUT)
    assert not everything.is_blocked(SHOUT), "somebody drew it for this very agent"


def test_merged_preferences_block_what_either_blocks():
    """A group of the same name in both blocks the tools of either."""
    one = Preferences(blocked=("bad",), groups={"bad": ("files",)})
    other = Preferences(blocked=("search_books",), groups={"bad": ()})
    for both in (one.merge(other), other.merge(one)):
        assert both.is_blocked(READ)
        assert both.is_blocked(BOOKS)


def test_patterns_that_match_nothing_are_reported():
    preferences = Preferences(
        always_shown=("files/reed_file", "read_file", "shout"), blocked=("empty", "bad", "librar*"),
        trusted=("library", "files/reed_file"), groups={"bad": ()},
    )  # fmt: skip
    assert preferences.unmatched([READ, BOOKS, SHOUT], ["empty"]) == ("files/reed_file",)
    assert preferences.unmatched([READ]) == (
        "files/reed_file", "shout", "empty", "librar*", "library",
    )  # fmt: skip
