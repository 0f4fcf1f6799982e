"""The text of `mcp_tools.lock.json`: made for git, and read strictly."""

from __future__ import annotations

import difflib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.watchdog import done_within
from xai_mcp_agent.core.tools import ToolKey
from xai_mcp_agent.policy.lock_document import DecisionLock, SourceLock, Unreadable, read_lock

ONE, TWO = "1" * 32, "2" * 32
LOCK = DecisionLock(
    {
        "mcp:weather": SourceLock(
            {"forecast": ONE, "alerts": TWO}, {"forecast": "always"}, ONE, frozenset({"delete_all"})
        ),
        "tools:canvas": SourceLock(off=frozenset({"shout"})),
    }
)

names = st.text(min_size=1, max_size=5)
digests = st.sampled_from([ONE, TWO])
source_locks = st.builds(
    SourceLock,
    st.none() | st.dictionaries(names, digests, max_size=3),
    st.dictionaries(names, st.just("always"), max_size=2),
    st.sampled_from(["", ONE]),
    st.frozensets(names, max_size=3),
)


def test_it_is_sorted_with_one_line_for_each_decision():
    """So that a difference in git is as small as what was decided."""
    text = LOCK.as_text()
    assert json.loads(text) == {
        "version": 1,
        "sources": {
            "mcp:weather": {
                "accepted": {"alerts": TWO, "forecast": ONE},
                "approved": {"forecast": "always"},
                "instructions": ONE,
                "off": ["delete_all"],
            },
            "tools:canvas": {"off": ["shout"]},
        },
    }
    weather = LOCK.of("mcp:weather")
    later = LOCK.with_source("mcp:weather", weather.with_accepted({"forecast": TWO})).as_text()
    told = [x[0] for x in difflib.ndiff(text.splitlines(), later.splitlines()) if x[0] in "+-"]
    assert told == ["-", "+"]
    assert text.endswith("}\n")
    assert text.isascii()


@given(st.dictionaries(names.map("mcp:{}".format), source_locks, max_size=3))
def test_what_is_written_is_read_again(sources: dict[str, SourceLock]):
    lock = DecisionLock(sources)
    again = read_lock(lock.as_text())
    assert again == lock
    assert again.as_text() == lock.as_text()


def test_an_empty_object_says_that_nothing_was_decided():
    for text in ("{}", '{"version": 1}', '{"sources": {}}', ' {"sources":{}}\r\n'):
        assert read_lock(text) == DecisionLock()


def of_source(**value: Any) -> str:
    """The text of a file about one source."""
    return json.dumps({"sources": {"mcp:a": value}})


MERGE = '{\n<<<<<<< HEAD\n "version": 1\n=======\n "version": 1,\n>>>>>>> other\n}'


def test_what_is_wrong_anywhere_makes_all_of_it_unreadable():
    """A part that is left out may be the one that switches a tool off."""
    cases: list[tuple[str, str]] = [
        ("", "it is empty"),
        (LOCK.as_text()[:-30], "not JSON, at line"),
        (MERGE, "line 2 is a mark of an unresolved git merge"),
        ("[]", "it must be an object"),
        ('{"version": 2}', "it has version 2"),
        ('{"sources": []}', "`sources` must be an object"),
        (of_source(accepted=[ONE]), '`sources["mcp:a"].accepted` must be an object'),
        (of_source(accepted={"x": ONE[:-1]}), ".accepted.x` must match pattern"),
        (of_source(approved={"x": True}), ".approved.x` must be a valid string"),
        (of_source(instructions=True), ".instructions` must be a valid string"),
        (of_source(off="x"), ".off` must be a valid array"),
        ('{"sources": {"a": {"off": ["x"]}, "a": {}}}', 'the key "a" is there twice'),
        ("[" * 100_000, "it is not JSON"),
    ]
    for text, said in cases:
        with pytest.raises(Unreadable) as refused:
            read_lock(text)
        assert said in str(refused.value)


def test_a_key_that_is_there_twice_is_found_at_once_among_very_many():
    """A file from a clone may be made to keep whoever opens it busy."""
    many = ", ".join(f'"tool_{number}": "{ONE}"' for number in range(100_000))
    text = f'{{"sources": {{"mcp:a": {{"accepted": {{{many}, "tool_99999": "{TWO}"}}}}}}}}'
    with pytest.raises(Unreadable, match='"tool_99999" is there twice'):
        done_within(10, lambda: read_lock(text))


def test_unicode_makes_no_other_tool_of_one_that_is_off():
    for name in ("pay\u200b", "p\u0430y", "P\u0391Y", "\uff50\uff41\uff59", "pa\u0301y", "-pay-"):
        lock = read_lock(json.dumps({"sources": {"mcp:a": {"off": ["pay"], "accepted": {}}}}))
        assert lock.of("mcp:a").is_off(name), ascii(name)
        written = read_lock(json.dumps({"sources": {"mcp:a": {"off": [name]}}}))
        assert written.of("mcp:a").is_off("pay"), "nor of one that somebody wrote so into the file"


def test_servers_are_distinguished_by_case_and_letters():
    lock = read_lock(json.dumps({"sources": {"mcp:Shop": {"off": ["pay"]}, "mcp:shop": {}}}))
    assert lock.is_off(ToolKey("mcp", "Shop", "pay"))
    assert not lock.is_off(ToolKey("mcp", "shop", "pay"))


def test_a_name_that_looks_like_one_that_is_off_is_off():
    source = SourceLock(off=frozenset({"delete_all"}))
    alike = ["delete_all", "delete-all", "Delete.All", "d\u0435lete_all", "delete\u200b_all"]
    assert [source.is_off(x) for x in alike] == [True] * len(alike)
    assert not source.is_off("delete_some")
    assert source.switched("delete-all", is_enabled=True).off == frozenset()


def test_a_name_that_looks_like_an_accepted_one_is_known_for_that():
    source = SourceLock({"pay": ONE})
    assert source.looks_like("p\u0430y") == "pay"
    assert source.looks_like("PAY") == "pay"
    assert [source.looks_like(x) for x in ("pay", "play")] == ["", ""]
