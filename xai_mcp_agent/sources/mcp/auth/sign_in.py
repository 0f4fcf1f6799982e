"""Waiting for a person to sign in: for the browser's redirect, or whoever brings its outcome."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeAlias
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from ....core.calls import Host
from ....core.json import JsonObject
from ....core.questions import Question, SignIn, SignInRequest
from ....settings.server import ServerSettings
from .callback import Callback, Outcome, outcome_in
from .errors import AuthFailure, denied, no_outcome, not_opened, too_late

Clocks: TypeAlias = Callable[[], AbstractContextManager[None]]
"""Stops the clocks of requests while a person is waited for."""

_YES_OR_NO: JsonObject = {"type": "object", "properties": {}}  # a form without fields


async def ask(
    server: ServerSettings,
    sign_in: SignIn,
    link: str,
    state: str,
    callback: Callback,
    clocks: Clocks,
) -> Outcome:
    """Have somebody open `link`, and wait for the outcome.

    Raises:
        AuthFailure: nothing came within the limit, or it was a refusal.
    """
    seconds = server.auth.sign_in_seconds
    host = urlsplit(link).hostname or ""
    request = SignInRequest(server.name, link, host, callback.uri, seconds)
    outcomes: list[Outcome | AuthFailure] = []
    with clocks(), anyio.move_on_after(seconds):
        async with anyio.create_task_group() as tasks:

            async def listen() -> None:
                outcomes.append(await callback.outcome(state))
                tasks.cancel_scope.cancel()

            async def show() -> None:
                outcome = await _outcome_of(server, sign_in, request, state)
                if outcome is not None:
                    outcomes.append(outcome)
                    tasks.cancel_scope.cancel()

            tasks.start_soon(listen)
            tasks.start_soon(show)
    outcome = outcomes[0] if outcomes else too_late(server, seconds)
    if isinstance(outcome, AuthFailure):
        raise outcome
    if outcome.error:
        raise denied(server, outcome.error, outcome.description)
    return outcome


async def agree(server: ServerSettings, host: Host, where: str, clocks: Clocks) -> None:
    """Have a person agree to sign in, before anything is registered for them.

    Raises:
        AuthFailure: they did not.
    """
    message = (
        f"To go on, you have to sign in at {where}, where this program is registered first. "
        "Accept only if you know that name."
    )
    limit = server.auth.sign_in_seconds
    question = Question(server.name, message, _YES_OR_NO, limit_seconds=limit)
    with clocks(), anyio.move_on_after(limit):
        answer = await host.answer(question)
        if answer.action == "accept":
            return
        raise not_opened(server, answer.reason)
    raise too_late(server, limit)


def asking(host: Host) -> SignIn:
    """Signing in by way of a host, which shows the page to its person."""

    async def sign_in(request: SignInRequest) -> None:
        message = "Please sign in. When you are done, your browser tells us by itself."
        limit = request.limit_seconds
        question = Question(
            request.server, message, url=request.url, limit_seconds=limit, is_sign_in=True
        )
        answer = await host.answer(question)
        if answer.action != "accept":
            raise Declined(answer.reason)

    return sign_in


class Declined(Exception):
    """The person did not want to open the page."""


async def _outcome_of(
    server: ServerSettings, sign_in: SignIn, request: SignInRequest, state: str
) -> Outcome | AuthFailure | None:
    """Return what the person or program brings; None if they leave it to the browser."""
    try:
        text = await _call(sign_in, request)
    except Declined as declined:
        return not_opened(server, str(declined))
    except Exception as cause:  # noqa: BLE001 - whatever a program raises, it did not sign in
        words = f"{type(cause).__name__}: {cause}".rstrip(": ")
        return denied(server, words, "")
    return None if text is None else outcome_in(text, state) or no_outcome(server)


async def _call(sign_in: SignIn, request: SignInRequest) -> str | None:
    if inspect.iscoroutinefunction(sign_in):
        return await sign_in(request)
    # Left alone once somebody else has brought the outcome: a thread cannot be ended.
    answer = await anyio.to_thread.run_sync(sign_in, request, abandon_on_cancel=True)
    return await answer if inspect.isawaitable(answer) else answer
