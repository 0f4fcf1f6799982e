"""Errors of authorization, in words that say what to do next."""

from __future__ import annotations

import json
import re

from ....core.json import as_object, as_text
from ....settings.server import ServerSettings

_SHOWN_CHARS = 200
_REGISTRATION_STATUS = re.compile(r"Registration failed: (\d+)")
_TOKEN_REFUSED = re.compile(r"Token exchange failed \((\d+)\)[^:]*: (.*)", re.S)
# What these say after the colon quotes an answer that holds tokens or secrets.
_QUOTING = ("Invalid token response", "Invalid registration response")
_MISMATCH = ("mismatch", "does not match", "missing iss")


class AuthFailure(Exception):
    """Access could not be had. `next_step` is what a person can do about it."""

    def __init__(self, problem: str, next_step: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.next_step = next_step


class NotOffered(AuthFailure):
    """Nothing says where access is to be had; `is_wanted`: the server gives nothing without."""

    def __init__(self, server: ServerSettings, is_wanted: bool) -> None:
        if is_wanted:
            super().__init__(
                "HTTP 401: it wants authorization, and offers no sign-in.",
                f"Add a valid `Authorization` header under `headers` of {server.name!r}.",
            )
        else:
            super().__init__("it offers no sign-in, and wants none.", "Just use it.")


def nobody_there(server: ServerSettings) -> AuthFailure:
    """Somebody has to sign in, and nobody is there to do it."""
    return AuthFailure(
        "it wants authorization: somebody has to sign in, and nobody is there to be asked.",
        f"Run `xai-mcp-agent login {server.name}` once on this machine.",
    )


def denied(server: ServerSettings, error: str, description: str) -> AuthFailure:
    """The person, or the service, said no."""
    if error == "access_denied":
        problem = "access was denied when signing in"
    else:
        problem = f"signing in failed: {_short(error)}"
    detail = f" ({_short(description)})" if description else ""
    return AuthFailure(f"{problem}{detail}.", again(server))


def not_opened(server: ServerSettings, reason: str) -> AuthFailure:
    """The person did not open the page to sign in."""
    detail = f" ({_short(reason)})" if reason else ""
    return AuthFailure(f"the page to sign in was not opened{detail}.", again(server))


def too_late(server: ServerSettings, seconds: float) -> AuthFailure:
    """Nobody signed in within the limit."""
    return AuthFailure(f"nobody signed in within {seconds:g} s.", again(server))


def again(server: ServerSettings) -> str:
    """How to try once more."""
    return f"To sign in, run this again, or `xai-mcp-agent login {server.name}` in a terminal."


def refused_at_once(server: ServerSettings) -> AuthFailure:
    """The server does not take the token that it sent us to get."""
    return AuthFailure(
        "it refuses the token that was got for it just now.",
        "Ask who runs it: it and its sign-in service do not agree. "
        f"`scopes` under `auth` of {server.name!r} may be missing one.",
    )


def too_little(wanted: frozenset[str]) -> AuthFailure:
    """Signing in once more gave no more rights."""
    scopes = _short(" ".join(sorted(wanted))) or "more than it says"
    return AuthFailure(
        f"signing in did not give the rights that it wants: {scopes}.",
        "Ask who runs the server for these rights, or sign in as somebody who has them.",
    )


def other_service(server: ServerSettings) -> AuthFailure:
    """The client that the settings name belongs to another sign-in service."""
    return AuthFailure(
        "it leads to another sign-in service than the one its `clientId` belongs to.",
        f"Ask who runs the server; then correct `issuer` and `clientId` of {server.name!r}, "
        f"or run `xai-mcp-agent logout {server.name}` to forget the old service.",
    )


def port_taken(server: ServerSettings, reason: str) -> AuthFailure:
    """The browser has to come to a port that something else listens at."""
    return AuthFailure(
        f"signing in needs the port of its `redirectPort` or `redirectUri`: {reason}.",
        f"End what uses it, or change it under `auth` of {server.name!r}.",
    )


def no_outcome(server: ServerSettings) -> AuthFailure:
    """What was brought back is neither an address with an outcome nor a code."""
    return AuthFailure("what was given is no address with a code in it.", again(server))


def not_safe(where: str) -> AuthFailure:
    """A server that is reached safely sends us to a service that is not."""
    return AuthFailure(
        f"it leads to a sign-in at {where}, which is not encrypted.",
        "Do not sign in there; ask who runs the server.",
    )


class OutOfReach(AuthFailure):
    """A server sends us to a place in which it is not itself."""

    def __init__(self, server: ServerSettings, where: str, place: str) -> None:
        super().__init__(
            f"it leads to a sign-in at {_short(where)}, which is {place}; the server is not.",
            "Do not sign in there; ask who runs the server. If it is right all the same, write the "
            f"address of that sign-in service as `issuer` under `auth` of {server.name!r}.",
        )


def too_long(where: str, most_bytes: int) -> AuthFailure:
    """A service sends without end."""
    return AuthFailure(
        f"its sign-in service at {where} sent more than {most_bytes // 1024} KiB at once.",
        "Do not sign in there; ask who runs the server.",
    )


def unreachable(where: str, reason: str) -> AuthFailure:
    """The service that gives tokens does not answer."""
    return AuthFailure(
        f"its sign-in service at {where} cannot be reached: {reason}.",
        "Check the network, and try again in a while.",
    )


def key_problem(server: ServerSettings, reason: str) -> AuthFailure:
    """What the client should sign with is of no use."""
    return AuthFailure(
        f"its private key cannot be used: {reason}.",
        f"Correct `privateKey` or `privateKeyFile` under `auth` of {server.name!r}.",
    )


def of_the_flow(cause: Exception, server: ServerSettings) -> AuthFailure:
    """What the SDK's flow raised."""
    text = str(cause)
    if refusal := _REGISTRATION_STATUS.match(text):
        return AuthFailure(
            f"its sign-in service registers nobody by itself (HTTP {refusal[1]}).",
            f"Register a client there, and write its `clientId` under `auth` of {server.name!r}.",
        )
    if refusal := _TOKEN_REFUSED.match(text):
        return _token_refused(server, refusal[1], refusal[2])
    if "State parameter" in text:
        text = "the answer does not match the question"
    if any(word in text for word in _MISMATCH):
        step = "Do not sign in there before you know why: ask who runs the server."
        return AuthFailure(f"signing in was stopped, it is not safe: {_short(text)}.", step)
    for start in _QUOTING:
        if text.startswith(start):
            text = f"the answer of its sign-in service cannot be read ({start.lower()})"
    return AuthFailure(f"signing in failed: {_short(text)}.", again(server))


def _token_refused(server: ServerSettings, status: str, body: str) -> AuthFailure:
    words = " ".join(x for x in (f"HTTP {status}", *_error_words(body)) if x)
    step = again(server)
    if server.auth.client_id:
        step = f"Check `clientId` and what proves it, under `auth` of {server.name!r}."
    return AuthFailure(f"its sign-in service gave no token: {words}.", step)


def _error_words(body: str) -> tuple[str, str]:
    """Return the error code and description of OAuth; nothing else of a refusal is shown."""
    try:
        error = as_object(json.loads(body))
    except (ValueError, RecursionError):
        return "", ""
    description = _short(as_text(error.get("error_description")))
    return _short(as_text(error.get("error"))), f"({description})" if description else ""


def _short(text: str) -> str:
    words = " ".join(text.split()).rstrip(".")
    return words if len(words) <= _SHOWN_CHARS else f"{words[:_SHOWN_CHARS]}..."
