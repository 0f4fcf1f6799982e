"""Sign-in failures, each with the step that fixes it."""

from __future__ import annotations

import json
import re

from ....core.json import as_object, as_text, clip
from ....settings.server import ServerSettings

_MAX_TEXT_CHARS = 200
_REGISTRATION_STATUS = re.compile(r"Registration failed: (\d+)")
_TOKEN_REFUSED = re.compile(r"Token exchange failed \((\d+)\)[^:]*: (.*)", re.S)
# After the colon the SDK quotes a response that holds tokens or secrets.
_QUOTING = ("Invalid token response", "Invalid registration response")
_MISMATCH = ("mismatch", "does not match", "missing iss")


class AuthFailure(Exception):
    """Failure to get access. `next_step` is what a person can do about it."""

    def __init__(self, problem: str, next_step: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.next_step = next_step


class OutOfReach(AuthFailure):
    """A server points to a sign-in address in a network that it is not in itself."""


def sign_in_step(server: ServerSettings) -> str:
    """Return the next step for another try."""
    return f"To sign in, run this again, or `xai-mcp-agent login {server.name}` in a terminal."


def no_sign_in_error(server: ServerSettings, is_required: bool) -> AuthFailure:
    """Return the error for a server without a sign-in; `is_required`: it answered HTTP 401."""
    if not is_required:
        return AuthFailure("it offers no sign-in, and wants none.", "Just use it.")
    return AuthFailure(
        "HTTP 401: it wants authorization, and offers no sign-in.",
        f"Add a valid `Authorization` header under `headers` of {server.name!r}.",
    )


def no_person_error(server: ServerSettings) -> AuthFailure:
    """Return the error for a sign-in that needs a person when none is there."""
    return AuthFailure(
        "it requires a sign-in, and there is nobody to ask.",
        f"Run `xai-mcp-agent login {server.name}` once on this machine.",
    )


def denied_error(server: ServerSettings, error: str, description: str) -> AuthFailure:
    """Return the error for a sign-in that was denied or ended with an OAuth error."""
    is_denial = error == "access_denied"
    problem = "access was denied when signing in" if is_denial else "signing in failed: "
    error = "" if is_denial else one_line(error)
    return AuthFailure(f"{problem}{error}{_in_brackets(description)}.", sign_in_step(server))


def not_opened_error(server: ServerSettings, reason: str) -> AuthFailure:
    """Return the error for a sign-in page that the person did not open."""
    problem = f"the page to sign in was not opened{_in_brackets(reason)}."
    return AuthFailure(problem, sign_in_step(server))


def rejected_token_error(server: ServerSettings, status: int, scopes: str) -> AuthFailure:
    """Return the error for a new token that the server rejects; another one would not help."""
    if status == 403:
        return AuthFailure(
            "signing in did not give the rights that it wants: "
            f"{one_line(scopes) or 'more than it says'}.",
            "Ask who runs the server for these rights, or sign in as somebody who has them.",
        )
    return AuthFailure(
        "it refuses the token that was just issued for it.",
        "Ask who runs it: it and its sign-in service do not agree. "
        f"`scopes` under `auth` of {server.name!r} may be missing one.",
    )


def unreachable_error(host: str, reason: str) -> AuthFailure:
    """Return the error for a sign-in service that does not answer."""
    return AuthFailure(
        f"its sign-in service at {one_line(host)} cannot be reached: {reason}.",
        "Check the network, and try again in a while.",
    )


def flow_error(cause: Exception, server: ServerSettings) -> AuthFailure:
    """Turn an exception of the SDK's flow into our error."""
    text = str(cause)
    if refusal := _REGISTRATION_STATUS.match(text):
        return AuthFailure(
            f"its sign-in service does not register clients by itself (HTTP {refusal[1]}).",
            f"Register a client there, and write its `clientId` under `auth` of {server.name!r}.",
        )
    if refusal := _TOKEN_REFUSED.match(text):
        step = sign_in_step(server)
        if server.auth.client_id:
            step = f"Check `clientId` and what proves it, under `auth` of {server.name!r}."
        reason = f"HTTP {refusal[1]}{_oauth_error(refusal[2])}"
        return AuthFailure(f"its sign-in service gave no token: {reason}.", step)
    if "State parameter" in text:
        text = "the answer does not match the question"
    if any(word in text for word in _MISMATCH):
        step = "Do not sign in there before you know why: ask who runs the server."
        return AuthFailure(f"signing in was stopped, it is not safe: {one_line(text)}.", step)
    for start in _QUOTING:
        if text.startswith(start):
            text = f"the answer of its sign-in service cannot be read ({start.lower()})"
    return AuthFailure(f"signing in failed: {one_line(text)}.", sign_in_step(server))


def one_line(text: str) -> str:
    """Return the beginning of a foreign text on one line."""
    return clip(" ".join(text.split()).rstrip("."), _MAX_TEXT_CHARS)


def _oauth_error(body: str) -> str:
    """Return the OAuth error code and description of a refusal, and nothing else of it."""
    try:
        error = as_object(json.loads(body))
    except (ValueError, RecursionError):
        return ""
    code = one_line(as_text(error.get("error")))
    description = _in_brackets(as_text(error.get("error_description")))
    return (f" {code}" if code else "") + description


def _in_brackets(text: str) -> str:
    return f" ({one_line(text)})" if text else ""
