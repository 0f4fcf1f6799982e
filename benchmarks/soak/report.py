"""Report of the soak: a line of progress, and a table at the end."""

from __future__ import annotations

from collections.abc import Iterator

from .. import page
from .soak import Outcome
from .stalls import percentile
from .tally import LONGEST_CALL_SECONDS


def progress(outcome: Outcome) -> str:
    """Return a line of progress."""
    tally = outcome.tally
    return (
        f"{_clock(outcome.seconds)} of {_clock(outcome.plan.seconds)}  {tally.calls:,} calls "
        f"({tally.calls / outcome.seconds:.0f}/s), {tally.errors.total():,} errors, "
        f"{len(tally.unexplained)} unexplained, {outcome.starts:,} starts, "
        f"late at most {outcome.stalls.longest_seconds:.2f} s, {outcome.memory_mb[-1]:.0f} MB"
    )


def table(outcome: Outcome) -> str:
    """Return the results, in Markdown."""
    return page.table(("what", "measured"), _rows(outcome))


def _rows(outcome: Outcome) -> Iterator[tuple[str, str]]:
    plan, tally = outcome.plan, outcome.tally
    yield "lasted", f"{_clock(outcome.seconds)} minutes, seed `{plan.seed}`"
    yield "servers, agents at once", f"{plan.servers}, {plan.agents}"
    yield "runs of agents", f"{outcome.runs:,}"
    yield "calls", f"{tally.calls:,}, {tally.calls / outcome.seconds:.0f} a second"
    yield "calls with a result", f"{tally.results:,}"
    errors = (f"{count:,} {kind}" for kind, count in tally.errors.most_common())
    yield "calls with an explained error", "; ".join(errors)
    yield "anything else", str(len(tally.unexplained))
    yield "longest call", f"{tally.longest_seconds:.1f} s (allowed: {LONGEST_CALL_SECONDS:.0f})"
    attacks = (f"{count:,} {what}" for what, count in sorted(outcome.attacks.items()))
    yield "servers broken from outside", ", ".join(attacks)
    yield "starts of servers", f"{outcome.starts:,}"
    yield "the bridge's loop was late in 99.9 of 100 moments, at most", _late(outcome)
    yield (
        "memory in use",
        f"{outcome.used_mb[-1]:.0f} MB, {outcome.grown_mb:+.0f} MB after the beginning",
    )
    yield "processes, threads, open files left", ", ".join(outcome.leaks) or "none"


def _late(outcome: Outcome) -> str:
    ours, idle = (percentile(x.late_seconds, 99.9) for x in (outcome.stalls, outcome.idle))
    return f"{ours * 1000:.0f} ms (an idle loop beside it: {idle * 1000:.0f} ms)"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
