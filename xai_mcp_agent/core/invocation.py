"""One tool call on its way through the pipeline, and who makes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from .approval import RunApprovals
from .host import Host
from .results import OnProgress
from .ruling import Ruling, RunFacts
from .tools import JsonObject, Tool

CallerKind: TypeAlias = Literal["agent", "person", "program", "gateway"]
DefinitionLock: TypeAlias = bool | Literal["first"]
"""Whether a source is held to what was accepted of it; `first` accepts its first listing."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who makes a call. `name` is that of the agent, `run` the id of the agent's or the node's run.

    `workflow` and `node` say where on the canvas it is made.

    `host` answers what a server asks meanwhile; None: the bridge's own does. With `locks` all
    sources that it uses are held to what was accepted, also where the settings do not want that.
    `approval` has words for patterns of tools, see `settings.approval`; `approvals` is what a
    person approved meanwhile, `facts` what happened in the run.
    """

    kind: CallerKind
    name: str = ""
    toolbelt: str = ""
    run: str = ""
    host: Host | None = field(default=None, compare=False)
    locks: DefinitionLock = False
    approval: Mapping[str, str] = field(default_factory=dict[str, str], compare=False)
    approvals: RunApprovals = field(default_factory=RunApprovals, compare=False)
    facts: RunFacts = field(default_factory=RunFacts, compare=False)
    workflow: str = ""
    node: str = ""


PROGRAM = Caller("program")
NO_RULING = Ruling()


@dataclass(frozen=True, slots=True)
class ToolInvocation:
    """A call of `tool`, as whoever calls it has read of it.

    `shown_name` is what the caller calls the tool, if that is not its own name. `timeout_seconds`
    covers connecting too; None: the source's own limit. `meta` goes along for programs at the far
    side. `check` is called right before anything is sent, also over a new connection; what it
    raises ends the call. `ruling` is what rules say of it. `call_id` is that of the model's call.
    """

    tool: Tool
    arguments: JsonObject
    caller: Caller = PROGRAM
    shown_name: str = ""
    timeout_seconds: float | None = None
    on_progress: OnProgress | None = None
    meta: JsonObject | None = None
    check: Callable[[], None] | None = None
    ruling: Ruling = NO_RULING
    call_id: str = ""

    @property
    def name(self) -> str:
        """What the caller calls the tool."""
        return self.shown_name or self.tool.name
