"""`servers discover`: find MCP servers that other programs of this machine use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, cast

from typer import Option

from ..console.text import one_line
from ..core.errors import SettingsError, UnknownServer
from ..core.json import JsonObject
from ..core.names import did_you_mean, nearest
from ..secrets.redactor import redact_args, redact_url
from ..secrets.secrets import Secrets
from ..settings.interpolation import variables_in
from .frame import Frame, Report
from .hosts import HostFile, HostServer, host_files
from .settings_file import (
    check_free,
    notes_on_secrets,
    problem_of,
    problem_of_name,
    settings_and_file,
    trust_server,
    write_server,
)

_NAME_FIX = "Take it under another name: --take NAME=NEW_NAME."


def discover(
    frame: Frame,
    take: Annotated[
        list[str] | None,
        Option(
            metavar="NAME",
            help="Write this one into your settings; NAME=NEW_NAME under another name, "
            "FILE#NAME where several have that name.",
        ),
    ] = None,
) -> Report:
    """Show the MCP servers that your editors, chat programs and agents are set up with.

    Nothing is started. Only the servers you name with --take NAME (repeat it as needed) are added
    to your settings; the files of the other programs stay as they are.
    """
    hosts = list(host_files(Path.home(), Path.cwd()))
    if take:
        return _take(take, [y for x in hosts for y in x.servers], frame.settings)
    return Report({"hosts": [_host_json(x) for x in hosts]}, "\n".join(_lines(hosts)))


def _take(words: Sequence[str], servers: Sequence[HostServer], settings: Path | None) -> Report:
    loaded, file = settings_and_file(settings)
    additions = [_choose(word, servers) for word in words]
    for number, (name, server) in enumerate(additions):
        if problem := problem_of_name(name):
            raise SettingsError(str(file), "", problem, _NAME_FIX)
        check_free(name, loaded, file, _NAME_FIX)
        if name in [x for x, _ in additions[:number]]:
            raise SettingsError(str(file), name, "two servers would have this name.", _NAME_FIX)
        if problem := problem_of(name, server.entry, file, variables_in(str(server.entry))):
            where = problem.key_path.removeprefix("mcpServers.")
            raise SettingsError(str(server.file), where, problem.problem, problem.fix)
    for name, server in additions:
        write_server(file, name, server.entry)
        trust_server(file, name)
    notes = {name: notes_on_secrets(server.entry, file) for name, server in additions}
    servers_json = [{"name": x, "host": y.host, "notes": notes[x]} for x, y in additions]
    lines = [f"Written: {x}, as {y.host} has it, in {file}" for x, y in additions]
    return Report(
        {"written": str(file), "taken": servers_json},
        "\n".join([*lines, "Try them: xai-mcp-agent servers check"]),
        notes=[y for x in notes.values() for y in x],
    )


def _choose(word: str, servers: Sequence[HostServer]) -> tuple[str, HostServer]:
    """Return the new name and the server that a word means.

    Raises:
        UnknownServer: no program has it, or several have different servers of this name.
    """
    labels = {x.name for x in servers} | {f"{x.file}#{x.name}" for x in servers}
    name, _, new = (word, "", "") if word in labels else word.rpartition("=")
    matches = [x for x in servers if name in (x.name, f"{x.file}#{x.name}")]
    if not matches:
        names, name = [x.name for x in servers], name or word
        all_names = "`xai-mcp-agent servers discover` shows which there are."
        hint = did_you_mean(name, names) or all_names
        text = f"No other program knows a server {name!r}. {hint}"
        raise UnknownServer(text, name, nearest(name, names))
    if any(x.entry != matches[0].entry for x in matches):
        ways = ", ".join(repr(f"{x.file}#{x.name}") for x in matches)
        raise UnknownServer(f"Several are called {name!r}. Say which: {ways}.", name, ())
    return new or matches[0].name, matches[0]


def _lines(files: Sequence[HostFile]) -> Iterator[str]:
    if not files:
        yield "No settings of other programs were found on this machine."
        return
    for one in files:
        yield one_line(f"{one.host}: {one.file}")
        if one.problem:
            yield one_line(f"!! {one.problem}", "  ")
        elif not one.servers:
            yield "  no servers"
        for server in one.servers:
            off = " (switched off)" if server.entry.get("enabled") is False else ""
            yield one_line(f"{server.name}{off}: {_entry_text(server.entry)}", "  ")
    if any(x.servers for x in files):
        yield ""
        yield "To have one in your settings: xai-mcp-agent servers discover --take NAME"


def _entry_text(entry: JsonObject) -> str:
    """Return what an entry starts or reaches, without its secrets."""
    for key in ("url", "serverUrl", "httpUrl"):
        if key in entry:
            return redact_url(str(entry[key]))
    args, env = entry.get("args"), entry.get("env")
    words = [str(x) for x in cast(list[Any], args)] if isinstance(args, list) else []
    variables = [f"{x}=***" for x in cast(JsonObject, env)] if isinstance(env, dict) else []
    command = " ".join([str(entry["command"]), *redact_args(words, Secrets())])
    return f"{command} ({', '.join(variables)})" if variables else command


def _host_json(file: HostFile) -> JsonObject:
    return {
        "host": file.host,
        "file": str(file.file),
        "problem": file.problem,
        "servers": [{"name": x.name, "starts": _entry_text(x.entry)} for x in file.servers],
    }
