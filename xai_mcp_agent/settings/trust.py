"""Which settings files may start programs: what this user agreed to, or wrote with our commands.

A settings file names programs to start, code to load and addresses to send access to. One that
came with somebody else's folder does nothing of that before this user has agreed. What was agreed
to is kept in the user's own folder, never in the project's, entry by entry: what changes in one
concerns that one only.
"""

from __future__ import annotations

import json
import logging
import os
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from ..core.errors import SettingsError
from ..core.shell import shown_command
from ..secrets.private_files import file_lock, make_private_folder, replace_private
from .guards import group_place, word_digest
from .load import user_settings_path
from .models import Settings
from .parts import APPROVAL, BLOCKED, EMBEDDINGS, RECORD, REGISTRIES, RULES, STORE, Guard, Part
from .rules import Rule
from .sections import USUAL_REGISTRIES, GroupsSettings
from .validation import adapter

logger = logging.getLogger(__name__)

TRUST_VARIABLE = "XAI_MCP_TRUST"
APPROVED = "approved: "
"""Before the names of tools that the file of decisions beside a settings file approves."""

_ALL = ("1", "all", "true", "yes", "on")
_NONE = ("", "0", "false", "no", "off")
_FILE_NAME = "trusted.json"
_FOR_ALL = (RULES, APPROVAL, BLOCKED)
_NOTHING_CALLED = Rule(
    "not agreed", (), word="deny",
    because="the settings hold back less than their user agreed to",
)  # fmt: skip
_LOCK_SECONDS = 5.0
_MOST_BYTES = 8_000_000


@dataclass(slots=True)
class Agreement:
    """What this user agreed to of one settings file.

    `parts` are digests by places; `guards` how strong each was and what its loss means, by places
    and digests.
    """

    parts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    guards: dict[str, dict[str, tuple[int, str]]] = field(
        default_factory=dict[str, dict[str, tuple[int, str]]]
    )

    def __bool__(self) -> bool:
        return bool(self.parts or self.guards)

    def has(self, part: Part) -> bool:
        """Whether this part was agreed to as it is now."""
        return part.digest in self.parts.get(part.key_path, ())

    def hold_to(self, guards: Iterable[Guard]) -> bool:
        """Remember guards that hold back more than before; whether there was one."""
        is_changed = False
        for guard in guards:
            known = self.guards.setdefault(guard.key_path, {})
            if guard.digest not in known or known[guard.digest][0] < guard.strength:
                known[guard.digest] = guard.strength, guard.lost
                is_changed = True
        return is_changed

    def lost(self, settings: Settings, off: Container[str]) -> Iterator[Part]:
        """What was held back at the time of the yes, and is not any more, by place."""
        now = Agreement()
        now.hold_to(settings.guards)
        sources = {x.key_path: x.source for x in settings.parts}
        for place in dict.fromkeys((*_FOR_ALL, *sources)):
            held = now.guards.get(place, {})
            lost = tuple(
                sentence
                for digest, (strength, sentence) in self.guards.get(place, {}).items()
                if digest not in held or held[digest][0] < strength
            )
            if lost and (source := sources.get(place, "")) not in off:
                yield Part(place, "", lost, source)


