"""The person in front of a run, who answers at the terminal, in the lab's panel, or on a page.

Xircuits' output panel has no place to type, so a run that asks there would wait for ever. This
process serves the page, to this machine only. Before the first run, it asks whether the programs
of a settings file may start.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import nullcontext
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import anyio
from anyio import to_thread

from ..bridge.transcript import workflow_name
from ..console.approval import ApprovalPage, ask_approval
from ..console.console import Console
from ..console.notebook import kernel
from ..console.question_page import AnswerPage, Page
from ..console.question_words import host_of
from ..console.terminal_questions import (
    Read,
    Say,
    ask_in_terminal,
    read_line,
    why_not_here,
)
from ..core.approval import ApprovalAnswer, ApprovalRequest, approval_too_late
from ..core.calls import NO_MODEL, Sampler
from ..core.errors import SettingsError
from ..core.json import JsonObject
from ..core.questions import (
    Answer,
    Question,
    SamplingRefused,
    SamplingReply,
    SamplingRequest,
    too_late,
)
from ..policy.approval_trust import approvals_in
from ..settings.interpolation import ENV_FILE
from ..settings.models import Settings, SettingsPart
from ..settings.trust import TrustStore, trust_command, without_parts
from .panel.questions import asking, is_attended
from .workflow_thread import WorkflowThread

T = TypeVar("T")
R = TypeVar("R", Question, ApprovalRequest)

_OTHERWISE = (
    'Answer it in a terminal or the lab, or set "elicitation": "defaults" for this server in the '
    "settings"
)

_NOTHING_TO_FILL_IN: JsonObject = {"type": "object", "properties": {}}
_WHY = (
    "You have not agreed to this yet, or it has changed since. Go on only if you know where the "
    "file comes from."
)


"""Lends a model to servers; see `Host.sample`."""


def ask_here(question: Question, console: Console) -> Answer:
    """Ask the person in front of this thread, and block; decline at once if there is no person."""
    if why_not := _why_nobody():
        return Answer.declined(f"nobody can be asked: {why_not}")
    if not kernel():
        return ask_in_terminal(question, console.tell, _reader(console, question.limit_seconds))
    page, in_panel = Page(question, _origin()), is_attended()
    with asking(page, in_panel=in_panel):
        _invite(page, console, in_panel=in_panel)
        try:
            return page.answer.result(question.limit_seconds)
        except TimeoutError:
            return too_late(question)


def agreed_settings(settings: Settings, store: TrustStore | None = None) -> Settings:
    """Return the settings with all parts that the person agreed to, now or before."""
    store = store or TrustStore()
    approvals = approvals_in(settings)
    parts = store.untrusted_parts(settings, approvals)
    if not parts:
        return settings
    with Console("settings") as console:
        answer = ask_here(_question(settings, parts), console)
        if answer.action != "accept":
            how = f"To trust it: {trust_command(settings.file)}"
            console.tell("!!", f"{settings.file} is not trusted: {answer.reason}. {how}")
            return without_parts(settings, parts)
        try:
            store.agree(settings, approvals)
        except SettingsError as reason:
            console.tell("!!", f"{reason} You will be asked again.")
    return settings


def describe_parts(settings: Settings, parts: Iterable[SettingsPart]) -> str:
    """Describe what these parts of a file do, and what the file withholds, without secrets."""
    does = [(x.key_path, y) for x in parts for y in x.facts]
    holds = [(x.key_path, x.description) for x in settings.guards if not x.source]
    return "\n".join((*_by_place(does), *(["It holds back:"] if holds else []), *_by_place(holds)))


class InteractiveHost:
    """The person in front of one run. It is made in the run's thread, and called from the loop.

    `sampler` lends the model of the agent that makes the run's calls. With `branch`, drawn nodes
    approve calls in place of the person. Each question is asked after all earlier ones are answered
    and its limit includes that wait; without a person it is declined at once.
    """

    def __init__(self, thread: WorkflowThread, console: Console) -> None:
        self._thread = thread
        self._console = console
        self._one_at_a_time = anyio.Lock()
        self._in_lab = bool(kernel())
        self.sampler: Sampler | None = None
        self.branch: Callable[[ApprovalRequest], Awaitable[ApprovalAnswer]] | None = None
        self.why_nobody = _why_nobody()
        """Why no person can be asked; empty if one can."""

    async def answer(self, question: Question) -> Answer:
        """Ask a server's question."""
        if self.why_nobody:
            return Answer.declined(f"nobody can be asked: {self.why_nobody}. {_OTHERWISE}")
        if question.schema is None and not host_of(question.url):
            return Answer.declined("the address that it wants to open is not a web page")
        return await self._ask(question, Page, ask_in_terminal) or too_late(question)

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Ask whether a call may be made."""
        if self.branch:
            return await self.branch(request)
        if self.why_nobody:
            return ApprovalAnswer.nobody(self.why_nobody)
        return await self._ask(request, ApprovalPage, ask_approval) or approval_too_late(request)

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        """Return the reply of the agent's model."""
        if self.sampler is None:
            raise SamplingRefused(NO_MODEL)
        return await self.sampler(request)

    async def _ask(
        self,
        request: R,
        page: Callable[[R, str], AnswerPage],
        ask: Callable[[R, Say, Read], T],
    ) -> T | None:
        """Ask at the terminal, or on a page that has such an answer; None after the limit."""
        # In parallel with other questions: it may take long, and its page may never be answered.
        is_alone = self._in_lab and isinstance(request, Question) and request.is_sign_in
        with anyio.move_on_after(request.limit_seconds):
            async with nullcontext() if is_alone else self._one_at_a_time:
                if self._in_lab:
                    return await self._on_page(page(request, _origin()))
                return await self._at_the_terminal(
                    partial(ask, request, self._console.tell), request.limit_seconds
                )
        return None

    async def _at_the_terminal(self, ask: Callable[[Read], T], limit_seconds: float) -> T:
        over = threading.Event()
        try:
            return await self._thread.run(lambda: ask(_reader(self._console, limit_seconds, over)))
        finally:
            over.set()  # the call has ended: no answer is needed any more

    async def _on_page(self, page: AnswerPage) -> Any:
        """Lead the person to the page or the panel, and wait for the answer."""
        in_panel, console, answer = await to_thread.run_sync(is_attended), self._console, None
        with asking(page, in_panel=in_panel):
            self._thread.post(lambda: _invite(page, console, in_panel=in_panel))
            try:
                answer = await asyncio.wrap_future(page.answer)
                return answer
            finally:
                end = f"{page.invitation().subject}: {_describe_answer(answer)}"
                self._thread.post(lambda: console.wait_for_person(page.server))
                self._thread.post(lambda: console.tell("??", end))


