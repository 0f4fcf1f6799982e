"""Generates documentation from nodes and commands: `python -m tools.build_docs`.

Run it after a change of a node's ports or docstring, or of a command's. It writes docs/nodes.md and
docs/commands.md.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from xai_mcp_agent.drawing.components import ComponentClass, our_components

from .command_line import command_page
from .docstrings import Explained, read_docstring

ROOT = Path(__file__).parents[1]
NODES_PAGE = ROOT / "docs" / "nodes.md"
COMMANDS_PAGE = ROOT / "docs" / "commands.md"
COMMAND = "python -m tools.build_docs"

# As a newcomer meets them; a file that is not named here comes last.
_FILES = ("agent", "mcp")
_COMPULSORY, _GIVES = "\u2605 ", "\u2192 "
_SHARED_BY = 3  # nodes; with fewer a reader finds it sooner under each

_HEAD = """\
# The nodes

Generated from the docstrings of the nodes by `python -m tools.build_docs`; edit those.
On the canvas the same text is behind the *i* of each node, and in the palette under the mouse.

![The component library; each node explains itself](images/palette.png)

A port with a \u2605 must be given something; \u2192 is a port that the node fills. A branch leads
to the nodes that run then. To give a port a fixed value, pull a line from it into empty space.
"""

Row = tuple[str, str, str]


def nodes_page() -> str:
    """Return the page about all nodes."""
    shared = _shared_rows()
    groups = [_group(name, nodes, shared) for name, nodes in _groups()]
    many = f"## Ports of many nodes\n\n{_list(shared)}\n"
    return "\n".join([_HEAD, _overview(), many, *groups])


def _groups() -> Iterator[tuple[str, list[ComponentClass]]]:
    """Yield the name of each file and its nodes, in the file's order."""
    groups: dict[str, list[ComponentClass]] = {}
    for node in our_components().values():
        groups.setdefault(Path(node.path).stem.removesuffix("_components"), []).append(node)
    first = [name for name in _FILES if name in groups]
    for name in [*first, *sorted(groups.keys() - set(first))]:
        yield name, sorted(groups[name], key=lambda node: node.lines)


def _overview() -> str:
    """Return a line of links for each file."""
    lines = (
        f"- {', '.join(f'[{node.name}](#{node.name.lower()})' for node in nodes)}"
        for _, nodes in _groups()
    )
    return "\n".join(lines) + "\n"


def _group(name: str, nodes: Sequence[ComponentClass], shared: Sequence[Row]) -> str:
    file = ROOT / "xai_mcp_agent" / f"{name}_components.py"
    title = ast.get_docstring(ast.parse(file.read_bytes())) or ""
    parts = [f"## {' '.join(title.split()).rstrip('.')}\n", *(_node(x, shared) for x in nodes)]
    return "\n".join(parts)


def _node(node: ComponentClass, shared: Sequence[Row]) -> str:
    docstring = read_docstring(node.description)
    parts = [f"### {node.name}", docstring.summary, *docstring.more]
    rows = _rows(node)
    if own := [x for x in rows if x not in shared]:
        parts.append(_list(own))
    if others := [x[0] for x in rows if x in shared]:
        parts.append(f"Also {', '.join(others)}.")
    return "\n\n".join([*parts, f"Example: {docstring.example}"]) + "\n"


def _shared_rows() -> list[Row]:
    """Return the ports that several nodes explain alike."""
    counts = Counter(row for _, nodes in _groups() for node in nodes for row in _rows(node))
    return [row for row, count in counts.items() if count >= _SHARED_BY]


def _rows(node: ComponentClass) -> list[Row]:
    docstring = read_docstring(node.description)
    compulsory = {port.name for port in node.ports if port.kind == "compulsory"}
    ins = [_row(x, _COMPULSORY if x.name in compulsory else "") for x in docstring.ins]
    branches = [(f"`{x.name}`", "branch", x.text) for x in docstring.branches]
    return [*ins, *(_row(x, _GIVES) for x in docstring.outs), *branches]


def _row(port: Explained, mark: str = "") -> Row:
    return f"{mark}`{port.name}`", port.type, port.text


def _list(rows: Sequence[Row]) -> str:
    return "\n".join(f"- {name} ({kind}): {text}" for name, kind, text in rows)


def main() -> None:
    """Write the pages."""
    NODES_PAGE.write_text(nodes_page(), encoding="utf-8", newline="\n")
    COMMANDS_PAGE.write_text(command_page(), encoding="utf-8", newline="\n")
    print(f"{NODES_PAGE}\n{COMMANDS_PAGE}")


if __name__ == "__main__":
    main()
