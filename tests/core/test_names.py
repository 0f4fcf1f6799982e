"""Shown names: fit every provider, never mix two tools up."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from xai_mcp_agent import ToolKey
from xai_mcp_agent.core.names import MAX_SHOWN_NAME, ShownNames, nearest, skeleton

PROVIDER_SAFE = re.compile(r"[a-zA-Z0-9_-]{1,64}")

# With lone surrogates, which JSON can hold and UTF-8 cannot.
any_text = st.text(st.characters(exclude_categories=()), max_size=100)
tool_like = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
keys = st.builds(ToolKey, any_text | tool_like, any_text | tool_like)


@settings(max_examples=50)
@given(st.lists(keys, max_size=30))
def test_shown_names_are_safe_unique_and_stay(keys: list[ToolKey]):
    """Whatever a server calls itself and its tools."""
    names = ShownNames()
    shown = {key: names.show(key) for key in keys}
    assert all(PROVIDER_SAFE.fullmatch(name) for name in shown.values())
    assert len(set(shown.values())) == len(shown)
    assert {key: names.show(key) for key in keys} == shown


def test_a_name_that_cannot_be_shown_is_made_readable_and_ends_in_a_digest():
    names = ShownNames()
    shown = names.show(ToolKey("mcp", "my server", "get book: Ünïcode?"))
    assert re.fullmatch(r"my_server_get_book_n_code_[0-9a-f]{8}", shown)
    long = names.show(ToolKey("mcp", "s", "x" * 200))
    assert len(long) == MAX_SHOWN_NAME
    assert re.fullmatch(r"tool_[0-9a-f]{8}", names.show(ToolKey("tools", "", "漢字")))


def test_a_tool_named_like_the_digest_name_of_another_takes_nothing_from_it():
    """Digests can be computed by anybody: a server must not be able to shadow a tool."""
    victim = ToolKey("mcp", "bank", "transfer money")
    digest_name = ShownNames().show(victim)
    intruder = ToolKey("tools", "", digest_name)
    for order in ((victim, intruder), (intruder, victim)):
        names = ShownNames()
        shown = [names.show(key) for key in order]
        assert len(set(shown)) == 2


def test_the_nearest_names_come_first():
    known = ["get_current_time", "convert_time", "list_books", "search_books"]
    assert nearest("get_curent_time", known)[0] == "get_current_time"
    assert nearest("books", known) == ["list_books", "search_books"]
    assert nearest("LIST_BOOKS", known)[0] == "list_books"
    assert nearest("zebra", known) == []
    assert nearest("", known) == []
    assert nearest("x", []) == []


def test_names_that_a_person_may_take_for_each_other_have_one_skeleton():
    """Decided by us: a tool that is switched off does not come back under such a name."""
    for alike in (
        "delete-all", "Delete.All", "DELETE ALL", "d\u0435lete_all", "\uff44elete_all",
        "de\u200blete_all", "d\xe9lete_all", "de1ete_a11", "delete\u2010all", "\u202edelete_all",
        "_delete__all", "delete\u3164_all", "\u1d05elete_all", "delete_\U0001d41a\U0001d425l",
    ):  # fmt: skip
        assert skeleton(alike) == skeleton("delete_all") == "delete_all"
    others = ["delete_all", "deleteall", "delete_al", "dilete_all", "\u65e5\u672c", "\u65e5"]
    assert len({skeleton(x) for x in others}) == len(others)


def test_a_name_that_begins_as_those_of_another_source_is_left_to_that_one():
    """Whichever of them is there first, and though the other is not there yet."""
    honest, intruder = ToolKey("mcp", "git_hub", "search"), ToolKey("mcp", "git", "hub_search")
    for order in ((honest, intruder), (intruder, honest)):
        names = ShownNames(sources=("git", "git_hub"))
        shown = {key: names.show(key) for key in order}
        assert shown[honest] == "git_hub_search"
        assert re.fullmatch(r"git_hub_search_[0-9a-f]{8}", shown[intruder])
    assert ShownNames(sources=("git", "git_hub")).show(intruder) != "git_hub_search"
    assert names.show(ToolKey("mcp", "git", "status")) == "git_status"


def test_no_source_gives_a_name_that_looks_like_that_of_another():
    for name in ("hub-search", "Hub_Search", "hub__search", "hub_sear-ch"):
        names = ShownNames()
        assert names.show(ToolKey("mcp", "git_hub", "search")) == "git_hub_search"
        shown = names.show(ToolKey("mcp", "git", name))
        looks_alike = skeleton(f"git_{name}") == skeleton("git_hub_search")
        assert bool(re.search(r"_[0-9a-f]{8}$", shown)) == looks_alike
