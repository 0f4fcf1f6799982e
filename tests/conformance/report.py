"""The results for people: a line for each scenario while it runs, a summary, a page of the docs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from .suite import NODE, SUITE, Outcome

COMMAND = "make conformance ARGS=--write"

_TITLES = {
    "required": "required of a {side}, {spec}",
    "later": "added for a {side} after {spec}",
    "back-compat": "OAuth of {spec}, for older servers",
    "pending": "pending for a {side}, {spec}, not scored",
    "extension": "extensions for a {side}, not scored",
}


def line(outcome: Outcome) -> str:
    """One scenario on one line, and what failed below it."""
    scenario = outcome.scenario
    name = f"{scenario.spec or scenario.kind:<11}{scenario.name:<48}"
    # Those for servers run a whole set at a time.
    seconds = f"{outcome.seconds:5.1f} s" if outcome.seconds else ""
    text = f"{name}{outcome.verdict:<8}{_counts(outcome):<28}{seconds}".rstrip()
    return "\n".join([text, *(f"    {x}" for x in outcome.words.splitlines())])


def summary(outcomes: Iterable[Outcome]) -> str:
    """How many passed of each set, on one line."""
    parts = [f"{title}: {_score(group)}" for title, group in _sets(outcomes)]
    return "Conformance: " + "; ".join(parts) + "."


def is_good(outcomes: Iterable[Outcome]) -> bool:
    """Whether every scored scenario passed."""
    return all(x.verdict == "passed" for x in outcomes if x.scenario.is_scored)


def tables(outcomes: list[Outcome], version: str) -> str:
    """How many passed of each set, and every scored scenario that did not."""
    checks = sum(x.passed for x in outcomes)
    return "\n".join(
        [
            f"With `{SUITE}`, {NODE.replace('@', ' ')}, `mcp` {version}: {checks} checks passed.",
            "",
            "| set | passed |",
            "| --- | --- |",
            *(f"| {title} | {_score(group)}{_missed(group)} |" for title, group in _sets(outcomes)),
        ]
    )


def _missed(outcomes: list[Outcome]) -> str:
    missed = [x for x in outcomes if x.scenario.is_scored and x.verdict != "passed"]
    return "".join(f", {x.scenario.name} {x.verdict}" for x in missed)


def _sets(outcomes: Iterable[Outcome]) -> list[tuple[str, list[Outcome]]]:
    def title(outcome: Outcome) -> str:
        return _TITLES[outcome.scenario.kind].format(
            spec=outcome.scenario.spec, side=outcome.scenario.side
        )

    return [(text, list(group)) for text, group in groupby(outcomes, title)]


def _score(outcomes: list[Outcome]) -> str:
    skipped = sum(x.verdict == "skipped" for x in outcomes)
    passed = sum(x.verdict == "passed" for x in outcomes)
    return f"{passed} of {len(outcomes)}" + (f" ({skipped} skipped)" if skipped else "")


def _counts(outcome: Outcome) -> str:
    counts = {"passed": outcome.passed, "failed": outcome.failed, "warnings": outcome.warnings}
    return ", ".join(f"{n} {name}" for name, n in counts.items() if n) or "no checks"
