"""The results for people: a line for each scenario while it runs, a summary, a page of the docs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from .suite import NODE, ROOT, SUITE, Outcome

PAGE = ROOT / "docs" / "conformance.md"
BEGIN = "<!-- Written by `make conformance ARGS=--write`: begin -->"
END = "<!-- end -->"

_TITLES = {
    "required": "required of a {side}, {spec}",
    "later": "added for a {side} after the release of {spec}",
    "back-compat": "OAuth of {spec}, for older servers",
    "pending": "pending for a {side}, {spec}, reported and not scored",
    "extension": "extensions for a {side}, reported and not scored",
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
    parts = [f"{title}: {_score(found)}" for title, found in _sets(outcomes)]
    return "Conformance: " + "; ".join(parts) + "."


def is_good(outcomes: Iterable[Outcome]) -> bool:
    """Whether every scored scenario passed."""
    return all(x.verdict == "passed" for x in outcomes if x.scenario.is_scored)


def page_text(page: str, outcomes: list[Outcome], version: str) -> str:
    """The page of the docs with these results between its marks."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    assert begin, f"{PAGE.name} has lost its mark {BEGIN}"
    assert end, f"{PAGE.name} has lost its mark {END}"
    return f"{head}{BEGIN}\n{_tables(outcomes, version)}{END}{tail}"


def _tables(outcomes: list[Outcome], version: str) -> str:
    checks = sum(x.passed for x in outcomes)
    lines = [
        f"With `{SUITE}`, {NODE.replace('@', ' ')}, `mcp` {version}: {checks} checks passed.",
        "",
        "| set | passed |",
        "| --- | --- |",
        *(f"| {title} | {_score(found)} |" for title, found in _sets(outcomes)),
    ]
    for title, found in _sets(outcomes):
        lines += ["", f"## {title[0].upper()}{title[1:]}", "", *_rows(found)]
    return "\n".join(lines) + "\n\n"


def _rows(outcomes: list[Outcome]) -> Iterator[str]:
    yield "| scenario | result | checks |"
    yield "| --- | --- | --- |"
    for x in outcomes:
        yield f"| {x.scenario.name} | {x.verdict} | {_counts(x)} |"


def _sets(outcomes: Iterable[Outcome]) -> list[tuple[str, list[Outcome]]]:
    def title(outcome: Outcome) -> str:
        return _TITLES[outcome.scenario.kind].format(
            spec=outcome.scenario.spec, side=outcome.scenario.side
        )

    return [(text, list(found)) for text, found in groupby(outcomes, title)]


def _score(outcomes: list[Outcome]) -> str:
    skipped = sum(x.verdict == "skipped" for x in outcomes)
    passed = sum(x.verdict == "passed" for x in outcomes)
    return f"{passed} of {len(outcomes)}" + (f" ({skipped} skipped)" if skipped else "")


def _counts(outcome: Outcome) -> str:
    counts = {"passed": outcome.passed, "failed": outcome.failed, "warnings": outcome.warnings}
    return ", ".join(f"{n} {name}" for name, n in counts.items() if n) or "no checks"
