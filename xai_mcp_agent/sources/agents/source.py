"""An agent of others as a source: its card is read when asked for, its skills are the tools."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

import anyio
import anyio.to_thread

from ...core.calls import ToolInvocation, left_of
from ...core.errors import InvalidArguments, SourceError, SourceFailed, ToolTimeout, UnknownTool
from ...core.events import Inventory, Observer
from ...core.names import did_you_mean
from ...core.patterns import Patterns, guard, unmatched, unmatched_guards
from ...core.results import OnProgress, ToolResult
from ...core.schemas import signature
from ...core.tools import ACP
from ...core.util import trusted_certificates
from ...settings.sources import AgentProtocol, AgentSettings
from ..progress import ProgressListener
from ..reading import ReadSource
from ..threads import Threads, TooManyLeft
from .answer import Answer, Asked, Tell, is_id, result_of
from .card import Card
from .discovery import CardReader
from .failures import Failures
from .tools import Offer, offers_of

if TYPE_CHECKING:
    from .http import AgentHttp

logger = logging.getLogger(__name__)

T = TypeVar("T")

# How long a card is trusted: skills change when an agent is deployed anew.
_GOOD_SECONDS = 300.0
# To look whether it is still the same nobody waits longer, since the last one can be used.
_LOOK_SECONDS = 5.0
# Whoever stops a call waits no longer until the agent has heard of it.
_CANCEL_SECONDS = 2.0
_CLOSE_SECONDS = 1.0
_SHOWN_PROGRESS = 200  # characters
# After so many an agent streams word by word, and a screen need not show each one.
_PROGRESS_PASSED = 100
_PROGRESS_PAUSE_SECONDS = 0.1
_EXTRA = 'pip install "xai-mcp-agent[a2a]"'


class RemoteAgent(Protocol):
    """An agent that can be asked, over any protocol. All methods raise `SourceError` kinds."""

    card: Card

    async def ask(self, asked: Asked, answer: Answer, tell: Tell) -> None:
        """Send a message, and collect the answer until nothing more comes by itself."""
        ...

    async def cancel(self, task_id: str) -> None:
        """Ask the agent to stop working on a task."""
        ...


class AgentSource(ReadSource[RemoteAgent]):
    """A `Source` over one agent. There is no session: each call is a request of its own."""

    kind = ACP
    is_remote = True

    def __init__(self, settings: AgentSettings, mask: Callable[[str], str]) -> None:
        super().__init__(settings, mask)
        self._settings = settings
        self._wording = Failures(settings.name, settings.url, mask)
        self._threads = Threads(f"agent {settings.name}")
        self._http: AgentHttp | None = None
        self._reader = CardReader(settings)
        self._offers: dict[str, Offer] = {}
        self._readings, self._good_until = 0, 0.0

    async def own(self, observer: Observer) -> None:
        """See `Source.own`."""
        try:
            await super().own(observer)
        finally:
            if self._http is not None:
                with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
                    await self._http.aclose()

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Send a message to the agent, and wait until it has answered; see `Source.call`.

        The task is canceled when the call is, or when its time is over.

        Raises:
            UnknownTool: the agent does not have that skill any more.
            InvalidArguments: an id in them is none that an agent may have given.
        """
        started, name = anyio.current_time(), invocation.tool.name
        limit = invocation.timeout_seconds or self._settings.call_timeout_seconds
        agent = await self._ready_within(limit)
        offer = self._offers.get(name)
        if offer is None:
            raise UnknownTool(f"{self.name} has no skill {name!r} any more.")
        asked = _asked(invocation, offer, agent.card)
        if invocation.check is not None:
            invocation.check()
        answer, notes = Answer(), list[str]()
        tell = _Told(invocation.on_progress, self._wording, notes).tell
        try:
            with anyio.fail_after(left_of(limit, anyio.current_time() - started)):
                await agent.ask(asked, answer, tell)
        except TimeoutError as cause:
            raise self._late(limit, bool(answer.task_id)) from cause
        finally:
            if answer.task_id and not answer.is_settled:
                await self._give_up(agent, answer.task_id)
        result = await anyio.to_thread.run_sync(result_of, answer)
        return replace(result, notes=(*result.notes, *notes))

    def _title(self) -> str:
        return self._last.value.card.title if self._last else ""

    async def _stamp(self) -> object:
        is_over = anyio.current_time() >= self._good_until
        return self._readings + is_over

    async def _read(self) -> RemoteAgent:
        limit = self._settings.start_timeout_seconds
        if self._last is not None:
            limit = min(limit, _LOOK_SECONDS)
        try:
            with anyio.fail_after(limit):
                agent = await self._agent_now()
        except TimeoutError:
            problem = f"it did not show its card within {limit:g} s."
            fix = "Check that the agent runs and that `url` is right, or raise `startTimeout`."
            raise self._wording.failed(problem, fix) from None
        except SourceError as error:
            # Also what it answered in words of its protocol: there is no card.
            raise SourceFailed(self.name, error.problem, error.next_step) from error
        self._readings, self._good_until = self._readings + 1, anyio.current_time() + _GOOD_SECONDS
        return agent

    def _inventory_of(self, value: RemoteAgent) -> Inventory:
        found = offers_of(value.card, self.name)
        include, exclude = self._settings.include or ("*",), Patterns.of(self._settings.exclude)
        only, is_off = Patterns.of(include), guard(*self._settings.disabled_tools)
        wanted = [x for x in found if only.fit_any((x,)) and not exclude.fit_any((x,))]
        self._offers = {x: found[x] for x in wanted if not is_off(x)}
        tools = tuple(x.tool for x in self._offers.values())
        notes = (*value.card.notes, *self._unknown(found))
        disabled = tuple(x for x in wanted if is_off(x))
        return Inventory(self.name, tools, notes=notes, disabled=disabled)

    def _unknown(self, found: dict[str, Offer]) -> Iterator[str]:
        idle_names = {
            "include": unmatched(self._settings.include, found),
            "exclude": unmatched(self._settings.exclude, found),
            "disabledTools": unmatched_guards(self._settings.disabled_tools, found),
        }
        for key, names in idle_names.items():
            for name in names:
                hint = did_you_mean(name, found)
                yield f"`{key}` names {name!r}, which the agent does not have. {hint}".rstrip()

    async def _agent_now(self) -> RemoteAgent:
        """The agent as it is now; the same as before where its card is."""
        if self._http is None:
            self._http = await self._in_thread(partial(_opened, self._settings, self._wording))
        card = await self._reader.read(self._http)
        if self._last is not None and self._last.value.card == card:
            return self._last.value
        return await self._in_thread(partial(_agent, self._settings.protocol, card, self._http))

    async def _in_thread(self, do: Callable[[], T]) -> T:
        """What imports libraries; the SDK's take a second."""
        try:
            return await self._threads.run(do, self._settings.start_timeout_seconds)
        except ImportError as cause:
            problem = f"to reach it the package of A2A is needed ({cause})."
            raise self._wording.failed(problem, f"Install it: {_EXTRA}.") from None
        except OSError as cause:
            problem = f"the certificates that SSL_CERT_FILE names cannot be read: {cause}."
            fix = "Correct SSL_CERT_FILE or SSL_CERT_DIR in the environment, or remove it."
            raise self._wording.failed(problem, fix) from cause
        except TooManyLeft:
            problem = "too many of its preparations are still running."
            raise self._wording.failed(problem, "Run the workflow in a new process.") from None

    async def _give_up(self, agent: RemoteAgent, task_id: str) -> None:
        """Nobody waits for the task any more, so the agent is told to stop."""
        with anyio.move_on_after(_CANCEL_SECONDS, shield=True):
            try:
                await agent.cancel(task_id)
            except SourceError as cause:
                logger.info("%s: a task could not be canceled: %s", self.name, cause)

    def _late(self, limit: float, was_told: bool) -> ToolTimeout:
        told = " It was told to stop." if was_told else ""
        problem = f"the agent did not finish within {limit:g} s.{told}"
        return ToolTimeout(self.name, problem, "Give it more time with `timeout`, or ask for less.")


