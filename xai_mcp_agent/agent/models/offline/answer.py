"""An answer from results: short plain text, never the raw JSON where that can be avoided."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from ....planning.reading.words import (
    is_action,
    is_change,
    is_generic,
    is_stop,
    name_words,
    plain_name,
    related,
    stem,
    superlative_in,
    words,
)
from .conversation import Outcome
from .narrowing import narrowed, share_said
from .progress import CallState
from .results import data_in, main_items, pick

_MAX_ITEMS = 5
_MAX_FIELDS = 8
_MAX_ITEM_FIELDS = 3
_MAX_REST = 5  # Fields in brackets after the one that was asked for.
_MAX_TEXT_CHARS = 2_000  # A screen or two; the whole result stands in the transcript.
_WORTH_CUTTING_CHARS = 500
_MAX_VALUE_CHARS = 200
_LEAST_SAID = 0.5  # of what is sought
_TITLES = ("title", "name", "label", "subject", "headline", "full_name", "path", "file")
_MAKERS = ("author", "creator", "artist", "owner", "by", "director")
_ISO_MOMENT = re.compile(
    r"(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2})(?::(\d{2}))?(?:\.\d+)?(Z|[+-]\d{2}:\d{2})?"
)
# Fields that hold the answer in words.
_SENTENCES = ("sentence", "message", "summary", "answer", "text", "explanation", "content")
# Where a conversion keeps what it gave, beside what it was given.
_OUTCOMES = {"target", "to", "result", "output", "converted", "destination"}
# A field alone that only wraps the answer has a name that says nothing.
_WRAPPERS = {"result", "value", "output", "data", "answer", "content", "text", "response"}
# "Is Dracula available?", "Who has it?": what a thing lacks may be the answer.
_ASKS_HOW_IT_STANDS = {stem(x) for x in ("is", "are", "was", "has", "have", "can", "who", "when")}
_NONE = "none"


def answer_for(states: Sequence[CallState]) -> str:
    """What the results of a plan's calls say, and what kept a call from being made."""
    full = {x.call.said for x in states if not x.call.looks and any(map(_has, x.results))}
    looked = [x for x in _looked_for(states) if x not in full]
    found = [best for said in looked if (best := _best_look(states, said))]
    told = {x.call.said for x, _ in found}
    sure = [
        (x, y) for x in states if not x.call.looks and x.call.said not in told for y in x.outcomes
    ]
    shown = [*sure, *found]
    blocks = [_block(state, outcome, named=len(shown) > 1) for state, outcome in shown]
    # One part of a request may ask for several calls that all lack the same.
    lacking = [x for x in states if x.missing and x.call.said not in told]
    blocks += dict.fromkeys(_not_called(x) for x in lacking)
    return "\n\n".join(blocks)


def _has(outcome: Outcome) -> bool:
    """Whether a result is more than an empty list."""
    return main_items(data_in(outcome.text)) != []


def _looked_for(states: Sequence[CallState]) -> list[str]:
    return list(dict.fromkeys(x.call.said for x in states if x.call.looks))


def _best_look(states: Sequence[CallState], said: str) -> tuple[CallState, Outcome] | None:
    """Of the looks for the same words the result that says most of what was sought."""
    looks = [x for x in states if x.call.looks and x.call.said == said]
    if len(looks) == 1 and not looks[0].call.sought and any(map(_has, looks[0].results)):
        return looks[0], looks[0].results[0]  # all of it was asked for, in some order
    best: tuple[float, CallState, Outcome] | None = None
    for state in looks:
        for outcome in state.results:
            share = share_said(data_in(outcome.text), state.call.sought, superlative_in(said))
            if share >= _LEAST_SAID and (best is None or share > best[0]):
                best = share, state, outcome
    return best[1:] if best else None


def said_of(outcome: Outcome, request: str) -> str:
    """One result as text. `request` tells which field was asked for."""
    if outcome.is_error:
        return f"It failed: {outcome.error or 'no reason was given'}"
    return _rendered(data_in(outcome.text), outcome, request)


