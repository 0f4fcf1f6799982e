"""MCP servers of other programs on this machine, as entries of our settings.

Each program has its own format and its own place. A missing file is skipped; a broken one is
reported and does not affect the others.
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
from ..settings.document import MAX_FILE_BYTES, KeyPlace, parse_text, parse_yaml, text_of_file

_MAX_BYTES = 50_000_000  # Claude Code stores much else in its file
_SMALL_FORMATS = (".toml", ".yaml", ".yml")
_CONTINUE_FORMATS = (".yaml", ".yml", ".json")  # backups and notes may stand beside them
_COPIED_KEYS = ("command", "args", "env", "cwd", "type", "url", "serverUrl", "httpUrl", "headers",
          "timeout", "disabled", "enabled")  # fmt: skip


@dataclass(frozen=True)
class HostServer:
    """Server of another program. `name` is its name there."""

    host: str
    name: str
    entry: JsonObject
    file: Path


@dataclass(frozen=True)
class HostFile:
    """Settings file of another program, with its servers or its problem."""

    host: str
    file: Path
    servers: tuple[HostServer, ...] = ()
    problem: str = ""


def host_files(home: Path, folder: Path) -> Iterator[HostFile]:
    """Yield the settings files of other programs, for this user and for the project `folder`.

    `home` is the user's home folder. Missing files are left out, broken ones are not.
    """
    visited = set[Path]()
    for host, file in _places(home, folder):
        if file in visited or not os.path.lexists(file) or file.is_dir():
            continue
        visited.add(file)
        try:
            servers = tuple(_servers(host, file, folder))
        except (SettingsError, RecursionError) as reason:
            yield HostFile(host, file, problem=str(reason))
        else:
            yield HostFile(host, file, servers)


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
        for file in sorted((place / ".continue/mcpServers").glob("*.*")):
            if file.suffix in _CONTINUE_FORMATS:
                yield "Continue", file
    yield "VS Code", folder / ".vscode/mcp.json"
    yield "Windsurf", home / ".codeium/windsurf/mcp_config.json"
    yield "Zed", home / ".config/zed/settings.json"
    yield "Zed", folder / ".zed/settings.json"
    yield "LM Studio", home / ".lmstudio/mcp.json"
    yield "LM Studio", home / ".cache/lm-studio/mcp.json"


def _servers(host: str, file: Path, folder: Path) -> Iterator[HostServer]:
    place = KeyPlace(str(file))
    document = _document(file, place)
    for section in _sections(document, folder):
        for name, value in _entries(section):
            if name and (entry := _entry(value)):
                yield HostServer(host, name, entry, file)


def _document(file: Path, place: KeyPlace) -> Mapping[str, Any]:
    """Return the parsed file.

    Raises:
        SettingsError: it cannot be parsed as its name says.
    """
    text = text_of_file(file, MAX_FILE_BYTES if file.suffix in _SMALL_FORMATS else _MAX_BYTES)
    try:
        if file.suffix == ".toml":
            return tomllib.loads(text)
        if file.suffix in (".yaml", ".yml"):
            return _mapping(parse_yaml(text, place))
        if len(text) > MAX_FILE_BYTES:  # without comments, which take too long to parse
            return _mapping(json.loads(text))
    except (ValueError, RecursionError) as cause:
        # The wrong line is not quoted: it may hold a secret.
        kind = "TOML" if file.suffix == ".toml" else "JSON"
        raise place.error(f"it is not {kind}.", "Correct it in the program it is for.") from cause
    return parse_text(text, place)


def _sections(document: Mapping[str, Any], folder: Path) -> Iterator[Any]:
    """Yield every section of a document that may hold servers, of any program."""
    for key in ("mcpServers", "mcp_servers", "servers", "context_servers"):
        yield document.get(key)
    yield _mapping(document.get("mcp")).get("servers")
    # Claude Code has one section for each project, by folder.
    projects = _mapping(document.get("projects"))
    yield _mapping(projects.get(str(folder))).get("mcpServers")


def _entries(section: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if isinstance(section, list):  # Continue has a list of named servers
        for one in map(_mapping, cast(list[Any], section)):
            yield str(one.get("name") or ""), one
        return
    yield from ((str(name), _mapping(x)) for name, x in _mapping(section).items())


def _entry(value: Mapping[str, Any]) -> JsonObject:
    """Return an entry in our format; empty if it neither starts nor reaches anything."""
    command = value.get("command")
    if isinstance(command, Mapping):  # an older Zed: {"command": {"path": ..., "args": ...}}
        inner = _mapping(cast(Any, command))
        value = {**value, **inner, "command": inner.get("path")}
    entry = {key: value[key] for key in _COPIED_KEYS if _is_set(value.get(key))}
    if _is_set(value.get("http_headers")):  # Codex
        entry["headers"] = value["http_headers"]
    if isinstance(token := value.get("bearer_token_env_var"), str) and token:
        entry["headers"] = {**entry.get("headers", {}), "Authorization": f"Bearer ${{{token}}}"}
    if entry.get("type") in ("streamable-http", "streamableHttp", "remote"):
        entry["type"] = "http"
    if entry.get("type") in ("local", "command"):
        del entry["type"]
    if not {"command", "url", "serverUrl", "httpUrl"} & entry.keys():
        return {}
    # YAML and TOML have dates; JSON does not.
    return cast(JsonObject, json.loads(json.dumps(entry, default=str, skipkeys=True)))


def _is_set(value: Any) -> bool:
    return value is not None and value not in ("", [], {})


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], value) if isinstance(value, Mapping) else {}
