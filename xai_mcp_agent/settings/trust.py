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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, cast

from ..core.errors import SettingsError
from ..core.shell import shown_command
from ..secrets.private_files import file_lock, make_private_folder, replace_private
from .load import user_settings_path
from .models import Settings
from .parts import APPROVAL, EMBEDDINGS, REGISTRIES, RULES, STORE, Part
from .registries import USUAL_REGISTRIES

logger = logging.getLogger(__name__)

TRUST_VARIABLE = "XAI_MCP_TRUST"
APPROVED = "approved: "
"""Before the names of tools that the file of decisions beside a settings file approves."""

_ALL = ("1", "all", "true", "yes", "on")
_NONE = ("", "0", "false", "no", "off")
_FILE_NAME = "trusted.json"
_LOCK_SECONDS = 5.0
_MOST_BYTES = 8_000_000

Agreed: TypeAlias = dict[str, dict[str, str]]
"""Digests of parts by their places, by settings file."""


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
        if settings.is_from_python or not parts or self._is_agreed(settings.file):
            return ()
        agreed, off = self._read().get(_name(settings.file), {}), _switched_off(settings)
        return tuple(x for x in parts if agreed.get(x.key_path) != x.digest and x.source not in off)

    def agree(
        self, settings: Settings, also: Iterable[Part] = (), *, with_disabled: bool = False
    ) -> None:
        """Agree to what is in the file as it was read and shown, and `also` to these approvals.

        What is switched off was not shown, and is agreed to only `with_disabled`: by who wrote it.

        Raises:
            SettingsError: that cannot be written down.
        """
        parts, off = (*settings.parts, *also), () if with_disabled else _switched_off(settings)

        def agreed(before: Mapping[str, str]) -> dict[str, str]:
            kept = {k: x for k, x in before.items() if k.startswith(APPROVED)}
            return kept | {
                x.key_path: x.digest
                for x in parts
                if x.source not in off or before.get(x.key_path) == x.digest
            }

        self._change(_name(settings.file), agreed)

    def agrees_to(self, file: str, part: Part) -> bool:
        """Whether this user agreed to one approval beside the file."""
        if self._is_agreed(file):
            return True
        return self._read().get(_name(file), {}).get(part.key_path) == part.digest

    def agree_to(self, file: str, part: Part) -> None:
        """Agree to one approval, or without a digest to none any more.

        Raises:
            SettingsError: that cannot be written down.
        """

        def agreed(before: Mapping[str, str]) -> dict[str, str]:
            others = {k: x for k, x in before.items() if k != part.key_path}
            return others | ({part.key_path: part.digest} if part.digest else {})

        self._change(_name(file), agreed)

    def withdraw(self, file: str | Path) -> bool:
        """Agree to nothing of a file any more; whether there was anything.

        Raises:
            SettingsError: that cannot be written down.
        """
        name = _name(file)
        had = name in self._read()
        if had:
            self._change(name, lambda _: {})
        return had

    def files(self) -> list[str]:
        """The files of which something was agreed to."""
        return sorted(self._read())

    @property
    def _file(self) -> Path:
        return self._given or user_settings_path().parent / _FILE_NAME

    def _is_agreed(self, file: str) -> bool:
        """By where it is, or by the environment."""
        if _name(file) == _name(user_settings_path()):
            return True
        said = self._environ.get(TRUST_VARIABLE, "").strip()
        if said.lower() in (*_ALL, *_NONE):
            return said.lower() in _ALL
        named = [Path(_name(x)) for x in said.split(os.pathsep) if x.strip()]
        here = Path(_name(file))
        return any(x == here or x in here.parents for x in named)

    def _read(self) -> Agreed:
        """Nothing where it cannot be read: whoever agrees again writes it anew."""
        try:
            if self._file.stat().st_size > _MOST_BYTES:
                raise ValueError("it is too large")
            return _agreed_in(json.loads(self._file.read_bytes()))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as reason:
            logger.warning(
                "%s cannot be read, so no settings file is trusted: %s", self._file, reason
            )
            return {}

    def _change(self, name: str, change: Callable[[Mapping[str, str]], dict[str, str]]) -> None:
        try:
            make_private_folder(self._file.parent)
            with file_lock(self._file.with_suffix(".lock"), _LOCK_SECONDS):
                agreed = self._read()
                parts = change(agreed.pop(name, {}))
                agreed |= {name: parts} if parts else {}
                text = json.dumps({"version": 1, "files": agreed}, indent=1, sort_keys=True)
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

    The history is then kept as for settings that do not name a place, no model searches, what
    destroys is asked for, and no rule allows anything; those that hold calls back stay.
    """
    if not parts:
        return settings
    sources, problems = dict(settings.sources), dict(settings.problems)
    kinds, notes = dict(settings.problem_kinds), list(settings.notes)
    names = {x.source: x for x in parts if x.source}
    for name in [x for x in names if x in sources and not sources[x].disabled]:
        kinds[name] = sources.pop(name).kind
        problems[name] = _problem(settings, names[name])
    beside = [x for x in parts if not x.source]
    notes += [str(_problem(settings, x)) for x in beside]
    paths = {x.key_path for x in beside}
    search = replace(settings.search, embeddings=None) if EMBEDDINGS in paths else settings.search
    return replace(
        settings, sources=sources, problems=problems, problem_kinds=kinds, notes=tuple(notes),
        store="" if STORE in paths else settings.store, search=search,
        approval={} if APPROVAL in paths else settings.approval,
        rules=tuple(x for x in settings.rules if x.word != "allow" or RULES not in paths),
        registries=USUAL_REGISTRIES if REGISTRIES in paths else settings.registries,
    )  # fmt: skip


def trust_command(file: str) -> str:
    """What to type to agree to a settings file."""
    return shown_command("xai-mcp-agent", "trust", file)


def _problem(settings: Settings, part: Part) -> SettingsError:
    return SettingsError(
        settings.file,
        part.key_path,
        "it is not used, because you have not agreed to what it starts or reaches, or it has "
        "changed since.",
        f"Read it, then run `{trust_command(settings.file)}`. Unattended runs: set "
        f"{TRUST_VARIABLE} to this file.",
    )


def _switched_off(settings: Settings) -> set[str]:
    return {name for name, source in settings.sources.items() if source.disabled}


def _agreed_in(value: Any) -> Agreed:
    """What the file says.

    Raises:
        ValueError: it is none of ours.
    """
    files = cast(Any, value).get("files") if isinstance(value, dict) else None
    if not isinstance(files, dict):
        raise ValueError("it has no `files`")
    found = cast(dict[str, Any], files).items()
    return {
        name: {str(x): str(y) for x, y in cast(dict[Any, Any], parts).items()}
        for name, parts in found
        if isinstance(parts, dict)
    }


def _name(file: str | Path) -> str:
    """One name for a file, however it is written.

    A link is not followed: relative names in it lead to other programs there than beside the file.
    """
    folder, name = os.path.split(os.path.abspath(os.path.expanduser(str(file).strip())))
    return os.path.join(os.path.realpath(folder), name)
