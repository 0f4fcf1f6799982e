"""Planner without a model: which tools a request needs, in which order, and how they connect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, cast

from ..core.json import JsonObject
from ..core.tools import Tool
from ..search.terms import root, singular
from ..search.tools import ToolIndex, key_of, schema_of, text_of
from .choosing import Chooser, Needs, ToolForStep, WordRanking, align_steps
from .flows import Flow, Flows
from .plan import Plan, PlannedCall, missing_argument_problems
from .schema_ports import ToolPorts
from .suggestions import Suggester, Suggestion
from .vocabulary import begins_step, is_noun
from .wiring import Wiring

if TYPE_CHECKING:
    from .advice import Advice
    from .request import PlanRequest
    from .wires import WiredCall, WireProblem

_SEARCHED = 30  # candidates for the next tool by the words of a request
_OFFERED, _SUPPLIERS = 10, 2  # tools offered to a model, for a step and for a missing input
_ROUGH = "made from words and schemas, without a language model: check it before it runs"


class Planner:
    """Plans calls of tools for a request. Not thread-safe.

    Tools are those of a catalog, or dicts as for `search.ToolIndex`; calls name them by key (a
    dict's is its `id`). Everything follows from names, descriptions and shapes, so a plan is rough,
    and says so (`Plan.is_rough`). The same tools and request always give the same plan.
    """

    def __init__(self, tools: Iterable[Tool | JsonObject]) -> None:
        self._index = ToolIndex[Any]()
        self._words = WordRanking(self._index)
        self._flows = Flows()
        self._verbs = Counter[str]()
        self._names = Counter[str]()
        for tool in tools:
            self.update(tool)

    def __len__(self) -> int:
        return len(self._flows)

    def __contains__(self, key: object) -> bool:
        return key in self._flows

    def update(self, tool: Tool | JsonObject) -> None:
        """Add a tool, or replace the one with its key; a dict has an `id`."""
        self.remove(key_of(tool))
        self._index.update(tool)
        self._count(self._flows.put(tool), 1)

    def remove(self, key: Any) -> None:
        """Remove a tool by its key, if it exists."""
        if ports := self._flows.remove(key):
            self._index.remove(key)
            self._count(ports, -1)

    def prefer(self, weights: Mapping[Any, float]) -> None:
        """Set factors for the scores of some tools, by key; it is 1 for all others."""
        self._words.weights = dict(weights)

    def plan(self, request: str) -> Plan:
        """Return the calls that a request asks for, with calls that supply their inputs.

        An input that is neither in the request nor in an earlier result is `Missing`, and one of
        the `problems`.
        """
        parsed = self._parse(request)
        choices = Chooser(self._words, self._flows, parsed).choose()
        return self._wire(parsed, Needs(self._flows, parsed, choices).complete())

    def wire(self, request: str, tools: Sequence[Any]) -> Plan:
        """Connect these tools, called in this order; a tool may occur several times.

        A person or a model chose the calls; their arguments come from the request, or from the
        results of the last 12 calls.

        Raises:
            UnknownTool: there is no such tool; the message names the nearest ones.
        """
        parsed = self._parse(request)
        ports = [self._ports(x) for x in tools]
        steps = align_steps(self._flows, parsed, ports)
        choices = [ToolForStep(x, step, 1.0, ()) for x, step in zip(ports, steps, strict=True)]
        return self._wire(parsed, choices)

    def advice(self, request: str, most_tokens: int = 4_000) -> Advice:
        """Return the question to a language model about this request, and a check of its answer.

        The question has the rough plan, and as many tools as fit the token limit: first those that
        may serve each step.
        """
        from .advice import Advice, OfferedTool

        rough = self.plan(request)
        keys = dict.fromkeys((*self._may_serve(rough), *self._flows))
        offered = (
            OfferedTool(
                ports.key, ports.name, text_of(tool, "description"),
                schema_of(tool, "input_schema"), [x.path for x in ports.outputs],
            )
            for ports, tool in ((self._flows.ports(x), self._index.tool(x)) for x in keys)
        )  # fmt: skip
        return Advice(rough, offered, most_tokens)

    def next_tools(
        self,
        calls: Sequence[Any],
        request: str | None = None,
        limit: int = 5,
        followed: Mapping[Any, int] | None = None,
    ) -> list[Suggestion]:
        """Return the tools that may come after these calls, the best first, with reasons.

        `followed` says how often each tool has followed the last call before. Without a request,
        the right tool is among the first five in less than half of the cases.

        Raises:
            UnknownTool: there is no such tool.
        """
        keys = [self._ports(x).key for x in calls]
        suggester = Suggester(self._flows, keys)
        if request:
            suggester.by_words(self._words.scores(request, _SEARCHED))
            suggester.by_plan([x.tool for x in self.plan(request).calls])
        suggester.by_history(followed or {})
        suggester.by_flow()
        return suggester.best(limit)

    def flow(self, producer: Any, consumer: Any) -> Flow | None:
        """Return the best flow from one tool into another, or None.

        Raises:
            UnknownTool: there is no such tool.
        """
        return self._flows.between(self._ports(producer).key, self._ports(consumer).key)

    def wire_problems(self, calls: Plan | Sequence[WiredCall]) -> list[WireProblem]:
        """Return why calls cannot be made as connected, with suppliers of missing arguments.

        It does not report unknown tools, nor anything that a tool does not declare.
        """
        # Imported here: plans do not need it.
        from .wires import WireCheck, WiredCall

        if isinstance(calls, Plan):
            calls = [WiredCall(x.tool, x.arguments) for x in calls.calls]
        return list(WireCheck(self._flows, calls).problems())

    def _may_serve(self, rough: Plan) -> Iterable[Any]:
        """Return the tools of a plan, their suppliers, and the tools that fit its steps."""
        steps = self._parse(rough.request).steps
        scores = [self._words.scores(x.unquoted, _OFFERED) for x in steps]
        fitting = [x[0] for one in zip_longest(*scores) for x in one if x]
        suppliers = (
            flow.producer
            for call in rough.calls
            for inp in self._flows.ports(call.tool).required
            if inp.is_opaque
            for flow in self._flows.producers(self._flows.ports(call.tool), inp)[:_SUPPLIERS]
        )
        return dict.fromkeys((*(x.tool for x in rough.calls), *suppliers, *fitting))

    def _wire(self, request: PlanRequest, choices: Sequence[ToolForStep]) -> Plan:
        sources = Wiring(self._flows, request, choices).sources()
        calls = tuple(
            PlannedCall(x.ports.key, x.ports.name, arguments, x.reasons, x.score)
            for x, arguments in zip(choices, sources, strict=True)
        )
        return Plan(request.text, calls, tuple(_problems(calls)), (_ROUGH,), is_rough=True)

    def _parse(self, request: str) -> PlanRequest:
        # imported here: its patterns take as long to load as all the rest
        from .request import read_request

        return read_request(request, self._is_verb, self._names)

    def _is_verb(self, word: str, following: str) -> bool:
        verb = root(singular(word.casefold()))
        return self._verbs[verb] > 0 or begins_step(verb, following.casefold())

    def _ports(self, tool: Any) -> ToolPorts:
        """Return the ports of a tool, from the tool or its key."""
        key = _key_of(tool)
        if key not in self._flows:
            # Imported here: it takes a fifth of this package's import time.
            from ..core.errors import UnknownTool
            from ..core.names import did_you_mean

            keys = (str(x) for x in self._flows)
            raise UnknownTool(f"No tool {str(key)!r} to plan with. {did_you_mean(str(key), keys)}")
        return self._flows.ports(key)

    def _count(self, ports: ToolPorts, by: int) -> None:
        self._names[ports.name.casefold()] += by
        if not self._names[ports.name.casefold()]:
            del self._names[ports.name.casefold()]
        if ports.verb and not is_noun(root(ports.verb)):
            self._verbs[root(ports.verb)] += by


def _key_of(tool: Any) -> Any:
    is_tool = isinstance(tool, Tool) or (isinstance(tool, dict) and "id" in tool)
    return key_of(cast("Tool | JsonObject", tool)) if is_tool else cast(Any, tool)


def _problems(calls: Sequence[PlannedCall]) -> Iterator[str]:
    if not calls:
        yield "No tool matches this request. Say it in other words, or name a tool."
    yield from missing_argument_problems(calls)
