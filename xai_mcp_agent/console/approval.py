"""A call that waits for approval: as text that hides nothing, at the terminal or on a page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..core.approval import (
    SCOPES,
    ApprovalAnswer,
    ApprovalRequest,
    ApprovalScope,
    approval_too_late,
    scope_of,
)
from ..core.json import JsonObject
from ..core.tools import ToolAnnotations
from ..core.visible import escape_hidden
from .form import Unfit
from .question_page import AnswerPage, Invitation
from .terminal_questions import QuestionsEnded, Read, Say, ask_until, discard_input

SCOPE_WORDS: Mapping[ApprovalScope, str] = {
    "once": "this call, with these arguments",
    "run": "this tool until the run ends, with any arguments",
    "always": "this tool from now on, as it is described here, with any arguments",
    "no": "do not call it",
}

_BUTTONS: Mapping[ApprovalScope, str] = {
    "once": "Allow once", "run": "For this answer", "always": "Always", "no": "Do not call",
}  # fmt: skip
_REFUSAL = "the person said no"
_AT_THE_TERMINAL, _ON_THE_PAGE = "the person at the terminal", "the person in the lab"
_CLAIMS = {
    "read_only": ("it only reads", "it changes something"),
    "destructive": ("it may destroy something", "it destroys nothing"),
    "idempotent": ("a second call changes nothing more", "a second call may do it twice"),
    "open_world": ("it deals with the outside world", "it stays within its own data"),
}


def argument_lines(request: ApprovalRequest) -> list[tuple[str, tuple[str, ...]]]:
    """Return all arguments by name, as JSON; a text of several lines keeps them all."""
    return [(escape_hidden(name), _lines(value)) for name, value in request.arguments.items()]


def claims(annotations: ToolAnnotations) -> list[str]:
    """Return a tool's claims about its effects, in words."""
    values = {name: getattr(annotations, name) for name in _CLAIMS}
    return [_CLAIMS[name][0 if value else 1] for name, value in values.items() if value is not None]


def ask_approval(request: ApprovalRequest, say: Say, read: Read) -> ApprovalAnswer:
    """Ask at the terminal, in the thread of the run; `read` raises as `read_line` does."""
    say("??", escape_hidden(request.title))
    if request.reason:
        say("  ", f"You are asked because {request.reason}.")
    for line in request_lines(request):
        say("  ", line)
    discard_input()  # keys typed before the question are not an answer to it
    try:
        answer = _read_answer(request, say, read)
    except TimeoutError:
        answer = approval_too_late(request)
    except QuestionsEnded as end:
        answer = ApprovalAnswer.no(end.answer.reason)
    if answer.scope == "no":
        say("??", f"not approved: {answer.reason}")
    return answer


class ApprovalPage(AnswerPage):
    """Page of one request; its answer is an `ApprovalAnswer`."""

    def __init__(self, request: ApprovalRequest, origin: str = "") -> None:
        super().__init__(request.server, origin)
        self._request = request

    def invitation(self) -> Invitation:
        """Return the lines that lead to the page."""
        title, tool = self._request.title, self._request.tool
        return Invitation(title, f"Approve {tool} here, or not", f"your approval of {tool}", tool)

    def as_json(self) -> JsonObject:
        """Return the question as plain values, for a page or the lab's panel to show as text."""
        request = self._request
        words = [escape_hidden(request.description, "\n"), *claims(request.annotations)]
        return {
            "title": escape_hidden(request.title),
            "message": f"You are asked because {request.reason}." if request.reason else "",
            "arguments": [[x, "\n".join(y).lstrip("\n")] for x, y in argument_lines(request)],
            "server": escape_hidden(request.server),
            "said": [x for x in words if x] if request.server else [],
            "buttons": [[x, y, "" if x == "no" else SCOPE_WORDS[x]] for x, y in _BUTTONS.items()],
        }

    def take(self, form: Mapping[str, list[str]]) -> tuple[str, str]:
        """Process the form and return the next page. Only our own buttons approve."""
        scope = scope_of(form.get("action", [""])[0]) or "no"
        reason = _REFUSAL if scope == "no" else ""
        text = "It was not approved." if scope == "no" else f"Approved: {SCOPE_WORDS[scope]}."
        return self._settle(ApprovalAnswer(scope, reason, by=_ON_THE_PAGE), text), ""


def request_lines(request: ApprovalRequest) -> list[str]:
    """Return the lines of a call and of the possible answers."""
    lines = ["With these arguments:" if request.arguments else "Without arguments."]
    for name, (first, *rest) in argument_lines(request):
        lines += [f"  {name}: {first}", *(f"    {x}" for x in rest)]
    if request.server:
        lines.append(f"{escape_hidden(request.server)} says of the tool, in its own words:")
        lines += [f"  | {x}" for x in escape_hidden(request.description, "\n").split("\n")]
        lines += [f"  | ({x})" for x in claims(request.annotations)]
    return [*lines, *(f"{scope}: {words}" for scope, words in SCOPE_WORDS.items())]


def _read_answer(request: ApprovalRequest, say: Say, read: Read) -> ApprovalAnswer:
    # Repeated, because long arguments may have scrolled the title away.
    prompt = f"Approve {escape_hidden(request.full_name)}? ({', '.join(SCOPES)}): "
    scope = ask_until(_parse_scope, prompt, say, read)
    return ApprovalAnswer(scope, _REFUSAL if scope == "no" else "", by=_AT_THE_TERMINAL)


def _parse_scope(text: str) -> ApprovalScope:
    word = text.strip().casefold()
    scope = "no" if word == "n" else scope_of(word)
    if scope is None:
        raise Unfit(f"Type one of these words: {', '.join(SCOPES)}.")
    return scope


def _lines(value: Any) -> tuple[str, ...]:
    """Return a value as JSON; each line of a text has a bar, so that none looks like its end."""
    if isinstance(value, str) and "\n" in value:
        return ("", *(f"| {x}" for x in escape_hidden(value, "\n").split("\n")))
    return tuple(escape_hidden(json.dumps(value, ensure_ascii=False, indent=2), "\n").split("\n"))
