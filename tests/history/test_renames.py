"""Tools that vanished and came under another name are recognised by their schemas."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.recorded import History, a_tool
from tests.support.watchdog import ends_within
from xai_mcp_agent.history.renames import likely_renames

ADD = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
EMPTY = {"type": "object"}
MANY = 10_000
RESTART = "Starts the service again."


def tool(name: str, schema: Any = ADD, description: str = "", **more: Any) -> dict[str, Any]:
    """A definition as a source gives it."""
    return {"name": name, "description": description, "input_schema": schema, **more}


def test_a_renamed_tool_is_reported_under_both_names(history: History):
    """The issue: a removed and an added tool with equal schemas are a likely rename."""
    number = {"type": "integer"}
    history.connected("it", a_tool("add", a=number, b=number), a_tool("other"))
    history.listed("it", a_tool("plus", a=number, b=number), a_tool("strange"))
    reasons = {x.subject.tool: x.reason for x in history.store.events()[3:] if x.subject.tool}
    assert reasons == {
        "add": "It is not listed any more; probably renamed to plus.",
        "other": "It is not listed any more.",
        "plus": "Probably renamed from add.",
        "strange": "",
    }


def test_the_most_similar_names_belong_together():
    """The titles that the Python SDK makes of a name, such as `addArguments`, do not count."""
    old = tool("add", {**ADD, "title": "addArguments"}, output_schema={"title": "addOutput"})
    new = tool("plus", {**ADD, "title": "plusArguments"}, output_schema={"title": "plusOutput"})
    assert likely_renames([old], [new]) == {"add": "plus"}
    pairs = {"read_file": "file_read", "write_file": "file_write", "delete": "remove"}
    assert likely_renames([*map(tool, pairs)], [*map(tool, sorted(pairs.values()))]) == pairs


def test_tools_without_parameters_must_be_alike_in_more():
    """Each takes nothing, so that says nothing."""
    gone = [tool("restart", EMPTY, RESTART)]
    assert likely_renames(gone, [tool("list_users", EMPTY, "Who may sign in.")]) == {}
    assert likely_renames(gone, [tool("reboot", EMPTY, RESTART)])
    assert likely_renames(gone, [tool("service_restart", EMPTY)])
    assert likely_renames([tool("listUsers", EMPTY)], [tool("list_users", EMPTY)])


def test_thousands_of_new_names_are_compared_in_a_moment():
    """A server that puts a prefix before all its names; the store waits meanwhile."""
    gone, new = (
        [tool(f"{x}t{i}", EMPTY, f"Tool number {i}.") for i in range(MANY)] for x in ("", "my_")
    )
    with ends_within(30):  # each with each would take an hour
        assert likely_renames(gone, new) == {f"t{i}": f"my_t{i}" for i in range(MANY)}


_schemas = st.sampled_from([ADD, EMPTY, {}, True, {"properties": {"a": {}}}])
_tools = st.lists(
    st.builds(tool, st.text("ab_", max_size=4), _schemas, st.sampled_from(["", "One.", "Two."])),
    max_size=6,
    unique_by=lambda x: x["name"],
)


@settings(max_examples=60)
@given(_tools, _tools)
def test_no_tool_becomes_two_and_no_two_become_one(gone: Any, new: Any):
    renames = likely_renames(gone, new)
    assert set(renames) <= {x["name"] for x in gone}
    assert set(renames.values()) <= {x["name"] for x in new}
    assert len(set(renames.values())) == len(renames)
    assert all(old != one for old, one in renames.items())
