"""The text of `mcp_tools.lock.json`: made for git, and read strictly."""

from __future__ import annotations

import difflib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.watchdog import done_within
from xai_mcp_agent.core.tools import ToolKey
from xai_mcp_agent.policy.lock_document import DecisionLock, SourceLock, Unreadable, read_lock

ONE, TWO = "1" * 32, "2" * 32
WEATHER = SourceLock(
    {"forecast": ONE, "alerts": TWO}, {"forecast": "always"}, ONE, frozenset({"delete_all"})
)
LOCK = DecisionLock({"mcp:weather": WEATHER, "tools:canvas": SourceLock(off=frozenset({"shout"}))})

_names = st.text(min_size=1, max_size=5)
_digests = st.sampled_from([ONE, TWO])
_sources = st.builds(
    SourceLock,
    st.none() | st.dictionaries(_names, _digests, max_size=3),
    st.dictionaries(_names, st.just("always"), max_size=2),
    st.sampled_from(["", ONE]),
    st.frozensets(_names, max_size=3),
)


def test_it_is_sorted_with_one_line_for_each_decision():
    """So that a difference in git is as small as what was decided."""
    text = LOCK.as_text()
    assert json.loads(text) == {
        "version": 1,
        "sources": {
            "mcp:weather": {
                "accepted": {"alerts": TWO, "forecast": ONE}, "approved": {"forecast": "always"},
                "instructions": ONE, "off": ["delete_all"],
            },
            "tools:canvas": {"off": ["shout"]},
        },
    }  # fmt: skip
    changed = WEATHER.with_accepted({"forecast": TWO})
    later = LOCK.with_source("mcp:weather", changed).as_text()
    lines = difflib.ndiff(text.splitlines(), later.splitlines())
    assert [x[0] for x in lines if x[0] in "+-"] == ["-", "+"]
    assert text.endswith("}\n")
    assert text.isascii()


@settings(max_examples=40)
@given(st.dictionaries(_names.map("mcp:{}".format), _sources, max_size=3))
def test_it_is_read_as_it_was_written(sources: dict[str, SourceLock]):
    lock = DecisionLock(sources)
    again = read_lock(lock.as_text())
    assert again == lock
    assert again.as_text() == lock.as_text()
    for text in ("{}", '{"version": 1}', '{"sources": {}}', ' {"sources":{}}\r\n'):
        assert read_lock(text) == DecisionLock(), "nothing was decided"


def of_source(**value: Any) -> str:
    """The text of a file about one source."""
    return json.dumps({"sources": {"mcp:a": value}})


MERGE = '{\n<<<<<<< HEAD\n "version": 1\n=======\n "version": 1,\n>>>>>>> other\n}'


def test_what_is_wrong_anywhere_makes_all_of_it_unreadable():
    """A part that is left out may be the one that switches a tool off."""
    rows: list[tuple[str, str]] = [
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
    for text, says in rows:
        with pytest.raises(Unreadable) as refused:
            read_lock(text)
        assert says in str(refused.value)
    many = ", ".join(f'"tool_{number}": "{ONE}"' for number in range(100_000))
    text = f'{{"sources": {{"mcp:a": {{"accepted": {{{many}, "tool_99999": "{TWO}"}}}}}}}}'
    with pytest.raises(Unreadable, match='"tool_99999" is there twice'):
        done_within(10, lambda: read_lock(text))


def test_a_name_that_looks_like_one_that_is_off_is_off():
    """No other tool is made of it by Unicode, in a listing or in the file; servers are distinct."""
    source = SourceLock(off=frozenset({"delete_all"}))
    alike = ["delete_all", "delete-all", "Delete.All", "d\u0435lete_all", "delete\u200b_all"]
    assert [source.is_off(x) for x in alike] == [True] * len(alike)
    assert not source.is_off("delete_some")
    assert source.switched("delete-all", is_enabled=True).off == frozenset()
    for name in ("pay\u200b", "p\u0430y", "P\u0391Y", "\uff50\uff41\uff59", "pa\u0301y", "-pay-"):
        assert read_lock(of_source(off=["pay"], accepted={})).of("mcp:a").is_off(name), ascii(name)
        assert read_lock(of_source(off=[name])).of("mcp:a").is_off("pay"), ascii(name)
    lock = read_lock(json.dumps({"sources": {"mcp:Shop": {"off": ["pay"]}, "mcp:shop": {}}}))
    assert lock.is_off(ToolKey("mcp", "Shop", "pay"))
    assert not lock.is_off(ToolKey("mcp", "shop", "pay"))


def test_a_name_that_looks_like_an_accepted_one_is_recognised():
    source = SourceLock({"pay": ONE})
    names = ("p\u0430y", "PAY", "pay", "play")
    assert [source.looks_like(x) for x in names] == ["pay", "pay", "", ""]
