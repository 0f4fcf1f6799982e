"""Errors about one agent: what went wrong with it, and what to do next.

What an agent says is hostile: cleaned, masked and cut before it is in one of them.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from ...core.errors import ServerError, SourceClosed, SourceError, SourceFailed
from ...core.json import is_object
from ...core.provider_schema import function_description
from ...secrets.secrets import Mask, masked_and_cut
from ..web.network_errors import by_which_way, reaching_help

MAX_ANSWER_BYTES = 16 * 1024 * 1024
"""Of one answer, or of all events of one stream: files among them. More is broken or hostile."""

_TRACEBACK = "Traceback (most recent call last)"
_CHECK_FIRST = "It may have been carried out all the same: check that before you try again."
_STATUS_HELP = {
    401: "Add a valid token as `bearer`, or the header that it wants under `headers`.",
    403: "The credentials are not allowed to use it: check the token and its permissions.",
    404: "Check `url`: there is nothing at that address.",
    429: "It limits requests: wait a while, then try again.",
    503: "It is overloaded or starting: try again in a while.",
}
_ASK_THE_AGENT = "The words are its own: its log may say more."
# JSON-RPC codes of A2A.
_CODE_HELP = {
    -32001: "Leave `task_id` out to begin a new task.",
    -32004: "If the task has ended, leave `task_id` out: with its `context_id` alone the agent "
    "goes on in the same conversation.",
    -32005: "Say it in words, without `data`.",
    -32602: "Check the arguments.",
}


class Failures:
    """Words errors about one agent. `mask` hides known secrets in all of them."""

    def __init__(self, agent: str, url: str, mask: Mask) -> None:
        self._agent = agent
        self._url = url
        self._mask = mask

    def words(self, text: str, at_most: int = 300) -> str:
        """What an agent said, in one line for a person or a model; of a traceback its end."""
        seen = function_description(text)
        if _TRACEBACK in seen:
            seen = seen.strip().rpartition("\n")[2]
        return masked_and_cut(" ".join(seen.split()), self._mask, at_most)

    def failed(self, problem: str, next_step: str) -> SourceFailed:
        """It cannot be used. `problem` is in our words."""
        return SourceFailed(self._agent, problem, next_step)

    def unreachable(self, cause: Exception) -> SourceFailed:
        """Nothing was sent."""
        reason = self.words(str(cause)) or type(cause).__name__
        problem = f"it cannot be reached{by_which_way(self._url)}: {reason}."
        return self.failed(problem, reaching_help(reason))

    def lost(self, cause: Exception | None = None) -> SourceClosed:
        """The connection broke before all of the answer was there."""
        how = f": {self.words(str(cause)) or type(cause).__name__}" if cause else ""
        return SourceClosed(self._agent, f"the connection was lost{how}.", _CHECK_FIRST)

    def redirected(self, status: int, why: str) -> SourceFailed:
        """It sends us elsewhere; why that is not followed, for a sentence that begins with it."""
        fix = "Write the address where the agent really is as `url`."
        return self.failed(f"{why} (HTTP {status}).", fix)

    def refused(self, status: int, body: bytes) -> SourceError:
        """It answered with an HTTP status that is an error."""
        reason = self.words(_reason_in_body(body))
        problem = f"it answered with HTTP {status}{f': {reason}' if reason else ''}."
        step = _STATUS_HELP.get(status, _ASK_THE_AGENT)
        if status in (401, 403):
            return self.failed(problem, step)
        return ServerError(self._agent, problem, status, step)

    def no_card(self, status: int, body: bytes) -> SourceError:
        """There is no card where it should be."""
        if status != 404:
            return self.refused(status, body)
        problem = "there is no agent card at its address (HTTP 404)."
        return self.failed(problem, "Correct `url`, or write the address of the card itself.")

    def not_allowed(self, url: str) -> SourceFailed:
        """It wants requests sent where the settings do not allow it."""
        parts = urlsplit(url)
        place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        problem = (
            f"its card wants requests sent to {self.words(place)}, which is another place than "
            "`url`: credentials are not taken there."
        )
        fix = "If that place is right, add its host to `allowedHosts`; else correct `url`."
        return self.failed(problem, fix)

    def answered(self, code: int, error: Any) -> ServerError:
        """It answered with an error of its protocol, as JSON has it."""
        reason = self.words(_reason_in(error)) or "it did not say why"
        problem = f"it answered with an error: {reason.rstrip('.')}."
        return ServerError(self._agent, problem, code, _CODE_HELP.get(code, _ASK_THE_AGENT))

    def unreadable(self, what: str) -> ServerError:
        """It answered with something that cannot be understood; `what` is in our words."""
        step = "It may not speak this protocol, or another version: look into its documentation."
        return ServerError(self._agent, f"its answer cannot be understood: {what}.", 0, step)

    def too_large(self) -> ServerError:
        """It sends more than anybody could use."""
        return self.unreadable(f"it is larger than {MAX_ANSWER_BYTES // 1024**2} MiB")


def _reason_in_body(body: bytes) -> str:
    text = body.decode("utf-8", "replace")
    if text.lstrip()[:1] == "<":
        return "an HTML page"
    try:
        return _reason_in(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _reason_in(value: Any) -> str:
    """The reason of a refusal: in the usual places of JSON, else all of it."""
    for name in ("error", "message", "detail"):
        if is_object(value) and name in value:
            value = value[name]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
