"""Errors as `application/problem+json` (RFC 9457): status, text, next step."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from ..core import errors
from ..core.errors import XaiMcpError
from ..core.names import did_you_mean
from ..gateway.guard import ProblemResponse

M = TypeVar("M", bound=BaseModel)

# The first match counts.
_STATUS: tuple[tuple[type[XaiMcpError], int], ...] = (
    (errors.UnknownServer, 404),
    (errors.UnknownTool, 404),
    (errors.UnknownAgent, 404),
    (errors.InvalidArguments, 422),
    (errors.BadSetting, 422),
    (errors.NotAccepted, 403),
    (errors.AcceptanceUnknown, 403),
    (errors.ToolDisabled, 403),
    (errors.NotApproved, 403),
    (errors.ReviewNeeded, 409),
    (errors.SettingsError, 409),
    (errors.CircuitOpen, 503),
    (errors.ToolTimeout, 504),
    (errors.SourceError, 502),
    (errors.ModelError, 502),
)
_MAX_BODY_BYTES = 4 << 20
_NEXT_STEP = re.compile(r"\n\s*Next step: ")
_WORDS = {
    "missing": "it is missing.",
    "string_too_short": "it is empty.",
    "literal_error": "it must be {expected}.",
}


class RequestFailed(XaiMcpError):
    """Base of the errors of this interface, each with the `status` of its response."""

    status = 500
    next_step = "See /openapi.json for what this takes."


class BadRequest(RequestFailed):
    """The request cannot be used; `problems` has a line for each fault."""

    def __init__(self, problems: Sequence[str], status: int = 422) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)
        self.status = status


class UnknownApproval(RequestFailed):
    """No call waits under this id: it was answered, or timed out."""

    status = 404
    next_step = "Ask for /api/approvals, which has every call that waits."


class RefreshFailed(RequestFailed):
    """A source could not be listed again, or the history could not store the listing."""

    next_step = "See /api/sources for the state of the source, and refresh it again."


def read(model: type[M], value: object) -> M:
    """Return the validated value of a request.

    Raises:
        BadRequest: it does not fit.
    """
    try:
        return model.model_validate(value)
    except ValidationError as wrong:
        names = list(model.model_fields)
        raise BadRequest([_fault(x, names) for x in wrong.errors()]) from None


async def read_body(model: type[M], request: Request) -> M:
    """Return the validated JSON of a request; no body counts as an empty object.

    Raises:
        BadRequest: it does not fit, is not JSON, or is too large.
    """
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _MAX_BODY_BYTES:
            raise BadRequest([f"The body is larger than {_MAX_BODY_BYTES >> 20} MB."], 413)
    try:
        value: object = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        raise BadRequest(["The body is not JSON."], 400) from None
    return read(model, value)


def handlers(mask: Callable[[str], str]) -> dict[Any, Callable[[Request, Any], Response]]:
    """Return Starlette's exception handlers; `mask` hides secrets in their text."""

    def ours(_: Request, error: XaiMcpError) -> Response:
        return problem_of(error, mask)

    return {XaiMcpError: ours, HTTPException: _of_http, Exception: _unexpected}


def problem_of(error: XaiMcpError, mask: Callable[[str], str]) -> ProblemResponse:
    """Return the response for one of our errors."""
    is_own = isinstance(error, RequestFailed)
    status = error.status if is_own else next((x for k, x in _STATUS if isinstance(error, k)), 500)
    text = str(error) or getattr(error, "for_model", "")
    detail, *rest = _NEXT_STEP.split(text, maxsplit=1)
    step = rest[0] if rest else getattr(error, "next_step", "") or getattr(error, "fix", "")
    detail = detail.removesuffix(step).strip()
    more = {"problems": list(x)} if (x := getattr(error, "problems", None)) else {}
    name = type(error).__name__
    problem = ProblemResponse(status, name, _title(name), mask(detail), mask(step), **more)
    if isinstance(error, errors.CircuitOpen):
        problem.headers["Retry-After"] = str(max(1, round(error.retry_seconds)))
    return problem


def _of_http(_: Request, error: HTTPException) -> Response:
    phrase = HTTPStatus(error.status_code).phrase
    detail = f"{error.detail}." if error.detail != phrase else f"{phrase}: no route takes this."
    problem = ProblemResponse(
        error.status_code, phrase.title().replace(" ", ""), phrase, detail, RequestFailed.next_step
    )
    problem.headers.update(error.headers or {})
    return problem


def _unexpected(_: Request, error: Exception) -> Response:
    detail = f"An error of our own: {type(error).__name__}."
    step = "Its traceback is in the log of the process that serves this. Please report it."
    return ProblemResponse(500, "InternalError", "Internal error", detail, step)


def _fault(error: ErrorDetails, names: Sequence[str]) -> str:
    """Return one line about a fault, without the wrong value."""
    place = ".".join(map(str, error["loc"])) or "the body"
    if error["type"] == "extra_forbidden":
        hint = did_you_mean(place, names) or f"Known: {', '.join(names)}."
        return f"{place}: it is not known here. {hint}"
    words = _WORDS.get(error["type"], error["msg"][:1].lower() + error["msg"][1:] + ".")
    return f"{place}: {words.format(**error.get('ctx', {}))}"


def _title(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).capitalize()
