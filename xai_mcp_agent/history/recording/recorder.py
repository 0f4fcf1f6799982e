"""The bridge's observer: reports to the writer thread without waiting, and asks it questions."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Container, Generator, Iterable
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING, TypeVar

from ...core.approval import ApprovalAnswer
from ...core.calls import Caller
from ...core.errors import StoreFailed
from ...core.events import (
    Inventory,
    InventoryChanged,
    SourceConnected,
    SourceEvent,
    SourceLost,
    SourceUnreachable,
)
from ...core.json import JsonObject
from ...core.results import ToolResult
from ...core.tools import MCP, SourceKind, Tool, ToolKey
from ...core.visible import visible_text
from ...secrets.redactor import Redactor, redact_beginning
from ...secrets.secrets import Secrets
from ...settings.sections import ARGUMENTS, RESULTS, Retention
from ..event import Change, Event, Subject, tool_subject, usual_payload
from ..forks import unforked
from ..place import Place
from .call_journal import CallerFields, CallJournal, CallReport
from .reports import (
    Learned,
    Listed,
    Lost,
    RecordUpdate,
    Seeded,
    failure_event,
    refusal_event,
)
from .writer import HistoryWriter

if TYPE_CHECKING:
    from ..history import History
    from ..learned_rows import LearnedFilter, LearnedRow
    from .report_writer import ReportWriter

logger = logging.getLogger(__name__)

T = TypeVar("T")

_MAX_NAME_CHARS = 100  # also of a call's id, which comes from a model's service
ERROR_CHARS = 300  # of a call's error
_HIDDEN = "It failed. The message is hidden, because it looks like a secret."


class HistoryRecorder:
    """An `Observer` that records its reports. Used from any thread.

    `mask` hides secrets in texts of sources, for the whole bridge. `record` names the parts of
    calls that are stored (`arguments`, `results`). In these and in texts of people, `secrets` and
    texts that look like secrets are masked. `warn` gets problems that a person should know, in a
    thread of its own. `keep` limits how long events are stored; for ever by default.
    """

    def __init__(
        self,
        place: Place,
        mask: Callable[[str], str],
        record: Container[str] = (),
        secrets: Secrets | None = None,
        warn: Callable[[str], None] = logger.warning,
        keep: Retention | None = None,
    ) -> None:
        self.place = place
        self.mask = mask
        self._redactor = Redactor([secrets] if secrets else [], guesses=True)
        self._keep = keep
        self._began, self._run = datetime.now(UTC), uuid.uuid4().hex
        self._followers: list[Callable[[RecordUpdate], None]] = []
        self._journal = CallJournal(place, self._run, warn)
        self._writer = HistoryWriter(place, self._open_writer, warn, self._journal.discard)
        self._kinds: dict[str, SourceKind] = {}
        self._sessions: dict[str, SourceConnected] = {}
        self._forced: set[str] = set()
        # Cached by text: one agent makes many calls.
        name = lru_cache(maxsize=1000)(partial(_mask_name, mask=mask))
        self.caller_fields = partial(caller_fields, mask=name)
        self._record = record

    @property
    def trouble(self) -> str:
        """Reason why nothing can be recorded now, or ""."""
        return self._writer.trouble

    def notice(self, event: SourceEvent) -> None:
        """Record an event. Called on the bridge's loop."""
        match event:
            case SourceConnected(source, _, _, kind):
                self._kinds[source] = kind
                self._sessions[source] = event
            case InventoryChanged(source, inventory):
                self._listed(source, inventory)
            case SourceLost(source, reason):
                lost = Lost(self._subject(source), datetime.now(UTC), self.mask(reason))
                self._writer.report(lost)
            case SourceUnreachable(source, problem, kind):
                self._kinds[source] = kind
                now, problem = datetime.now(UTC), self.mask(problem)
                self._writer.report(failure_event(self._subject(source), now, problem))

    @contextmanager
    def writing_all(self, source: str) -> Generator[None]:
        """Record every tool of the source's listings within the block, even unchanged ones."""
        self._forced.add(source)
        try:
            yield
        finally:
            self._forced.discard(source)

    def record_seeded(self, kind: SourceKind, tools: Iterable[Tool]) -> None:
        """Record tools that exist from the start. Repeated, only changes are recorded."""
        if by_name := {(tool.source, tool.name): tool for tool in tools}:
            self._writer.report(Seeded(kind, datetime.now(UTC), tuple(by_name.values())))

    def note_call(
        self, key: ToolKey, arguments: JsonObject | None = None, by: CallerFields = ()
    ) -> int:
        """Note that a call is about to be sent, so that it is recorded even if this process dies.

        The returned number is for `record_call` or `withdraw_call`. `by` are its `caller_fields`.
        """
        recorded = self._redactor.short(arguments) if ARGUMENTS in self._record else None
        return self._journal.note(CallReport(_parts(key), time.time(), by, recorded))

    def withdraw_call(self, number: int) -> None:
        """Note that a call was not sent after all."""
        self._journal.withdraw(number)

    def record_call(
        self,
        key: ToolKey,
        seconds: float,
        error: str,
        arguments: JsonObject | None = None,
        result: ToolResult | None = None,
        number: int = 0,
        by: CallerFields = (),
    ) -> None:
        """Record a finished call. `error` is "" if it went well; `number` is that of `note_call`.

        The call is recorded even if this process dies from now on. `by` are its `caller_fields`.
        """
        if error:
            error = redact_beginning(error, self.mask, ERROR_CHARS)[:ERROR_CHARS] or _HIDDEN
        recorded = self._redactor.short(arguments) if ARGUMENTS in self._record else None
        text = data = None
        if result is not None and RESULTS in self._record:
            text = self._redactor.short(result.text)
            data = result.structured and self._redactor.short(result.structured)
        call = CallReport(_parts(key), time.time(), by, recorded, seconds, error, text, data)
        self._writer.report(call, self._journal.note(call, number))

    def learn(self, tool: Subject, toolbelt: str, texts: Iterable[str]) -> None:
        """Learn that a tool served requests in these words. Returns at once."""
        self._writer.report(Learned(tool, datetime.now(UTC), toolbelt, tuple(texts)))

    def forget(self, which: LearnedFilter) -> Future[list[LearnedRow]]:
        """Delete learned requests, without a trace in the file.

        The future raises `StoreFailed` if the store cannot be used: then nothing is deleted.
        """
        return self._writer.ask(lambda writer: writer.forget(which))

    def record_decision(self, decision: Event) -> None:
        """Record a decision about a tool; see `decision_event`."""
        self._writer.report(decision)

    def record_answer(
        self, key: ToolKey, answer: ApprovalAnswer, definition: str, agent: str = "", call: str = ""
    ) -> None:
        """Record a person's answer on whether a call may be made, now or in advance."""
        change: Change = "refused" if answer.scope == "no" else "approved"
        call = call[:_MAX_NAME_CHARS]
        facts = {"scope": answer.scope, "by": answer.by, "agent": agent, "call": call}
        payload = usual_payload(change) | {name: x for name, x in facts.items() if x}
        event = Event(
            tool_subject(key), change, datetime.now(UTC), payload, definition=definition or None,
            reason=self.mask(answer.reason), teller="user",
        )  # fmt: skip
        self._writer.report(event)

    def record_refusal(
        self, key: ToolKey, reason: str, definition: str = "", by: CallerFields = ()
    ) -> None:
        """Record a refused call; `by` are its `caller_fields`."""
        self._writer.report(
            refusal_event(tool_subject(key), datetime.now(UTC), reason, definition, by)
        )

    def follow(self, publish: Callable[[RecordUpdate], None]) -> Callable[[], None]:
        """Call a listener for each change of the records, in the writer thread.

        The returned function removes it.
        """
        self._followers.append(publish)
        return lambda: self._followers.remove(publish)

    def ask(self, do: Callable[[History], T]) -> Future[T]:
        """Ask the history something, after everything reported before.

        The future raises `StoreFailed` if it cannot be used.
        """
        return self._writer.ask(lambda recorder: do(recorder.history))

    def read(self, do: Callable[[History], T], nothing: T | None = None) -> Future[T]:
        """Like `ask`, for reading only: also from a file that can be read but not written.

        `nothing`, if given, is the answer for a store that cannot be written and has no history.
        """
        answer: Future[T] = Future()
        answer.set_running_or_notify_cancel()  # the question cannot be cancelled

        def take(question: Future[T]) -> None:
            reason = question.exception()
            if self.place.is_off and nothing is not None:
                answer.set_result(nothing)
            elif isinstance(reason, StoreFailed) and self.place.file is not None:
                look = partial(_look, self.place, do, answer, nothing, reason)
                threading.Thread(target=look, name="xai-mcp-reading", daemon=True).start()
            elif reason is not None:
                answer.set_exception(reason)
            else:
                answer.set_result(question.result())

        self.ask(do).add_done_callback(take)
        return answer

    def flush(self) -> Future[None]:
        """Return a future of when all reports so far are written; it may raise `StoreFailed`."""
        return self._writer.ask(_nothing)

    def close(self, seconds: float) -> None:
        """Write the remaining reports, within this time."""
        self._writer.close(seconds)
        self._journal.close()

    def _listed(self, source: str, inventory: Inventory) -> None:
        is_forced, session = source in self._forced, self._sessions.get(source)
        self._forced.discard(source)
        self._writer.report(
            Listed(
                self._subject(source), datetime.now(UTC), inventory.tools,
                transport=session.transport if session else "",
                title=self.mask(session.title) if session else "",
                is_forced=is_forced,
                disabled=inventory.disabled,
                features=(*inventory.prompts, *inventory.resources),
            )
        )  # fmt: skip

    def _subject(self, source: str) -> Subject:
        return Subject(self._kinds.get(source, MCP), source)

    def _publish(self, update: RecordUpdate) -> None:
        for publish in tuple(self._followers):
            try:
                publish(update)
            except Exception:
                logger.exception("A listener of the history could not handle a change")

    def _open_writer(self) -> ReportWriter:
        """Open the store, in the writer's thread: SQLAlchemy takes a while."""
        with unforked():
            from ..history import open_history
            from .report_writer import ReportWriter

        history = open_history(self.place)
        try:
            return ReportWriter(
                history, self.mask, self._began, self._publish, self._redactor, self._keep,
                self._run,
            )  # fmt: skip
        except BaseException:
            history.close()
            raise


