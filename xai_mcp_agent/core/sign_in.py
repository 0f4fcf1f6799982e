"""A request to sign in, and whoever carries it out: a person, or a program (OAuth)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

SIGN_IN_SECONDS = 300.0
"""The longest wait where nothing else was said: time to find a password and a second factor."""


@dataclass(frozen=True, slots=True)
class SignInRequest:
    """Somebody should open `url` in a browser and agree.

    `server` is its name in the settings, `host` where the page is, for a person to judge. The page
    sends the browser on to `redirect_uri`, with the outcome in that address. After
    `limit_seconds` it is not waited for any longer.
    """

    server: str
    url: str
    host: str
    redirect_uri: str
    limit_seconds: float = SIGN_IN_SECONDS


SignIn: TypeAlias = Callable[[SignInRequest], str | Awaitable[str | None] | None]
"""Gets somebody to sign in. Returns the address the browser was sent to in the end, or the code in
it; or None once the person has the link: the browser then brings the outcome by itself. A plain
function is called in a thread of its own, a coroutine function on the bridge's event loop."""
