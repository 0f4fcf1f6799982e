"""Opens a bridge for a command, and asks the person whether its settings file is trusted.

A server that is typed as a URL or a command, in place of a name, is one of that bridge then.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..bridge.faces import Bridge
from ..canvas.trust import agreed_settings
from ..console.terminal_questions import why_not_here
from ..core.errors import SettingsError, UnknownServer, XaiMcpError
from ..settings.document import Place
from ..settings.interpolation import Variables
from ..settings.load import load_settings
from ..settings.models import Settings
from ..settings.server import ServerSettings
from ..settings.trust import trust_command, without_untrusted
from .given import check_named
from .typed import TYPED, entry_of, is_typed, own_name_for

_OWN_NAME = re.compile(r"[\w-]+-[0-9a-f]{16}")  # see `own_name_for`


def open_bridge(
    settings: Path | None,
    *,
    store: str | None = None,
    as_json: bool = False,
    servers: Iterable[str | None] = (),
) -> Bridge:
    """A bridge for this settings file, or for the one that is found.

    Where not all of it is trusted, a person at a terminal is asked, but not for a program that
    reads JSON, and not where all `servers` are typed: nothing of the file is used then.

    Raises:
        SettingsError: it cannot be read, or nothing in it may be used.
        BadParameter: one of `servers` is an empty name.
    """
    named = list(servers)
    check_named(named)
    loaded = load_settings(settings)
    is_beside = bool(named) and all(x is not None and _is_beside(x, loaded) for x in named)
    asks = not (as_json or is_beside or why_not_here())
    usable = agreed_settings(loaded) if asks else without_untrusted(loaded)
    if loaded.usable and not usable.usable and not is_beside:
        raise _not_trusted(loaded)
    return Bridge(usable, store=store)


def server_named(bridge: Bridge, word: str, *, is_needed: bool = True) -> str:
    """The name of a server as somebody gave it: its name, or the URL or command that it is at.

    One that is typed so is taken in, unless the settings have the same: then it is that one, with
    what else they say of it. Where the server itself `is_needed`, and not only what is known of it,
    the name that the history has of one that was typed will not do.

    Raises:
        SettingsError: the URL or the command cannot be used.
        UnknownServer: it is the name that the history has of one that was typed.
    """
    if not _is_beside(word, bridge.settings):
        _check_path(word, bridge.settings)
        if is_needed:
            _check_own_name(word, bridge.settings)
        return word
    source = _typed(word, bridge.settings)
    return _same_in(bridge.settings, source) or bridge.add_source(source)


def servers_named(bridge: Bridge, words: Iterable[str]) -> list[str]:
    """The same for several."""
    return list(dict.fromkeys(server_named(bridge, x) for x in words))


def name_in_history(word: str | None, settings: Path | None) -> str | None:
    """The name under which the history has a server that may be typed. Starts nothing."""
    check_named([word])
    if word is None or not is_typed(word):
        return word
    loaded = without_untrusted(load_settings(settings))
    if _is_known(word, loaded):
        return word
    source = _typed(word, loaded)
    return _same_in(loaded, source) or source.name


def require_settings(bridge: Bridge) -> None:
    """Refuse to go on where there is neither a settings file nor a server that was typed.

    Raises:
        XaiMcpError: so it is; says where a file was looked for.
    """
    if not bridge.settings.file and not bridge.settings.added:
        raise no_settings(bridge.settings)


def no_settings(settings: Settings) -> XaiMcpError:
    """Names the places where a settings file was looked for, and what to do without one."""
    looked = "".join(f"\n  {place}" for place in settings.searched)
    return XaiMcpError(
        f"No mcp_settings.json was found. Looked for:{looked}\n"
        "Run `xai-mcp-agent init` to write one, or name yours with --settings. Without one, "
        "give the URL of a server, or the command that starts it, in place of a name."
    )


def _is_beside(word: str, settings: Settings) -> bool:
    """Whether it is typed, and no name that the settings have."""
    return not _is_known(word, settings) and is_typed(word)


def _typed(word: str, settings: Settings) -> ServerSettings:
    entry = entry_of([word])
    variables = Variables(os.environ, os.getcwd(), settings.secrets)
    return ServerSettings.read(own_name_for(entry), entry, Place(TYPED), variables)


def _check_path(word: str, settings: Settings) -> None:
    """Say of a path that leads nowhere that it does, and not that there is no such name."""
    is_path = word.endswith(".py") or os.path.dirname(word)
    if is_path and not os.path.exists(word) and not _is_known(word, settings):
        raise SettingsError(
            TYPED, "", f"there is no file {word!r}, nor a server of that name.", "Correct it."
        )


def _check_own_name(word: str, settings: Settings) -> None:
    """Say of a name that we made for a server that was typed what to type; it starts nothing."""
    if _OWN_NAME.fullmatch(word) and not _is_known(word, settings):
        raise UnknownServer(
            f"{word!r} is the name under which the history has a server that was typed, and says "
            f"not how to reach it. Type what it was typed as: the URL, file or command of "
            f"{word.rpartition('-')[0]!r}.",
            word, (),
        )  # fmt: skip


def _is_known(word: str, settings: Settings) -> bool:
    return settings.kind_of(word) is not None or word in settings.group_names


def _same_in(settings: Settings, typed: ServerSettings) -> str:
    """The server of the settings that is started or reached in the same way, if there is one."""
    for name, known in settings.servers.items():
        if not known.disabled and _way_to(known) == _way_to(typed):
            return name
    return ""


def _way_to(server: ServerSettings) -> Sequence[object]:
    if server.transport != "stdio":
        return (server.url.rstrip("/"),)
    return (server.command, server.args, server.cwd)


def _not_trusted(settings: Settings) -> SettingsError:
    return SettingsError(
        settings.file, "", "it is not trusted: you have not agreed to what it starts or reaches.",
        f"Read it, then run `{trust_command(settings.file)}`. Nothing was started.",
    )  # fmt: skip