def _block(state: CallState, outcome: Outcome, *, named: bool) -> str:
    text = said_of(outcome, state.call.said)
    if outcome.is_error:
        return f"{outcome.name} failed: {outcome.error or 'no reason was given'}"
    if not named:
        return text
    heading = f"{outcome.name}{_shown_arguments(outcome)}:"
    return f"{heading}\n{text}" if "\n" in text else f"{heading} {text}"


def _not_called(state: CallState) -> str:
    name = state.call.name
    if state.blocked_by:
        return f"I did not call {name}: it needs the result of {state.blocked_by.name}."
    asked = " and ".join(f"`{x.name}`" for x in state.missing)
    if state.looked_up:
        return (
            f"I did not call {name}: the search did not give exactly one {asked} for "
            f'"{state.looked_up}". Say which one.'
        )
    text = f"I would use {name}, but the request does not say what {asked} should be."
    for parameter in state.missing:
        if parameter.choices:
            shown = ", ".join(str(x) for x in parameter.choices[:_MAX_FIELDS])
            text += f" `{parameter.name}` takes one of: {shown}."
    return text


def _for_what(outcome: Outcome) -> str:
    given = [x for x in outcome.arguments.values() if isinstance(x, str)]
    return " for " + ", ".join(f'"{_value(x)}"' for x in given) if given else ""


def _shown_arguments(outcome: Outcome) -> str:
    shown = [_value(x) for x in outcome.arguments.values() if isinstance(x, str | int | float)]
    return f" ({', '.join(shown)})" if shown else ""


def _rendered(data: Any, outcome: Outcome, request: str) -> str:
    if isinstance(data, str):
        return _cut(data.strip()) or "The tool gave back nothing."
    items = main_items(data)
    if items is not None:
        return _list(data, items, outcome, request)
    if isinstance(data, dict):
        return _object(cast(dict[str, Any], data), outcome, request)
    return f"The result is {_value(data)}."


# Lists


def _list(data: Any, items: list[Any], outcome: Outcome, request: str) -> str:
    if not items:
        return f"{outcome.name} found nothing{_for_what(outcome)}."
    said, total = _said(request), _total(data, len(items))
    kept = main_items(narrowed(data, _telling(request, outcome))) or items
    if len(kept) == 1:
        lacking = _lacking(kept[0], request)
        return f"{_item(kept[0], _MAX_FIELDS, said, lacking)}."
    head = _noun(data, total)
    if len(kept) < len(items):
        head, items, total = f"{len(kept)} of {head}", kept, len(kept)
    chosen, label = superlative_in(request), _true_field(items, said)
    label = "" if label in outcome.arguments else label
    if chosen and len(items) > 1:
        head += f"The {chosen} is {_item(pick(items, request), said=said)}.\n"
    elif label and len(items) == total:
        items = [x for x in items if x[label]]
        head, total = f"{len(items)} of {total} ({_label(label)}):\n", len(items)
    lines = [f"- {_item(x, said=said)}" for x in items[:_MAX_ITEMS]]
    if total > len(lines):
        lines.append(f"... and {total - len(lines)} more.")
    return head + "\n".join(lines)


def _true_field(items: Sequence[Any], said: frozenset[str]) -> str:
    """A yes-or-no field of all the items that the request names: "which loans are overdue"."""
    things = [cast(dict[str, Any], x) for x in items if isinstance(x, dict)]
    if len(things) != len(items):
        return ""
    for name in things[0]:
        stems = {x for x in name_words(name) if not is_stop(x)}
        if stems and stems <= said and all(isinstance(x.get(name), bool) for x in things):
            return name
    return ""


def _noun(data: Any, total: int) -> str:
    """The line above a list: `3 books:`."""
    if isinstance(data, dict):
        named = [k for k, v in cast(dict[str, Any], data).items() if isinstance(v, list)]
        if len(named) == 1 and named[0] not in _WRAPPERS:
            return f"{total} {plain_name(named[0])}:\n"
    return f"{total} results:\n"


