"""Report of the soak: a line while it goes on, and a table at the end."""

from __future__ import annotations

from collections.abc import Iterator

from .soak import Outcome
from .stalls import percentile
from .tally import LONGEST_CALL_SECONDS


def progress(seen: Outcome) -> str:
    """One line."""
    tally = seen.tally
    return (
        f"{_clock(seen.seconds)} of {_clock(seen.plan.seconds)}  {tally.calls:,} calls "
        f"({tally.calls / seen.seconds:.0f}/s), {tally.errors.total():,} errors, "
        f"{len(tally.unexplained)} unexplained, {seen.starts:,} starts, "
        f"late at most {seen.stalls.longest_seconds:.2f} s, {seen.memory_mb[-1]:.0f} MB"
    )


def table(seen: Outcome) -> str:
    """Markdown."""
    lines = ["| what | measured |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| {what} | {value} |" for what, value in _rows(seen))])


def _rows(seen: Outcome) -> Iterator[tuple[str, str]]:
    plan, tally = seen.plan, seen.tally
    yield "lasted", f"{_clock(seen.seconds)} minutes, seed `{plan.seed}`"
    yield "servers, agents at once", f"{plan.servers}, {plan.agents}"
    yield "runs of agents", f"{seen.runs:,}"
    yield "calls", f"{tally.calls:,}, {tally.calls / seen.seconds:.0f} a second"
    yield "calls with a result", f"{tally.results:,}"
    explained = (f"{many:,} {kind}" for kind, many in tally.errors.most_common())
    yield "calls with an explained error", "; ".join(explained)
    yield "anything else", str(len(tally.unexplained))
    yield "longest call", f"{tally.longest_seconds:.1f} s (allowed: {LONGEST_CALL_SECONDS:.0f})"
    broken = (f"{many:,} {what}" for what, many in sorted(seen.blows.items()))
    yield "servers broken from outside", ", ".join(broken)
    yield "starts of servers", f"{seen.starts:,}"
    yield "the bridge's loop was late in 99.9 of 100 moments, at most", _late(seen)
    yield "memory in use", f"{seen.used_mb[-1]:.0f} MB, {seen.grown_mb:+.0f} MB after the beginning"
    yield "processes, threads, open files left", ", ".join(seen.left) or "none"


def _late(seen: Outcome) -> str:
    ours, idle = (percentile(x.late_seconds, 99.9) for x in (seen.stalls, seen.idle))
    return f"{ours * 1000:.0f} ms (an idle loop beside it: {idle * 1000:.0f} ms)"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
