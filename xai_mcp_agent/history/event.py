"""An event of the log, its subject (a source or tool), and its links in the event graph."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Literal, TypeAlias

from ..core.json import JsonObject
from ..core.tools import META, STATIC, ItemKey, SourceKind, ToolKey, kind_named

_DIGEST_CHARS = 32
NAMELESS = {STATIC: "canvas", META: "built-in"}
"""What people call the sources that have no name of their own."""

Change: TypeAlias = Literal[
    # Of a source.
    "connected", "reconnected", "refreshed", "left", "disconnected", "failed",
    # Of a tool.
    "seeded", "discovered", "confirmed", "changed", "returned", "unavailable", "called", "begun",
    "enabled", "disabled", "accepted", "approved", "withdrawn", "refused", "learned", "forgotten",
]  # fmt: skip
"""refreshed: it listed its tools again. left: one of several runs let go of it, and others have it
still. failed: it could not be reached or listed. seeded: there from the start. confirmed: there,
and as it was. returned: it had vanished from the listing, and is there again as it was. begun: a
call whose process ended before it was over, so that nobody knows whether it was carried out.
accepted: a definition, by a person or with the first listing of its source; or what a source says
of its use. approved: a call, or all calls of a tool, by whoever the payload names. withdrawn: an
approval for good, taken back. refused: a call that was not made because of what was decided, now by
whoever the payload names, or before. learned: what was
asked for when it was used is remembered for the next search. forgotten: that is not any more."""

EventKind: TypeAlias = Literal["fact", "action", "decision"]
Teller: TypeAlias = Literal["validator", "executor", "user"]
"""Who says so: what was found out, what ran, and what a person decided."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A source (`tool` is None), or one tool of it; or a prompt or resource, by its `kind`.

    Subjects that differ may have the same `context_id`: spec 2 joins names with underscores,
    which names may have, too. So whoever follows links compares subjects.
    """

    kind: SourceKind
    source: str
    tool: str | None = None
    # Asked for several times while an event is written.
    _digest: str = field(default="", init=False, repr=False, compare=False)
    _anchor: Subject | None = field(default=None, init=False, repr=False, compare=False)

    def __hash__(self) -> int:
        """Quick: every event is looked up by it. Kinds that share names are few."""
        return hash((self.source, self.tool))

    @property
    def context_id(self) -> str:
        """Its id in the event graph: `mcp:git`, `mcp_tool:git_git_log`, `tools:bash`.

        Spec 2 has none of prompts and resources: `mcp_prompt:git_review` is alike.
        """
        if not self.kind.connects:
            return f"{self.kind.event_name}:{self.tool}"
        if self.tool is None:
            return f"{self.kind.event_name}:{self.source}"
        return f"{self.kind.event_name}_{self.kind.item}:{self.source}_{self.tool}"

    @property
    def shown_source(self) -> str:
        """What people call its source; `canvas` has the tools that are drawn, which have none."""
        return self.source or NAMELESS.get(self.kind, self.kind.name)

    @property
    def digest(self) -> str:
        """What a store finds it by: names may be longer than a database can index."""
        if not self._digest:
            names = f"{self.kind.name}:{len(self.source)}:{self.source}"
            names += "" if self.tool is None else f":{self.tool}"
            data = names.encode("utf-8", "surrogatepass")
            object.__setattr__(self, "_digest", hashlib.sha256(data).hexdigest()[:_DIGEST_CHARS])
        return self._digest

    @property
    def is_tool(self) -> bool:
        """Whether it is a tool, and neither a source, nor a prompt or resource."""
        return self.tool is not None and self.kind.item == "tool"

    @property
    def item(self) -> ItemKey:
        """What it is, such as a tool or a prompt, and its name."""
        return self.kind.item, self.tool or ""

    @property
    def key(self) -> ToolKey:
        """The key of the tool it is."""
        return ToolKey(self.kind.name, self.source, self.tool or "")

    @property
    def anchor(self) -> Subject:
        """The source it belongs to; itself, if it is one."""
        if self.tool is None:
            return self
        if self._anchor is None:
            object.__setattr__(self, "_anchor", _anchor(self.kind, self.source))
        return self._anchor or _anchor(self.kind, self.source)


@dataclass(frozen=True, slots=True)
class Project:
    """Whose tools they are. `repo_hash` is the same wherever the same project is worked on."""

    name: str
    repo_hash: str

    @property
    def tools_id(self) -> str:
        """The id under which all its tools hang."""
        return f"{self.repo_hash}:tools"

    @property
    def knowledge_id(self) -> str:
        """The id of all that is known of the project."""
        return f"knowledge:{self.name}_{self.repo_hash}"


@lru_cache(maxsize=20_000)  # a history is long because the same things happen again and again
def subject_of(kind: str, source: str, tool: str | None) -> Subject:
    """The subject that these names are of."""
    return Subject(kind_named(kind), source, tool)


def item_of(source: Subject, key: ItemKey) -> Subject:
    """One tool, prompt or resource of a source."""
    item, name = key
    kind = source.kind.name if item == "tool" else f"{source.kind.name}_{item}"
    return subject_of(kind, source.source, name)


@lru_cache(maxsize=256)
def _anchor(kind: SourceKind, source: str) -> Subject:
    return Subject(kind.of or kind, source)


@dataclass(frozen=True, slots=True)
class Links:
    """Context ids to which an event is linked.

    `extends` is what its subject hangs on. `reinforces`: what was known is confirmed by fresh
    evidence. `contradicts`: it is no longer true.
    """

    extends: tuple[str, ...] = ()
    related_to: tuple[str, ...] = ()
    reinforces: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()


_NO_LINKS = Links()


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened. Never changed once it is written.

    `payload` is as spec 2 gives it; `definition` is the digest of all that the source said of the
    tool. `run` is the process that saw it. `reason` says why, for a person. `position` is given
    by the log: the events of a project are ordered by it, from 1 on. What is only implied has the
    position of the row that implies it.
    """

    subject: Subject
    change: Change
    time: datetime
    payload: JsonObject = field(default_factory=dict[str, object])
    links: Links = _NO_LINKS
    definition: str | None = None
    reason: str = ""
    run: str = ""
    position: int = 0
    teller: Teller | None = None
    """Who says so, if not who usually says this."""
    followed_by: int | None = field(default=None, repr=False, compare=False)
    """Of a listing or loss that speaks of all tools of its source: of so many the events behind it
    tell, and of the others it is implied that they are there as before, or gone."""

    @property
    def context_id(self) -> str:
        """The id of what it is about."""
        return self.subject.context_id

    @property
    def event_kind(self) -> EventKind:
        """Whether it is a fact, an action or a decision."""
        return "decision" if self.teller == "user" else _CHANGES[self.change].kind

    @property
    def source(self) -> Teller:
        """Who says so."""
        return self.teller or _CHANGES[self.change].source


