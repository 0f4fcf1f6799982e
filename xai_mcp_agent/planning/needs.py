"""What chosen tools need that nobody said: the tools that give it, placed before them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..search.terms import root
from .choosing import Choice
from .flows import Flow, Flows
from .literals import literals_for
from .ports import Input, ToolPorts
from .steps import Request

# A producer on the consumer's server has to fit half; one elsewhere must be named alike, and said.
_LEAST, _LEAST_STRANGER = 0.5, 1.1
_THERE, _SAME_SERVER, _SAID, _FILLABLE, _WRITES = 0.3, 0.1, 0.5, 0.2, 0.3
_SURELY_SAID = 0.7
_MAX_DEPTH = 4
_LOOKED_AT = 12
_NEEDED_SCORE = 0.5
MOST_CALLS = 12


class Needs:
    """Completes chosen tools by those that give what they need."""

    def __init__(self, flows: Flows, request: Request, chosen: Sequence[Choice]) -> None:
        self._flows, self._request, self._chosen = flows, request, chosen
        self._found: list[Choice] = []

    def complete(self) -> list[Choice]:
        """All tools in the order in which they are called."""
        for one in self._chosen:
            self._add(one, ())
        return self._found[:MOST_CALLS]

    def _add(self, one: Choice, above: tuple[Any, ...]) -> None:
        """Add a tool behind those that give what it needs."""
        if self._has(one.ports.key):
            return
        above = (*above, one.ports.key)
        for inp in one.ports.required if len(above) <= _MAX_DEPTH else ():
            if inp.is_opaque and not self._is_said(inp):
                self._add_producer(one, inp, above)
        if not self._has(one.ports.key):
            self._found.append(one)

    def _add_producer(self, one: Choice, inp: Input, above: tuple[Any, ...]) -> None:
        found = self._producer(one, inp)
        if found is None or found in above or self._has(found):
            return
        asked = next((x for x in self._chosen if x.ports.key == found), None)
        reason = f"gives {inp.name!r} to {one.ports.name}"
        ports = self._flows.ports(found)
        self._add(asked or Choice(ports, one.step, _NEEDED_SCORE, (reason,)), above)

    def _producer(self, one: Choice, inp: Input) -> Any | None:
        """The tool to ask for an input: the one that fits best."""
        best: tuple[float, Any] = 0.0, None
        for flow in self._flows.producers(one.ports, inp)[:_LOOKED_AT]:
            ports = self._flows.ports(flow.producer)
            is_near = ports.server == one.ports.server
            score = self._score(flow, ports, one.ports)
            if score > max(best[0], _LEAST if is_near else _LEAST_STRANGER):
                best = score, flow.producer
        return best[1]

    def _score(self, flow: Flow, ports: ToolPorts, consumer: ToolPorts) -> float:
        """What flows counts more than the exact type: that is seldom declared."""
        is_there = any(x.ports.key == flow.producer for x in (*self._found, *self._chosen))
        return (
            flow.score / flow.fit**0.5
            + _THERE * is_there
            + _SAME_SERVER * (ports.server == consumer.server)
            + _SAID * self._said_share(ports, consumer)
            + _FILLABLE * self._fillable(ports)
            - _WRITES * (not ports.reads)
        )

    def _said_share(self, ports: ToolPorts, consumer: ToolPorts) -> float:
        words = sorted(x for x in ports.name_words if x not in consumer.name_words)
        whole = sum(map(self._flows.rarity, words))
        said = sum(self._flows.rarity(x) for x in words if root(x) in self._request.roots)
        return said / whole if whole else 0.0

    def _fillable(self, ports: ToolPorts) -> float:
        """How far the request says what a tool needs itself, -1 to 1."""
        said = [self._said(x) for x in ports.required if not x.is_opaque]
        return sum(min(x * 4, 2.0) - 1 for x in said) / len(said) if said else 0.0

    def _is_said(self, inp: Input) -> bool:
        return self._said(inp) >= _SURELY_SAID

    def _said(self, inp: Input) -> float:
        found = (
            x.score for step in self._request.steps for x in literals_for(inp, step, self._request)
        )
        return max(found, default=0.0)

    def _has(self, key: Any) -> bool:
        return any(x.ports.key == key for x in self._found)
