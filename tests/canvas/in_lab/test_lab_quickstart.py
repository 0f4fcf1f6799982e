"""The quickstart in the lab: its nodes are as large as drawn, and explain themselves."""

from __future__ import annotations

import base64

import pytest

from tests.support.lab_canvas import Canvas
from tests.support.lab_palette import assert_it_tells, tip_of
from tools.example_agents import quickstart
from xai_mcp_agent.drawing.components import our_components

pytestmark = pytest.mark.browser

EXAMPLE = "examples/ex01_quickstart.xircuits"
SIZE_TOLERANCE = 6.0  # pixels; links end this near to their ports at worst
# The contrast of the lightest and the darkest pixel of a picture, by WCAG 2.2.
CONTRAST = """async png => {
  const bytes = Uint8Array.from(atob(png), x => x.charCodeAt(0));
  const picture = await createImageBitmap(new Blob([bytes]));
  const pen = new OffscreenCanvas(picture.width, picture.height).getContext('2d');
  pen.drawImage(picture, 0, 0);
  const {data} = pen.getImageData(0, 0, picture.width, picture.height);
  const linear = x => x / 255 <= 0.04045 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4;
  const lights = [];
  for (let at = 0; at < data.length; at += 4) {
    const [r, g, b] = [...data.slice(at, at + 3)].map(linear);
    lights.push(0.2126 * r + 0.7152 * g + 0.0722 * b);
  }
  return (Math.max(...lights) + 0.05) / (Math.min(...lights) + 0.05);
}"""


@pytest.fixture(scope="module")
def opened(window: Canvas) -> Canvas:
    """The window with the quickstart open, for all tests here."""
    window.close_all()
    window.open_workflow(EXAMPLE)
    return window


def test_nodes_are_as_large_as_the_layout_says(opened: Canvas) -> None:
    """Otherwise links would end beside their ports, where the file says that they are."""
    layout = quickstart().layout()
    real = {node.id: node for node in opened.drawn()}
    for node, box in layout.boxes.items():
        if node.is_note:
            continue
        width, height = real[node.id].width, real[node.id].height
        assert (width, height) == pytest.approx((box.width, box.height), abs=SIZE_TOLERANCE)


def test_the_i_of_a_node_can_be_seen_and_opens_what_the_palette_tells(opened: Canvas) -> None:
    """WCAG 2.2, 1.4.11: at least 3 to 1, on any colour of a node."""
    for node in ("AgentInit", "AgentUseMCPTools"):
        picture = opened.node(node).locator(".description .react-toggle-track").screenshot()
        contrast = opened.page.evaluate(CONTRAST, base64.b64encode(picture).decode())
        assert contrast >= 3, node
    # It opens above the node: there must be room, so the node is brought down first.
    node = next(x for x in opened.drawn() if x.name == "AgentRun")
    opened.look_at(1.0, node.x, node.y, 450.0)
    tip = tip_of(opened.explain("AgentRun").locator(".markdown-body"))
    assert_it_tells(tip, our_components()["AgentRun"].description)
