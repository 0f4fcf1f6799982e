"""Markdown of strangers as HTML: no HTML of theirs, no pictures, links that tell their address."""

from __future__ import annotations

import html
import re
from collections.abc import MutableMapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from .text import clean

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# Longer texts are shown as they are: some marks cost the parser time by the square of the length.
_MOST_CHARS = 20_000
_MOST_COLUMNS = 50  # of a table: short lines can ask for millions of empty cells
_ADDRESS_CHARS = 120
_HOST_CHARS = 253  # the longest there is
_SCHEMES = ("https://", "http://", "mailto:")


def markdown_as_html(text: str) -> str:
    """The text as HTML that is safe on any page, without anything that a browser would fetch."""
    if len(text) > _MOST_CHARS or _has_wide_table(text):
        return text_as_html(text)
    # Cleaned afterwards: a character that is not seen may be spelled as an entity.
    return clean(_parser().render(_encodable(clean(text))))


def text_as_html(text: str) -> str:
    """The text as it is, with its line ends."""
    safe = html.escape(_encodable(clean(text)))
    return f'<div style="white-space:pre-wrap;overflow-wrap:break-word">{safe}</div>'


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # here: only the lab needs it

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.validateLink = _is_link
    parser.add_render_rule("link_open", _link_open)
    parser.add_render_rule("link_close", _link_close)
    parser.add_render_rule("image", _image)
    return parser


def _is_link(url: str) -> bool:
    return url.strip().lower().startswith(_SCHEMES)


def _link_open(_: Any, tokens: Sequence[Token], at: int, *__: Any) -> str:
    address = html.escape(str(tokens[at].attrs.get("href", "")))
    return f'<a href="{address}" target="_blank" rel="noopener noreferrer">'


def _link_close(
    _: Any, tokens: Sequence[Token], at: int, __: Any, env: MutableMapping[str, Any]
) -> str:
    """The end of a link, and where it leads if its words do not say so."""
    start = max(x for x in range(at) if tokens[x].type == "link_open")
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


def _has_wide_table(text: str) -> bool:
    return any(x.count("|") > _MOST_COLUMNS for x in text.split("\n"))


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
