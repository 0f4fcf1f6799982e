"""The steps of a run: what each asks of a peer, how long it may take, and which rows it fills."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..rows import size
from .environments import variables
from .lab import Lab
from .peers import Peer
from .raw_server import PROBLEM
from .remote import Heard

Unit = str  # "x", "s" or "ms"

# A client that needs longer for these does not do them.
_CALLS_SECONDS = 90.0
_LARGE_SECONDS = 60.0
_READY_SECONDS = 20.0
_FIRST_SECONDS = 90.0

_IN_FLIGHT = 32
_MEGABYTE = 1_000_000
_TOOLS = 500
_SLOW_SECONDS = 3.0
_HEALTHY = 7


@dataclass(frozen=True)
class Row:
    """A line of the table. `target` is the most it should be for the bridge."""

    key: str
    title: str
    unit: Unit
    target: float | None = None


@dataclass(frozen=True)
class Found:
    """Result of one pass for one row. Without samples it failed, and `note` says why."""

    samples: tuple[float, ...] = ()
    note: str = ""

    @property
    def is_failed(self) -> bool:
        """Whether the pass failed."""
        return not self.samples


class Step(Protocol):
    """One thing that is measured; `key` names it on the command line."""

    key: str
    title: str
    rows: tuple[Row, ...]

    def measure(self, lab: Lab, peer: Peer) -> dict[str, Found]:
        """One pass with one peer: what was found for each row."""
        ...


@dataclass(frozen=True)
class Calls:
    """Calls of a small tool, as a ratio to the bare client in the same process, in turns."""

    transport: str
    calls: int = _IN_FLIGHT  # in each round; a multiple of what is in flight
    rounds: int = size(10, 1)  # in each pass

    @property
    def key(self) -> str:
        """For the command line."""
        return f"calls-{self.transport}"

    @property
    def title(self) -> str:
        """For the screen."""
        return f"calls over {self.transport}"

    @property
    def rows(self) -> tuple[Row, ...]:
        """One at a time, and many at once."""
        what = f"a call over {self.transport.replace('http', 'HTTP')}"
        return (
            Row(f"{self.key}-one", f"{what}, one at a time / bare", "x", 1.05),
            Row(f"{self.key}-many", f"{what}, {_IN_FLIGHT} in flight / bare", "x", 1.05),
        )

    def measure(self, lab: Lab, peer: Peer) -> dict[str, Found]:
        """Ratios, one for each round."""
        one, many = self.rows
        job = {
            "kind": "calls",
            "servers": {"one": getattr(lab, self.transport)()},
            "in_flight": {one.key: 1, many.key: _IN_FLIGHT},
            "calls": self.calls,
            "rounds": self.rounds,
        }
        heard = lab.ask(peer, job, _CALLS_SECONDS)
        pairs = heard.result or {}
        ratios = {
            row.key: [ours / bare for ours, bare in pairs.get(row.key, ())] for row in self.rows
        }
        return {key: _found(samples, heard) for key, samples in ratios.items()}


@dataclass(frozen=True)
class Large:
    """Results of 1 and 10 MB."""

    transport: str

    @property
    def key(self) -> str:
        """For the command line."""
        return f"large-{self.transport}"

    @property
    def title(self) -> str:
        """For the screen."""
        return f"large results over {self.transport}"

    @property
    def rows(self) -> tuple[Row, ...]:
        """One for each size."""
        over = self.transport.replace("http", "HTTP")
        return tuple(
            Row(f"{self.key}-{n}", f"a result of {n} MB over {over}", "ms") for n in (1, 10)
        )

    def measure(self, lab: Lab, peer: Peer) -> dict[str, Found]:
        """Each size until it is there."""
        small, big = self.rows
        job = {
            "kind": "large",
            "servers": {"one": getattr(lab, self.transport)()},
            "characters": {small.key: _MEGABYTE, big.key: 10 * _MEGABYTE},
            "rounds": {small.key: size(5, 1), big.key: size(2, 1)},
        }
        heard = lab.ask(peer, job, _LARGE_SECONDS)
        parts = {key: taken for x in heard.all("part") for key, taken in x["part"].items()}
        return {row.key: _found(parts.get(row.key, ()), heard) for row in self.rows}


@dataclass(frozen=True)
class Listing:
    """A new listing of a server with many tools."""

    key: str = "listing"
    title: str = f"a listing of {_TOOLS} tools"
    rows: tuple[Row, ...] = (Row("listing", f"a listing of {_TOOLS} tools", "ms"),)

    def measure(self, lab: Lab, peer: Peer) -> dict[str, Found]:
        """Several in a row; all tools must be in it."""
        servers = {"one": lab.stdio(tools=_TOOLS)}
        heard = lab.ask(
            peer, {"kind": "listing", "servers": servers, "rounds": size(3, 1)}, _CALLS_SECONDS
        )
        result = heard.result or {"listing": (), "tools": _TOOLS}
        if result["tools"] != _TOOLS:
            return {self.key: Found(note=f"only {result['tools']} tools")}
        return {self.key: _found(result["listing"], heard)}


@dataclass(frozen=True)
class Ready:
    """Servers connected together, until the tools of all are listed."""

    count: int

    @property
    def key(self) -> str:
        """For the command line."""
        return f"ready-{self.count}"

    @property
    def title(self) -> str:
        """For the screen and the table."""
        return f"{self.count} server{'s' * (self.count > 1)} ready"

    @property
    def rows(self) -> tuple[Row, ...]:
        """Only one."""
        return (Row(self.key, self.title, "s"),)

    def measure(self, lab: Lab, peer: Peer) -> dict[str, Found]:
        """Until the last of them is usable."""
        servers = {f"server{number}": lab.stdio() for number in range(self.count)}
        heard = lab.ask(peer, {"kind": "ready", "servers": servers}, _READY_SECONDS)
        return {self.key: _until_usable(heard, list(servers))}


@dataclass(frozen=True)
class OneIsBad:
    """Seven healthy servers and, among them, a bad one: until the healthy ones are usable.

    Whether the reason is told counts what the client raises, returns and prints: `cause` is
    what must be found there, beside the server's name.
    """

    fault: str
    what: str
    cause: str

    @property
    def key(self) -> str:
        """For the command line."""
        return f"one-{self.fault}"

    @property
    def title(self) -> str:
        """For the screen and the table."""
        return f"7 ready beside one {self.what}"

    @property
    def rows(self) -> tuple[Row, ...]:
        """Only one."""
        return (Row(self.key, self.title, "s"),)

    def measure(self, lab: Lab, peer: Peer) -> dict[str, Found]:
        """The bad one stands in the middle, so that some come after it."""
        healthy = [f"server{number}" for number in range(_HEALTHY)]
        servers = {name: lab.stdio() for name in healthy}
        names = [*healthy[:3], "crooked", *healthy[3:]]
        servers["crooked"] = self._bad(lab)
        job = {"kind": "ready", "servers": {name: servers[name] for name in names}}
        heard = lab.ask(peer, job, _READY_SECONDS)
        found = _until_usable(heard, healthy)
        if found.is_failed:
            lab.renew(peer)
        return {self.key: Found(found.samples, f"{found.note}; {self._told(heard)}".strip("; "))}

    def _bad(self, lab: Lab) -> dict[str, Any]:
        match self.fault:
            case "missing":
                return {"command": "no-such-mcp-server", "args": []}
            case "exits":
                return lab.stdio(exit=3)
            case "hangs":
                return lab.stdio(mute=True)
            case _:
                return lab.stdio(slow_seconds=_SLOW_SECONDS)

    def _told(self, heard: Heard) -> str:
        if not self.cause:
            is_there = any(x["usable"] == "crooked" for x in heard.all("usable"))
            return "slow one later" if is_there else "slow one never"
        failed = (heard.result or {}).get("failed", {})
        said = f"{failed} {heard.terminal} {heard.problem if heard.result is None else ''}"
        said = re.sub(r"\s+", " ", said)
        has_cause = bool(re.search(self.cause, said, re.IGNORECASE))
        has_name = bool(re.search("crooked|no-such-mcp-server", said))
        if has_cause and has_name:
            return "reported"
        return "half reported" if has_cause or has_name else "not reported"


@dataclass(frozen=True)
class Import:
    """The import at the top of a user's file, in a fresh interpreter."""

    key: str = "import"
    title: str = "import"
    rows: tuple[Row, ...] = (Row("import", "import, in a fresh interpreter", "s"),)

    def measure(self, lab: Lab, peer: Peer) -> dict[str, Found]:
        """The start of the interpreter is in it, as for everybody."""
        command = [lab.environments[peer.name].python, "-c", peer.imports]
        started = time.perf_counter()
        try:
            subprocess.run(
                command, env=variables(), check=True, timeout=_FIRST_SECONDS,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.SubprocessError as error:
            return {self.key: Found(note=str(error))}
        return {self.key: Found((time.perf_counter() - started,))}


@dataclass(frozen=True)
class First:
    """From the start of a process to the answer of its first call: import, connect, list, call."""

    key: str = "first"
    title: str = "a fresh process until its first call"
    rows: tuple[Row, ...] = (Row("first", "a fresh process until its first call is answered", "s"),)

    def measure(self, lab: Lab, peer: Peer) -> dict[str, Found]:
        """In a process that is used only once."""
        job = {"kind": "first", "servers": {"one": lab.stdio()}}
        heard, seconds = lab.ask_once(peer, job, _FIRST_SECONDS)
        return {self.key: _found(() if heard.result is None else (seconds,), heard)}


def _found(samples: Iterable[float], heard: Heard) -> Found:
    """Return the samples, or the reason why there are none."""
    taken = tuple(samples)
    return Found(taken, "" if taken else _why(heard))


def _until_usable(heard: Heard, wanted: list[str]) -> Found:
    """Seconds until the last of these was usable; how many were, if not all."""
    at = {x["usable"]: x["seconds"] for x in heard.all("usable") if x["usable"] in wanted}
    answering = set((heard.result or {}).get("answering", at))
    count = len(at.keys() & answering)
    if count == len(wanted):
        return Found((max(at.values()),))
    why = "fails as a whole" if heard.result is not None and not at else _why(heard)
    return Found((), f"{count} of {len(wanted)}{f', {why}' if why else ''}")


def _why(heard: Heard) -> str:
    """Why there is no result, in short."""
    return "" if heard.result is not None else heard.problem.partition("\n")[0][:60]


STEPS: tuple[Step, ...] = (
    Calls("stdio"),
    Calls("http"),
    Ready(1),
    Ready(8),
    Ready(20),
    OneIsBad("missing", "whose command is missing", "not found|no such file|does not exist"),
    OneIsBad("exits", "that exits at once", f"{PROBLEM}|(code|status) 3"),
    OneIsBad("hangs", "that never answers", r"tim(e|ed)[ -]?out|within \d|did not"),
    OneIsBad("slow", "that answers after 3 s", ""),
    Large("stdio"),
    Large("http"),
    Listing(),
    Import(),
    First(),
)
BY_KEY: Mapping[str, Step] = {step.key: step for step in STEPS}
