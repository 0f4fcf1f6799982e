"""The settings as values: what each source is, which are unusable and why, where we looked.

Made by `load`. Nothing here shows a secret when it is printed.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, ItemsView, Mapping
from dataclasses import dataclass, field, replace

from ..core.errors import SettingsError, UnknownServer
from ..core.names import did_you_mean, nearest
from ..core.tools import MCP, SourceKind
from ..secrets.secrets import Secrets
from .approval import ApprovalWord, ApprovalWords
from .document import without_frames
from .entry import WAIT_SECONDS, SourceSettings
from .openapi import OpenApiSettings
from .parts import Guard, Part
from .rules import Rule
from .sections import (
    USUAL_REGISTRIES,
    GroupSettings,
    GroupsSettings,
    PlanningSettings,
    RegistrySettings,
    Retention,
    ToolSearchSettings,
)
from .server import ServerSettings
from .sources import AgentSettings, BuiltinSettings, FunctionSettings, WorkflowSettings

SECTIONS: dict[str, type[SourceSettings]] = {
    "mcpServers": ServerSettings,
    "functions": FunctionSettings,
    "builtin": BuiltinSettings,
    "agents": AgentSettings,
    "openapiServices": OpenApiSettings,
    "workflows": WorkflowSettings,
}
"""The parts of a settings file that hold sources, each of one kind."""


@dataclass(frozen=True)
class Settings:
    """All sources of one settings file, by their names, which are different over all kinds.

    `file` is its path, a description when the settings were given in Python, or empty when no
    file was found. `sources` are the usable ones, also those that are switched off (`disabled`);
    `problems` says why the others are not usable, `problem_kinds` of what kind they would be.
    `secrets` are all secret texts seen.
    `searched` tells where a file was looked for, `notes` what was ignored or looks misspelled.
    `store` is where the history is kept, as it is written there, `project` the name that its
    project has there; `record` says what it keeps of
    calls, `arguments` and `results`; `search` says which tools a model is shown. `added` names the
    sources that are not of the file: a run brought them along. `groups` are named sets of tools,
    whose names no source has. `parts` are what of the file starts or reaches something, as it is
    written, `guards` what is held back; see `trust`. `retention` says how long the history is kept.
    `approval` has words for patterns of tools, for all sources together; `rules` hold for all, too.
    `stored_rules` is the revision that rules of the store must have; None where they do not count.
    `planning` says whether plans learn from runs. `is_vouched`: a program names the file.
    `registries` are looked through for servers by people, never by a run. `required` names the
    entries that say so, also the wrong ones. `wait_seconds` is how long a run that has one source
    waits for the next, of those that nobody named.
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
    parts: tuple[Part, ...] = field(default=(), repr=False)
    guards: tuple[Guard, ...] = field(default=(), repr=False)
    retention: Retention = field(default_factory=Retention)
    approval: ApprovalWords = field(default_factory=dict[str, ApprovalWord])
    rules: tuple[Rule, ...] = ()
    stored_rules: int | None = None
    planning: PlanningSettings = field(default_factory=PlanningSettings)
    registries: Mapping[str, RegistrySettings] = field(default_factory=USUAL_REGISTRIES.copy)
    required: frozenset[str] = frozenset()
    wait_seconds: float = WAIT_SECONDS

    def add(self, source: SourceSettings, taken: Collection[str] = ()) -> str:
        """Add a source that the file does not have, and return its name.

        It replaces an added source of the same name and origin, unless that one is in `taken` and
        differs. Where another source has its name, it gets a number.
        """
        names = (f"{source.name}_{x}" if x > 1 else source.name for x in itertools.count(1))
        name = next(x for x in names if self._is_free(x, source, taken))
        self.sources[name] = replace(source, name=name)
        self.added.add(name)
        return name

    def _is_free(self, name: str, source: SourceSettings, taken: Collection[str]) -> bool:
        before = self.sources.get(name)
        if before is None:
            return name not in {*self.problems, *self.group_names}
        if name in taken and before != replace(source, name=name):
            return False
        return name in self.added and before.origin == source.origin

    @property
    def of_file(self) -> dict[str, SourceSettings]:
        """The sources of the file, without added ones."""
        return {n: x for n, x in self._all() if n not in self.added}

    @property
    def servers(self) -> dict[str, ServerSettings]:
        """The MCP servers among the sources."""
        return {n: x for n, x in self._all() if isinstance(x, ServerSettings)}

    @property
    def usable(self) -> tuple[str, ...]:
        """The names of the sources that are neither switched off nor wrong."""
        return tuple(name for name, source in self._all() if not source.disabled)

    @property
    def switched_on(self) -> tuple[str, ...]:
        """The names of the sources that are not switched off, also of the wrong ones."""
        return (*self.usable, *self.problems)

    @property
    def names(self) -> list[str]:
        """The names of all sources in the file, the usable ones first."""
        return list(dict.fromkeys((*self.sources, *self.problems)))

    def _all(self) -> ItemsView[str, SourceSettings]:
        """The sources, copied in one step: a run in another thread may be adding one."""
        return self.sources.copy().items()

    def group(self, name: str) -> GroupSettings | None:
        """The group with this name; None where there is none, or a source has that name.

        Raises:
            SettingsError: there is one, and something in it is wrong.
        """
        if self.kind_of(name) is not None:
            return None
        if problem := self.groups.problems.get(name):
            raise without_frames(problem)
        return self.groups.groups.get(name)

    @property
    def group_names(self) -> list[str]:
        """The names of all groups, also of the wrong ones."""
        return [*self.groups.groups, *self.groups.problems]

    def kind_of(self, name: str) -> SourceKind | None:
        """The kind of the source with this name, also of a wrong one."""
        source = self.sources.get(name)
        return source.kind if source else self.problem_kinds.get(name)

    def source(self, name: str, kind: SourceKind | None = None) -> SourceSettings:
        """The source with this name, which may be disabled; only of this kind, if one is given.

        Raises:
            UnknownServer: there is none; names the nearest and says what to do.
            SettingsError: there is one, and something in its entry is wrong.
        """
        if kind in (None, self.kind_of(name)):
            if name in self.sources:
                return self.sources[name]
            if problem := self.problems.get(name):
                # A new one each time: a raised exception collects the tracebacks of its travels.
                raise without_frames(problem)
        raise self._unknown(name, kind)

    def server(self, name: str) -> ServerSettings:
        """The MCP server with this name; see `source`."""
        server = self.source(name, MCP)
        assert isinstance(server, ServerSettings)
        return server

    def _unknown(self, name: str, kind: SourceKind | None) -> UnknownServer:
        known = [x for x in self.names if kind in (None, self.kind_of(x))]
        known += self.group_names if kind is None else []
        known = list(dict.fromkeys([*nearest(name, known), *sorted(known)]))
        if not self.file:
            return UnknownServer(_no_file(name, self.searched), name, known)
        kinds = {kind} if kind else {self.kind_of(x) for x in self.names} or {MCP}
        sections = {x: cls.noun for x, cls in SECTIONS.items() if cls.kind in kinds}
        having = f"Known: {', '.join(map(_printable, known))}." if known else "It has no servers."
        if meant := did_you_mean(name, known):
            having = f"{meant} {having}"
        if other := [x for x, cls in SECTIONS.items() if cls.kind == self.kind_of(name)]:
            having = f"The one of that name stands under `{other[0]}`."
        where = " or ".join(f"`{x}`" for x in sections)
        first, *others = sections.values()
        also = "".join(f", and no {noun}" for noun in others)
        if len(others) > 1:
            also = ", and nothing else of that name"
            where = f"the section of its kind, such as `{next(iter(sections))}`"
        message = f"No {first} {name!r} in {self.file}{also}. {having}"
        fix = f"Correct the name, or add it under {where}."
        return UnknownServer(f"{message} {fix}", name, known)


def _no_file(name: str, searched: tuple[str, ...]) -> str:
    where = f" Looked for {', '.join(searched)}." if searched else ""
    return (
        f"No MCP server {name!r}: no mcp_settings.json was found.{where} "
        "Run `xai-mcp-agent init` to write one, or name yours in XAI_MCP_SETTINGS."
    )


def _printable(name: str) -> str:
    return name if name and name.isprintable() else ascii(name)
