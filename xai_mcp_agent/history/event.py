"""Events of the log, their subjects (a source or tool), and their links in the event graph."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeAlias

from ..core.json import JsonObject
from ..core.tools import META, STATIC, ItemKey, SourceKind, ToolKey, find_kind

At: TypeAlias = datetime | int | None
"""A point of the history: a time, an event's position, or now. A time without a zone is local."""

_DIGEST_CHARS = 32
NAMELESS = {STATIC: "canvas", META: "built-in"}
"""Names of sources that have no name of their own."""

Change: TypeAlias = Literal[
    # Changes of a source.
    "connected", "reconnected", "refreshed", "left", "disconnected", "failed",
    # Changes of a tool.
    "seeded", "discovered", "confirmed", "changed", "returned", "unavailable", "called", "begun",
    "enabled", "disabled", "accepted", "approved", "withdrawn", "refused", "learned", "forgotten",
]  # fmt: skip
"""refreshed: the source listed its tools again. left: one of several runs closed it. failed: it
could not be reached or listed. seeded: a tool exists from the start. confirmed: it is listed and
unchanged. returned: it was missing and is listed again, unchanged. begun: the process ended during
the call, so it is unknown whether it was carried out. accepted: a definition, by a person or with
the first listing of its source; or the instructions of a source. approved: a call, or all calls of
a tool, by the person in the payload. withdrawn: an approval for good is revoked. refused: a call
was not made because of a decision, now by the person in the payload, or earlier. learned: the
request that a tool was used for is stored for later searches. forgotten: it is deleted."""

EventKind: TypeAlias = Literal["fact", "action", "decision"]
Teller: TypeAlias = Literal["validator", "executor", "user"]
"""Reporter of an event: the observer of sources, the one that runs calls, or a person."""


