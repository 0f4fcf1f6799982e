"""File in which a run of AgentRun waits for approvals, and from which it resumes."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
from anyio import to_thread

from ..agent.conversation import Conversation
from ..agent.events import RunEvent, ToolFinished, ToolStarted
from ..agent.run_file import RunFileError, WaitingRun, keyed_digest, lock_run, place_of
from ..agent.state import RunState
from ..console.text import short_arguments
from ..core.approval import RunApprovals, RunFacts
from ..core.errors import BadSetting
from ..core.shell import shell_command
from ..core.tools import ToolKey
from ..secrets.secrets import Mask

_NODE = "AgentRun"


class ResumableRun:
    """One run and its file. It is made in the workflow's thread, within `resumable_run`.

    The run begins from `start`; `approvals` has the answers so far, and `mask` hides secrets. The
    file exists from the first wait until the run ends with an answer. A resumed run writes each
    call there before it makes it, so that no call is made twice even if its process dies. A run
    without a file never waits.
    """

    def __init__(
        self,
        file: Path | None,
        agent: str,
        conversation: Conversation,
        granted: set[tuple[ToolKey, str]],
        facts: RunFacts,
    ) -> None:
        self._granted, self._facts = granted, facts
        self._writing = anyio.Lock()
        self.mask: Mask = str
        self.start: RunState | Conversation = conversation
        self.approvals = RunApprovals(granted, waits=file is not None)
        self._run: WaitingRun | None = None
        self._is_resumed = False
        if file is not None:
            digest = keyed_digest(conversation.messages)
            self._run = WaitingRun(file, agent, digest, RunState(conversation))
            self._is_resumed = file.exists()
            if self._is_resumed:
                self._resume(self._run, WaitingRun.read(file), conversation)

    async def note(self, event: RunEvent, progress: Callable[[], RunState]) -> None:
        """Write the progress of a resumed run before and after each call."""
        if self._run and self._is_resumed and isinstance(event, ToolStarted | ToolFinished):
            await self._write(self._run, progress)

    async def end(self, stopped: str, state: RunState) -> list[str]:
        """Write a waiting run to its file, and return lines for a person; else remove the file.

        Raises:
            RunFileError: the file cannot be written.
        """
        if self._run is None:
            return []
        if stopped != "waiting":
            await to_thread.run_sync(self._run.remove)
            return []
        file = self._run.file
        await self._write(self._run, lambda: state)
        waiting = replace(self._run, state=state).calls
        calls = [f"{x.request.title}: {short_arguments(x.request.arguments)}" for x in waiting]
        here = Path.cwd()
        name = str(file.relative_to(here)) if file.is_relative_to(here) else str(file)
        command = shell_command("xai-mcp-agent", "plan", "approve", name)
        how = f"Answer with `{command}`, then run the workflow again: it continues."
        return [*(f"waits for approval: {x}" for x in calls), how]

    async def _write(self, own: WaitingRun, state: Callable[[], RunState]) -> None:
        async with self._writing:
            granted, facts = tuple(sorted(self._granted)), RunFacts()
            facts.merge(self._facts)  # a copy: other agents change it meanwhile
            run = replace(own, state=state(), granted=granted, facts=facts)
            with anyio.CancelScope(shield=True):
                await to_thread.run_sync(partial(run.write, self.mask))

    def _resume(self, own: WaitingRun, run: WaitingRun, conversation: Conversation) -> None:
        if (run.agent, run.request_digest) != (own.agent, own.request_digest):
            what = "agent" if run.agent != own.agent else "conversation"
            raise RunFileError(
                f"A run with another {what} is waiting in {own.file}. Continue that run first, "
                f"delete the file, or give this {_NODE} another `run_state`."
            )
        self._run = replace(own, stamp=run.stamp)
        whole = Conversation(conversation.messages, run.state.conversation.additions)
        self.start = replace(run.state, conversation=whole)
        self._granted.update(run.granted)
        self._facts.merge(run.facts)
        self.approvals.answers = run.answers


@contextmanager
def resumable_run(
    name: str,
    asks_nobody: bool,
    agent: str,
    conversation: Conversation,
    granted: set[tuple[ToolKey, str]],
    facts: RunFacts,
) -> Generator[ResumableRun]:
    """Yield the run in the file of this name, if any, for as long as it continues here.

    Raises:
        BadSetting: the run should wait, and has no file or cannot write it.
        RunFileError: the state in the file cannot be used.
    """
    if asks_nobody and not name:
        raise BadSetting(f"`wait_for_approval` of {_NODE} needs `run_state`: the file to wait in.")
    file = place_of(name) if name else None
    if file and (file.is_dir() or not os.access(file.parent, os.W_OK)):
        raise BadSetting(f"`run_state` of {_NODE}: {file} cannot be written. Name another file.")
    with lock_run(file) if file else nullcontext():
        run = ResumableRun(file, agent, conversation, granted, facts)
        run.approvals.asks_nobody = asks_nobody
        yield run
