"""Markdown of strangers in a page: rendered, and nothing in it that acts or is fetched."""

from __future__ import annotations

import re

import pytest

from tests.support.watchdog import ends_within
from xai_mcp_agent.console.markdown import first_paragraphs, markdown_as_html

_ATTRIBUTES = {"href", "target", "rel", "style", "class", "start"}

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "handler": "<img src=x onerror=alert(1)>",
    "block": "<div style='position:fixed'>\n\n**x**\n\n</div>",
    "link": "[here](javascript:alert(1)) [b](JaVaScRiPt:alert(1)) [c](data:text/html,x) [d](/lab)",
    "entity": "[here](java&#x73;cript:alert(1)) <javascript:alert(1)>",
    "reference": "[here][a]\n\n[a]: vbscript:x 'title\" onclick=alert(1)'",
    "quote": '[x](http://a.org/"onclick="alert(1)) ![" onerror="alert(1)](http://a.org)',
    "picture": "![p](http://a.org/p.png) [![p](http://a.org/p.png)](http://b.org) ![d](data:image/png;base64,AA==)",  # noqa: E501
    "bare": "http://a.org/\"onclick=\"alert(1) javascript://x http://<b>https://a.org/'x=1 https:///x",
    "fence": '```"><script>alert(1)</script>\nx\n```',
}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_untrusted_markdown_does_nothing_and_fetches_nothing(text: str) -> None:
    page = markdown_as_html(text)
    tags = re.findall(r"<([a-z]\w*)([^>]*)>", page)
    assert not {name for name, _ in tags} & {"script", "img", "iframe", "object", "svg", "div"}
    for _, attributes in tags:
        assert set(re.findall(r"([\w-]+)=\"[^\"]*\"", attributes)) <= _ATTRIBUTES
        assert "=" not in re.sub(r"[\w-]+=\"[^\"]*\"", "", attributes)
    assert all(x.startswith("http") for x in re.findall(r'href="([^"]*)', page))


def test_it_is_rendered() -> None:
    page = markdown_as_html("# Books\n\n- **Moby-Dick**\n\n| a |\n|---|\n| 1 |\n\n`x`")
    for part in ("<h1>Books</h1>", "<strong>Moby-Dick</strong>", "<td>1</td>", "<code>x</code>"):
        assert part in page


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("[my bank](http://evil.org/x)", "my bank</a> (<code>evil.org</code>)"),
        ("[my bank](https://bank.org@evil.org/x)", "my bank</a> (<code>evil.org</code>)"),
        (f"[x](https://good.org/{'y' * 200})", "x</a> (<code>good.org</code>)"),
        ("[x](mailto:a@evil.org)", "x</a> (<code>mailto:a@evil.org</code>)"),
        ("[https://good.org](http://evil.org)", "https://good.org</a> (<code>evil.org</code>)"),
        ("http://m\u00fcnchen.de/", "http://m\u00fcnchen.de/</a> (<code>xn--mnchen-3ya.de</code>)"),
        ("![a cat](http://far.org/cat.png)", "[picture a cat: <code>far.org</code>]"),
    ],
)
def test_a_link_tells_where_it_leads(text: str, html: str) -> None:
    """Its words may tell of another place."""
    assert html in markdown_as_html(text)


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("See https://a.org/b_c_d?x=1&y. And", ["https://a.org/b_c_d?x=1&amp;y"]),
        ("(http://a.org) **https://b.org**, http://c.org/A_(b)!",
         ["http://a.org", "https://b.org", "http://c.org/A_(b)"]),
        ("| https://a.org/ |\n|---|\n| http://b.org |", ["https://a.org/", "http://b.org"]),
        ("`https://a.org` xhttps://b.org https:// ftp://c.org javascript://d.org/x", []),
        ("https://bank.org@evil.org/x and https://bank.org:a@evil.org", []),
    ],
    ids=["sentence", "marks", "table", "other", "name"],
)  # fmt: skip
def test_an_address_in_the_text_is_a_link(text: str, addresses: list[str]) -> None:
    """Not one that begins with a name, which would be taken for its host."""
    html = markdown_as_html(text)
    assert re.findall(r'<a href="([^"]*)" [^>]*>\1</a>', html) == addresses
    assert html.count("<a ") == len(addresses)


def test_what_would_not_be_seen_is_marked() -> None:
    """Also where it is spelled as an entity."""
    html = markdown_as_html("a\u202eb &#x202e; c\x1b[31m &#8203; \ud800")
    assert not {"\u202e", "\x1b", "\u200b", "\ud800"} & set(html)


def test_a_text_is_cut_where_a_paragraph_or_a_line_or_a_word_ends() -> None:
    for text, start in (
        ("One is here.\n\nTwo is here.\n\nThree.", "One is here.\n\nTwo is here."),
        ("- one of them\n- two of them\n- three", "- one of them\n- two of them"),
        ("a line that has no end at its end", "a line that has no end at its"),
        ("x" * 40, "x" * 30),
    ):
        assert first_paragraphs(text, 30) == start


def test_no_answer_takes_long() -> None:
    with ends_within(30):  # it takes tenths of a second
        for piece in ("[", "*a ", "> ", "`a``b", "a\n\n", "|a"):
            markdown_as_html(piece * (5_000 // len(piece)))
