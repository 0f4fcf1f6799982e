"""The person in front of a run: asked at the terminal, or in the lab's panel, else on a page.

Xircuits' output panel shows no place to type (a run that asks there waits for ever, unseen). The
page is served by this process, to this machine only.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import anyio
from anyio import to_thread

from ..bridge.transcript import workflow_name
from ..console.approval import ApprovalPage, ask_approval
from ..console.console import Console
from ..console.question_page import Page
from ..console.question_words import host_of, words_of
from ..console.terminal_questions import Read, ask_in_terminal, read_line, why_not_here
from ..core.approval import ApprovalAnswer, ApprovalRequest, approval_too_late
from ..core.calls import NO_MODEL, Caller
from ..core.questions import (
    Answer,
    Question,
    SamplingRefused,
    SamplingReply,
    SamplingRequest,
    too_late,
)
from .lab_channel import kernel
from .lab_questions import asking, is_attended
from .workflow_thread import WorkflowThread

_OTHERWISE = (
    'Answer it in a terminal or the lab, or set "elicitation": "defaults" for this server in the '
    "settings"
)


def ask_here(question: Question, console: Console) -> Answer:
    """Ask the person in front of this thread, which waits; at once no where nobody is there."""
    in_lab = kernel() is not None
    if why_not := why_not_in_lab() if in_lab else why_not_here():
        return Answer.declined(f"nobody can be asked: {why_not}")
    if not in_lab:
        return _at_the_terminal(question, console, threading.Event())
    page, in_panel = Page(question, _origin()), is_attended()
    with asking(page, in_panel=in_panel):
        if not in_panel:
            _invite(question, page.url, console)
        try:
            return page.answer.result(question.limit_seconds)
        except TimeoutError:
            return too_late(question)


class Sampler(Protocol):
    """Lends a model to servers."""

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        """As `Host.sample`."""
        ...


def stage_for(console: Console, node: str = "", run_id: str = "") -> WorkflowThread:
    """A stage for the run that this console shows, in this thread, with its person as host.

    `node` is the one that calls a tool in it, if one does.
    """
    stage, workflow = WorkflowThread(console.tick), workflow_name() if node else ""
    host = InteractiveHost(stage, console)
    stage.caller = Caller("person", run=run_id, host=host, workflow=workflow, node=node)
    return stage


class InteractiveHost:
    """Whoever sits in front of one run. Made in its thread; `answer` is for the bridge's loop."""

    def __init__(self, stage: WorkflowThread, console: Console) -> None:
        self._stage = stage
        self._console = console
        self._one_at_a_time = anyio.Lock()
        self._in_lab = kernel() is not None
        self.sampler: Sampler | None = None  # of the agent that makes the calls of the run
        self._why_not = why_not_in_lab() if self._in_lab else why_not_here()

    @property
    def why_nobody(self) -> str:
        """Why there is nobody to be asked; empty if there is."""
        return self._why_not

    async def answer(self, question: Question) -> Answer:
        """Ask, when all earlier questions are answered; at once no where nobody is there."""
        if self._why_not:
            return Answer.declined(f"nobody can be asked: {self._why_not}. {_OTHERWISE}")
        if question.schema is None and not host_of(question.url):
            return Answer.declined("the address that it wants opened is no page of the web")
        if self._in_lab and question.is_sign_in:
            # Beside other questions: it may take long, and its page may be left for good.
            return await self._on_a_page(question)
        async with self._one_at_a_time:
            if self._in_lab:
                return await self._on_a_page(question)
            over = threading.Event()
            try:
                asked = partial(_at_the_terminal, question, self._console, over)
                return await self._stage.run(asked)
            finally:
                over.set()  # its call has ended: nobody needs an answer any more

    async def approve(self, request: ApprovalRequest) -> ApprovalAnswer:
        """Ask, when all earlier questions are answered; nobody's word where nobody is there."""
        if self._why_not:
            return ApprovalAnswer.nobody(self._why_not)
        try:
            # With the wait for other questions, and for nodes that the thread is busy with.
            with anyio.fail_after(request.limit_seconds):
                async with self._one_at_a_time:
                    return await self._approved(request)
        except TimeoutError:
            return approval_too_late(request)

    async def sample(self, request: SamplingRequest) -> SamplingReply:
        """What the model of the run's agent says."""
        if self.sampler is None:
            raise SamplingRefused(NO_MODEL)
        return await self.sampler.sample(request)

    async def _approved(self, request: ApprovalRequest) -> ApprovalAnswer:
        if self._in_lab:
            return await self._approved_on_a_page(request)
        over = threading.Event()
        read = _reader(self._console, request.limit_seconds, over)
        try:
            return await self._stage.run(lambda: ask_approval(request, self._console.tell, read))
        finally:
            over.set()  # the run goes on, or has ended: nobody needs an answer any more

    async def _approved_on_a_page(self, request: ApprovalRequest) -> ApprovalAnswer:
        console, answer = self._console, ApprovalAnswer.no("nobody answered")
        page = ApprovalPage(request, _origin())
        in_panel = await to_thread.run_sync(is_attended)

        def invite() -> None:
            if not in_panel:
                console.tell("??", request.title)
                console.link(f"Approve {request.tool} here, or not", page.url)
            console.person_awaited(request.server, f"your approval of {request.tool}")

        with asking(page, in_panel=in_panel):
            self._post(invite)
            try:
                answer = await asyncio.wrap_future(page.answer)
            finally:
                told = f"not approved: {answer.reason}" if answer.scope == "no" else "approved"
                self._post(lambda: console.person_awaited(request.server))
                self._post(lambda: console.tell("??", f"{request.tool}: {told}"))
        return answer

    async def _on_a_page(self, question: Question) -> Answer:
        page = Page(question, _origin())
        in_panel = await to_thread.run_sync(is_attended)

        def invite() -> None:
            if in_panel:
                _await(question, self._console)
            else:
                _invite(question, page.url, self._console)

        with asking(page, in_panel=in_panel):
            self._post(invite)
            try:
                with anyio.fail_after(question.limit_seconds):
                    answer = await asyncio.wrap_future(page.answer)
            except TimeoutError:
                answer = too_late(question)
            finally:
                self._post(lambda: self._console.person_awaited(question.server))
        words = {"accept": "answered", "decline": "declined"}
        done = words.get(answer.action, f"not answered: {answer.reason}")
        self._post(lambda: self._console.tell("??", f"{question.server}: {done}"))
        return answer

    def _post(self, do: Any) -> None:
        self._stage.post(do)


