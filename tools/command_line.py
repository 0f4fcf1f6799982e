"""The page about the command line, as the commands explain themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from typer.main import get_command

from xai_mcp_agent.cli.main import app

_HEAD = """\
# The command line

Written from the commands' own explanations by `python -m tools.build_docs`: change those.
`xai-mcp-agent --help` shows the same, `xai-mcp-agent tools list --help` that of one command.

A URL or a command works in place of a server's name. Quote a command of several words; the name
of a Python file is a command, too. Such a server needs no settings file and is trusted, because you
typed it. If your settings have the same server, its entry counts; otherwise history and decisions
use a name of their own, such as `units-815b36...`.

```sh
xai-mcp-agent tools list "npx -y @modelcontextprotocol/server-everything"
xai-mcp-agent call server.py add a=2 b=3
xai-mcp-agent ask "What is on today?" --server https://example.org/mcp
```

Lines fit the terminal; in files and pipes nothing is cut. `--json` prints everything for programs.
The [exit status](troubleshooting.md) says whether it worked.
"""


def commands() -> dict[tuple[str, ...], Any]:
    """All commands by their words, in the order of the help text; that without words is ours."""
    by_words: dict[tuple[str, ...], Any] = {}
    _collect(get_command(app), (), by_words)
    return by_words


def command_page() -> str:
    """The page."""
    own = {words: x for words, x in commands().items() if words and not _is_only_a_group(x)}
    return "\n".join([_HEAD, _overview(own), *(_section(*each) for each in own.items())])


def _collect(command: Any, words: tuple[str, ...], by_words: dict[tuple[str, ...], Any]) -> None:
    by_words[words] = command
    for name, inner in getattr(command, "commands", {}).items():
        _collect(inner, (*words, name), by_words)


def _is_only_a_group(command: Any) -> bool:
    return hasattr(command, "commands") and not command.invoke_without_command


def _overview(by_words: Mapping[tuple[str, ...], Any]) -> str:
    lines = ["| command | what it does |", "| --- | --- |"]
    for words, command in by_words.items():
        name = " ".join(words)
        lines.append(f"| [`{name}`](#{'-'.join(words)}) | {_cell(_paragraphs(command)[0])} |")
    return "\n".join(lines) + "\n"


def _section(words: tuple[str, ...], command: Any) -> str:
    pieces = (
        x.replace("{", "").replace("}", "") for x in command.collect_usage_pieces(_context(command))
    )
    usage = " ".join(("xai-mcp-agent", *words, *pieces))
    parts = [f"## {' '.join(words)}", *_paragraphs(command), f"    {usage}"]
    rows = list(_rows(command))
    if rows:
        parts.append("\n".join(["| | |", "| --- | --- |", *rows]))
    return "\n\n".join(parts) + "\n"


def _paragraphs(command: Any) -> list[str]:
    text = (command.help or "").strip()
    return [" ".join(x.split()) for x in text.split("\n\n")]


def _rows(command: Any) -> Iterator[str]:
    context = _context(command)
    for param in command.params:
        if record := param.get_help_record(context):
            name, text = record
            yield f"| `{_cell(name)}` | {_cell(' '.join(text.split()))} |"


def _context(command: Any) -> Any:
    return command.context_class(command, info_name=command.name)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
