"""Suggestions for the next tool, problems of wires, reasons of a choice: as JSON and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..console.text import count, one_line
from ..core.json import JsonObject
from ..history.wording import plain
from ..planning.answers import CallToCheck, ExplainedChoice, SuggestedTools, WireReport
from ..planning.suggestions import Suggestion
from ..planning.wires import WireProblem
from .rules import ruling_json, ruling_lines

_INDENT = " " * 6
_NO_CALLS = "It has no calls to check: no MCPToolStep, no MCPCallTool, no plan."
_CHARS = 400  # of a name or a reason from a server


def suggestion_json(one: Suggestion) -> JsonObject:
    """Return a tool that may come next."""
    return {
        "server": one.tool.source,
        "name": one.tool.name,
        "score": round(one.score, 3),
        "reasons": list(one.reasons),
    }


def suggested_text(suggested: SuggestedTools) -> str:
    """Return the suggestions to read."""
    lines: list[str] = []
    for one in suggested.tools:
        lines.append(f"{one.score:.2f}  {plain(str(one.tool), _CHARS)}")
        lines.append(one_line("; ".join(_plain(one.reasons)), _INDENT))
    if not lines:
        lines.append("No tool takes the results of these steps, or matches the request.")
    return "\n".join(lines)


def wire_problem_json(problem: WireProblem, calls: Sequence[CallToCheck]) -> JsonObject:
    """Return a problem of a call; `call` counts from 1."""
    call = calls[problem.call]
    return {
        "call": problem.call + 1,
        "server": call.source,
        "tool": call.tool,
        "parameter": problem.parameter,
        "problem": problem.problem,
        "remedies": list(problem.remedies),
    }


def checked_text(checked: WireReport, calls: Sequence[CallToCheck]) -> str:
    """Return a line for each problem of the calls, and the number of checked calls."""
    lines: list[str] = []
    for one in checked.problems:
        call = calls[one.call]
        name = f"{call.source}/{call.tool}" if call.source else "?"
        text = "; ".join(_plain((one.problem, *one.remedies)))
        end = "" if text.endswith((".", "?", "!")) else "."
        lines.append(one_line(f"Call {one.call + 1}, {plain(name, _CHARS)}: {text}{end}"))
    return "\n".join([*lines, _summary(checked)])


def _summary(checked: WireReport) -> str:
    if not checked.of:
        return _NO_CALLS
    share = f"{count(checked.checked, 'call')} of {checked.of} checked"
    wrong = count(len(checked.problems), "problem") if checked.problems else "nothing is wrong"
    return f"{share}: {wrong}{'' if checked.problems else ', by the schemas of the tools'}."


def choice_json(choice: ExplainedChoice) -> JsonObject:
    """Return why a tool is chosen or not; places and steps count from 1, and 0 means none."""
    hit = choice.match
    return {
        "server": choice.key.source,
        "tool": choice.key.name,
        "request": choice.request,
        "is_chosen": choice.is_chosen,
        "search": {
            "place": choice.place,
            "score": round(hit.score, 3) if hit else 0.0,
            "reasons": list(hit.reasons) if hit else [],
            "ahead": [str(x.entry.key) for x in choice.ahead],
        },
        "plan": {
            "step": choice.step,
            "steps": list(choice.steps),
            "reasons": list(choice.call.reasons) if choice.call else [],
        },
        "rules": {"word": choice.ruling.word, **ruling_json(choice.ruling)},
        "barred": list(choice.barred),
    }


def choice_text(choice: ExplainedChoice) -> str:
    """Return the reasons of a choice, in sentences."""
    parts = (_barred, _of_search, _of_plan, _of_rules)
    return "\n".join(plain(x, 4 * _CHARS) for part in parts for x in part(choice))


def _barred(choice: ExplainedChoice) -> Iterator[str]:
    if choice.barred:
        yield f"{choice.key} cannot be chosen: {'; '.join(choice.barred)}."


def _of_search(choice: ExplainedChoice) -> Iterator[str]:
    ahead = ", ".join(str(x.entry.key) for x in choice.ahead)
    if choice.match is None:
        before = f" It finds {ahead}." if ahead else ""
        yield f"A search for this does not find {choice.key}.{before}"
        return
    why = "; ".join(choice.match.reasons)
    place = "first" if choice.place == 1 else f"number {choice.place}, behind {ahead}"
    yield f"A search for this finds {choice.key} {place}: {why}."


def _of_plan(choice: ExplainedChoice) -> Iterator[str]:
    steps = ", ".join(choice.steps) or "no tool at all"
    if choice.call is None:
        yield f"The plan for this does not use it; it has {steps}."
        return
    why = "; ".join(choice.call.reasons) or "its words fit"
    yield f"It is step {choice.step} of {len(choice.steps)} of the plan for this: {why}."


def _of_rules(choice: ExplainedChoice) -> Iterator[str]:
    ruling = choice.ruling
    lines = [*ruling_lines(ruling)]
    if ruling.word:
        yield f"The rule {ruling.rule!r} says {ruling.word}: {ruling.why}."
    elif not lines:
        yield "No rule applies to it."
    yield from lines


def _plain(texts: Sequence[str]) -> list[str]:
    return [plain(x, _CHARS) for x in texts]
