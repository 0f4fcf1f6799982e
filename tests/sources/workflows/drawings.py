"""Workflows for tests: drawn with a node that runs any Python, read and run by a bridge."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.bridges import source_bridge
from tests.support.files import change
from tools.components import all_components
from tools.workflows import Argument, Workflow
from xai_mcp_agent import Bridge
from xai_mcp_agent.drawing.components import ComponentClass, read_component_file

_COMPONENTS = '''
from xai_components.base import Component, InArg, OutArg, xai_component

@xai_component
class Do(Component):
    """Runs Python."""

    code: InArg[str]
    value: InArg[any]
    more: InArg[any]
    number: InArg[int]
    result: OutArg[any]
    second: OutArg[any]

    def execute(self, ctx) -> None:
        names = {"value": self.value.value, "more": self.more.value, "number": self.number.value}
        names |= {"result": None, "second": None}
        exec(self.code.value, names)
        self.result.value, self.second.value = names["result"], names["second"]
'''


def components(folder: Path) -> dict[str, ComponentClass]:
    """What comes with Xircuits, and `Do`, whose file is written into this folder."""
    file = folder / "odd_nodes.py"
    file.write_text(_COMPONENTS, encoding="utf-8")
    classes = (replace(x, path="odd_nodes.py") for x in read_component_file(file, "odd"))
    return {**all_components(), **{x.name: x for x in classes}}


def draw(
    folder: Path,
    code: str,
    *,
    name: str = "job",
    outputs: tuple[str, ...] = ("result",),
    notes: dict[str, str] | None = None,
    **inputs: Any,
) -> Path:
    """A workflow of one `Do` with this code; by default it takes `value`, which may be anything."""
    flow = Workflow(name, components(folder))
    inputs = inputs or {"value": Argument("value", "any")}
    node = flow.node("Do", code=code, **inputs)
    flow.main(node)
    flow.outputs(*(node[x] for x in outputs))
    for title, text in (notes or {}).items():
        flow.note(title, text, below=node)
    return flow.write(folder)


def edit(file: Path, old: str, new: str) -> None:
    """Replace this text in the file."""
    text = file.read_text(encoding="utf-8")
    assert old in text
    change(file, text.replace(old, new))


def offering(file: Path, **entry: Any) -> Bridge:
    """A bridge whose source `it` is this workflow."""
    return source_bridge("workflows", file=str(file), **entry)
