"""Sizes of nodes in Xircuits, in the canvas's own pixels at 100 percent.

They follow from its style sheets for Arial, which Windows and macOS have, and Linux under other
names. A file stores the ends of its links, and the canvas draws them there until a node is moved,
so sizes must be right: a browser test compares them with Chromium's.
"""

from __future__ import annotations

from dataclasses import dataclass

from .nodes import COMPULSORY_MARK, FLOW_LABEL, Node, Port

# Widths of Arial's characters in thousandths of the font's size.
_WIDTHS = dict.fromkeys(map(chr, range(32, 127)), 556) | {
    char: width
    for width, chars in {
        191: "'", 222: "ijl", 260: "|", 278: " !,./:;I[\\]ft", 333: "()-`r", 334: "{}", 355: '"',
        389: "*", 469: "^", 500: "Jcksvxyz", 584: "+<=>~", 611: "FTZ", 667: "&ABEKPSVXY",
        722: "CDHNRUw", 778: "GOQ", 833: "Mm", 889: "%", 944: "W", 1015: "@",
    }.items()
    for char in chars
} | {COMPULSORY_MARK: 800}  # fmt: skip
_OTHER_WIDTH = 800

_FONT, _NOTE_FONT, _BOLD = 11.0, 14.0, 1.07
_TITLE_SPACING = 0.4  # space between the letters of a title
_BORDER = 1.0
_ICON, _TITLE_PADDING, _SWITCH = 25.0, 10.0, 16.4
_TITLE_HEIGHT, _PLAIN_TITLE_HEIGHT = 26.0, 23.0  # with an icon, and without
_SYMBOL, _LABEL_PADDING, _BETWEEN_SIDES = 21.0, 10.0, 10.0
_PORT_HEIGHT, _LITERAL_PORT_HEIGHT, _LINE_HEIGHT = 22.0, 20.0, 12.4
_WIDEST_LABEL = 40 * 0.556 * _FONT
# Longest literal inside a port, and the length to which the canvas cuts a longer one.
_LITERAL_CHARS, _CUT_CHARS = 18, 15
_NOTE_WIDTH, _NOTE_HEIGHT, _NOTE_LINE, _NOTE_WIDEST = 24.0, 48.0, 16.0, 574.0


@dataclass(frozen=True)
class Point:
    """Point on the canvas: x to the right, y down."""

    x: float
    y: float


def size_of(node: Node) -> tuple[float, float]:
    """Return width and height of a node."""
    if node.is_note:
        return _note_size(node)
    sides = [[p for p in node.ports if p.is_in is x] for x in (True, False)]
    width = sum(max((_port_width(p) for p in side), default=0.0) for side in sides)
    height = max(sum(_port_height(p) for p in side) for side in sides)
    width = max(_title_width(node), width + _BETWEEN_SIDES) + 2 * _BORDER
    return round(width), round(_title_height(node) + height + _BORDER)


def port_point(node: Node, port: Port, at: Point) -> Point:
    """Return where the links of a port end, for a node at `at`."""
    side = list(node.side(port))
    above = sum(_port_height(x) for x in side[: side.index(port)])
    y = at.y + _BORDER + _title_height(node) + above + _port_height(port) / 2
    inwards = _BORDER + _SYMBOL / 2
    return Point(at.x + (inwards if port.is_in else size_of(node)[0] - inwards), round(y, 1))


def widest_note_text() -> float:
    """Return the width of a comment's line beyond which the canvas hides its end."""
    return _NOTE_WIDEST - _NOTE_WIDTH


def note_text_width(line: str) -> float:
    """Return the width of a line of a comment."""
    return _text_width(line, _NOTE_FONT) * _BOLD


def _note_size(node: Node) -> tuple[float, float]:
    lines = str(node.extras["commentInput"]).splitlines()
    widest = max(note_text_width(x) for x in [node.name, *lines])
    return round(min(widest + _NOTE_WIDTH, _NOTE_WIDEST)), _NOTE_HEIGHT + _NOTE_LINE * len(lines)


def _text_width(text: str, font: float) -> float:
    return sum(_WIDTHS.get(char, _OTHER_WIDTH) for char in text) * font / 1000


def _title_width(node: Node) -> float:
    text = _text_width(node.name, _FONT) + _TITLE_SPACING * len(node.name) + _TITLE_PADDING
    if _is_value(node):
        return text
    switches = 1 if node.name in ("Start", "Finish") else 2
    return _ICON + text + switches * _SWITCH


def _title_height(node: Node) -> float:
    return _PLAIN_TITLE_HEIGHT if _is_value(node) else _TITLE_HEIGHT


def _is_value(node: Node) -> bool:
    return node.name.startswith(("Literal ", "Argument "))


def _port_width(port: Port) -> float:
    widths = [_text_width(x, _FONT) for x in _label(port).splitlines()]
    # A text in several lines takes the whole width.
    return _SYMBOL + _LABEL_PADDING + min(max(widths, default=0.0), _WIDEST_LABEL)


def _port_height(port: Port) -> float:
    least = _PORT_HEIGHT if port.literal is None else _LITERAL_PORT_HEIGHT
    return max(least, _LINE_HEIGHT * len(_label_lines(port)))


def _label(port: Port) -> str:
    text = port.label.replace(FLOW_LABEL, "").strip()
    if port.literal is not None:
        is_long = len(port.literal) > _LITERAL_CHARS
        text += ": " + (f"{port.literal[:_CUT_CHARS]}..." if is_long else port.literal)
    return text


def _label_lines(port: Port) -> list[str]:
    """Return the lines of a port's label as the canvas breaks them."""
    return [x for line in _label(port).splitlines() for x in _break_line(line)]


def _break_line(line: str) -> list[str]:
    if _text_width(line, _FONT) <= _WIDEST_LABEL:
        return [line]
    lines: list[str] = []
    for word in line.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and _text_width(longer, _FONT) <= _WIDEST_LABEL:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
