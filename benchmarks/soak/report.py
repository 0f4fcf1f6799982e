"""What the soak saw, in a line while it goes on, and as a table at the end."""

from __future__ import annotations

from collections.abc import Iterator

from .soak import Outcome
from .tally import LONGEST_CALL_SECONDS


def progress(seen: Outcome) -> str:
    """One line."""
    tally = seen.tally
    return (
        f"{_clock(seen.seconds)} of {_clock(seen.plan.seconds)}  {tally.calls:,} calls "
        f"({tally.calls / seen.seconds:.0f}/s), {tally.errors.total():,} errors, "
        f"{len(tally.unexplained)} unexplained, {seen.starts:,} starts, "
        f"longest stall {seen.stalls.longest_seconds:.2f} s, {seen.memory_mb[-1]:.0f} MB"
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
    for kind, many in tally.errors.most_common():
        yield f"explained: {kind}", f"{many:,}"
    yield "anything else", str(len(tally.unexplained))
    yield "longest call", f"{tally.longest_seconds:.1f} s (allowed: {LONGEST_CALL_SECONDS:.0f})"
    for what, many in sorted(seen.blows.items()):
        yield f"servers {what} from outside", f"{many:,}"
    yield "starts of servers", f"{seen.starts:,}"
    yield "the loop stood still, longest", _stall(seen, 100)
    yield "the loop stood still, 99.9 of 100 times less than", _stall(seen, 99.9)
    yield "memory", f"{seen.memory_mb[-1]:.0f} MB, {seen.grown_mb:+.0f} MB after the beginning"
    yield "processes, threads, open files left", ", ".join(seen.left) or "none"


def _stall(seen: Outcome, percent: float) -> str:
    ours, idle = (x.percentile_seconds(percent) for x in (seen.stalls, seen.idle))
    return f"{ours * 1000:.0f} ms (an idle loop beside it: {idle * 1000:.0f} ms)"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
