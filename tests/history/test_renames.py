"""Tools that vanished and came under another name are found by their schemas."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.watchdog import ends_within
from xai_mcp_agent.history.renames import likely_renames

ADD = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
EMPTY = {"type": "object"}
MANY = 10_000


def tool(name: str, schema: Any = ADD, description: str = "", **more: Any) -> dict[str, Any]:
    """A definition as a source gives it."""
    return {"name": name, "description": description, "input_schema": schema, **more}


def test_titles_that_an_sdk_makes_of_the_name_do_not_count():
    """The Python SDK: the schema of `add` is titled `addArguments`."""
    old = tool("add", {**ADD, "title": "addArguments"}, output_schema={"title": "addOutput"})
    new = tool("plus", {**ADD, "title": "plusArguments"}, output_schema={"title": "plusOutput"})
    assert likely_renames([old], [new]) == {"add": "plus"}


def test_of_several_the_most_similar_names_belong_together():
    gone = [tool("read_file"), tool("write_file"), tool("delete")]
    new = [tool("file_write"), tool("file_read"), tool("remove")]
    assert likely_renames(gone, new) == {
        "read_file": "file_read",
        "write_file": "file_write",
        "delete": "remove",
    }


def test_tools_without_parameters_must_be_alike_in_more():
    """Each takes nothing, so that says nothing."""
    gone = [tool("restart", EMPTY, "Starts the service again.")]
    assert likely_renames(gone, [tool("list_users", EMPTY, "Who may sign in.")]) == {}
    assert likely_renames(gone, [tool("reboot", EMPTY, "Starts the service again.")])
    assert likely_renames(gone, [tool("service_restart", EMPTY)])
    assert likely_renames([tool("listUsers", EMPTY)], [tool("list_users", EMPTY)])


def test_thousands_of_new_names_are_looked_at_in_a_moment():
    """A server that puts a prefix before all its names; the store waits meanwhile."""
    gone = [tool(f"t{i}", EMPTY, f"Tool number {i}.") for i in range(MANY)]
    new = [tool(f"my_t{i}", EMPTY, f"Tool number {i}.") for i in range(MANY)]
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
    found = likely_renames(gone, new)
    assert set(found) <= {x["name"] for x in gone}
    assert set(found.values()) <= {x["name"] for x in new}
    assert len(set(found.values())) == len(found)
    assert all(old != one for old, one in found.items())
