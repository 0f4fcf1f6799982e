"""Our component files work in the palette, on the canvas and as imported modules.

Decided by Xircuits 1.19.2, whose own code is asked, and by design.md section 2, component rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from operator import mul
from pathlib import Path
from typing import Any

import pytest
from tinycss2.color4 import parse_color

from tools.build_docs import COMMAND, COMMANDS_PAGE, NODES_PAGE, nodes_page
from tools.command_line import command_page
from tools.component_rules import findings
from tools.docstrings import read_docstring
from xai_mcp_agent.cli.init import init_folder
from xai_mcp_agent.core.util import COMPONENT_FILES, installed_components_folder
from xai_mcp_agent.drawing.components import (
    ComponentClass,
    PortSpec,
    canvas_type,
    our_components,
)

from .support.palette import our_palette, palette, ports_at_run_time

# Names that xai-agent's workflows use; it cannot be installed beside this library (README).
UPSTREAM_NAMES = {
    "AgentDefineRoute", "AgentDefineTool", "AgentInit", "AgentLearn", "AgentMakeToolbelt",
    "AgentMergeSystem", "AgentNumpyMemory", "AgentRouter", "AgentRun", "AgentRunTool",
    "AgentStreamStringResponse", "AgentToolOutput", "AgentUpdate", "AgentUseMCPTools",
    "AgentVectoMemory",
}  # fmt: skip

FILES = sorted(installed_components_folder().glob(COMPONENT_FILES))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder as `init` makes it."""
    return init_folder(tmp_path_factory.mktemp("lab")).folder


@pytest.fixture(scope="module")
def palette_nodes(folder: Path) -> dict[str, dict[str, Any]]:
    """Our part of the palette, as Xircuits' own handler answers."""
    return our_palette(folder)


def test_the_palette_shows_our_classes_and_ports_as_we_read_them(
    palette_nodes: dict[str, dict[str, Any]],
):
    """Xircuits' own handler decides what a class is, its type, colour, lines and ports."""
    types = {"str": "string", "bool": "boolean"}
    nodes = {
        name: (
            x["file_path"], x["type"], x["color"], x["docstring"], x["lineno"][0],
            [(y["name"], types.get(y.get("type", ""), y.get("type", ""))) for y in x["variables"]],
        )
        for name, x in palette_nodes.items()
    }  # fmt: skip
    assert nodes == {
        name: (
            x.path, x.type, x.color, x.description, {"lineno": first, "end_lineno": last},
            [(y.name, y.type) for y in x.ports],
        )
        for name, x in our_components().items()
        for first, last in [x.lines]
    }  # fmt: skip


def test_a_node_on_the_canvas_has_the_ports_its_module_has_at_run_time(
    folder: Path, palette_nodes: dict[str, dict[str, Any]]
):
    """The palette reads text, the run reads annotations; they must agree, in order."""
    ports = {
        name: [port["name"] for port in entry["variables"]] for name, entry in palette_nodes.items()
    }
    assert ports == ports_at_run_time(folder, [file.stem for file in FILES])


@pytest.mark.parametrize("canvas", [(245, 245, 245), (60, 60, 60)], ids=["light", "dark"])
def test_the_title_of_every_node_can_be_read(canvas: tuple[int, int, int]):
    """WCAG 2.2, 1.4.3: at least 4.5 to 1 for white words; a quarter of the canvas shines through.

    CustomNodeWidget.tsx of Xircuits 1.19.2.
    """
    read: dict[str, float] = {}
    for color in {x.color for x in our_components().values()}:
        background = [0.75 * a + 0.25 * b for a, b in zip(_rgb(color), canvas, strict=True)]
        read[color] = 1.05 / (_luminance(background) + 0.05)
    assert {x: contrast for x, contrast in read.items() if contrast < 4.5} == {}


def test_nodes_have_one_colour_for_each_of_five_roles():
    """Agents, tools for them, servers by hand, memories, finding and planning."""
    assert len({x.color for x in our_components().values()}) == 5


def _luminance(rgb: Iterable[float]) -> float:
    parts = (x / 255 for x in rgb)
    linear = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return sum(map(mul, (0.2126, 0.7152, 0.0722), linear))


def _rgb(color: str) -> tuple[float, float, float]:
    parsed = parse_color(color)
    assert parsed is not None, "an unknown colour blanks the palette and every canvas with a node"
    red, green, blue = parsed.coordinates
    return 255 * (red or 0.0), 255 * (green or 0.0), 255 * (blue or 0.0)


