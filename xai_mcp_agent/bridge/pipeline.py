"""The call pipeline: the steps of every tool call."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from ..core.calls import Caller, DefinitionLock, ToolInvocation
from ..core.errors import (
    AcceptanceUnknown,
    DefinitionChanged,
    InvalidArguments,
    NotAccepted,
    NotApproved,
    RuleDenied,
    SourceError,
    ToolDisabled,
    XaiMcpError,
)
from ..core.results import ToolResult
from ..core.schema_check import ArgumentChecks
from ..core.schemas import signature, without_idle_nulls
from ..history.recording.recorder import HistoryRecorder
from ..policy.breaker import CircuitBreakers
from ..policy.decisions import Decisions

Step: TypeAlias = Callable[[ToolInvocation], Awaitable[ToolInvocation]]
"""Lets a call go on, perhaps changed; raises if it may not."""

Perform: TypeAlias = Callable[[ToolInvocation], Awaitable[ToolResult]]
"""Makes a call that every step let through."""

_CANCELLED = "It was cancelled."
_NO_WORDS = "It failed, and did not say why."
_OFF = "It is switched off, or may be."
_REFUSALS: dict[type[XaiMcpError], str] = {
    DefinitionChanged: "Its definition is not the accepted one.",
    NotAccepted: "Nobody has accepted its definition.",
    AcceptanceUnknown: "Its accepted definition could not be looked up.",
    NotApproved: "It was not approved.",
    RuleDenied: "A rule does not allow it.",
}
_STRICT_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_MOST_REFUSALS = 10_000  # remembered reports, so that each is made once


class CallPipeline:
    """The steps of every call, used on the bridge's loop.

    The steps: enabled, current, locked, arguments, then the `policy` (rules, approvals), then the
    source's circuit breaker, then the call itself, which is recorded, as is a refusal of the first
    three and of the policy. `current` gives a tool as its source lists it now; `lock_of` says which
    sources are locked. Switched-off tools and the policy apply to callers that are governed.
    """

    def __init__(
        self,
        decisions: Decisions,
        recorder: HistoryRecorder,
        breakers: CircuitBreakers,
        current: Callable[[ToolInvocation, DefinitionLock], Awaitable[ToolInvocation]],
        lock_of: Callable[[str, Caller], DefinitionLock],
        policy: Sequence[Step],
    ) -> None:
        self._policy = policy
        self._decisions = decisions
        self._recorder = recorder
        self._breakers = breakers
        self._current = current
        self._lock_of = lock_of
        self._checks = ArgumentChecks()
        self._refusals: set[Hashable] = set()

    async def run(self, invocation: ToolInvocation, perform: Perform) -> ToolResult:
        """Make this call, if every step lets it through; see the steps for what they raise.

        Raises:
            ToolDisabled, NotAccepted, AcceptanceUnknown, InvalidArguments, NotApproved,
                CircuitOpen: nothing was sent.
        """
        is_governed = invocation.caller.is_governed
        try:
            if is_governed:
                await self._decisions.read()
                if why := self._decisions.why_off(invocation.tool.key):
                    raise ToolDisabled(why.format(invocation.name))
            if source := invocation.tool.key.source:  # otherwise drawn, or our own
                lock = self._lock_of(source, invocation.caller)
                invocation = await self._current(invocation, lock)
                if lock:
                    await self._decisions.require_accepted(invocation.tool, lock)
                    check = partial(self._decisions.check, invocation.tool)
                    invocation = replace(invocation, check=check)
            invocation = self._with_fitting_arguments(invocation)
            for step in self._policy if is_governed else ():
                invocation = await step(invocation)
        except (ToolDisabled, NotAccepted, AcceptanceUnknown, NotApproved) as reason:
            self._note(invocation, reason)
            raise
        call = partial(self._call_and_record, invocation, perform)
        breaker = self._breakers.of(invocation.tool.key.source)
        if breaker is None:
            return await call()
        return await breaker.guard(call, invocation.timeout_seconds)

    def _with_fitting_arguments(self, invocation: ToolInvocation) -> ToolInvocation:
        """Return the call with arguments as they are sent: without nulls that mean "not given".

        Checking them here saves a round trip to the server. First it checks that they can be sent
        at all: a schema checks only what it mentions.
        """
        tool, arguments = invocation.tool, invocation.arguments
        schema = tool.input_schema
        try:
            _check_sendable(arguments)
        except ValueError as cause:
            raise InvalidArguments(invocation.name, [str(cause)], signature(schema)) from None
        try:
            if invocation.meta:
                _check_sendable(invocation.meta)
        except ValueError as cause:
            raise InvalidArguments("meta", [str(cause)], "values that JSON can hold") from None
        problems = self._checks.problems(tool.key, schema, arguments)
        if problems and None in arguments.values():
            arguments = without_idle_nulls(arguments, schema)
            if not self._checks.problems(tool.key, schema, arguments):
                return replace(invocation, arguments=arguments)
        if problems:
            raise InvalidArguments(invocation.name, problems, signature(schema))
        return invocation

    async def _call_and_record(self, invocation: ToolInvocation, perform: Perform) -> ToolResult:
        """Make the call and record how long it took, and its error.

        A call that may change something is noted before it is sent: if we are killed meanwhile, the
        history knows that it may have been carried out.
        """
        tool, begun = invocation.tool, 0
        by = self._recorder.caller_fields(invocation.caller, invocation.call_id)
        if not tool.annotations.read_only:
            begun = self._recorder.note_call(tool.key, invocation.arguments, by)
        started, result = time.perf_counter(), None
        error: str | None = _CANCELLED
        try:
            result = await perform(invocation)
            error = (result.text or _NO_WORDS) if result.is_error else ""
            return result
        except (NotAccepted, NotApproved) as reason:
            error = None  # it was not called at all
            self._recorder.withdraw_call(begun)
            self._note(invocation, reason)
            raise
        except Exception as cause:
            problem = cause.problem if isinstance(cause, SourceError) else str(cause)
            error = problem or type(cause).__name__
            raise
        finally:
            if error is not None:
                seconds, arguments = time.perf_counter() - started, invocation.arguments
                if invocation.caller.is_governed:  # rules ask for these
                    facts, words = invocation.caller.facts, invocation.ruling.words
                    facts.record_call(tool.key, words, is_error=bool(error))
                self._recorder.record_call(tool.key, seconds, error, arguments, result, begun, by)

    def _note(self, invocation: ToolInvocation, reason: XaiMcpError) -> None:
        """Record a refusal: once in a run for each tool and reason.

        A person's answer is recorded already.
        """
        if isinstance(reason, NotApproved) and reason.is_answer:
            return
        why = _REFUSALS.get(type(reason), _OFF)
        digest = reason.digest if isinstance(reason, NotAccepted) else ""
        caller, key = invocation.caller, invocation.tool.key
        refusal = (caller.run, caller.name, key, why, digest)
        if refusal not in self._refusals:
            if len(self._refusals) >= _MOST_REFUSALS:
                self._refusals.clear()
            self._refusals.add(refusal)
            by = self._recorder.caller_fields(caller, invocation.call_id)
            self._recorder.record_refusal(key, why, digest, by)


def _check_sendable(arguments: object) -> None:
    """Raise a ValueError with the reason if these cannot be sent."""
    if not isinstance(arguments, dict):
        raise ValueError(f"a dict with the arguments by name, not {arguments!r:.100}")
    try:
        _STRICT_JSON.encode(arguments).encode()
    except (TypeError, ValueError, RecursionError) as cause:
        raise ValueError(f"not JSON: {cause}") from None
