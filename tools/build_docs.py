"""What the documentation takes from nodes and commands: `python -m tools.build_docs` writes it.

Run it after a change of a node's ports or docstring, or of a command's. It writes docs/nodes.md and
docs/commands.md.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from xai_mcp_agent.drawing.components import ComponentClass, our_components

from .command_line import command_page
from .docstrings import Docstring, Explained, read_docstring

ROOT = Path(__file__).parents[1]
NODES_PAGE = ROOT / "docs" / "nodes.md"
COMMANDS_PAGE = ROOT / "docs" / "commands.md"
COMMAND = "python -m tools.build_docs"

# As a newcomer meets them; a file that is not named here comes last.
_FILES = ("agent", "mcp")
_COMPULSORY = "\u2605 "

_HEAD = """\
# The nodes

Written from the nodes' own explanations by `python -m tools.build_docs`: change those.
On the canvas the same text is behind the *i* of each node, and in the palette under the mouse.
Ports with a \u2605 must be given something. To give a port a fixed value, pull a line from it
into empty space.

![The component library; each node explains itself](images/palette.png)
"""


def nodes_page() -> str:
    """The page about all nodes."""
    parts = [_HEAD, _summary_table(), *(_group(name, nodes) for name, nodes in _groups())]
    return "\n".join(parts)


def _groups() -> Iterator[tuple[str, list[ComponentClass]]]:
    """The nodes by their file, in the file's order."""
    groups: dict[str, list[ComponentClass]] = {}
    for node in our_components().values():
        groups.setdefault(Path(node.path).stem.removesuffix("_components"), []).append(node)
    first = [name for name in _FILES if name in groups]
    for name in [*first, *sorted(groups.keys() - set(first))]:
        yield name, sorted(groups[name], key=lambda node: node.lines)


def _summary_table() -> str:
    lines = ["| node | what it does |", "| --- | --- |"]
    for _, nodes in _groups():
        for node in nodes:
            text = read_docstring(node.description).summary
            lines.append(f"| [{node.name}](#{node.name.lower()}) | {_cell(text)} |")
    return "\n".join(lines) + "\n"


def _group(name: str, nodes: Sequence[ComponentClass]) -> str:
    file = ROOT / "xai_mcp_agent" / f"{name}_components.py"
    title = ast.get_docstring(ast.parse(file.read_bytes())) or ""
    return "\n".join([f"## {' '.join(title.split()).rstrip('.')}\n", *map(_node, nodes)])


def _node(node: ComponentClass) -> str:
    docstring = read_docstring(node.description)
    parts = [f"### {node.name}", docstring.summary, *docstring.more, *_tables(node, docstring)]
    return "\n\n".join([*parts, f"Example: {docstring.example}"]) + "\n"


def _tables(node: ComponentClass, docstring: Docstring) -> Iterator[str]:
    compulsory = {port.name for port in node.ports if port.kind == "compulsory"}
    if docstring.branches:
        yield _table(("branch", ""), ((f"`{x.name}`", x.text) for x in docstring.branches))
    if docstring.ins:
        rows = (_row(x, _COMPULSORY if x.name in compulsory else "") for x in docstring.ins)
        yield _table(("in", "type", ""), rows)
    if docstring.outs:
        yield _table(("out", "type", ""), (_row(x) for x in docstring.outs))


def _row(port: Explained, mark: str = "") -> tuple[str, ...]:
    return f"{mark}`{port.name}`", port.type, port.text


def _table(head: Sequence[str], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, ["---"] * len(head), *([_cell(x) for x in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines).replace("|  |", "| |")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Write the pages."""
    NODES_PAGE.write_text(nodes_page(), encoding="utf-8", newline="\n")
    COMMANDS_PAGE.write_text(command_page(), encoding="utf-8", newline="\n")
    print(f"{NODES_PAGE}\n{COMMANDS_PAGE}")


if __name__ == "__main__":
    main()