class TrustStore:
    """What this user agreed to; in `file`, which is the user's own. `environ` may agree, too."""

    def __init__(self, file: Path | None = None, environ: Mapping[str, str] | None = None) -> None:
        self._given = file
        self._environ = os.environ if environ is None else environ

    def not_agreed(self, settings: Settings, also: Iterable[Part] = ()) -> tuple[Part, ...]:
        """What the file would start or reach, and nobody has agreed to; nothing: it may be used.

        Settings given in Python are their program's, and the file in the configuration folder of
        the user is theirs. `also` are approvals beside the file, of the same standing. What is
        switched off is asked about when it is switched on.
        """
        parts = (*settings.parts, *also)
        if not settings.file or settings.is_from_python or self._is_agreed(settings.file):
            return ()
        agreed, off = self._read().get(_name(settings.file), Agreement()), _switched_off(settings)
        waiting = [x for x in parts if not agreed.has(x) and x.source not in off]
        waiting += agreed.lost(settings, off)
        if agreed and not waiting:
            self._remember(settings, agreed)
        return tuple(waiting)

    def agree(
        self, settings: Settings, also: Iterable[Part] = (), *, with_disabled: bool = False
    ) -> None:
        """Agree to what is in the file as it was read and shown, and `also` to these approvals.

        What is switched off was not shown, and is agreed to only `with_disabled`: by who wrote it.

        Raises:
            SettingsError: that cannot be written down.
        """
        off = () if with_disabled else _switched_off(settings)
        parts = (*settings.parts, *also)
        switched_off = {x.key_path for x in settings.parts if x.source and x.source in off}

        def renew(agreed: Agreement) -> Agreement:
            digests = defaultdict[str, list[str]](list)
            for part in (x for x in parts if x.source not in off or agreed.has(x)):
                digests[part.key_path].append(part.digest)
            approved = {k: x for k, x in agreed.parts.items() if k.startswith(APPROVED)}
            renewed = Agreement(
                {**approved, **digests},
                {k: x for k, x in agreed.guards.items() if k in switched_off},
            )
            renewed.hold_to(x for x in settings.guards if x.source not in off)
            return renewed

        self._change(_name(settings.file), renew)

    def agrees_to(self, file: str, part: Part) -> bool:
        """Whether this user agreed to one approval beside the file."""
        return self._is_agreed(file) or self._read().get(_name(file), Agreement()).has(part)

    def agree_to(self, file: str, part: Part, guards: Iterable[Guard] = ()) -> None:
        """Agree to one part, or without a digest to none any more. `guards` are those of the file.

        Raises:
            SettingsError: that cannot be written down.
        """

        def change(agreed: Agreement) -> Agreement:
            agreed.parts.pop(part.key_path, None)
            agreed.guards.pop(part.key_path, None)
            if part.digest:
                agreed.parts[part.key_path] = [part.digest]
            agreed.hold_to(guards)
            return agreed

        self._change(_name(file), change)

    def withdraw(self, file: str | Path) -> bool:
        """Agree to nothing of a file any more; whether there was anything.

        Raises:
            SettingsError: that cannot be written down.
        """
        name = _name(file)
        had = name in self._read()
        if had:
            self._change(name, lambda _: Agreement())
        return had

    def files(self) -> list[str]:
        """The files of which something was agreed to."""
        return sorted(self._read())

    def _remember(self, settings: Settings, agreed: Agreement) -> None:
        """Note guards that came later: without a question, for they hold back more."""
        off = _switched_off(settings)
        guards = [x for x in settings.guards if x.source not in off]

        def change(before: Agreement) -> Agreement:
            before.hold_to(guards)
            return before

        if agreed.hold_to(guards):
            try:
                self._change(_name(settings.file), change)
            except SettingsError as reason:
                logger.debug("%s", reason)

    @property
    def _file(self) -> Path:
        return self._given or user_settings_path().parent / _FILE_NAME

    def _is_agreed(self, file: str) -> bool:
        """By where it is, or by the environment."""
        if _name(file) == _name(user_settings_path()):
            return True
        variable = self._environ.get(TRUST_VARIABLE, "").strip()
        if variable.lower() in (*_ALL, *_NONE):
            return variable.lower() in _ALL
        named = [Path(_name(x)) for x in variable.split(os.pathsep) if x.strip()]
        here = Path(_name(file))
        return any(x == here or x in here.parents for x in named)

    def _read(self) -> dict[str, Agreement]:
        """Nothing where it cannot be read: whoever agrees again writes it anew."""
        try:
            if self._file.stat().st_size > _MOST_BYTES:
                raise ValueError("it is too large")
            files = json.loads(self._file.read_bytes())["files"]
            return {x: adapter(Agreement).validate_python(y) for x, y in files.items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as why:
            logger.warning("%s cannot be read, so no settings file is trusted: %s", self._file, why)
            return {}

    def _change(self, name: str, change: Callable[[Agreement], Agreement]) -> None:
        try:
            make_private_folder(self._file.parent)
            with file_lock(self._file.with_suffix(".lock"), _LOCK_SECONDS):
                files = self._read()
                agreed = change(files.pop(name, Agreement()))
                files |= {name: agreed} if agreed else {}
                value = {"version": 1, "files": {x: asdict(y) for x, y in files.items()}}
                text = json.dumps(value, indent=1, sort_keys=True)
                replace_private(self._file, text.encode())
        except OSError as cause:  # also where another process keeps it locked
            problem = f"it cannot be written: {cause}."
            fix = f"Mend that, or set {TRUST_VARIABLE} to the settings file."
            raise SettingsError(str(self._file), "", problem, fix) from cause


def without_untrusted(settings: Settings, store: TrustStore | None = None) -> Settings:
    """The settings without what nobody has agreed to, which is a problem of each such entry."""
    return withheld(settings, (store or TrustStore()).not_agreed(settings))


def withheld(settings: Settings, parts: tuple[Part, ...]) -> Settings:
    """The settings without these parts.

    The history is then kept as for settings that do not name a place, and less of each call, no
    model searches, and no rule or word that nobody agreed to lets a call through. Where something
    that held calls back for all sources is gone, no source is used and agents call nothing.
    """
    if not parts:
        return settings
    sources, problems = dict(settings.sources), dict(settings.problems)
    kinds, notes = dict(settings.problem_kinds), list(settings.notes)
    beside = [x for x in parts if not x.source]
    lost = [x for x in beside if x.key_path in _FOR_ALL and not x.digest]
    names = dict.fromkeys(sources, lost[0]) if lost else {}
    names |= {x.source: x for x in parts if x.source}
    for name in [x for x in names if x in sources and not sources[x].disabled]:
        kinds[name] = sources.pop(name).kind
        problems[name] = _problem(settings, names[name])
    notes += dict.fromkeys(str(_problem(settings, x)) for x in beside)
    paths, digests = {x.key_path for x in beside}, {x.digest for x in beside}
    search = replace(settings.search, embeddings=None) if EMBEDDINGS in paths else settings.search
    rules = [x for x in settings.rules if x.word != "allow" or RULES not in paths]
    approval = settings.approval.items()
    return replace(
        settings, sources=sources, problems=problems, problem_kinds=kinds, notes=tuple(notes),
        store="" if STORE in paths else settings.store, search=search,
        approval={x: word for x, word in approval if word_digest(x, word) not in digests},
        rules=(*rules, *([_NOTHING_CALLED] if lost else [])),
        registries=USUAL_REGISTRIES if REGISTRIES in paths else settings.registries,
        groups=_without_groups(settings, {x.key_path: x for x in beside}),
        record=frozenset[str]() if RECORD in paths else settings.record,
    )  # fmt: skip


def _without_groups(settings: Settings, parts: Mapping[str, Part]) -> GroupsSettings:
    groups, problems = dict(settings.groups.groups), dict(settings.groups.problems)
    for name in [x for x in groups if group_place(x) in parts]:
        del groups[name]
        problems[name] = _problem(settings, parts[group_place(name)])
    return GroupsSettings(groups, problems)


def trust_command(file: str) -> str:
    """What to type to agree to a settings file."""
    return shown_command("xai-mcp-agent", "trust", file)


def _problem(settings: Settings, part: Part) -> SettingsError:
    problem = (
        "it is not used, because you have not agreed to what it starts or reaches, or it has "
        "changed since."
    )
    if not part.digest:
        problem = f"you have not agreed to this: {'; '.join(part.facts)}."
    fix = (
        f"Read it, then run `{trust_command(settings.file)}`. Unattended runs: set "
        f"{TRUST_VARIABLE} to this file."
    )
    return SettingsError(settings.file, part.key_path, problem, fix)


def _switched_off(settings: Settings) -> set[str]:
    return {name for name, source in settings.sources.items() if source.disabled}


def _name(file: str | Path) -> str:
    """One name for a file, however it is written.

    A link is not followed: relative names in it lead to other programs there than beside the file.
    """
    folder, name = os.path.split(os.path.abspath(os.path.expanduser(str(file).strip())))
    return os.path.join(os.path.realpath(folder), name)