def _total(data: Any, shown: int) -> int:
    """How many there are in all, when the result says so."""
    if isinstance(data, dict):
        for name in ("total", "count", "total_count", "total_results"):
            value = cast(dict[str, Any], data).get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value >= shown:
                return value
    return shown


def _field_words(outcome: Outcome) -> set[str]:
    """The names of the fields of a list of things: they tell none of these from another."""
    items = main_items(data_in(outcome.text)) or []
    first = cast(dict[str, Any], items[0]) if items and isinstance(items[0], dict) else {}
    flags = (k for k, v in first.items() if not isinstance(v, bool))
    return {y for x in flags for y in name_words(x)}


def _telling(request: str, outcome: Outcome) -> list[str]:
    """The words of a request that may tell one thing in a result from another."""
    given = {x.stem for y in outcome.arguments.values() if isinstance(y, str) for x in words(y)}
    given |= {*name_words(outcome.name), *_field_words(outcome)}
    found = (x for x in words(request) if not (is_stop(x.stem) or is_generic(x.stem)))
    return [x.text for x in found if x.stem not in given and not is_action(x.stem)]


def _lacking(item: Any, request: str) -> dict[str, str]:
    """The fields that are null where that answers a question: one for yes or no, or for them."""
    if not isinstance(item, dict):
        return {}
    null = [k for k, v in cast(dict[str, Any], item).items() if v is None]
    said = _said(request)
    asked = [k for k in null if said & set(name_words(k))]
    first = next((x.stem for x in words(request)), "")
    return dict.fromkeys(asked or (null if first in _ASKS_HOW_IT_STANDS else ()), _NONE)


