"""Markdown of strangers in a page: rendered, and nothing in it that acts or is fetched."""

from __future__ import annotations

import re

import pytest

from tests.support.watchdog import done_within
from xai_mcp_agent.console.markdown import (
    code_marks_as_html,
    first_paragraphs,
    markdown_as_html,
)

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
def test_nothing_in_it_acts_or_is_fetched(text: str) -> None:
    shown = markdown_as_html(text)
    tags = re.findall(r"<([a-z]\w*)([^>]*)>", shown)
    assert not {name for name, _ in tags} & {"script", "img", "iframe", "object", "svg", "div"}
    for _, attributes in tags:
        assert set(re.findall(r"([\w-]+)=\"[^\"]*\"", attributes)) <= _ATTRIBUTES
        assert "=" not in re.sub(r"[\w-]+=\"[^\"]*\"", "", attributes)
    assert all(x.startswith("http") for x in re.findall(r'href="([^"]*)', shown))


def test_it_is_rendered() -> None:
    shown = markdown_as_html("# Books\n\n- **Moby-Dick**\n\n| a |\n|---|\n| 1 |\n\n`x`")
    for part in ("<h1>Books</h1>", "<strong>Moby-Dick</strong>", "<td>1</td>", "<code>x</code>"):
        assert part in shown


def test_a_link_tells_where_it_leads() -> None:
    """Its words may tell of another place."""
    shown = markdown_as_html("[my bank](http://evil.org/x) and <https://good.org>")
    assert "my bank</a> (<code>http://evil.org/x</code>)" in shown
    assert shown.count("https://good.org</a>") == 1
    assert shown.count("<code>") == 1


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
    shown = markdown_as_html(text)
    assert re.findall(r'<a href="([^"]*)" [^>]*>\1</a>', shown) == addresses
    assert shown.count("<a ") == len(addresses)


def test_an_address_as_the_words_of_a_link_tells_where_that_leads() -> None:
    shown = markdown_as_html("[https://good.org](http://evil.org) http://m\u00fcnchen.de/")
    assert "https://good.org</a> (<code>http://evil.org</code>)" in shown
    assert "http://m\u00fcnchen.de/</a> (<code>http://xn--mnchen-3ya.de/</code>)" in shown
    assert shown.count("<a ") == 2


def test_code_in_a_message_is_set_as_code() -> None:
    shown = code_marks_as_html("Set `a<b` to `c`; a ` alone\nand ` stay.")
    assert shown == "Set <code>a&lt;b</code> to <code>c</code>; a ` alone\nand ` stay."


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (f"https://bank.org{'.a' * 80}@evil.org/x", "https://...@evil.org/x..."),
        (f"https://bank.org{'.a' * 90}.evil.org/{'y' * 99}", f"{'.a' * 90}.evil.org..."),
        (f"https://good.org/{'y' * 200}", f"https://good.org/{'y' * 103}..."),
        (f"mailto:{'y' * 130}@evil.org", "mailto:...@evil.org..."),
    ],
    ids=["name", "host", "path", "mail"],
)
def test_a_long_address_tells_its_host(address: str, shown: str) -> None:
    assert f"{shown}</code>" in markdown_as_html(f"[my bank]({address})")


def test_a_picture_is_named_with_its_address() -> None:
    shown = markdown_as_html("![a cat](http://far.org/cat.png)")
    assert "[picture a cat: <code>http://far.org/cat.png</code>]" in shown


def test_what_would_not_be_seen_is_marked() -> None:
    """Also where it is spelled as an entity."""
    shown = markdown_as_html("a\u202eb &#x202e; c\x1b[31m &#8203; \ud800")
    assert not {"\u202e", "\x1b", "\u200b", "\ud800"} & set(shown)


def test_a_long_text_is_rendered() -> None:
    """In parts, none of which begins within a list's item or a block of code."""
    fence = "```\n" + "x = 1\n\n" * 1_000 + "```"
    shown = markdown_as_html(
        "\n\n".join(["- **a** <b>\n" * 3_000, *["*c*"] * 5_000, fence, "**d**"])
    )
    assert shown.count("<li><strong>a</strong> &lt;b&gt;</li>") == 3_000
    assert shown.count("<p><em>c</em></p>") == 5_000
    assert shown.count("<pre>") == 1
    assert shown.endswith("<p><strong>d</strong></p>\n")


def test_a_paragraph_that_is_too_long_is_shown_as_it_is_between_others() -> None:
    shown = markdown_as_html("**a**\n\n" + "**b** <b>\n" * 5_000 + "\n**c**")
    assert shown.count("**b** &lt;b&gt;\n") == 5_000
    assert "<strong>a</strong>" in shown
    assert "<strong>c</strong>" in shown


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("One is here.\n\nTwo is here.\n\nThree.", "One is here.\n\nTwo is here."),
        ("- one of them\n- two of them\n- three", "- one of them\n- two of them"),
        ("One.\n\n```\nx\n\ny\n\nand so on it goes\n```", "One."),
        ("one long line\nand another one that", "one long line"),
        ("a line that has no end at its end", "a line that has no end at its"),
        ("x" * 40, "x" * 30),
    ],
)
def test_a_text_is_cut_where_a_paragraph_ends(text: str, kept: str) -> None:
    """Else where a line or a word does."""
    assert first_paragraphs(text, 30) == kept
    assert first_paragraphs(text, len(text)) == text


@pytest.mark.parametrize(
    "piece",
    [
        "![",
        "[",
        "*a ",
        "**a *b ",
        "> ",
        "- ",
        "`a``b",
        "<a",
        "_a_ __b",
        "|a",
        "[a]: x\n",
        "https://a ",
        "a\n\n",
        "- a\n",
        ("|-" * 49 + "\n") * 2 + "|\n" * 9_000 + "\n",
    ],
)
def test_no_text_takes_long(piece: str) -> None:
    text = piece * (600_000 // len(piece))
    for size in (19_999, len(text)):
        assert done_within(2.0, lambda size=size: markdown_as_html(text[:size])) is not None


def test_a_table_of_empty_cells_stays_small() -> None:
    rows = "|a" * 300 + "\n" + "|-" * 300 + "\n" + "|\n" * 5_000
    assert len(markdown_as_html(rows[:19_000])) < 100_000