class _Told:
    """Tells a listener what an agent says on its way; of a flood of pieces not each one."""

    def __init__(self, listener: OnProgress | None, wording: Failures, notes: list[str]) -> None:
        self._listener = ProgressListener(listener, notes) if listener else None
        self._wording = wording
        self._count, self._next_at = 0, 0.0

    async def tell(self, words: str) -> None:
        """Say it, without what should not be on a screen."""
        now = anyio.current_time()
        if self._listener is None or not words.strip():
            return
        self._count += 1
        if self._count <= _PROGRESS_PASSED or now >= self._next_at:
            self._next_at = now + _PROGRESS_PAUSE_SECONDS
            said = self._wording.words(words, _SHOWN_PROGRESS)
            await self._listener.tell(self._count, None, said)


def _opened(settings: AgentSettings, failures: Failures) -> AgentHttp:
    """The connection, once all that is needed to speak over it is there."""
    if settings.protocol == "a2a":
        from . import a2a  # noqa: F401  # pyright: ignore[reportUnusedImport]
    from .http import AgentHttp

    trusted_certificates()  # read here, in a thread, where it may fail
    return AgentHttp(settings, failures)


def _agent(protocol: AgentProtocol, card: Card, http: AgentHttp) -> RemoteAgent:
    """Whom to ask. What of the SDK speaks to an older agent is imported here."""
    if protocol == "acp":
        from .acp import AcpService

        return AcpService(card, http)
    from .a2a import A2aAgent

    return A2aAgent(card, http)


def _asked(invocation: ToolInvocation, offer: Offer, card: Card) -> Asked:
    """What is to be sent.

    Raises:
        InvalidArguments: an id in it is none that an agent may have given.
    """
    given, skill = invocation.arguments, offer.skill
    wrong = [x for x in ("task_id", "context_id") if given.get(x) and not is_id(given[x])]
    if wrong:
        problems = [f"{x} is not one that the agent gave" for x in wrong]
        expected = signature(invocation.tool.input_schema)
        raise InvalidArguments(invocation.name, problems, expected)
    task_id, has_choice = given.get("task_id", ""), len(card.skills) > 1
    remark = f"(Use your skill {skill.title or skill.id}.)" if skill and has_choice else ""
    return Asked(
        given["message"],
        given.get("data"),
        task_id,
        given.get("context_id", ""),
        skill.id if skill else "",
        "" if task_id else remark,
    )
