"""Calls that ask the client questions before they end (MCP 2026-07-28, input required).

Since that version a server cannot ask during a request. It answers with its questions, and the
client repeats the request with answers. The call itself goes on meanwhile: it waits for the
answers to a question of the far server, a sampling request or an approval.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from anyio.abc import TaskGroup

from ..core.json import JsonObject

# Of all clients together. A client that never comes back holds its call for minutes.
_MOST_WAITING = 1000


class NoSuchExchange(Exception):
    """No call waits for these answers: they are late, repeated, or for another request."""


class Exchange:
    """One call; `request` is the request it answers, `context` is of the client's latest request.

    `early` are answers that came with the request, from a client that knows what a server will ask.
    The call uses `ask`, the client's requests use `next_questions`.
    """

    def __init__(self, request: JsonObject, context: Any, early: JsonObject) -> None:
        self.request = request
        self.context = context
        self.early = early
        self.state = ""
        self._one_at_a_time = anyio.Lock()
        self._has_news = anyio.Event()
        self._answered = anyio.Event()
        self._questions: JsonObject | None = None
        self._answers: JsonObject = {}
        self._result: JsonObject = {}
        self._error: Exception | None = None
        self._scope = anyio.CancelScope()

    async def run(self, work: Callable[[], Awaitable[JsonObject]]) -> None:
        """Run the call to its end."""
        with self._scope:
            try:
                self._result = await work()
            except Exception as error:  # noqa: BLE001 -- raised where the client's request waits
                self._error = error
        self._has_news.set()

    async def ask(self, questions: JsonObject) -> JsonObject:
        """Send the client these requests, by key, and wait for its responses."""
        async with self._one_at_a_time:
            self._questions, self._answered = questions, anyio.Event()
            self._has_news.set()
            try:
                await self._answered.wait()
            finally:
                self.state = ""  # a late answer must not answer a later question
            return self._answers

    def answer(self, answers: JsonObject) -> None:
        """Deliver the responses of the client."""
        self._questions, self._answers, self._has_news = None, answers, anyio.Event()
        self._answered.set()

    async def next_questions(self) -> JsonObject | None:
        """Wait for the next questions; return None once the call is over."""
        await self._has_news.wait()
        return self._questions

    def result(self) -> JsonObject:
        """Return the result of the call, or raise its error."""
        if self._error is not None:
            raise self._error
        return self._result

    def cancel(self) -> None:
        """Cancel the call."""
        self._scope.cancel()


class Exchanges:
    """All calls that wait for a client's answers, by the state sent with the questions.

    The state is a secret of that client: whoever has it may answer.
    """

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._waiting: dict[str, Exchange] = {}

    async def begin(
        self, exchange: Exchange, work: Callable[[], Awaitable[JsonObject]]
    ) -> JsonObject:
        """Start a call; return its result, or its first questions."""
        self._tasks.start_soon(self._run, exchange, work)
        return await self._next(exchange)

    async def resume(
        self, state: str, request: JsonObject, answers: JsonObject, context: Any
    ) -> JsonObject:
        """Continue a call; return its result, or its next questions.

        Raises:
            NoSuchExchange: no call waits for this.
        """
        exchange = self._waiting.get(state)
        if exchange is None or (exchange.state, exchange.request) != (state, request):
            raise NoSuchExchange
        del self._waiting[state]
        exchange.context = context
        exchange.answer(answers)
        return await self._next(exchange)

    async def _run(self, exchange: Exchange, work: Callable[[], Awaitable[JsonObject]]) -> None:
        await exchange.run(work)
        for state in [x for x, waiting in self._waiting.items() if waiting is exchange]:
            del self._waiting[state]  # no answer in time

    async def _next(self, exchange: Exchange) -> JsonObject:
        try:
            questions = await exchange.next_questions()
        except BaseException:  # the client cancelled its request, or disconnected
            exchange.cancel()
            raise
        if questions is None:
            return exchange.result()
        if len(self._waiting) >= _MOST_WAITING:
            self._waiting.pop(next(iter(self._waiting))).cancel()
        exchange.state = secrets.token_urlsafe(24)
        self._waiting[exchange.state] = exchange
        requests = {"inputRequests": questions} if questions else {}
        return {"resultType": "input_required", **requests, "requestState": exchange.state}
