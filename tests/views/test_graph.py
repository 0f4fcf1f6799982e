"""The page with the event graph: complete, self-contained, and safe with any name."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page

from tests.support.recorded import a_history, a_tool
from xai_mcp_agent import Graph, Tool, ToolKey
from xai_mcp_agent.bridge.flows import flows_around
from xai_mcp_agent.views.graph import graph_page

ROOT = Path(__file__).parents[2]
NPM = Path(os.environ.get("XAI_TEST_NPM") or ROOT / ".cache" / "npm")
MERMAID = NPM / "node_modules" / "mermaid" / "dist" / "mermaid.min.js"

ODD = [
    '"><img src=x onerror=alert(1)>', "<script>alert(1)</script>", "</script><b>", "&lt;i&gt;",
    "' onclick='alert(1)", "{{ 7*7 }}{% raw %}", "\ud800\0\x1b[31m\u202e", "", "x" * 500,
    '"]; click n0 href "javascript:alert(1)"', "%%{init: {}}%%", "1. one", "`a` **b**", "end",
    "#35;",
]  # fmt: skip


class Elements(HTMLParser):
    """Elements, attributes and texts of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts += [data.strip()] if data.strip() else []


def odd_graph() -> Graph:
    """A graph with every state of a tool, and with hostile names."""
    with a_history() as history:
        history.seeded(a_tool("draw"))
        history.connected("git", a_tool("log"), a_tool("blame"), a_tool("reset"))
        history.listed("git", a_tool("log"), a_tool("reset"))
        history.disabled("git", "reset")
        history.connected("files", a_tool("read"))
        history.lost("files", "It ended with code <1>.")
        history.connected(ODD[0], *map(a_tool, ODD))
        return history.store.graph()


def odd_flows(count: int = 0) -> Graph:
    """A graph of flows around a server whose tools and parameters have hostile names.

    The server has `count` further tools.
    """
    tools: list[Tool] = []
    for name in ODD:
        schema = an_object(f"{name} order_id")
        key, consumer = ToolKey("mcp", "", name), ToolKey("mcp", "", f"take {name}")
        tools.append(Tool(key, "Gives orders.", {"type": "object"}, schema))
        tools.append(Tool(consumer, "Takes orders.", schema))
    with a_history() as history:
        history.connected(ODD[0], *tools, *(a_tool(f"other_{i:04}") for i in range(count)))
        return flows_around(history.store.tool_graph(None, ODD[0], None), most=40)


def an_object(key: str) -> dict[str, object]:
    return {"type": "object", "properties": {key: {"type": "string"}}, "required": [key]}


