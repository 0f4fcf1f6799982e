"""Markdown of strangers as HTML: no HTML of theirs, no pictures, links that tell their address.

A long text is rendered in parts of whole paragraphs, so that its time grows with its length only;
what comes after many thousand elements of a page is shown as it is.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, MutableMapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from .text import clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

# Of a part: some marks cost the parser time by the square of the length.
_PART_CHARS = 20_000
_MOST_CELLS = 20_000  # of the tables of a part: short lines can ask for millions of empty ones
_MOST_TAGS = 50_000  # of an answer; a browser draws all of them
_ADDRESS_CHARS = 120
_HOST_CHARS = 253  # the longest there is
_SCHEMES = ("https://", "http://", "mailto:")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"([-*+]|\d{1,9}[.)]) ")  # of a list
_CODE = re.compile(r"`([^`\n]+)`")
# An address in a text, after its scheme; it ends before what may be a mark of Markdown.
_BARE_ADDRESS = re.compile(r"://[^\s<>\"`*|\\\[\]]+")
_BARE_SCHEME = re.compile(r"(?<![\w.+-])https?\Z", re.IGNORECASE)
_LONGEST_SCHEME = len("https")


def markdown_as_html(text: str) -> str:
    """The text as HTML that is safe on any page, without anything that a browser would fetch."""
    shown, tags = list[str](), 0
    for part in _parts(text):
        page = _part_as_html(part) if tags < _MOST_TAGS else text_as_html(part)
        tags += page.count("<")
        shown.append(page)
    return "\n".join(shown)


def text_as_html(text: str) -> str:
    """The text as it is, with its line ends."""
    safe = html.escape(_encodable(clean(text)))
    return f'<div style="white-space:pre-wrap;overflow-wrap:break-word">{safe}</div>'


def code_marks_as_html(text: str) -> str:
    """A cleaned text as it is, but what stands between two backticks of a line is set as code."""
    return _CODE.sub(r"<code>\1</code>", html.escape(text))


def first_paragraphs(text: str, most_chars: int) -> str:
    """As many whole paragraphs as fit; where the first is too long, whole lines or words of it."""
    if len(text) <= most_chars:
        return text
    kept = text[:most_chars]
    *_, end = 0, *_paragraphs(kept)
    return kept[: end or max(kept.rfind("\n"), 0) or max(kept.rfind(" "), 0) or None].rstrip()


def _part_as_html(text: str) -> str:
    if len(text) > _PART_CHARS or _most_cells(text) > _MOST_CELLS:
        return text_as_html(text)
    # Cleaned afterwards: a character that is not seen may be spelled as an entity.
    return clean(_parser().render(_encodable(clean(text))))


def _parts(text: str) -> Iterator[str]:
    """The text in parts, each of whole paragraphs; only a longer paragraph is a longer part."""
    begun = end = 0
    for start in (*_paragraphs(text), len(text)):
        if start - begun > _PART_CHARS and end > begun:
            yield text[begun:end]
            begun = end
        end = start
    yield text[begun:]


def _paragraphs(text: str) -> Iterator[int]:
    """Where paragraphs and items of lists begin, neither indented nor in a block of code."""
    at, fence, is_after_empty = 0, "", True
    for line in text.split("\n"):
        is_start = is_after_empty and line.strip() and not line[0].isspace()
        if not fence and (is_start or _ITEM.match(line)):
            yield at
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and line.strip() == mark[1]:
            fence = ""
        is_after_empty = not line.strip()
        at += len(line) + 1


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # here: only the lab needs it

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.inline.ruler.before("escape", "bare_address", _bare_address)
    parser.validateLink = _is_link
    parser.add_render_rule("link_open", _link_open)
    parser.add_render_rule("link_close", _link_close)
    parser.add_render_rule("image", _image)
    return parser


def _is_link(url: str) -> bool:
    return url.strip().lower().startswith(_SCHEMES)


def _bare_address(state: StateInline, silent: bool) -> bool:
    """A link to an address that stands in the text as it is; called wherever a mark may begin."""
    found = _BARE_ADDRESS.match(state.src, state.pos, state.posMax)
    scheme = _BARE_SCHEME.search(state.pending[-_LONGEST_SCHEME - 1 :]) if found else None
    if not found or not scheme or state.linkLevel:
        return False
    address = scheme[0] + _without_punctuation(found[0])
    target = state.md.normalizeLink(address)
    # A name before the host would be taken for it.
    if not re.match(r"\w+://[^/?#@]+(?:[/?#]|\Z)", address) or not state.md.validateLink(target):
        return False
    if not silent:
        state.pending = state.pending[: -len(scheme[0])]
        state.push("link_open", "a", 1).attrs = {"href": target}
        state.push("text", "", 0).content = address
        state.push("link_close", "a", -1)
    state.pos += len(address) - len(scheme[0])
    return True


def _without_punctuation(address: str) -> str:
    """The address without what ends the sentence around it."""
    while address and (address[-1] in ".,;:!?'_~" or (address[-1] == ")" and "(" not in address)):
        address = address[:-1]
    return address


def _link_open(_: Any, tokens: Sequence[Token], at: int, *__: Any) -> str:
    address = html.escape(str(tokens[at].attrs.get("href", "")))
    return f'<a href="{address}" target="_blank" rel="noopener noreferrer">'


def _link_close(
    _: Any, tokens: Sequence[Token], at: int, __: Any, env: MutableMapping[str, Any]
) -> str:
    """The end of a link, and where it leads if its words do not say so."""
    start = next(x for x in range(at - 1, -1, -1) if tokens[x].type == "link_open")
    words = "".join(x.content for x in tokens[start + 1 : at]).strip()
    address = str(tokens[start].attrs.get("href", ""))
    if words in {address, *(address.removeprefix(x) for x in _SCHEMES)}:
        return "</a>"
    return f"</a> ({_short(address)})"


def _image(_: Any, tokens: Sequence[Token], at: int, *__: Any) -> str:
    """A picture's name and address: fetching it would tell a stranger that the text was read."""
    image = tokens[at]
    name = html.escape(image.content) or "without a name"
    return f"[picture {name}: {_short(str(image.attrs.get('src', '')))}]"


def _short(address: str) -> str:
    """The address; of a long one no name before its host, the whole host, and some of the rest."""
    if len(address) > _ADDRESS_CHARS:
        after_scheme = address.partition(":")[2].lstrip("/")
        scheme = address.removesuffix(after_scheme)
        *names, host = re.split("[/?#]", after_scheme, maxsplit=1)[0].rpartition("@")
        rest = after_scheme[len("".join(names)) + len(host) :]
        start = f"{scheme}{'...@' if any(names) else ''}{host[-_HOST_CHARS:]}"
        address = f"{start}{rest[: max(_ADDRESS_CHARS - len(start), 0)]}..."
    return f"<code>{html.escape(address)}</code>"


def _most_cells(text: str) -> int:
    """How many cells its tables have at most: each row has as many as the first."""
    lines = text.split("\n")
    return len(lines) * max(x.count("|") for x in lines)


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
