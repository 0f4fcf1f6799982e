"""Component files are read as the palette reads them, without importing anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from xai_mcp_agent.drawing.components import (
    ComponentClass,
    PortSpec,
    our_components,
    read_component_file,
)

SOURCE = '''
import no_such_module
from xai_components.base import BaseComponent, Component, InArg, InCompArg, OutArg, xai_component

class Helper:
    text: InArg[str]

@xai_component(type="branch", color="red")
class Judge(Component):
    """Judges.

    At length.
    """

    on_doubt: BaseComponent
    case: InCompArg[str]
    strict: InArg[bool]
    either: InArg[Union[int, str]]
    verdict: OutArg[dict]
    count: int = 3

@xai_component
class Plain(Component):
    pass
'''


def test_a_class_is_read_with_its_ports_as_the_canvas_names_them(tmp_path: Path):
    file = tmp_path / "court_components.py"
    file.write_text(SOURCE, encoding="utf-8")
    judge, plain = read_component_file(file, "xai_court")
    assert judge == ComponentClass(
        name="Judge",
        path="xai_components/xai_court/court_components.py",
        type="branch",
        color="red",
        description="Judges.\n\nAt length.",
        lines=(9, 20),
        ports=(
            PortSpec("on_doubt", "branch"),
            PortSpec("case", "compulsory", "string"),
            PortSpec("strict", "in", "boolean"),
            PortSpec("either", "in", "Union[int, string]"),
            PortSpec("verdict", "out", "dict"),
        ),
    )
    assert (plain.type, plain.description, plain.ports) == ("library_component", "", ())


def test_a_port_that_is_not_there_is_answered_with_the_existing_ones():
    with pytest.raises(KeyError, match=r"AgentRun has no port 'metadatum'.*metadata"):
        our_components()["AgentRun"].port("metadatum")
