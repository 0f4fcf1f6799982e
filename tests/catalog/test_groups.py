"""Groups of tools by selectors, and the filters of a toolbelt."""

from __future__ import annotations

from typing import Any

import pytest

from xai_mcp_agent import Operation, SettingsError, Tool, ToolKey, settings_from
from xai_mcp_agent.catalog.groups import EVERYTHING, ToolChoice, ToolFilter, ToolGroup

KINDS = {"shop": "openapi", "shop_test": "openapi", "files": "mcp"}


def tool(source: str, name: str, *tags: str, method: str = "", path: str = "") -> Tool:
    operation = Operation(method, path) if method else None
    key = ToolKey(KINDS[source], source, name)
    return Tool(key, "", {"type": "object"}, tags=tags, operation=operation)


LIST = tool("shop", "list_orders", "orders", "read", method="GET", path="/orders")
GET = tool("shop", "get_order", "orders", method="get", path="/orders/{id}")
DROP = tool("shop", "delete_order", "orders", "admin", method="DELETE", path="/orders/{id}")
TEST = tool("shop_test", "list_orders", "orders", method="GET", path="/orders")
READ = tool("files", "read_file", "read")
WRITE = tool("files", "write_file")
ALL = (LIST, GET, DROP, TEST, READ, WRITE)


def group(**config: Any) -> ToolGroup:
    entries = {name: {"command": "x"} for name in KINDS}
    settings = settings_from({"mcpServers": entries, "groups": {"g": config}}).group("g")
    assert settings is not None
    return ToolGroup(settings, KINDS)


def test_all_fields_of_one_selector_must_match_and_exclude_wins():
    cases: list[tuple[Any, Any]] = [
        ({"selectors": [{"source": "shop"}]}, (LIST, GET, DROP)),
        ({"selectors": [{"source": "shop*"}]}, (LIST, GET, DROP, TEST)),
        ({"selectors": [{"source": "shop", "tags": "read"}]}, (LIST,)),
        ({"selectors": [{"tags": ["read", "admin"]}]}, (LIST, DROP, READ)),
        ({"selectors": [{"method": "get"}]}, (LIST, GET, TEST)),
        ({"selectors": [{"method": ["GET", "DELETE"], "path": "/orders/*"}]}, (GET, DROP)),
        ({"selectors": [{"path": r"regex:/orders/\{[a-z]+\}"}]}, (GET, DROP)),
        ({"selectors": [{"kind": "mcp"}]}, (READ, WRITE)),
        ({"selectors": [{"kind": "mcp"}, {"tags": "admin"}]}, (DROP, READ, WRITE)),
        ({"selectors": [{"name": "*"}], "exclude": ["shop/*", "write_file"]}, (TEST, READ)),
        ({"include": ["files/read_file", "shop/get_order"]}, (GET, READ)),
        ({"include": ["files/read_file"], "exclude": ["files"]}, ()),
        ({"selectors": [{"name": "*"}], "exclude": [r"regex:shop(_test)?/.*"]}, (READ, WRITE)),
        ({"selectors": [{"source": "shop"}], "exclude": ["regex:delete_.+"]}, (LIST, GET)),
        ({"selectors": [{"source": "shop", "kind": "mcp"}]}, ()),
        ({"selectors": [{"tags": "*"}]}, (LIST, GET, DROP, TEST, READ)),
        ({"selectors": [{"name": "Read_file"}]}, ()),
    ]
    for config, tools in cases:
        one = group(**config)
        assert tuple(x for x in ALL if one.has(x)) == tools


def test_a_group_needs_only_the_sources_that_may_have_its_tools():
    cases: list[tuple[Any, Any]] = [
        ({"selectors": [{"source": "shop"}], "include": ["files/read_file"]}, ("shop", "files")),
        ({"selectors": [{"kind": "openapi", "name": "x"}]}, ("shop", "shop_test")),
        ({"selectors": [{"name": "x"}]}, ("shop", "shop_test", "files")),
        ({"selectors": [{"source": "none"}]}, ()),
    ]
    for config, sources in cases:
        assert group(**config).sources == sources


def test_unknown_names_are_reported_with_the_nearest():
    one = group(selectors=[{"source": "shpo"}], include=["fiels/a", "files/raed_file"])
    unknown = [*one.describe_unknown(), *one.describe_unmatched(ALL)]
    pairs = (("'shpo'", "shop"), ("'fiels'", "files"), ("'files/raed_file'", "read_file"))
    for line, words in zip(unknown, pairs, strict=False):
        assert [x for x in words if x not in line] == []
    assert unknown[3:] == ["The group 'g' has no tools: nothing matches it."]
    config = {"selectors": [{"name": "*"}], "exclude": ["regex:(delete"]}
    with pytest.raises(SettingsError, match="exclude: has a regular expression"):
        settings_from({"groups": {"g": config}}).group("g")


def test_joined_filters_select_the_union_without_exclusions():
    cases: list[tuple[Any, Any]] = [
        ((EVERYTHING,), (READ, WRITE)),
        ((ToolFilter(("read_file",)),), (READ,)),
        ((ToolFilter(("files/w*",)),), (WRITE,)),
        ((ToolFilter(without=("read_file",)),), (WRITE,)),
        ((ToolFilter(("*_file",), ("read_file",)),), (WRITE,)),
        ((ToolFilter(("files",)),), ()),
        ((ToolFilter(()),), ()),
        ((ToolFilter(("read_file",)), ToolFilter(("write_file",))), (READ, WRITE)),
        ((ToolFilter(("read_file",)), EVERYTHING), (READ, WRITE)),
        ((ToolFilter(without=("read_file",)), ToolFilter(("read_file",))), (WRITE,)),
        ((ToolFilter(without=("read_*",)), ToolFilter(without=("write_*",))), ()),
        ((EVERYTHING, ToolFilter(without=("write_*",))), (READ,)),
    ]
    for filters, tools in cases:
        for order in (filters, filters[::-1]):
            joined = order[0]
            for other in order[1:]:
                joined = joined.joined(other)
            choice = ToolChoice(("files",), (), {"files": joined})
            assert tuple(x for x in ALL if choice.has(x)) == tools


def test_a_group_does_not_bring_back_a_tool_that_its_source_excludes():
    reading = group(selectors=[{"tags": "read"}])
    filters = {"files": ToolFilter(without=("read_file",))}
    choice = ToolChoice((), (reading,), filters)
    assert [x for x in ALL if choice.has(x)] == [LIST]
    assert choice.all_sources == ("shop", "shop_test", "files")
    only = ToolChoice(("files",), (reading,), {"files": ToolFilter(("write_file",))})
    assert [x for x in ALL if only.has(x)] == [LIST, READ, WRITE]
    filtered = ToolChoice((), (reading,), {"g": ToolFilter(without=("list_orders",))})
    assert [x for x in ALL if filtered.has(x)] == [READ]
