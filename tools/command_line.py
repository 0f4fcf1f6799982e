"""Generator of the page about the command line, from the help of the commands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sized
from typing import Any

from typer.main import get_command

from xai_mcp_agent.cli.main import app

Record = tuple[str, str]

_SHARED_BY = 3  # commands; with fewer a reader finds it sooner under each
_NEARLY_ALL = 0.8  # of the commands: the page then names the others

_HEAD = """\
# The command line

Generated from the help of the commands by `python -m tools.build_docs`; edit the help.
`xai-mcp-agent --help` shows it too, and `xai-mcp-agent tools list --help` that of one command.

A URL or a command works in place of a server's name. Quote a command of several words; a Python
file is a command, too. Such a server needs no settings file and is trusted, because you typed it.
If your settings have the same server, its entry counts; otherwise history and decisions use a name
of their own, such as `units-815b36...`.

```sh
xai-mcp-agent tools list "npx -y @modelcontextprotocol/server-everything"
xai-mcp-agent call server.py add a=2 b=3
xai-mcp-agent ask "What is on today?" --server https://example.org/mcp
```

Lines fit the terminal; in files and pipes nothing is cut. `--json` prints everything for programs.
The [exit status](troubleshooting.md) says whether it worked.
"""


def commands() -> dict[tuple[str, ...], Any]:
    """Return all commands by their words, in the order of the help; the first has no words."""
    by_words: dict[tuple[str, ...], Any] = {}
    _collect(get_command(app), (), by_words)
    return by_words


def command_page() -> str:
    """Return the page."""
    own = {words: x for words, x in commands().items() if words and not _is_only_a_group(x)}
    shared = _shared_records(own)
    many = f"## What many commands take\n\n{_list(_with_exceptions(shared, own))}\n"
    named = [x for x, lacking in shared.items() if not _is_nearly_all(lacking, own)]
    sections = (_section(words, command, shared, named) for words, command in own.items())
    return "\n".join([_HEAD, _overview(own), many, *sections])


def _collect(command: Any, words: tuple[str, ...], by_words: dict[tuple[str, ...], Any]) -> None:
    by_words[words] = command
    for name, inner in getattr(command, "commands", {}).items():
        _collect(inner, (*words, name), by_words)


def _is_only_a_group(command: Any) -> bool:
    return hasattr(command, "commands") and not command.invoke_without_command


def _overview(by_words: Iterable[tuple[str, ...]]) -> str:
    """Return a line of links for each group; commands of one word come first."""
    groups: dict[str, list[str]] = {}
    for words in by_words:
        link = f"[`{' '.join(words)}`](#{'-'.join(words)})"
        groups.setdefault(words[0] if len(words) > 1 else "", []).append(link)
    return "\n".join(f"- {', '.join(links)}" for links in groups.values()) + "\n"


def _shared_records(by_words: Mapping[tuple[str, ...], Any]) -> dict[Record, list[str]]:
    """Return the options that several commands share, each with the commands that lack it."""
    records = {" ".join(words): _records(command) for words, command in by_words.items()}
    counts = Counter(x for of_command in records.values() for x in of_command)
    return {
        record: [command for command, of_command in records.items() if record not in of_command]
        for record, count in counts.items()
        if count >= _SHARED_BY
    }


def _is_nearly_all(lacking: Sized, by_words: Sized) -> bool:
    return len(lacking) <= (1 - _NEARLY_ALL) * len(by_words)


def _with_exceptions(shared: Mapping[Record, list[str]], by_words: Sized) -> Iterator[Record]:
    for (name, text), lacking in shared.items():
        if _is_nearly_all(lacking, by_words):
            besides = ", ".join(f"`{x}`" for x in lacking)
            text += f" Every command takes it{f' but {besides}' if besides else ''}."
        yield name, text


def _section(
    words: tuple[str, ...], command: Any, shared: Container[Record], named: Container[Record]
) -> str:
    parts = [f"## {' '.join(words)}", *_paragraphs(command)]
    pieces = [x for x in command.collect_usage_pieces(_context(command)) if x != "[OPTIONS]"]
    if pieces:
        usage = " ".join(("xai-mcp-agent", *words, *pieces))
        parts.append(f"    {usage.replace('{', '').replace('}', '')}")
    records = _records(command)
    if own := [x for x in records if x not in shared]:
        parts.append(_list(own))
    others = [x.split()[0] for x, text in records if (x, text) in named and x.startswith("-")]
    if others:
        parts.append(f"{'Also' if own else 'Takes'} {', '.join(f'`{x}`' for x in others)}.")
    return "\n\n".join(parts) + "\n"


def _paragraphs(command: Any) -> list[str]:
    text = (command.help or "").strip()
    return [" ".join(x.split()) for x in text.split("\n\n")]


def _records(command: Any) -> list[Record]:
    """Return the name and the help of each argument and option."""
    context = _context(command)
    records: list[Record] = []
    for param in command.params:
        if record := param.get_help_record(context):
            name, text = record
            is_optional = param.param_type_name == "argument" and not param.required
            text = " ".join(text.split()).removesuffix("[required]").strip()
            records.append((f"[{name}]" if is_optional else name, text))
    return records


def _list(records: Iterable[Record]) -> str:
    return "\n".join(f"- `{name}`: {text}" for name, text in records)


def _context(command: Any) -> Any:
    return command.context_class(command, info_name=command.name)