def test_every_docstring_explains_each_port_with_its_type_and_default():
    """design.md, component rules: the docstring is all that the person on the canvas sees."""
    assert [gap for node in our_components().values() for gap in _doc_gaps(node)] == []


def _doc_gaps(node: ComponentClass) -> Iterator[str]:
    docstring = read_docstring(node.description)
    explained = [
        *(PortSpec(x.name, "branch") for x in docstring.branches),
        *(PortSpec(x.name, "in", canvas_type(x.type)) for x in docstring.ins),
        *(PortSpec(x.name, "out", canvas_type(x.type)) for x in docstring.outs),
    ]
    ports = [replace(x, kind="in") if x.is_in else x for x in node.ports]
    if [x for x in ports if x.kind == "in"] != [x for x in explained if x.kind == "in"]:
        yield f"{node.name}: its in ports are {ports}, and it explains {explained}"
    if {*ports} != {*explained}:
        yield f"{node.name}: it has {ports}, and explains {explained}"
    optional = {x.name for x in node.ports if x.kind == "in"}
    for port in docstring.ins:
        if (port.name in optional) != ("Default:" in port.text):
            yield f"{node.name}.{port.name}: a port says its default if it may be left alone"
    if not docstring.example or not docstring.summary.endswith("."):
        yield f"{node.name}: a docstring begins with a sentence and ends with an example"


def test_the_nodes_page_says_what_the_docstrings_say():
    again = f"a docstring or port has changed: run `{COMMAND}` and commit what it writes"
    assert NODES_PAGE.read_text(encoding="utf-8") == nodes_page(), again


def test_the_page_of_the_commands_has_every_command_with_every_option():
    again = f"a command or its explanation has changed: run `{COMMAND}` and commit what it writes"
    assert COMMANDS_PAGE.read_text(encoding="utf-8") == command_page(), again


def test_no_other_library_has_a_class_with_our_name(folder: Path):
    """The palette knows a node by its class name alone and shows one of two."""
    others = {e["task"] for e in palette(folder) if e["category"] != "MCP_AGENT"}
    assert (set(our_components()) - UPSTREAM_NAMES) & others == set()


def test_our_component_files_keep_the_rules():
    assert [line for file in FILES for line in findings(file)] == []


def test_a_plain_component_has_no_findings(tmp_path: Path):
    assert findings(_toy(tmp_path, "")) == []


MARK, COLORED = "@xai_component", "@xai_component(color='red')"
VIOLATIONS = {
    '"""Grüße."""': "not plain ASCII",
    "from __future__ import annotations": "a future import",
    "from xai_components.base import AsyncComponent": "AsyncComponent",
    "from xai_components.base import xai_component as node": "another name",
    f"if True:\n    {COLORED}\n    class A(Component):\n        pass": "not at the top of the file",
    "class Helper:\n    pass": "not a component",
    "def helper():\n    pass": "a public function",
    "@base.xai_component(color='red')\nclass A(Component):\n    pass": "dotted",
    f"{MARK}\nclass A(Component):\n    pass": "no color",
    f"{MARK}(color=RED)\nclass A(Component):\n    pass": "not a literal",
    f"{MARK}(color='red', task='A')\nclass A(Component):\n    pass": "Reload",
    f"{COLORED}\nclass A(Toy):\n    pass": "not on Component",
}

PORT_VIOLATIONS = {
    'port: "InArg[str]"': "is not a port",
    "port: base.InArg[str]": "is not a port",
    "port: Optional[BaseComponent]": "is not a port",
    "count: int = 3": "is not a port",
    "port: InArg[list[dict]]": "nothing can be wired",
    "port: InArg['Thing']": "nothing can be wired",
    "port: InArg[str] = InArg('x')": "a default",
    "port: InArg[\n        str\n    ]": "spread over lines",
}


def test_a_file_or_port_that_breaks_a_rule_is_found(tmp_path: Path):
    ports = {f"{COLORED}\nclass A(Component):\n    {x}\n": y for x, y in PORT_VIOLATIONS.items()}
    for source, says in (VIOLATIONS | ports).items():
        assert any(says in line for line in findings(_toy(tmp_path, source))), source


def _toy(folder: Path, source: str) -> Path:
    head = "from xai_components.base import Component, InArg, xai_component\n"
    good = "@xai_component(color='red')\nclass Toy(Component):\n    port: InArg[str]\n"
    file = folder / "toy_components.py"
    file.write_text(f"{head}{source}\n\n{good}", encoding="utf-8")
    return file
