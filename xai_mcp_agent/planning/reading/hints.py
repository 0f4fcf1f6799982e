"""What the values in a text say about the tool that is meant, beside the words themselves."""

from __future__ import annotations

import re

from .mentions import MentionKind
from .parts import Part
from .vocabulary import PHRASES, WANTING
from .words import is_money, plain_name, same_unit

ADD = "add"
_WANTING = re.compile(WANTING, re.IGNORECASE)
_STRONG, _WEAK = 1.0, 0.5
_OF_KIND: dict[MentionKind, str] = {
    "zone": "timezone", "date": "date", "time": "time", "datetime": "datetime", "url": "url",
    "email": "email", "path": "path",
}  # fmt: skip
_OPERATORS = {
    "+": "add sum", "-": "subtract difference", "\u2212": "subtract difference",
    "*": "multiply product", "\u00d7": "multiply product", "x": "multiply product",
    "/": "divide quotient", "\u00f7": "divide quotient", "**": "power", "^": "power",
}  # fmt: skip
_OPERATION = re.compile(r"(?<=[\d)])\s*(\*\*|[-+*/^\u00d7\u00f7\u2212]|x(?=\s*\d))\s*(?=[\d(-])")
_QUESTIONS = {"how many": "count number", "how much": "amount", "where": "location",
              "when": "date time", "who": "person"}  # fmt: skip


def hints_in(part: Part) -> dict[str, float]:
    """Words that a part speaks for without saying them, and how strongly: 1 is as if said."""
    found = {_OF_KIND[x.kind]: _WEAK for x in part.mentions if x.kind in _OF_KIND}
    low = part.text.lower()
    for question, meant in _QUESTIONS.items():
        if low.startswith(question):
            found |= dict.fromkeys(meant.split(), _WEAK)
    if changes_unit(part):
        is_money_meant = any(is_money(str(x.value)) for x in part.mentions if x.kind == "unit")
        found |= dict.fromkeys(("convert", "currency" if is_money_meant else "unit"), _STRONG)
    found |= {meant: _STRONG for meant, form in PHRASES if re.search(form, low)}
    if any(x.kind == "expression" and x.value != x.text for x in part.mentions):
        found |= dict.fromkeys(("calculate", "expression"), _STRONG)
    if "%" in part.text:
        found["percent"] = _STRONG
    return found | _operations(part)


def changes_unit(part: Part) -> bool:
    """`5 miles in km`: an amount of one unit, and another that is wanted."""
    units = [x for x in part.mentions if x.kind == "unit"]
    amounts = [x for x in units if x.before == "number"]
    wanted = [x for x in part.mentions if x.kind == "phrase" and x.before in ("in", "to", "into")]
    after = [x for x in wanted if amounts and x.start >= amounts[0].end and x.value.isalpha()]
    return bool(amounts) and (len(units) > 1 or bool(after))


def wanting_ends(text: str) -> int:
    """Where the words end with which a text begins to say that something is wanted."""
    found = _WANTING.match(text)
    return found.end() if found else 0


def wants_thing(part: Part) -> bool:
    """Whether a part says of something that it is wanted, and asks nothing: `we need 6 eggs`."""
    return bool(_WANTING.search(part.text)) and not part.text.endswith("?")


def converts(name: str, part: Part) -> bool:
    """Whether a tool that is called `a_to_b` converts what is stated into what is wanted.

    One that is called otherwise may convert anything.
    """
    before, to, after = f" {plain_name(name)} ".partition(" to ")
    units = [x for x in part.mentions if x.kind == "unit"]
    given = [str(x.value) for x in units if x.before == "number"]
    wanted = [str(x.value) for x in units if x.before != "number"]
    wanted += [
        str(x.value)
        for x in part.mentions
        if x.kind in ("phrase", "name") and x.before in ("in", "to", "into")
    ]
    if not to or not given or not wanted:
        return True
    return _names(before, given[:1]) and _names(after, wanted)


def _names(words_of_tool: str, units: list[str]) -> bool:
    own = words_of_tool.split()
    return any(same_unit(one, other.split()[0]) for one in own for other in units if other.split())


def _operations(part: Part) -> dict[str, float]:
    """`2 + 3` is a sum; `2 + 3 * 4` wants something that reads expressions."""
    values = [x for x in part.mentions if x.kind in ("date", "time", "datetime", "id", "quoted")]
    signs = {
        found[1]
        for found in _OPERATION.finditer(part.text)
        if not any(x.overlaps(part.start + found.start(), part.start + found.end()) for x in values)
    }
    meant = _OPERATORS[min(signs)].split() if len(signs) == 1 else []
    if signs:
        meant = [*meant, "calculate", "expression"]
    return dict.fromkeys(meant, _STRONG)