LinkTarget: TypeAlias = Literal["", "knowledge", "tools", "source", "itself"]


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What an event of a change says unless it says otherwise, and what it links to (spec 2)."""

    extends: LinkTarget = ""
    related_to: LinkTarget = ""
    reinforces: LinkTarget = ""
    contradicts: LinkTarget = ""
    kind: EventKind = "fact"
    source: Teller = "validator"
    status: str = ""


def _call(status: str = "") -> _Meaning:
    return _Meaning("itself", kind="action", source="executor", status=status)


def _decision(status: str) -> _Meaning:
    return _Meaning("itself", kind="decision", source="user", status=status)


_CHANGES: dict[Change, _Meaning] = {
    "connected": _Meaning("tools", related_to="knowledge"),
    "seeded": _Meaning("tools", related_to="knowledge"),
    "reconnected": _Meaning("tools", reinforces="itself"),
    "refreshed": _Meaning("tools", reinforces="itself"),
    "failed": _Meaning("tools"),
    "left": _Meaning(reinforces="itself", status="connected"),
    "disconnected": _Meaning(contradicts="itself", status="disconnected"),
    "discovered": _Meaning("source", related_to="tools"),
    "changed": _Meaning("source", contradicts="itself"),
    "confirmed": _Meaning("source", reinforces="itself"),
    "returned": _Meaning("source", reinforces="itself"),
    "unavailable": _Meaning(contradicts="itself", status="unavailable"),
    "called": _call(),
    "begun": _call("unknown"),
    "refused": _call("refused"),
    "learned": _call(),
    "enabled": _decision("enabled"),
    "disabled": _decision("disabled"),
    "accepted": _decision("accepted"),
    "approved": _decision("approved"),
    "withdrawn": _decision("withdrawn"),
    "forgotten": _Meaning(contradicts="itself", kind="decision", source="user"),
}


def links_of(change: Change, subject: Subject, project: Project) -> Links:
    """What an event of this change links its subject to (spec 2)."""
    ids = {
        "knowledge": project.knowledge_id,
        "tools": project.tools_id,
        "source": subject.anchor.context_id,
        "itself": subject.context_id,
    }
    links = _CHANGES[change]
    targets = links.extends, links.related_to, links.reinforces, links.contradicts
    return Links(*((ids[x],) if x else () for x in targets))


def usual_payload(change: Change) -> JsonObject:
    """The payload of an event of this change, unless it says otherwise."""
    status = _CHANGES[change].status
    return {"status": status} if status else {}


def tool_payload(name: str, description: str, input_schema: JsonObject) -> JsonObject:
    """What spec 2 tells of a tool."""
    return {"name": name, "description": description, "parameters": input_schema}