@dataclass(frozen=True)
class Subject:
    """A source (`tool` is None), or one tool of it; or a prompt or resource, by its `kind`.

    Different subjects may have the same `context_id`: spec 2 joins names with underscores, and
    names may contain them. So code that follows links compares subjects.
    """

    kind: SourceKind
    source: str
    tool: str | None = None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Return the subject as a list of its names."""
        from pydantic_core import core_schema  # imported here: few processes take snapshots

        return core_schema.no_info_after_validator_function(
            lambda names: subject_of(*names),
            core_schema.list_schema(core_schema.nullable_schema(core_schema.str_schema())),
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda x: [x.kind.name, x.source, x.tool]
            ),
        )

    def __hash__(self) -> int:
        """Return a fast hash: every event is looked up by it. Few kinds share names."""
        return hash((self.source, self.tool))

    @property
    def context_id(self) -> str:
        """Return its id in the event graph: `mcp:git`, `mcp_tool:git_git_log`, `tools:bash`.

        Spec 2 has no ids for prompts and resources: `mcp_prompt:git_review` is built alike.
        """
        if not self.kind.connects:
            return f"{self.kind.event_name}:{self.tool}"
        if self.tool is None:
            return f"{self.kind.event_name}:{self.source}"
        return f"{self.kind.event_name}_{self.kind.item}:{self.source}_{self.tool}"

    @property
    def source_name(self) -> str:
        """Return the name of its source for people; tools on the canvas are in `canvas`."""
        return self.source or NAMELESS.get(self.kind, self.kind.name)

    @property
    def digest(self) -> str:
        """Return a digest of its names, which may be of any length."""
        names = f"{self.kind.name}:{len(self.source)}:{self.source}"
        names += "" if self.tool is None else f":{self.tool}"
        data = names.encode("utf-8", "surrogatepass")
        return hashlib.sha256(data).hexdigest()[:_DIGEST_CHARS]

    @property
    def is_tool(self) -> bool:
        """Return whether it is a tool, not a source, prompt or resource."""
        return self.tool is not None and self.kind.item == "tool"

    @property
    def item(self) -> ItemKey:
        """Return its noun, such as tool or prompt, and its name."""
        return self.kind.item, self.tool or ""

    @property
    def key(self) -> ToolKey:
        """Return the key of the tool."""
        return ToolKey(self.kind.name, self.source, self.tool or "")

    @cached_property
    def anchor(self) -> Subject:
        """Return the source it belongs to, or itself if it is one."""
        return self if self.tool is None else _anchor(self.kind, self.source)


@dataclass(frozen=True, slots=True)
class Project:
    """Owner of tools. `repo_hash` is the same in every clone of the project."""

    name: str
    repo_hash: str

    @property
    def tools_id(self) -> str:
        """Return the id that all its tools extend."""
        return f"{self.repo_hash}:tools"

    @property
    def knowledge_id(self) -> str:
        """Return the id of everything known about the project."""
        return f"knowledge:{self.name}_{self.repo_hash}"


@lru_cache(maxsize=20_000)  # a long history repeats the same subjects
def subject_of(kind: str, source: str, tool: str | None) -> Subject:
    """Return the subject with these names."""
    return Subject(find_kind(kind), source, tool)


@lru_cache(maxsize=1000)  # all calls of a tool share one, which keeps its digest
def tool_subject(key: ToolKey) -> Subject:
    """Return the subject of a tool."""
    return subject_of(key.kind, key.source, key.name)


def item_of(source: Subject, key: ItemKey) -> Subject:
    """Return one tool, prompt or resource of a source."""
    item, name = key
    kind = source.kind.name if item == "tool" else f"{source.kind.name}_{item}"
    return subject_of(kind, source.source, name)


@lru_cache(maxsize=256)
def _anchor(kind: SourceKind, source: str) -> Subject:
    return Subject(kind.of or kind, source)


@dataclass(frozen=True, slots=True)
class Links:
    """Context ids that an event links to.

    Its subject belongs to the id in `extends`. It confirms the one in `reinforces`, and ends the
    truth of the one in `contradicts`.
    """

    extends: tuple[str, ...] = ()
    related_to: tuple[str, ...] = ()
    reinforces: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()


_NO_LINKS = Links()


@dataclass(frozen=True, slots=True)
class Event:
    """Event of the log, never changed once it is stored.

    `payload` is that of spec 2; `definition` is the digest of the tool's whole definition. `run` is
    the process that reported it. `reason` is for a person. The log sets `position`, which orders
    the events of a project, from 1. An implied event has the position of the row that implies it.
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
    """The reporter, if it is not the usual one of the change."""
    followed_by: int | None = field(default=None, repr=False, compare=False)
    """For a listing or loss of a whole source: the number of following events about its tools. The
    other tools are implied to be as before, or gone."""

    @property
    def context_id(self) -> str:
        """Return the id of its subject."""
        return self.subject.context_id

    @property
    def event_kind(self) -> EventKind:
        """Return whether it is a fact, an action or a decision."""
        return "decision" if self.teller == "user" else _CHANGES[self.change].kind

    @property
    def source(self) -> Teller:
        """Return its reporter."""
        return self.teller or _CHANGES[self.change].source


@dataclass(frozen=True, slots=True)
class Range:
    """Filter of events: all of the project by default.

    `about` is one tool, or a source with all its tools. `after` and `until` are positions, the
    first excluded. `since` is a time: the range begins with the first event of that time, and all
    later positions count, whatever their times. `changes` are kinds of changes. `failed` selects
    failures, `agent` the calls of an agent, `text` events that contain a text. `limit` keeps the
    newest rows; a row is one event with everything it implies.
    """

    about: Subject | None = None
    after: int = 0
    until: int | None = None
    since: datetime | None = None
    changes: tuple[Change, ...] = ()
    limit: int | None = None
    failed: bool = False
    agent: str | None = None
    text: str = ""


LinkTarget: TypeAlias = Literal["", "knowledge", "tools", "source", "itself"]


@dataclass(frozen=True, slots=True)
class _Meaning:
    """The usual payload and links of an event of a change (spec 2)."""

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
    """Return the links of an event of this change (spec 2)."""
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
    """Return the usual payload of an event of this change."""
    status = _CHANGES[change].status
    return {"status": status} if status else {}