def _parts(key: ToolKey) -> tuple[str, str, str]:
    return key.kind, key.source, key.name


def caller_fields(
    caller: Caller, call_id: str = "", mask: Callable[[str], str] = str
) -> CallerFields:
    """Return the caller of a call as fields of its event, without empty ones."""
    names = (
        ("run_id", caller.run), ("agent", caller.name), ("workflow", caller.workflow),
        ("node", caller.node), ("toolbelt", caller.toolbelt), ("call_id", call_id),
    )  # fmt: skip
    return (("caller", caller.kind), *((key, mask(text)) for key, text in names if text))


def _mask_name(text: str, mask: Callable[[str], str]) -> str:
    # Cut after masking: no half secret may remain at the end.
    return visible_text(mask(text[: 10 * _MAX_NAME_CHARS]), _MAX_NAME_CHARS)


def _look(
    place: Place,
    do: Callable[[History], T],
    answer: Future[T],
    nothing: T | None,
    reason: StoreFailed,
) -> None:
    """Answer from the file without writing; if that fails too, raise why it cannot be written."""
    with unforked():
        from ..history import open_history  # loads SQLAlchemy
        from ..store import NoHistory

    try:
        # The writer repairs a damaged file: read it as if it were not ours.
        any_project = place.is_own or place.any_project
        own = replace(place, is_own=False, any_project=any_project)
        history = open_history(own, is_to_read=True)
        try:
            answer.set_result(do(history))
        finally:
            history.close()
    except Exception as cause:  # noqa: BLE001 - the caller gets the reason
        logger.debug("The history cannot be read as it is: %s", cause)
        if isinstance(cause, NoHistory) and nothing is not None:
            answer.set_result(nothing)
        else:
            answer.set_exception(reason)


def _nothing(_: ReportWriter) -> None:
    pass
