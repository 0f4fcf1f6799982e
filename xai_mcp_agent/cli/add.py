"""`xai-mcp-agent servers add` and `remove`: edit the servers of the settings."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from ..console.text import count, one_line
from ..core.errors import SettingsError, UnknownServer, XaiMcpError
from ..core.json import JsonObject
from ..core.names import did_you_mean, nearest
from ..core.schemas import signature
from ..core.shell import shell_command
from ..core.tools import Tool
from ..settings.editing import sections_with, text_without
from ..settings.interpolation import variables_in
from ..settings.load import load_settings
from ..settings.models import SettingsPart
from ..settings.trust import TrustStore
from .frame import Command, Frame, Report
from .output import replace_text, say
from .settings_file import (
    check_free,
    notes_on_secrets,
    problem_of,
    problem_of_name,
    read_entry,
    settings_and_file,
    tools_once,
    trust_server,
    write_server,
    writing,
)
from .typed import TYPED, entry_of, is_url, name_for

_DASHES_FIRST = (
    "Put -- before a command that has options of its own, and ours before the name: "
    "xai-mcp-agent servers add --json NAME -- npx -y some-server"
)
_TRAILING_FLAGS = ("--json", "--replace", "--no-check")  # ours, as servers hardly have them
_INSTEAD = {"env": "--header", "headers": "--env"}
_NAME_FIX = "Add --replace to replace it, or choose another name."
_REPLACE_FIX = "--replace replaces servers only: remove it first, or choose another name."

OwnName = Annotated[str, Argument(help="Its name in your settings.")]
Words = Annotated[
    list[str] | None,
    Argument(metavar="URL | -- COMMAND...", help="Its URL, or the command that starts it."),
]
Env = Annotated[
    list[str] | None,
    Option(
        "-e",
        "--env",
        metavar="KEY=VALUE",
        help="A variable for it. KEY alone passes on yours and stores no value.",
    ),
]
Header = Annotated[
    list[str] | None,
    Option("-H", "--header", metavar='"NAME: VALUE"', help="A header for its URL."),
]
Transport = Annotated[str, Option("-t", "--transport", metavar="TYPE", help="stdio, http or sse.")]
Cwd = Annotated[str, Option(metavar="FOLDER", help="The folder it starts in.")]
Replace = Annotated[
    bool, Option(help="Replace a server of this name, and the comments in its entry.")
]
NoCheck = Annotated[bool, Option(help="Only write the entry; do not connect.")]


class AddCommand(Command):
    """Ask for the missing `--` instead of reading the server's options as ours."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments, or say where `--` belongs."""
        at = self._second_word(args)
        rest = args[at:]
        if "--" not in args and rest and not is_url(rest[0]) and _has_own_option(rest[1:]):
            raise typer.BadParameter(_DASHES_FIRST)
        return super().parse_args(ctx, args)

    def _second_word(self, args: Sequence[str]) -> int:
        """Return where the command begins: the second word that is not an option or its value."""
        options = [x for x in self.params if not getattr(x, "is_flag", False)]
        with_value = {y for x in options for y in x.opts if y.startswith("-")}
        words = [
            at
            for at, word in enumerate(args)
            if not word.startswith("-") and not (at and args[at - 1] in with_value)
        ]
        return words[1] if len(words) > 1 else len(args)


def _has_own_option(words: Sequence[str]) -> bool:
    """Return whether the words after a command's first have an option that is not one of ours."""
    return any(x.startswith("-") for x in words) and not set(words) <= {*_TRAILING_FLAGS}


def add(
    frame: Frame,
    name: OwnName,
    words: Words = None,
    env: Env = None,
    header: Header = None,
    transport: Transport = "",
    cwd: Cwd = "",
    replace: Replace = False,
    no_check: NoCheck = False,
) -> Report:
    """Add a server to your settings, connect to it once, and show its tools.

    Comments and the order of the file stay as they are. The entry is trusted, because you typed it.
    Keep secrets out of the file: -e API_KEY and --header 'Authorization: Bearer ${API_KEY}' read
    them from the environment when the server starts. The exit status is 1 if the server was added
    but cannot be used yet.
    """
    if not words or not words[0].strip():
        raise typer.BadParameter(_what_is_missing(name))
    if problem := problem_of_name(name):
        raise typer.BadParameter(problem)
    loaded, file = settings_and_file(frame.settings)
    check_free(name, loaded, file, _REPLACE_FIX if replace else _NAME_FIX, replaces=replace)
    entry = _entry(words, env or [], header or [], transport, cwd)
    missing = _missing_variables(name, entry, file)
    backup = write_server(file, name, entry, replaces=replace)
    trust_server(file, name)
    notes = notes_on_secrets(entry, file)
    if not frame.as_json:
        _print_entry_place(name, file, backup, notes)
    tools, error = (None, "") if no_check else _check_server(name, entry, file, missing)
    json = {"name": name, "written": str(file), "kept": backup, "notes": notes, "error": error}
    json["tools"] = None if tools is None else [x.name for x in tools]
    undo = shell_command("xai-mcp-agent", "servers", "remove", name)
    errors = [f"{error}\nThe entry was written anyway; `{undo}` removes it again."]
    return Report(json, _tools_text(tools), errors if error else ())


