"""The steps of a run: the job that each gives a peer, its time limit, and its rows."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..rows import seconds, size
from .environments import variables
from .lab import Lab
from .peers import Peer
from .raw_server import PROBLEM
from .remote import JobResult

# A client that takes longer fails the step.
_CALLS_SECONDS = 90.0
_LARGE_SECONDS = 60.0
_READY_SECONDS = 20.0
_FIRST_SECONDS = 90.0

_IN_FLIGHT = 32
_MEGABYTE = 1_000_000
_TOOLS = 500
_SLOW_SECONDS = 3.0
_HEALTHY = 7
_BAD = "crooked"  # the name of the bad server among the healthy ones


@dataclass(frozen=True)
class Row:
    """A line of the table. Its unit is "x", "s" or "ms"."""

    key: str
    title: str
    unit: str


@dataclass(frozen=True)
class Measurement:
    """Result of one pass for one row. Without samples it failed, and `note` says why."""

    samples: tuple[float, ...] = ()
    note: str = ""

    @property
    def is_failed(self) -> bool:
        """Whether the pass failed."""
        return not self.samples


@dataclass(frozen=True)
class Step:
    """One thing to measure; `key` names it on the command line.

    `measure` makes one pass with one peer. The doors of the bridge differ in their calls only, so
    other steps are for its main door.
    """

    key: str
    title: str
    rows: tuple[Row, ...]
    measure: Callable[[Lab, Peer], dict[str, Measurement]]
    for_every_door: bool = False


def _calls(transport: str) -> Step:
    """Calls of a small tool, as ratios to the bare client in the same process, in turns."""
    key, name = f"calls-{transport}", transport.replace("http", "HTTP")
    one = Row(f"{key}-one", f"a call over {name}, one at a time / bare", "x")
    many = Row(f"{key}-many", f"a call over {name}, {_IN_FLIGHT} in flight / bare", "x")

    def measure(lab: Lab, peer: Peer) -> dict[str, Measurement]:
        job = {
            "kind": "calls",
            "servers": {"one": getattr(lab, transport)()},
            "in_flight": {one.key: 1, many.key: _IN_FLIGHT},
            "calls": _IN_FLIGHT,  # in each round
            "rounds": size(10, 1),
        }
        result = lab.ask(peer, job, _CALLS_SECONDS)
        pairs: Mapping[str, Sequence[tuple[float, float]]] = result.measurements or {}
        return {
            row.key: _measurement((ours / bare for ours, bare in pairs.get(row.key, ())), result)
            for row in (one, many)
        }

    return Step(key, f"calls over {transport}", (one, many), measure, for_every_door=True)


def _large(transport: str) -> Step:
    """Results of 1 and 10 MB."""
    key, name = f"large-{transport}", transport.replace("http", "HTTP")
    small, big = (Row(f"{key}-{n}", f"a result of {n} MB over {name}", "ms") for n in (1, 10))

    def measure(lab: Lab, peer: Peer) -> dict[str, Measurement]:
        job = {
            "kind": "large",
            "servers": {"one": getattr(lab, transport)()},
            "characters": {small.key: _MEGABYTE, big.key: 10 * _MEGABYTE},
            "rounds": {small.key: size(5, 1), big.key: size(2, 1)},
        }
        result = lab.ask(peer, job, _LARGE_SECONDS)
        parts = {key: samples for x in result.all("part") for key, samples in x["part"].items()}
        return {x.key: _measurement(parts.get(x.key, ()), result) for x in (small, big)}

    return Step(key, f"large results over {transport}", (small, big), measure)


def _listing() -> Step:
    """Return a new listing of a server with many tools, which must have them all."""
    key, title = "listing", f"a listing of {_TOOLS} tools"

    def measure(lab: Lab, peer: Peer) -> dict[str, Measurement]:
        servers = {"one": lab.stdio(tools=_TOOLS)}
        job = {"kind": "listing", "servers": servers, "rounds": size(3, 1)}
        result = lab.ask(peer, job, _CALLS_SECONDS)
        listing = result.measurements or {"listing": (), "tools": _TOOLS}
        if listing["tools"] != _TOOLS:
            return {key: Measurement(note=f"only {listing['tools']} tools")}
        return {key: _measurement(listing["listing"], result)}

    return Step(key, title, (Row(key, title, "ms"),), measure)


def _ready(count: int) -> Step:
    """Servers that are connected together, until the tools of all are listed."""
    key, title = f"ready-{count}", f"{count} server{'s' * (count > 1)} ready"

    def measure(lab: Lab, peer: Peer) -> dict[str, Measurement]:
        servers = {f"server{number}": lab.stdio() for number in range(count)}
        result = lab.ask(peer, {"kind": "ready", "servers": servers}, _READY_SECONDS)
        return {key: _until_usable(result, list(servers))}

    return Step(key, title, (Row(key, title, "s"),), measure)


def _one_is_bad(
    fault: str, description: str, bad_entry: Callable[[Lab], Mapping[str, Any]], cause: str
) -> Step:
    """Seven healthy servers and a bad one, until the healthy ones are usable.

    A client reports the reason if the cause (a pattern) and the server's name are in what it
    raises, returns or prints.
    """
    key, title = f"one-{fault}", f"7 ready beside one {description}"

    def measure(lab: Lab, peer: Peer) -> dict[str, Measurement]:
        healthy = [f"server{number}" for number in range(_HEALTHY)]
        servers = {name: lab.stdio() for name in healthy} | {_BAD: bad_entry(lab)}
        names = [*healthy[:3], _BAD, *healthy[3:]]  # some start after the bad one
        job = {"kind": "ready", "servers": {name: servers[name] for name in names}}
        result = lab.ask(peer, job, _READY_SECONDS)
        ready = _until_usable(result, healthy)
        if ready.is_failed:
            lab.renew(peer)
        report = _report_of(result, cause) if cause else _lateness_of(result)
        return {key: Measurement(ready.samples, f"{ready.note}; {report}".strip("; "))}

    return Step(key, title, (Row(key, title, "s"),), measure)


def _lateness_of(result: JobResult) -> str:
    is_there = any(x["usable"] == _BAD for x in result.all("usable"))
    return "slow one later" if is_there else "slow one never"


def _report_of(result: JobResult, cause: str) -> str:
    errors = (result.measurements or {}).get("failed", {})
    problem = result.problem if result.measurements is None else ""
    text = re.sub(r"\s+", " ", f"{errors} {result.terminal} {problem}")
    has_cause = bool(re.search(cause, text, re.IGNORECASE))
    has_name = bool(re.search(f"{_BAD}|no-such-mcp-server", text))
    if has_cause and has_name:
        return "reported"
    return "half reported" if has_cause or has_name else "not reported"


def _import() -> Step:
    """Return the import at the top of a user's file, with the start of the interpreter."""

    def measure(lab: Lab, peer: Peer) -> dict[str, Measurement]:
        command = [lab.environments[peer.name].python, "-c", peer.imports]

        def run() -> None:
            subprocess.run(
                command, env=variables(), check=True, timeout=_FIRST_SECONDS,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip

        try:
            return {"import": Measurement((seconds(run),))}
        except subprocess.SubprocessError as error:
            return {"import": Measurement(note=str(error))}

    row = Row("import", "import, in a fresh interpreter", "s")
    return Step("import", "import", (row,), measure)


def _first() -> Step:
    """From the start of a process to the answer of its first call: import, connect, list, call."""

    def measure(lab: Lab, peer: Peer) -> dict[str, Measurement]:
        job = {"kind": "first", "servers": {"one": lab.stdio()}}
        result, seconds = lab.ask_once(peer, job, _FIRST_SECONDS)
        return {"first": _measurement(() if result.measurements is None else (seconds,), result)}

    row = Row("first", "a fresh process until its first call is answered", "s")
    return Step("first", "a fresh process until its first call", (row,), measure)


def _measurement(samples: Iterable[float], result: JobResult) -> Measurement:
    """Return the samples, or the reason why there are none."""
    samples = tuple(samples)
    return Measurement(samples, "" if samples else _reason(result))


def _until_usable(result: JobResult, names: list[str]) -> Measurement:
    """Seconds until the last of these servers was usable; how many were, if not all."""
    times = {x["usable"]: x["seconds"] for x in result.all("usable") if x["usable"] in names}
    answering = set((result.measurements or {}).get("answering", times))
    count = len(times.keys() & answering)
    if count == len(names):
        return Measurement((max(times.values()),))
    fails_as_a_whole = result.measurements is not None and not times
    reason = "fails as a whole" if fails_as_a_whole else _reason(result)
    return Measurement((), f"{count} of {len(names)}{f', {reason}' if reason else ''}")


def _reason(result: JobResult) -> str:
    """Return the reason why there is no result, in short."""
    return "" if result.measurements is not None else result.problem.partition("\n")[0][:60]


STEPS: tuple[Step, ...] = (
    _calls("stdio"),
    _calls("http"),
    _ready(1),
    _ready(8),
    _ready(20),
    _one_is_bad(
        "missing", "whose command is missing",
        lambda _: {"command": "no-such-mcp-server", "args": []},
        "not found|no such file|does not exist",
    ),
    _one_is_bad(
        "exits", "that exits at once", lambda lab: lab.stdio(exit=3), f"{PROBLEM}|(code|status) 3"
    ),
    _one_is_bad(
        "hangs", "that never answers", lambda lab: lab.stdio(mute=True),
        r"tim(e|ed)[ -]?out|within \d|did not",
    ),
    _one_is_bad(
        "slow", "that answers after 3 s", lambda lab: lab.stdio(slow_seconds=_SLOW_SECONDS), ""
    ),
    _large("stdio"),
    _large("http"),
    _listing(),
    _import(),
    _first(),
)  # fmt: skip
BY_KEY: Mapping[str, Step] = {step.key: step for step in STEPS}
