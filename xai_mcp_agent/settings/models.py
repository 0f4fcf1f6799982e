"""The settings as values: usable sources, problems of the others, and all other sections.

`load` creates them. Printing them shows no secret.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, ItemsView, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

from ..core.errors import SettingsError, UnknownServer
from ..core.names import did_you_mean, nearest
from ..core.tools import MCP, SourceKind
from ..secrets.secrets import Secrets
from .approval import ApprovalWord, ApprovalWords
from .document import KeyPlace, without_frames
from .entry import KEEP_WARM_SECONDS, WAIT_SECONDS, SourceSettings
from .openapi import OpenApiSettings
from .registries import USUAL_REGISTRIES, RegistrySettings
from .rules import Rule
from .sections import (
    GroupSettings,
    GroupsSettings,
    Retention,
    ToolSearchSettings,
)
from .server import ServerSettings
from .sources import AgentSettings, BuiltinSettings, FunctionSettings, WorkflowSettings

T = TypeVar("T")

SECTIONS: dict[str, type[SourceSettings]] = {
    "mcpServers": ServerSettings,
    "functions": FunctionSettings,
    "builtin": BuiltinSettings,
    "agents": AgentSettings,
    "openapiServices": OpenApiSettings,
    "workflows": WorkflowSettings,
}
"""The sections of a settings file that contain sources, each of one kind."""


SourceSection: TypeAlias = tuple[type[SourceSettings], Mapping[Any, Any], KeyPlace]
"""The entries of one kind, and their place in the file."""


@dataclass(frozen=True, slots=True)
class SettingsPart:
    """A part of the file: the entry of a `source`, or a section.

    `digest` changes with everything that needs a new agreement; `facts` are lines that explain all
    of it to a person. A part without a digest says which guards were lost.
    """

    key_path: str
    digest: str
    facts: tuple[str, ...]
    source: str = ""


@dataclass(frozen=True, slots=True)
class Guard:
    """A guard: something that the section or the entry at `key_path` holds back.

    `digest` identifies the guard, and a higher `strength` holds back more. A person reads
    `description`, and `lost` about its removal.
    """

    key_path: str
    digest: str
    strength: int
    description: str
    lost: str
    source: str = ""


@dataclass(frozen=True)
class Settings:
    """All settings of one file; the names of sources are unique over all kinds.

    `file` is the path of the file, a description for settings given in Python, or empty if there is
    no file; `searched` are the paths that were tried. `sources` are the usable ones, including
    disabled ones; `problems` has the errors of the others, and `problem_kinds` their kinds. `added`
    are the names of sources that a run added. `notes` report ignored keys and values.

    `parts` and `guards` are what a user agrees to, see `trust`; `is_vouched`: a program names the
    file. `secrets` are all secret texts of the file.

    `store` and `project` are the location and the project of the history, `record` the parts of
    calls in it, and `retention` its limits. `search` selects the tools in a request. `groups` are
    named sets of tools; no source shares their names. `approval` and `rules` apply to all sources;
    `stored_rules` is the lowest revision of the rules of the store, None if they are not used. No
    run begins without the `required` sources, including wrong ones. `wait_seconds` is how long a
    run with one ready source waits for the others, unless they are named. In a kernel sources stay
    for `keep_warm_seconds` after a run. `env` are the values in the `.env` beside the file, which
    may have API keys of models; `env_notes` are the notes about it.
    """

    file: str
    sources: dict[str, SourceSettings] = field(default_factory=dict[str, SourceSettings])
    problems: dict[str, SettingsError] = field(default_factory=dict[str, SettingsError])
    secrets: Secrets = field(default_factory=Secrets)
    searched: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    store: str = ""
    project: str = ""
    record: frozenset[str] = frozenset()
    is_from_python: bool = False
    is_vouched: bool = False
    problem_kinds: dict[str, SourceKind] = field(default_factory=dict[str, SourceKind])
    search: ToolSearchSettings = field(default_factory=ToolSearchSettings)
    added: set[str] = field(default_factory=set[str])
    groups: GroupsSettings = field(default_factory=GroupsSettings)
    parts: tuple[SettingsPart, ...] = field(default=(), repr=False)
    guards: tuple[Guard, ...] = field(default=(), repr=False)
    retention: Retention = field(default_factory=Retention)
    approval: ApprovalWords = field(default_factory=dict[str, ApprovalWord])
    rules: tuple[Rule, ...] = ()
    stored_rules: int | None = None
    registries: Mapping[str, RegistrySettings] = field(default_factory=USUAL_REGISTRIES.copy)
    required: frozenset[str] = frozenset()
    wait_seconds: float = WAIT_SECONDS
    keep_warm_seconds: float = KEEP_WARM_SECONDS
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    env_notes: tuple[str, ...] = ()

    def add(self, source: SourceSettings, in_use: Collection[str] = ()) -> str:
        """Add a source that the file does not have, and return its name.

        It replaces an added source of the same name and origin, unless that source is `in_use` and
        differs. If another source has its name, it gets a number.
        """
        names = (f"{source.name}_{x}" if x > 1 else source.name for x in itertools.count(1))
        name = next(x for x in names if self._is_free(x, source, in_use))
        self.sources[name] = replace(source, name=name)
        self.added.add(name)
        return name

    def _is_free(self, name: str, source: SourceSettings, in_use: Collection[str]) -> bool:
        before = self.sources.get(name)
        if before is None:
            return name not in {*self.problems, *self.group_names}
        if name in in_use and before != replace(source, name=name):
            return False
        return name in self.added and before.origin == source.origin

    def exchange_sources(self, other: Settings) -> None:
        """Take over the sources of another reading of the file; keep the ones that a run added."""
        self.secrets.update(other.secrets.texts)
        self.added.difference_update(other.names)
        ours = {name: replace(x, secrets=self.secrets) for name, x in other.sources.items()}
        _refill(self.sources, {**ours, **{name: self.sources[name] for name in self.added}})
        _refill(self.problems, other.problems)
        _refill(self.problem_kinds, other.problem_kinds)

    @property
    def beside_sources(self) -> Settings:
        """The settings without the sources and their problems, parts and guards."""
        return replace(
            self, sources={}, problems={}, problem_kinds={}, added=set(), parts=(), guards=(),
            searched=(), secrets=Secrets(),
        )  # fmt: skip

    @property
    def of_file(self) -> dict[str, SourceSettings]:
        """The sources of the file, without the added ones."""
        return {n: x for n, x in self._all() if n not in self.added}

    @property
    def servers(self) -> dict[str, ServerSettings]:
        """The MCP servers among the sources."""
        return {n: x for n, x in self._all() if isinstance(x, ServerSettings)}

    @property
    def usable(self) -> tuple[str, ...]:
        """The names of the sources that are neither disabled nor wrong."""
        return tuple(name for name, source in self._all() if not source.disabled)

    @property
    def switched_on(self) -> tuple[str, ...]:
        """The names of the sources that are not disabled, including wrong ones."""
        return (*self.usable, *self.problems)

    @property
    def names(self) -> list[str]:
        """The names of all sources, the usable ones first."""
        return list(dict.fromkeys((*self.sources, *self.problems)))

    def _all(self) -> ItemsView[str, SourceSettings]:
        """Return a copy of the sources, made in one step: another thread may be adding one."""
        return self.sources.copy().items()

    def group(self, name: str) -> GroupSettings | None:
        """Return the group with this name; None if there is none, or a source has the name.

        Raises:
            SettingsError: the group has a mistake.
        """
        if self.kind_of(name) is not None:
            return None
        if problem := self.groups.problems.get(name):
            raise without_frames(problem)
        return self.groups.groups.get(name)

    @property
    def group_names(self) -> list[str]:
        """The names of all groups, including wrong ones."""
        return [*self.groups.groups, *self.groups.problems]

    def kind_of(self, name: str) -> SourceKind | None:
        """Return the kind of the source with this name, usable or not; None without a source."""
        source = self.sources.get(name)
        return source.kind if source else self.problem_kinds.get(name)

    def source(self, name: str, kind: SourceKind | None = None) -> SourceSettings:
        """Return the source with this name, maybe disabled; with a `kind`, only of that kind.

        Raises:
            UnknownServer: there is no such source; the message names the nearest and a fix.
            SettingsError: the entry of the source has a mistake.
        """
        if kind in (None, self.kind_of(name)):
            if name in self.sources:
                return self.sources[name]
            if problem := self.problems.get(name):
                # A new error each time: a raised exception collects a traceback at every raise.
                raise without_frames(problem)
        raise self._unknown(name, kind)

    def server(self, name: str) -> ServerSettings:
        """Return the MCP server with this name; see `source`."""
        server = self.source(name, MCP)
        assert isinstance(server, ServerSettings)
        return server

    def _unknown(self, name: str, kind: SourceKind | None) -> UnknownServer:
        names = [x for x in self.names if kind in (None, self.kind_of(x))]
        names += self.group_names if kind is None else []
        names = list(dict.fromkeys([*nearest(name, names), *sorted(names)]))
        if not self.file:
            return UnknownServer(_no_file(name, self.searched), name, names)
        kinds = {kind} if kind else {self.kind_of(x) for x in self.names} or {MCP}
        section, *others = [x for x, cls in SECTIONS.items() if cls.kind in kinds]
        noun = "source" if others else SECTIONS[section].noun
        hint = f"Known: {', '.join(map(_printable, names))}." if names else "It has no servers."
        hint = f"{did_you_mean(name, names)} {hint}".lstrip()
        if other := [x for x, cls in SECTIONS.items() if cls.kind == self.kind_of(name)]:
            hint = f"The one of that name is under `{other[0]}`."
        where = f"the section of its kind, such as `{section}`" if others else f"`{section}`"
        message = (
            f"No {noun} {name!r} in {self.file}. {hint} Correct the name, or add it under {where}."
        )
        return UnknownServer(message, name, names)


def _refill(values: dict[str, T], others: Mapping[str, T]) -> None:
    values.clear()
    values.update(others)


def _no_file(name: str, searched: tuple[str, ...]) -> str:
    where = f" Looked for {', '.join(searched)}." if searched else ""
    return (
        f"No MCP server {name!r}: no mcp_settings.json was found.{where} "
        "Run `xai-mcp-agent init` to write one, or name yours in XAI_MCP_SETTINGS."
    )


def _printable(name: str) -> str:
    return name if name and name.isprintable() else ascii(name)