def test_names_are_only_text_and_the_page_fetches_nothing():
    for page in (graph_page(odd_graph()), graph_page(odd_flows())):
        elements = Elements(page)
        names = {name for name, _ in elements.attributes}
        tags = elements.tags
        assert (tags["script"], tags["img"], tags["a"]) == (1, 0, 0)
        assert not [x for x in names if x.startswith("on")]
        assert not {"src", "href", "action", "style"} & names
        assert "url(" not in page
        policy = next(
            x for name, x in elements.attributes if name == "content" and x and "src" in x
        )
        assert policy.startswith("default-src 'none'; ")
        for tag in ("style", "script"):
            text = re.search(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
            assert text
            digest = base64.b64encode(hashlib.sha256(text[1].encode()).digest()).decode()
            assert f"{tag}-src 'sha256-{digest}'" in policy
        page.encode("utf-8")


def test_every_name_is_readable_and_missing_tools_have_a_reason():
    page = graph_page(odd_graph())
    texts = Elements(page).texts
    assert {ODD[0], ODD[1], ODD[3], ODD[5], "(no name)", "\\ud800\\x00\\x1b[31m\\u202e"} <= {*texts}
    assert page.count("<s>") == 1
    assert "<s>blame</s>" in page
    assert texts.count("It is no longer listed.") == 1
    assert texts.count("It ended with code <1>.") == 2, (
        "at the source, and for screen readers at the tool"
    )
    assert texts[texts.index("reset") + 1] == "(connected now, switched off)"


def test_tools_show_their_calls_and_servers_whether_they_failed():
    with a_history() as history:
        history.connected("git", a_tool("log"), a_tool("blame"))
        for error in ("", "", "<b>no</b>"):
            history.called("git", "log", 0.5, error)
        for name, reason in (("rests", "it was closed."), ("broke", "It ended with code 1.")):
            history.connected(name, a_tool("read"))
            history.lost(name, reason)
        graph = history.store.graph()
    page = graph_page(graph)
    texts = Elements(page).texts
    line = " ".join(" ".join(texts).split())
    assert "log 3 calls, 1 failed , median 5" in line
    assert "2 tools, 3 calls, 1 failed" in line
    assert page.count('class="usage"') == 1
    assert texts[texts.index("rests") + 2] == "starts when needed"
    assert texts[texts.index("broke") + 2] == "not connected"
    assert page.count('class="card at-rest failed"') == page.count('class="card at-rest"') == 1
    sources = {x["label"]: x["has_failed"] for x in graph.as_json()["nodes"] if x["source"]}
    assert (sources["rests"], sources["broke"]) == (False, True)
    assert graph.as_mermaid().count("starts when needed") == 1


def test_a_flow_has_a_line_with_its_reason():
    graph = odd_flows()
    page = graph_page(graph)
    assert page.count('class="what"') == len(graph.flows) >= 10
    why = next(x.flow.why for x in graph.flows if x.flow and x.flow.reasons)
    assert why in Elements(page).texts


def open_page(
    running: Browser, file: Path, width: int = 1280, scheme: Literal["light", "dark"] = "light"
) -> tuple[Page, list[str]]:
    """The page in a new window, and the list of its errors and requests."""
    page = running.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    problems: list[str] = []
    page.on("console", lambda x: problems.append(x.text))
    page.on("pageerror", lambda x: problems.append(str(x)))
    page.on("dialog", lambda x: (problems.append(x.message), x.dismiss())[1])
    page.on("request", lambda x: None if x.url == file.as_uri() else problems.append(x.url))
    page.goto(file.as_uri())
    return page, problems


@pytest.mark.browser
def test_the_page_works_in_both_color_schemes_wide_and_narrow(running: Browser, tmp_path: Path):
    file = tmp_path / "graph.html"
    file.write_text(graph_page(odd_graph()), encoding="utf-8")
    backgrounds: set[str] = set()
    schemes: list[tuple[Literal["light", "dark"], int]] = [("light", 1280), ("dark", 360)]
    for scheme, width in schemes:
        page, problems = open_page(running, file, width, scheme)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        backgrounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert page.locator("s").inner_text() == "blame"
        assert page.locator("text=It is no longer listed.").is_visible()
        page.locator("summary", has_text="git").click()
        assert not page.locator("s").is_visible()
        assert problems == []
        page.close()
    assert len(backgrounds) == 2


@pytest.mark.browser
@pytest.mark.npm
def test_mermaid_renders_every_name_as_text(running: Browser):
    """The real Mermaid, with its loosest security level."""
    if not MERMAID.exists():
        pytest.skip(f"needs mermaid in {NPM} (.ci/run installs it)")
    page = running.new_page()
    page.set_content("<main></main>")
    page.add_script_tag(path=MERMAID)
    render = """async ([text, label]) => {
        window.alert = () => { window.was_run = true; };
        mermaid.initialize({startOnLoad: false, securityLevel: "loose"});
        const main = document.querySelector("main");
        main.innerHTML = (await mermaid.render("graph", text)).svg;
        return [...main.querySelectorAll(label)].map((x) => x.textContent);
    }"""
    labels = page.evaluate(render, [odd_graph().as_mermaid(), ".nodeLabel"])
    assert {x for x in ODD if x.isprintable() and 0 < len(x) < 80} <= set(labels)
    labels = page.evaluate(render, [odd_flows().as_mermaid(), ".edgeLabel"])
    assert any(ODD[1] in x for x in labels)
    assert page.locator("main").locator("img, script, a, b, i").count() == 0
    assert page.evaluate("window.was_run") is None
    page.close()


@pytest.mark.browser
def test_a_click_on_a_flow_shows_why_and_the_search_finds_a_tool(running: Browser, tmp_path: Path):
    file = tmp_path / "graph.html"
    file.write_text(graph_page(odd_flows(500)), encoding="utf-8")
    page, problems = open_page(running, file)
    line = page.locator(".lines details").first
    assert line.locator("p").is_hidden()
    line.locator("summary").click()
    assert line.locator("p").is_visible()
    tool = page.get_by_text("other_0042", exact=True)
    assert not tool.is_visible()
    page.get_by_label("Find a tool").fill("other_0042")
    tool.wait_for(state="visible")
    assert page.locator(".tool:visible").count() == 1
    assert page.get_by_role("status").inner_text() == "1 tool found."
    assert page.evaluate("document.documentElement.scrollWidth") == 1280
    assert problems == []
    page.close()
