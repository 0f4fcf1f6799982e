"""Trust in settings files: which of them may start programs and reach addresses.

A settings file names programs to start, code to load and addresses that receive credentials. In a
file that came with somebody else's folder, none of these is used before the user agrees. Agreements
are stored in the user's own folder, never in the project's, for each entry: a change of one entry
asks about that entry only.
"""

from __future__ import annotations

import json
import logging
import math
import os
from collections import defaultdict
from collections.abc import Container, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import cast

from ..core.errors import SettingsError
from ..core.shell import shell_command
from ..secrets.private_files import file_lock, make_private_folder, replace_private
from .interpolation import ENV_FILE
from .load import user_settings_path
from .models import Guard, Settings, SettingsPart
from .parts import (
    APPROVAL,
    BLOCKED,
    EMBEDDINGS,
    RECORD,
    REGISTRIES,
    RULES,
    STORE,
    group_place,
    word_digest,
)
from .registries import USUAL_REGISTRIES
from .rules import Rule
from .sections import GroupsSettings
from .validation import adapter

logger = logging.getLogger(__name__)

TRUST_VARIABLE = "XAI_MCP_TRUST"
APPROVED = "approved: "
"""Prefix of the key paths of tools that the lock file beside the settings approves."""

_ALL = ("1", "all", "true", "yes", "on")
_NONE = ("", "0", "false", "no", "off")
_FILE_NAME = "trusted.json"
_FOR_ALL = (RULES, APPROVAL, BLOCKED)
_DENY_ALL = Rule(
    "not agreed", (), word="deny",
    because="the settings restrict less than their user agreed to",
)  # fmt: skip
_LOCK_SECONDS = 5.0


@dataclass(slots=True)
class Agreement:
    """The agreement of this user to one settings file.

    `parts` are digests by key path. `guards` are by key path and digest, each with its strength and
    the sentence about its loss.
    """

    parts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    guards: dict[str, dict[str, tuple[int, str]]] = field(
        default_factory=dict[str, dict[str, tuple[int, str]]]
    )

    def __bool__(self) -> bool:
        return bool(self.parts or self.guards)

    def has(self, part: SettingsPart) -> bool:
        """Return whether the user agreed to this part in its present form."""
        return part.digest in self.parts.get(part.key_path, ())

    def remember(self, guards: Iterable[Guard]) -> bool:
        """Remember guards that are new or stronger; return whether there was one."""
        is_changed = False
        for guard in guards:
            strengths = self.guards.setdefault(guard.key_path, {})
            if strengths.get(guard.digest, (-math.inf,))[0] < guard.strength:
                strengths[guard.digest] = guard.strength, guard.lost
                is_changed = True
        return is_changed

    def lost_guards(self, settings: Settings, off: Container[str]) -> Iterator[SettingsPart]:
        """Yield the guards that are removed or weaker since the agreement, by key path."""
        strengths = {(x.key_path, x.digest): x.strength for x in settings.guards}
        sources = {x.key_path: x.source for x in settings.parts}
        for path in dict.fromkeys((*_FOR_ALL, *sources)):
            lost = [
                sentence
                for digest, (strength, sentence) in self.guards.get(path, {}).items()
                if strengths.get((path, digest), -math.inf) < strength
            ]
            if lost and (source := sources.get(path, "")) not in off:
                yield SettingsPart(path, "", tuple(lost), source)


@dataclass(frozen=True, slots=True)
class _AgreementFile:
    files: dict[str, Agreement]