def _item(
    item: Any,
    most: int = _MAX_ITEM_FIELDS,
    said: frozenset[str] = frozenset(),
    lacking: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """One thing in a line: its title, who made it, and a few more fields, those `said` first."""
    if not isinstance(item, dict):
        return _value(item)
    fields = _fields(cast(dict[str, Any], item)) | dict(lacking)
    title = _first(fields, _TITLES)
    maker = _first(fields, _MAKERS)
    ordered = sorted(fields.items(), key=lambda pair: not (said & set(name_words(pair[0]))))
    rest = [_field(k, v) for k, v in ordered][: most + (title is None)]
    text = title or ""
    if maker:
        text = f"{text} by {maker}" if text else maker
    if not text:
        return ", ".join(rest) or "(empty)"
    return f"{text} ({', '.join(rest)})" if rest else text


def _first(fields: dict[str, Any], names: Sequence[str]) -> str | None:
    """Takes the first of these fields out, as text."""
    for wanted in names:
        for name in list(fields):
            if name.lower() == wanted:
                return _value(fields.pop(name))
    return None


# Objects


def _object(data: dict[str, Any], outcome: Outcome, request: str) -> str:
    fields = _fields(data)
    if not fields:
        return "The tool gave back nothing."
    sentence = next((fields[x] for x in _SENTENCES if isinstance(fields.get(x), str)), None)
    if sentence and (" " in sentence or len(fields) == 1):
        return _cut(sentence)
    asked = _asked(fields, request, outcome) or _asked(fields, plain_name(outcome.name), outcome)
    if asked is None:
        return _listed(fields)
    value = fields.pop(asked)
    rest = _joined(dict(list(fields.items())[:_MAX_REST]))
    return _stated(_label(asked), value) + (f" ({rest})." if rest else ".")


def _said(request: str) -> frozenset[str]:
    """The words of a request that may name what is wanted to be known."""
    found = (x.stem for x in words(request))
    return frozenset(x for x in found if not (is_stop(x) or is_change(x)))


def _stated(label: str, value: Any) -> str:
    is_plural = label.endswith("s") and not label.endswith("ss")
    return f"{_capital(label)}: {_value(value)}" if is_plural else f"The {label} is {_value(value)}"


def _asked(fields: Mapping[str, Any], request: str, outcome: Outcome) -> str | None:
    """The field that the request asks for by its words; a value that was given is no answer."""
    said = _said(request)
    best: tuple[int, str] | None = None
    for name, value in fields.items():
        own = name_words(name.rsplit(".", 1)[-1])
        stems = [x for x in own if not (is_stop(x) or is_change(x))]
        if isinstance(value, list) or any(value == x for x in outcome.arguments.values()):
            continue
        hits = sum(2 if x in said else bool(related(x) & said) for x in stems)
        hits += 1 if hits and all(x in said or related(x) & said for x in stems) else 0
        hits += 1 if name in _WRAPPERS else 0
        hits += 2 if hits and name.split(".")[0] in _OUTCOMES else 0
        if hits and (best is None or hits > best[0]):
            best = (hits, name)
    return best[1] if best else None


def _listed(fields: Mapping[str, Any]) -> str:
    """A thing with a name makes a line, few fields a sentence, more fields lines."""
    if any(x.lower() in _TITLES for x in fields):
        return f"{_item(fields, _MAX_FIELDS)}."
    if len(fields) == 1:
        return "".join(_stated(_label(k), v) for k, v in fields.items()) + "."
    if len(fields) <= _MAX_ITEM_FIELDS:
        # Numbers by name are things and how many: their names stay as they are.
        is_count = all(isinstance(x, int) and not isinstance(x, bool) for x in fields.values())
        return (_joined(fields) if is_count else _capital(_joined(fields))) + "."
    lines = [f"- {_label(k)}: {_value(v)}" for k, v in list(fields.items())[:_MAX_FIELDS]]
    left = len(fields) - len(lines)
    return "\n".join([*lines, *([f"... and {left} more fields."] if left else [])])


def _joined(fields: Mapping[str, Any]) -> str:
    shown = [_field(k, v) for k, v in list(fields.items())[:_MAX_FIELDS]]
    left = len(fields) - len(shown)
    return ", ".join([*shown, *([f"and {left} more fields"] if left > 0 else [])])


def _fields(data: dict[str, Any]) -> dict[str, Any]:
    """The plain values inside an object by their dotted names, without null and empty ones."""
    found: dict[str, Any] = {}
    for name, value in data.items():
        if isinstance(value, dict):
            inner = _fields(cast(dict[str, Any], value))
            found |= {f"{name}.{x}": y for x, y in inner.items()}
        elif isinstance(value, list):
            found[name] = [_item(x, 0) for x in cast(list[Any], value)]
        else:
            found[name] = value
    return {k: v for k, v in found.items() if v is not None and v not in ("", [])}


def _field(name: str, value: Any) -> str:
    return f"{_label(name)} {_value(value)}"


def _label(name: str) -> str:
    label = " ".join(plain_name(x) for x in name.split(".")) or name
    return re.sub(r"\b(?:is|has) (?=\w)", "", label)


def _value(value: Any) -> str:
    """A plain value as a person writes it."""
    match value:
        case True | False:
            return "yes" if value else "no"
        case None:
            return "nothing"
        case float():
            return f"{value:.10g}"
        case list():
            listed = cast(list[Any], value)
            more = f" and {len(listed) - _MAX_FIELDS} more" if len(listed) > _MAX_FIELDS else ""
            return ", ".join(_value(x) for x in listed[:_MAX_FIELDS]) + more
        case str():
            return _short(_ISO_MOMENT.sub(_moment, value))
        case _:
            return str(value)


def _moment(found: re.Match[str]) -> str:
    """`2026-03-12T14:30:00+01:00` with spaces between its parts."""
    seconds = f":{found[3]}" if found[3] else ""
    zone = f" {'UTC' if found[4] == 'Z' else found[4]}" if found[4] else ""
    return f"{found[1]} {found[2]}{seconds}{zone}"


def _short(text: str) -> str:
    folded = " ".join(text.split())
    return (
        folded if len(folded) <= _MAX_VALUE_CHARS else folded[:_MAX_VALUE_CHARS].rstrip() + " ..."
    )


def _cut(text: str) -> str:
    if len(text) <= _MAX_TEXT_CHARS + _WORTH_CUTTING_CHARS:
        return text
    left = len(text) - _MAX_TEXT_CHARS
    return f"{text[:_MAX_TEXT_CHARS].rstrip()}\n... ({left} more characters)"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
