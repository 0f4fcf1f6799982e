"""A remote agent as a source: it reads the card on first use, and the skills are the tools."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from ...core.calls import ToolInvocation, remaining_seconds
from ...core.errors import InvalidArguments, SourceError, SourceFailed, ToolTimeout, UnknownTool
from ...core.events import Inventory, Observer
from ...core.results import OnProgress, ToolResult
from ...core.schemas import signature
from ...core.tools import AGENT
from ...secrets.secrets import Mask
from ...settings.sources import AgentSettings
from ..choice import choose
from ..progress import ProgressListener
from ..reading import ReadSource
from .answer import AgentAnswer, is_id, result_of
from .card import Card, CardReader
from .messages import AgentRequest
from .tools import SkillTool, offers_of

if TYPE_CHECKING:
    from .a2a import A2aAgent
    from .http import AgentHttp

logger = logging.getLogger(__name__)

_GOOD_SECONDS = 300.0  # lifetime of a card: skills change when an agent is deployed again
_LOOK_SECONDS = 5.0  # limit for checking the card; the last one can be used
_CANCEL_SECONDS = 2.0  # limit for the agent to confirm the cancellation of a call
_CLOSE_SECONDS = 1.0
_MAX_PROGRESS_CHARS = 200  # characters


class AgentSource(ReadSource["A2aAgent"]):
    """A `Source` over one agent. There is no session: each call is a separate request."""

    kind = AGENT
    is_remote = True

    def __init__(self, settings: AgentSettings, mask: Mask) -> None:
        super().__init__(settings, mask)
        self._settings = settings
        self._reader = CardReader(settings.url)
        self._http: AgentHttp | None = None
        self._offers: dict[str, SkillTool] = {}
        self._readings, self._good_until = 0, 0.0

    async def own(self, observer: Observer) -> None:
        """Read the card, and stay until stopped; then close the connections."""
        try:
            await super().own(observer)
        finally:
            if self._http is not None:
                with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
                    await self._http.aclose()

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Send a message to the agent, and wait for its answer; see `Source.call`.

        A call that is cancelled or times out cancels its task.

        Raises:
            UnknownTool: the agent does not have that skill any more.
            InvalidArguments: an id cannot be the agent's.
        """
        started, name = anyio.current_time(), invocation.tool.name
        limit = invocation.timeout_seconds or self._settings.call_timeout_seconds
        agent = await self._ready_within(limit)
        offer = self._offers.get(name)
        if offer is None:
            raise UnknownTool(f"{self.name} has no skill {name!r} any more.")
        request = _request(invocation, offer, agent.card)
        if invocation.check is not None:
            invocation.check()
        answer, notes = AgentAnswer(), list[str]()
        progress = _Progress(invocation.on_progress, agent.words, notes)
        try:
            with anyio.fail_after(remaining_seconds(limit, anyio.current_time() - started)):
                await agent.ask(request, answer, progress.tell)
        except TimeoutError as cause:
            stopped = " We asked it to stop." if answer.task_id else ""
            problem = f"the agent did not finish within {limit:g} s.{stopped}"
            fix = "Give it more time with `timeout`, or ask for less."
            raise ToolTimeout(self.name, problem, fix) from cause
        finally:
            if answer.task_id and not answer.is_settled:
                await self._cancel(agent, answer.task_id)
        result = await anyio.to_thread.run_sync(result_of, answer)
        return replace(result, notes=(*result.notes, *notes))

    def _title(self) -> str:
        return self._last.value.card.title if self._last else ""

    async def _stamp(self) -> object:
        is_over = anyio.current_time() >= self._good_until
        return self._readings + is_over

    async def _read(self) -> A2aAgent:
        limit = self._settings.start_timeout_seconds
        if self._last is not None:
            limit = min(limit, _LOOK_SECONDS)
        try:
            with anyio.fail_after(limit):
                agent = await self._current_agent()
        except TimeoutError:
            problem = f"it did not show its card within {limit:g} s."
            fix = "Check that the agent runs and that `url` is right, or raise `startTimeout`."
            raise SourceFailed(self.name, problem, fix) from None
        except SourceError as error:
            # An error of the protocol also means that there is no card.
            raise SourceFailed(self.name, error.problem, error.next_step) from error
        self._readings, self._good_until = self._readings + 1, anyio.current_time() + _GOOD_SECONDS
        return agent

    async def _current_agent(self) -> A2aAgent:
        """Return the current agent; the same object if its card has not changed."""
        if self._http is None:
            self._http = await anyio.to_thread.run_sync(_connect, self._settings, self._mask)
        card = await self._reader.read(self._http)
        if self._last is not None and self._last.value.card == card:
            return self._last.value
        from .a2a import A2aAgent  # loaded by now

        return A2aAgent(card, self._http)

    def _inventory_of(self, value: A2aAgent) -> Inventory:
        offers = offers_of(value.card, self.name)
        choice = choose(offers, self._settings, "which the agent does not have")
        self._offers = {name: offers[name] for name in choice.names}
        tools = tuple(offer.tool for offer in self._offers.values())
        notes = (*value.card.notes, *choice.notes)
        return Inventory(self.name, tools, notes=notes, disabled=choice.disabled)

    async def _cancel(self, agent: A2aAgent, task_id: str) -> None:
        """Cancel a task that no call waits for."""
        with anyio.move_on_after(_CANCEL_SECONDS, shield=True):
            try:
                await agent.cancel(task_id)
            except SourceError as cause:
                logger.info("%s: a task could not be canceled: %s", self.name, cause)


class _Progress:
    """Reports the agent's texts during a call."""

    def __init__(
        self, listener: OnProgress | None, words: Callable[[str, int], str], notes: list[str]
    ) -> None:
        self._listener = ProgressListener(listener, notes) if listener else None
        self._words = words
        self._count = 0

    async def tell(self, words: str) -> None:
        """Report a text, cleaned and masked."""
        if self._listener is not None and words.strip():
            self._count += 1
            text = self._words(words, _MAX_PROGRESS_CHARS)
            await self._listener.report(self._count, None, text)


def _connect(settings: AgentSettings, mask: Mask) -> AgentHttp:
    """Return the connection to the agent. Call it in a thread: its libraries load slowly."""
    from . import a2a  # noqa: F401  # pyright: ignore[reportUnusedImport]
    from .http import AgentHttp

    return AgentHttp(settings, mask)


def _request(invocation: ToolInvocation, offer: SkillTool, card: Card) -> AgentRequest:
    """Return the message to send.

    Raises:
        InvalidArguments: an id cannot be the agent's.
    """
    arguments, skill = invocation.arguments, offer.skill
    ids = {name: arguments.get(name) or "" for name in ("task_id", "context_id")}
    if wrong := [name for name, value in ids.items() if value and not is_id(value)]:
        problems = [f"{name} did not come from the agent" for name in wrong]
        expected = signature(invocation.tool.input_schema)
        raise InvalidArguments(invocation.name, problems, expected)
    # Agents that ignore the skill's id can read its name in the message.
    names_skill = skill is not None and len(card.skills) > 1 and not ids["task_id"]
    remark = f"(Use your skill {skill.title or skill.id}.)" if skill and names_skill else ""
    skill_id = skill.id if skill else ""
    return AgentRequest(
        arguments["message"], arguments.get("data"), **ids, skill=skill_id, remark=remark
    )
