"""The component library in the lab's left sidebar: its entries, and what they tell about a node."""

from __future__ import annotations

import re
from dataclasses import dataclass

from playwright.sync_api import FloatRect, Locator

from .lab_canvas import Canvas

_SIDEBAR = "xircuits-component-sidebar"
_TIP = "#sidebar-tooltip"
# The tip of the entry before may still be there, and a tip fades in; both are waited for.
_HAS_TIP = f"""dragged => {{
  const tip = document.querySelector('{_TIP}.show'), first = tip?.querySelector('p')?.innerText;
  const description = JSON.parse(dragged).model.docstring.replaceAll('`', '').replace(/\\s+/g, ' ');
  return first && description.startsWith(first) && getComputedStyle(tip).opacity > 0.85;
}}"""
# It waits a third of a second before it comes, which is long for all nodes.
_AT_ONCE = "items => items.forEach(x => x.setAttribute('data-delay-show', '1'))"


@dataclass(frozen=True)
class Tip:
    """The tip of a node. `text` has single spaces, `place` is on the page."""

    text: str
    headings: list[str]
    place: FloatRect


class Palette:
    """The component library of a window, opened, with our nodes unfolded."""

    def __init__(self, canvas: Canvas) -> None:
        self._canvas = canvas
        self.page = canvas.page
        if not self.page.locator(f"#{_SIDEBAR}").is_visible():
            self.page.locator(f'.lm-TabBar-tab[data-id="{_SIDEBAR}"]').click()
        if not self.entry("AgentRun").is_visible():
            heading = self.page.locator(f"#{_SIDEBAR} .accordion__button", has_text="MCP_AGENT")
            heading.first.click()
        self.entry("AgentRun").wait_for()

    def entry(self, name: str) -> Locator:
        """The entry of a node."""
        items = self.page.locator(f"#{_SIDEBAR} .tray-item")
        return items.filter(has=self.page.get_by_text(name, exact=True))

    def hurry(self) -> None:
        """Have tips come at once, as long as the entries stay unfolded."""
        self.page.locator(f"#{_SIDEBAR} .tray-item").evaluate_all(_AT_ONCE)

    def explain(self, name: str) -> Tip:
        """Rest the mouse on an entry until its tip is shown."""
        entry = self.entry(name).element_handle()  # looked for once: the page has hundreds
        # In the middle, as a person would who sees half of a tip.
        entry.evaluate("item => item.scrollIntoView({block: 'center'})")
        entry.hover()
        self._canvas.wait_for(_HAS_TIP, entry.get_attribute("data-tip"))
        return tip_of(self.page.locator(_TIP))


def tip_of(element: Locator) -> Tip:
    """Read the text that the page shows there."""
    place = element.bounding_box()
    assert place is not None
    headings = element.locator("h5").all_inner_texts()
    return Tip(_in_one_line(element.inner_text()), headings, place)


def assert_it_tells(tip: Tip, description: str) -> None:
    """Check that it shows a description whole, with headings as headings and without marks."""
    plain = re.sub(r"^(##### |- )", "", description, flags=re.MULTILINE).replace("`", "")
    assert tip.text == _in_one_line(plain)
    assert tip.headings == re.findall(r"^##### (.*)$", description, flags=re.MULTILINE)


def _in_one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()
