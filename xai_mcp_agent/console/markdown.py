"""Untrusted Markdown as safe HTML: without its HTML and pictures; links show their host."""

from __future__ import annotations

import html
import re
from collections.abc import MutableMapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from .question_words import host_of
from .text import clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token
    from markupsafe import Markup

_SCHEMES = ("https://", "http://", "mailto:")
_CODE = re.compile(r"`([^`\n]+)`")
# An address in a text, after its scheme; it ends before a possible mark of Markdown.
_BARE_ADDRESS = re.compile(r"://[^\s<>\"`*|\\\[\]]+")
_BARE_SCHEME = re.compile(r"(?<![\w.+-])https?\Z", re.IGNORECASE)
_LONGEST_SCHEME = len("https")


def markdown_as_html(text: str) -> Markup:
    """Return the text as HTML that is safe on any page and fetches nothing."""
    # Cleaned afterwards: an entity may spell an invisible character.
    return _markup(clean(_parser().render(clean(text))))


def code_marks_as_html(text: str) -> Markup:
    """Return a cleaned text with only backticks set as code."""
    return _markup(_CODE.sub(r"<code>\1</code>", html.escape(text)))


def first_paragraphs(text: str, most_chars: int) -> str:
    """Cut a text at the end of a paragraph, a line or a word."""
    if len(text) <= most_chars:
        return text
    head = text[:most_chars]
    end = next((at for mark in ("\n\n", "\n", " ") if (at := head.rfind(mark)) > 0), most_chars)
    return head[:end].rstrip()


def _markup(page: str) -> Markup:
    from markupsafe import Markup  # imported here: only the lab needs it

    return Markup(page)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # imported here, as in `_markup`

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.inline.ruler.before("escape", "bare_address", _bare_address)
    parser.validateLink = lambda url: url.strip().lower().startswith(_SCHEMES)
    parser.add_render_rule("link_open", _link_open)
    parser.add_render_rule("link_close", _link_close)
    parser.add_render_rule("image", _image)
    return parser


def _bare_address(state: StateInline, silent: bool) -> bool:
    """Make a link of a bare address; called wherever a mark may begin."""
    match = _BARE_ADDRESS.match(state.src, state.pos, state.posMax)
    scheme = _BARE_SCHEME.search(state.pending[-_LONGEST_SCHEME - 1 :]) if match else None
    if not match or not scheme or state.linkLevel:
        return False
    address = scheme[0] + match[0].rstrip(".,;:!?'_~" if "(" in match[0] else ".,;:!?'_~)")
    target = state.md.normalizeLink(address)
    # A user name before the host could be taken for the host.
    if "@" in address or not host_of(target):
        return False
    if not silent:
        state.pending = state.pending[: -len(scheme[0])]
        state.push("link_open", "a", 1).attrs = {"href": target}
        state.push("text", "", 0).content = address
        state.push("link_close", "a", -1)
    state.pos += len(address) - len(scheme[0])
    return True


def _link_open(_: Any, tokens: Sequence[Token], at: int, *__: Any) -> str:
    address = html.escape(str(tokens[at].attrs.get("href", "")))
    return f'<a href="{address}" target="_blank" rel="noopener noreferrer">'


def _link_close(
    _: Any, tokens: Sequence[Token], at: int, __: Any, env: MutableMapping[str, Any]
) -> str:
    """Close a link, and add its host unless its text says it."""
    start = next(x for x in range(at - 1, -1, -1) if tokens[x].type == "link_open")
    words = "".join(x.content for x in tokens[start + 1 : at]).strip()
    address = str(tokens[start].attrs.get("href", ""))
    if words in {address, *(address.removeprefix(x) for x in _SCHEMES)}:
        return "</a>"
    return f"</a> ({_where(address)})"


def _image(_: Any, tokens: Sequence[Token], at: int, *__: Any) -> str:
    """Name a picture and its host: fetching it would tell its author that the text was read."""
    name = html.escape(tokens[at].content) or "without a name"
    return f"[picture {name}: {_where(str(tokens[at].attrs.get('src', '')))}]"


def _where(address: str) -> str:
    """Return the host of an address; of mail, the whole."""
    return f"<code>{html.escape(host_of(address) or address)}</code>"