def _describe_answer(answer: Answer | ApprovalAnswer | None) -> str:
    if answer is None:
        return "nobody answered"
    verb = "approved" if isinstance(answer, ApprovalAnswer) else "answered"
    return f"not {verb}: {answer.reason}" if answer.reason else verb


def _reader(console: Console, limit_seconds: float, over: threading.Event | None = None) -> Read:
    """Return a reader at the terminal that gives up after this time, or when `over` is set."""
    deadline, over = time.monotonic() + limit_seconds, over or threading.Event()
    return lambda prompt: console.ask(prompt, lambda: read_line(deadline, over))


def _invite(page: AnswerPage, console: Console, *, in_panel: bool) -> None:
    invitation = page.invitation()
    if not in_panel:
        console.tell("??", invitation.title)
        console.link(invitation.link, page.url)
    console.wait_for_person(page.server, invitation.waits_for)


def _by_place(facts: Iterable[tuple[str, str]]) -> Iterator[str]:
    for place, group in groupby(facts, lambda x: x[0]):
        yield f"  {place}:"
        yield from (f"      {fact}" for _, fact in group)


def _question(settings: Settings, parts: Iterable[SettingsPart]) -> Question:
    parts, file = list(parts), Path(settings.file)
    message = f"{describe_parts(settings, parts)}\nFrom: {file}\n{_WHY}"
    heading, yes = f"Start these programs? They are new in {file.name}.", "Start them"
    if not any(x.source for x in parts):
        is_env = all(x.key_path == ENV_FILE for x in parts)
        heading = f"Use these values? They are new in {ENV_FILE if is_env else file.name}."
        yes = "Use them"
    return Question(
        settings.file, message, _NOTHING_TO_FILL_IN, heading=heading, yes=yes, no="Not now"
    )


def _origin() -> str:
    workflow = workflow_name()
    asker = f"the workflow {workflow}" if workflow else "a program"
    return f"This page comes from {asker} that runs in {Path.cwd()}."


def _why_nobody() -> str:
    """Return why no person can be asked in this thread; empty if one can.

    The client that asked for the run of a kernel said whether it can answer questions: a lab says
    yes, a program that runs a notebook says no. The variable `CI` is less reliable; some labs in
    containers set it.
    """
    if not kernel():
        return why_not_here()
    if not getattr(kernel(), "_allow_stdin", False):
        return "nobody attends this kernel"
    if os.environ.get("JUPYTERHUB_API_TOKEN") and not is_attended():
        return "the lab runs on another machine, whose pages your browser cannot reach"
    return ""