def _at_the_terminal(question: Question, console: Console, over: threading.Event) -> Answer:
    return ask_in_terminal(question, console.tell, _reader(console, question.limit_seconds, over))


def _reader(console: Console, limit_seconds: float, over: threading.Event) -> Read:
    """Reads at the terminal for so long from now on, until it is `over`."""
    deadline = time.monotonic() + limit_seconds
    return lambda prompt: console.ask(prompt, lambda: read_line(deadline, over))


def _invite(question: Question, url: str, console: Console) -> None:
    server = question.server
    if question.is_sign_in:
        console.tell("??", f"{server} wants you to sign in at {host_of(question.url)}.")
        console.link(f"Sign in to {server} here", url)
    else:
        words = words_of(question)
        console.tell("??", question.heading or f"{server} asks: {words.message}")
        console.link(f"{words.yes} or not: answer here", url)
    _await(question, console)


def _await(question: Question, console: Console) -> None:
    server = question.server
    what = f"you to sign in to {server}" if question.is_sign_in else f"your answer to {server}"
    console.person_awaited(server, what)


def _origin() -> str:
    workflow = workflow_name()
    asker = f"the workflow {workflow}" if workflow else "a program"
    return f"This page comes from {asker} that runs in {Path.cwd()}."


def why_not_in_lab() -> str:
    """Why nobody can be asked by the code of this kernel; empty if somebody can.

    Whoever asked for the run said whether questions can be answered: a lab says yes, a program that
    runs a notebook says no. The variable `CI` tells less; some labs in containers have it.
    """
    if not getattr(kernel(), "_allow_stdin", False):
        return "nobody attends this kernel"
    if os.environ.get("JUPYTERHUB_API_TOKEN") and not is_attended():
        return "the lab runs on another machine, whose pages your browser cannot reach"
    return ""