class TrustStore:
    """The agreements of this user, in a private `file`; a variable of `environ` also agrees."""

    def __init__(self, file: Path | None = None, environ: Mapping[str, str] | None = None) -> None:
        self._other_file = file
        self._environ = os.environ if environ is None else environ

    def untrusted_parts(
        self, settings: Settings, also: Iterable[SettingsPart] = ()
    ) -> tuple[SettingsPart, ...]:
        """Return the parts of the file that need an agreement; () if the whole file may be used.

        Settings given in Python need none, nor does the file in the user's configuration folder.
        `also` are approvals beside the file. A disabled entry needs an agreement when it is
        enabled.
        """
        if not settings.file or settings.is_from_python or self._is_agreed(settings.file):
            return ()
        agreement, off = self._agreement(settings.file), _disabled_names(settings)
        parts = (x for x in (*settings.parts, *also) if x.source not in off)
        waiting = [x for x in parts if not agreement.has(x)]
        waiting += agreement.lost_guards(settings, off)
        guards = [x for x in settings.guards if x.source not in off]
        # New guards need no question: they hold back more.
        if agreement and not waiting and agreement.remember(guards):
            try:
                with self._change_agreement(settings.file) as stored:
                    stored.remember(guards)
            except SettingsError as reason:
                logger.debug("%s", reason)
        return tuple(waiting)

    def agree(
        self, settings: Settings, also: Iterable[SettingsPart] = (), *, with_disabled: bool = False
    ) -> None:
        """Agree to the file as it was read and displayed, and to the approvals in `also`.

        Disabled entries were not displayed; their author agrees `with_disabled`.

        Raises:
            SettingsError: the agreement cannot be stored.
        """
        off = () if with_disabled else _disabled_names(settings)
        places_off = {x.key_path for x in settings.parts if x.source and x.source in off}
        with self._change_agreement(settings.file) as agreement:
            parts = {k: x for k, x in agreement.parts.items() if k.startswith(APPROVED)}
            digests = defaultdict[str, list[str]](list)
            for part in (*settings.parts, *also):
                if part.source not in off or agreement.has(part):
                    digests[part.key_path].append(part.digest)
            agreement.parts = {**parts, **digests}
            agreement.guards = {k: x for k, x in agreement.guards.items() if k in places_off}
            agreement.remember(x for x in settings.guards if x.source not in off)

    def agrees_to(self, file: str, part: SettingsPart) -> bool:
        """Return whether this user agreed to one approval beside the file."""
        return self._is_agreed(file) or self._agreement(file).has(part)

    def agree_to(self, file: str, part: SettingsPart, guards: Iterable[Guard] = ()) -> None:
        """Agree to one part, or withdraw the agreement if the part has no digest.

        `guards` are the guards of the file.

        Raises:
            SettingsError: the agreement cannot be stored.
        """
        with self._change_agreement(file) as agreement:
            agreement.parts.pop(part.key_path, None)
            agreement.guards.pop(part.key_path, None)
            if part.digest:
                agreement.parts[part.key_path] = [part.digest]
            agreement.remember(guards)

    def withdraw(self, file: str | Path) -> bool:
        """Withdraw the agreement to a file; return whether there was one.

        Raises:
            SettingsError: the agreement cannot be stored.
        """
        has_agreement = _name(file) in self._read()
        if has_agreement:
            with self._change_agreement(file) as agreement:
                agreement.parts, agreement.guards = {}, {}
        return has_agreement

    def files(self) -> list[str]:
        """Return the files with an agreement."""
        return sorted(self._read())

    def _agreement(self, file: str) -> Agreement:
        return self._read().get(_name(file), Agreement())

    @property
    def _file(self) -> Path:
        return self._other_file or user_settings_path().parent / _FILE_NAME

    def _is_agreed(self, file: str) -> bool:
        """Return whether the file's location, or the environment, counts as an agreement."""
        if _name(file) == _name(user_settings_path()):
            return True
        variable = self._environ.get(TRUST_VARIABLE, "").strip()
        if variable.lower() in (*_ALL, *_NONE):
            return variable.lower() in _ALL
        places = [Path(_name(x)) for x in variable.split(os.pathsep) if x.strip()]
        here = Path(_name(file))
        return any(x == here or x in here.parents for x in places)

    def _read(self) -> dict[str, Agreement]:
        """Read all agreements; none if the file cannot be read. The next agreement replaces it."""
        try:
            content = adapter(_AgreementFile).validate_json(self._file.read_bytes())
            return cast(_AgreementFile, content).files
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as why:
            logger.warning("%s cannot be read, so no settings file is trusted: %s", self._file, why)
            return {}

    @contextmanager
    def _change_agreement(self, file: str | Path) -> Generator[Agreement]:
        """Yield the agreement to a file, to be changed in the block and stored at its end.

        Raises:
            SettingsError: the agreement cannot be written, or another process has it locked.
        """
        try:
            make_private_folder(self._file.parent)
            with file_lock(self._file.with_suffix(".lock"), _LOCK_SECONDS):
                files = self._read()
                yield files.setdefault(_name(file), Agreement())
                value = {"version": 1, "files": {x: asdict(y) for x, y in files.items() if y}}
                replace_private(self._file, json.dumps(value, indent=1, sort_keys=True).encode())
        except OSError as cause:
            problem = f"it cannot be written: {cause}."
            fix = f"Correct that, or set {TRUST_VARIABLE} to the settings file."
            raise SettingsError(str(self._file), "", problem, fix) from cause


