"""MCP servers that other programs of this machine know, as entries of our own settings.

Each program writes them in its own way, and in its own place. A file is read when it is there; what
is wrong with one is told, and says nothing about the others.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..core.errors import SettingsError
from ..core.json import JsonObject
from ..settings.document import MAX_FILE_BYTES, Place, parse_yaml, parsed_text, text_of_file

_MOST_SERVERS = 200  # of one file; nobody has more
_MOST_FOLDERS = 200  # that Claude Code knows, and files in a folder of Continue
_MOST_BYTES = 50_000_000  # Claude Code keeps much else in its file
_SMALL = (".toml", ".yaml", ".yml")
_WHOLE = ("command", "args", "env", "cwd", "type", "url", "serverUrl", "httpUrl", "headers",
          "timeout", "disabled", "enabled")  # fmt: skip


@dataclass(frozen=True)
class HostServer:
    """A server of another program. `name` is the one that it has there."""

    host: str
    name: str
    entry: JsonObject
    file: Path


@dataclass(frozen=True)
class HostFile:
    """A settings file of another program, with its servers or with what is wrong with it."""

    host: str
    file: Path
    servers: tuple[HostServer, ...] = ()
    problem: str = ""


def host_files(home: Path, folder: Path) -> Iterator[HostFile]:
    """The settings of other programs that are there: of this user, and of the project `folder`.

    `home` is the user's home folder. Files that lead to nothing are left out, broken ones are not.
    """
    seen = set[Path]()
    for host, file in _places(home, folder):
        if file in seen or not os.path.lexists(file) or file.is_dir():
            continue
        seen.add(file)
        try:
            servers = tuple(_servers(host, file, folder))
        except SettingsError as reason:
            yield HostFile(host, file, problem=_problem_text(reason))
        except RecursionError:
            yield HostFile(host, file, problem="it is nested too deeply.")
        else:
            yield HostFile(host, file, servers)


def _problem_text(reason: SettingsError) -> str:
    where = f"at {reason.key_path}: " if reason.key_path else ""
    return f"{where}{reason.problem} {reason.fix}"


def _places(home: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    from platformdirs import user_config_path

    data = user_config_path(roaming=True)
    yield "Claude Desktop", data / "Claude/claude_desktop_config.json"
    yield "VS Code", data / "Code/User/mcp.json"
    extension = "Code/User/globalStorage/saoudrizwan.claude-dev/settings"
    yield "Cline", data / extension / "cline_mcp_settings.json"
    yield "Claude Code", home / ".claude.json"
    yield "Claude Code", folder / ".mcp.json"
    yield "Cline", home / ".cline/data/settings/cline_mcp_settings.json"
    for place in (home, folder):
        yield "Cursor", place / ".cursor/mcp.json"
        yield "Gemini CLI", place / ".gemini/settings.json"
        yield "Codex", place / ".codex/config.toml"
        yield "Continue", place / ".continue/config.yaml"
        yield from (("Continue", x) for x in _in_folder(place / ".continue/mcpServers"))
    yield "VS Code", folder / ".vscode/mcp.json"
    yield "Windsurf", home / ".codeium/windsurf/mcp_config.json"
    yield "Zed", home / ".config/zed/settings.json"
    yield "Zed", folder / ".zed/settings.json"
    yield "LM Studio", home / ".lmstudio/mcp.json"
    yield "LM Studio", home / ".cache/lm-studio/mcp.json"


def _in_folder(folder: Path) -> list[Path]:
    try:
        files = [x for x in folder.iterdir() if x.suffix in (".yaml", ".yml", ".json")]
    except OSError:
        return []
    return sorted(files)[:_MOST_FOLDERS]


def _servers(host: str, file: Path, folder: Path) -> Iterator[HostServer]:
    place = Place(str(file))
    document = _document(file, place)
    servers = [x for section in _sections(document, folder) for x in _entries(section)]
    for name, written in servers[:_MOST_SERVERS]:
        entry = _entry(written)
        if name and entry:
            yield HostServer(host, name, entry, file)


def _document(file: Path, place: Place) -> Mapping[str, Any]:
    """The whole file.

    Raises:
        SettingsError: it cannot be read as what its name says.
    """
    text = text_of_file(file, MAX_FILE_BYTES if file.suffix in _SMALL else _MOST_BYTES)
    try:
        if file.suffix == ".toml":
            return tomllib.loads(text)
        if file.suffix in (".yaml", ".yml"):
            return _mapping(parse_yaml(text, place))
        if len(text) > MAX_FILE_BYTES:  # without comments: those take too long to read
            return _mapping(json.loads(text))
    except (ValueError, RecursionError) as cause:
        # Not quoted: the line that is wrong may hold a secret.
        kind = "TOML" if file.suffix == ".toml" else "JSON"
        raise place.error(f"it is not {kind}.", "Correct it in the program it is for.") from cause
    return parsed_text(text, place)


def _sections(document: Mapping[str, Any], folder: Path) -> Iterator[Any]:
    """Wherever servers may stand in a document, whoever's it is."""
    for key in ("mcpServers", "mcp_servers", "servers", "context_servers"):
        yield document.get(key)
    yield _mapping(document.get("mcp")).get("servers")
    # Claude Code keeps those of each project, by its folder.
    projects = _mapping(document.get("projects"))
    yield _mapping(projects.get(str(folder))).get("mcpServers")


def _entries(section: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(section, list):  # Continue has a list, each with its name
        for one in map(_mapping, cast(list[Any], section)):
            yield str(one.get("name") or ""), one
        return
    yield from ((str(name), _mapping(x)) for name, x in _mapping(section).items())


def _entry(written: Mapping[str, Any]) -> JsonObject:
    """An entry as our settings have it; empty where nothing says what to start or reach."""
    command = written.get("command")
    if isinstance(command, Mapping):  # an older Zed: {"command": {"path": ..., "args": ...}}
        inner = _mapping(cast(Any, command))
        written = {**written, **inner, "command": inner.get("path")}
    entry = {key: written[key] for key in _WHOLE if _is_said(written.get(key))}
    if _is_said(written.get("http_headers")):  # Codex
        entry["headers"] = written["http_headers"]
    if isinstance(token := written.get("bearer_token_env_var"), str) and token:
        entry["headers"] = {**entry.get("headers", {}), "Authorization": f"Bearer ${{{token}}}"}
    if entry.get("type") in ("streamable-http", "streamableHttp", "remote"):
        entry["type"] = "http"
    if entry.get("type") in ("local", "command"):
        del entry["type"]
    if not {"command", "url", "serverUrl", "httpUrl"} & entry.keys():
        return {}
    # YAML and TOML have dates, which JSON has not.
    return cast(JsonObject, json.loads(json.dumps(_with_texts(entry), default=str)))


def _with_texts(value: Any) -> Any:
    """The value with texts for keys."""
    if isinstance(value, dict):
        return {str(k): _with_texts(x) for k, x in cast(dict[Any, Any], value).items()}
    return [_with_texts(x) for x in cast(list[Any], value)] if isinstance(value, list) else value


def _is_said(value: Any) -> bool:
    return value is not None and value not in ("", [], {})


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}