def _missing_variables(name: str, entry: JsonObject, file: Path) -> list[str]:
    """Return the variables of the environment that the entry lacks.

    Raises:
        SettingsError: it cannot be used, whatever their values.
    """
    variables = list(dict.fromkeys(variables_in(str(entry))))
    read = read_entry(name, entry, file, variables)
    if problem := read.problems.get(name):
        raise SettingsError(TYPED, problem.key_path, problem.problem, problem.fix)
    server = read.sources[name]
    for key in server.unused_keys():
        fix = f"Use {_INSTEAD[key]}, or leave it out."
        raise typer.BadParameter(f"A server of type {server.transport} has no {key}. {fix}")
    return [x for x in variables if problem_of(name, entry, file, {*variables} - {x})]


def _what_is_missing(name: str) -> str:
    if is_url(name):
        better = shell_command("xai-mcp-agent", "servers", "add", name_for({"url": name}), "URL")
        return f"Give it a name first: {better}"
    return f"Say where {name} is: a URL, or -- and the command that starts it."


def _entry(
    words: Sequence[str], env: Sequence[str], headers: Sequence[str], transport: str, cwd: str
) -> JsonObject:
    if is_url(words[0]) and len(words) > 1:
        raise typer.BadParameter("A URL needs no arguments: leave out what comes after it.")
    if is_url(words[0]) and cwd:
        raise typer.BadParameter("Nothing is started for a URL: leave out --cwd.")
    for word in (*words, *env, *headers, cwd):
        if word.encode("utf-8", "replace").decode() != word:
            raise typer.BadParameter(f"{word!r} is not text in UTF-8.")
    entry = entry_of(words) if cwd else _with_file_paths(entry_of(words))
    kind = {"type": transport} if transport else {}
    options: JsonObject = {**kind, **entry}
    if env:
        options["env"] = dict(map(_variable, env))
    if headers:
        options["headers"] = dict(map(_header, headers))
    if cwd:
        options["cwd"] = os.path.abspath(os.path.expanduser(cwd))
    return options


def _with_file_paths(entry: JsonObject) -> JsonObject:
    """Return the entry with absolute paths, because the server starts in the settings' folder."""
    place = {k: _absolute(x) for k, x in entry.items() if k == "command"}
    args = [_absolute(x) for x in entry.get("args", [])]
    return {**entry, **place, **({"args": args} if args else {})}


def _absolute(word: str) -> str:
    """Return the absolute path of a file in the working folder; other words stay as they are."""
    is_path = os.path.dirname(word) or os.path.splitext(word)[1]
    return os.path.abspath(word) if is_path and os.path.isfile(word) else word


def _variable(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise typer.BadParameter(f"-e takes KEY=VALUE, or KEY alone, not {word[:20]!r}.")
    return name, value if equals else f"${{{name}}}"


def _header(word: str) -> tuple[str, str]:
    match = re.fullmatch(r"\s*([^\s:=]+)\s*[:=]\s*(.*)", word, re.DOTALL)
    if not match:
        raise typer.BadParameter("--header takes 'Name: value'.")
    return match[1], match[2]


def _print_entry_place(name: str, file: Path, backup: Path | None, notes: Sequence[str]) -> None:
    say(f"Written: {name}, in {file}")
    if backup:
        say(f"The old file is kept as {backup}")
    for note in notes:
        say(one_line(f"note: {note}"), to_stderr=True)


def _check_server(
    name: str, entry: JsonObject, file: Path, missing: Sequence[str]
) -> tuple[list[Tool] | None, str]:
    """Return the server's tools, or None and the reason why it cannot be used."""
    if missing:
        return None, f"{name} cannot be started yet: set {', '.join(missing)} in the environment."
    try:
        return tools_once(name, entry, file), ""
    except XaiMcpError as reason:
        return None, str(reason)


def _tools_text(tools: Sequence[Tool] | None) -> str:
    if tools is None:
        return ""
    lines = [f"It works, and has {count(len(tools), 'tool')}:"]
    for tool in tools:
        lines.append(one_line(f"{tool.name}({signature(tool.input_schema)})", "  "))
    return "\n".join(lines)


def remove(frame: Frame, name: OwnName) -> Report:
    """Remove a server or another source from your settings; the rest of the file stays.

    A copy of the old file is kept beside it. The history keeps what it knows about the tools.
    """
    loaded = load_settings(frame.settings)
    if not loaded.file:
        raise XaiMcpError("No mcp_settings.json was found, so there is nothing to remove.")
    file = Path(loaded.file)
    sections = sections_with(file, name)
    if not sections:
        hint = did_you_mean(name, loaded.names) or f"It has: {', '.join(loaded.names) or 'none'}."
        text = f"No server {name!r} in {file}. {hint}"
        raise UnknownServer(text, name, nearest(name, loaded.names))
    with writing(file):
        backup = replace_text(file, text_without(file, sections[0], name))
    place = f"{sections[0]}.{name}" if sections[0] else name
    for part in [x for x in loaded.parts if x.source == name] or [
        SettingsPart(place, "", (), name)
    ]:
        TrustStore().agree_to(str(file), SettingsPart(part.key_path, "", (), name))
    text = f"Removed: {name}, from {file}\nThe old file is kept as {backup}"
    return Report({"removed": name, "file": str(file), "kept": backup}, text)