def without_untrusted(settings: Settings, store: TrustStore | None = None) -> Settings:
    """Return the settings without the parts that need an agreement; such an entry is a problem."""
    return without_parts(settings, (store or TrustStore()).untrusted_parts(settings))


def without_parts(settings: Settings, parts: tuple[SettingsPart, ...]) -> Settings:
    """Return the settings without these parts.

    Defaults replace locations and models without an agreement; rules and words without one let no
    call through. If a guard of all sources was lost, no source is used and agents call nothing.
    """
    if not parts:
        return settings
    sources, problems = dict(settings.sources), dict(settings.problems)
    kinds, notes = dict(settings.problem_kinds), list(settings.notes)
    beside = [x for x in parts if not x.source]
    lost = [x for x in beside if x.key_path in _FOR_ALL and not x.digest]
    reasons = dict.fromkeys(sources, lost[0]) if lost else {}
    reasons |= {x.source: x for x in parts if x.source}
    for name in [x for x in reasons if x in sources and not sources[x].disabled]:
        kinds[name] = sources.pop(name).kind
        problems[name] = _problem(settings, reasons[name])
    notes += dict.fromkeys(str(_problem(settings, x)) for x in beside)
    env_notes = [str(_problem(settings, x)) for x in beside if x.key_path == ENV_FILE]
    paths, digests = {x.key_path for x in beside}, {x.digest for x in beside}
    search = replace(settings.search, embeddings=None) if EMBEDDINGS in paths else settings.search
    rules = [x for x in settings.rules if x.word != "allow" or RULES not in paths]
    approval = settings.approval.items()
    return replace(
        settings, sources=sources, problems=problems, problem_kinds=kinds, notes=tuple(notes),
        store="" if STORE in paths else settings.store, search=search,
        approval={x: word for x, word in approval if word_digest(x, word) not in digests},
        rules=(*rules, *([_DENY_ALL] if lost else [])),
        registries=USUAL_REGISTRIES if REGISTRIES in paths else settings.registries,
        groups=_without_groups(settings, {x.key_path: x for x in beside}),
        record=frozenset[str]() if RECORD in paths else settings.record,
        env={} if ENV_FILE in paths else settings.env,
        env_notes=(*settings.env_notes, *env_notes),
    )  # fmt: skip


def _without_groups(settings: Settings, parts: Mapping[str, SettingsPart]) -> GroupsSettings:
    groups, problems = dict(settings.groups.groups), dict(settings.groups.problems)
    for name in [x for x in groups if group_place(x) in parts]:
        del groups[name]
        problems[name] = _problem(settings, parts[group_place(name)])
    return GroupsSettings(groups, problems)


def trust_command(file: str) -> str:
    """Return the command that a user runs to agree to a settings file."""
    return shell_command("xai-mcp-agent", "trust", file)


def _problem(settings: Settings, part: SettingsPart) -> SettingsError:
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


def _disabled_names(settings: Settings) -> set[str]:
    return {name for name, source in settings.sources.items() if source.disabled}


def _name(file: str | Path) -> str:
    """Return one name for a file, whatever the path to its folder.

    A link to the file is not followed: relative paths in it start at the folder of the link.
    """
    folder, name = os.path.split(os.path.abspath(os.path.expanduser(str(file).strip())))
    return os.path.join(os.path.realpath(folder), name)
