"""Rulings on calls, as JSON and as text."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from ..console.text import count, cut, one_line
from ..core.approval import Ruling
from ..core.json import JsonObject
from ..core.tools import ToolKey
from ..policy.rules import RuledTool
from ..settings.rules import Rule

_VERBS = {"allow": "allowed", "ask": "asked for", "deny": "denied"}
_MAY = {"ask": "may be asked for", "deny": "may be denied"}
_MOST_NAMES = 5
_NAME_CHARS = 60


def ruling_json(ruling: Ruling) -> JsonObject:
    """Return a ruling on a tool, or on one call of it."""
    return {
        "rule": ruling.rule or None,
        "why": ruling.why,
        "derived": sorted(ruling.words),
        "limits": list(ruling.limits),
        "prefer": ruling.prefer,
        "preferred_by": list(ruling.preferred_by),
        "perhaps": [{"word": x.word, "rule": x.rule} for x in ruling.perhaps],
    }


def ruling_lines(ruling: Ruling) -> Iterator[str]:
    """Yield a ruling in sentences, without the verdict of the deciding rule."""
    if ruling.words:
        yield f"It is: {', '.join(sorted(ruling.words))}."
    for name in ruling.limits:
        yield f"It is counted by the rule {name!r}."
    if ruling.prefer:
        yield f"In rankings it is moved by {ruling.prefer:+g}: {', '.join(ruling.preferred_by)}."
    for one in ruling.perhaps:
        yield f"It {_MAY[one.word]} by the rule {one.rule!r}: {one.why}."


def ruled_json(ruled: RuledTool) -> JsonObject:
    """Return the ruling on calls of one tool."""
    names = {"server": ruled.tool.source, "tool": ruled.tool.name}
    return {**names, "word": ruled.word, "reason": ruled.reason, **ruling_json(ruled.ruling)}


def rules_json(rules: Sequence[Rule], ruled: Sequence[RuledTool]) -> JsonObject:
    """Return a dry run of all rules on these tools."""
    about = _about(ruled)
    return {
        "counts": {word: sum(x.word == word for x in ruled) for word in _VERBS},
        "rules": [
            {"name": x.name, "tools": [_name(y) for y in about[x.name]]}
            for x in rules
            if not x.derived
        ],
        "tools": [ruled_json(x) for x in ruled],
    }


def rules_text(rules: Sequence[Rule], ruled: Sequence[RuledTool]) -> str:
    """Return a dry run to read: counts, then each rule with its tools."""
    counts = Counter(x.word for x in ruled)
    numbers = ", ".join(f"{counts[word]:,} {_VERBS[word]}" for word in _VERBS)
    lines = [f"With these rules: {numbers}, of {count(len(ruled), 'tool')}."]
    about = _about(ruled)
    for rule in rules:
        tools = about[rule.name] if not rule.derived else _called(rule.derived, ruled)
        lines.append(one_line(f"{rule.name}: {rule.outcome}: {_names(tools) or 'no present tool'}"))
    return "\n".join(lines)


def ruled_text(ruled: RuledTool) -> str:
    """Return the reasons why a call would be allowed, asked for or denied."""
    why = ruled.reason or "nothing speaks against it"
    first = f"{_name(ruled.tool.key)} is {_VERBS[ruled.word]}: {why}."
    return "\n".join(map(one_line, (first, *ruling_lines(ruled.ruling))))


def _called(word: str, ruled: Iterable[RuledTool]) -> list[ToolKey]:
    """Return the tools that this word was derived from."""
    return [x.tool.key for x in ruled if word in x.ruling.words]


def _about(ruled: Iterable[RuledTool]) -> dict[str, list[ToolKey]]:
    """Return the tools that each rule covers, or may cover."""
    tools = defaultdict[str, list[ToolKey]](list)
    for one in ruled:
        for name in _rules_of(one.ruling):
            tools[name].append(one.tool.key)
    return tools


def _rules_of(ruling: Ruling) -> Iterator[str]:
    if ruling.rule:
        yield ruling.rule
    yield from ruling.limits
    yield from ruling.preferred_by
    yield from (x.rule for x in ruling.perhaps)


def _name(key: ToolKey) -> str:
    return f"{key.source}/{key.name}" if key.source else key.name


def _names(keys: Sequence[ToolKey]) -> str:
    names = ", ".join(cut(_name(x), _NAME_CHARS) for x in keys[:_MOST_NAMES])
    more = len(keys) - _MOST_NAMES
    return f"{names} and {more:,} more" if more > 0 else names
