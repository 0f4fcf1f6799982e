"""Gestures of a person in a window of the lab, and the time that hands need for them.

The seconds are those of the keystroke-level model (Card, Moran and Newell, 1980): deciding 1.35,
pointing 1.1, pressing or letting go a button 0.1, a key 0.28, a hand to the keys or back 0.4.
Reading and thinking about what to do are not in them.
"""

from __future__ import annotations

from dataclasses import dataclass

from playwright.sync_api import Page

_DECIDE, _POINT, _BUTTON, _KEY, _HOME = 1.35, 1.1, 0.1, 0.28, 0.4
_FAR = 8  # pixels between pressing and letting go, from which on it is a drag
# Texts count by what came into their box: a test may put it there at once. In the capturing phase,
# so that nothing on the page can keep an event for itself.
_LISTEN = f"""() => {{
  const done = window.gestures = {{clicks: 0, drags: 0, texts: 0, keys: 0}};
  let down = null, box = null, length = 0;
  const listen = (name, what) => window.addEventListener(name, what, true);
  listen('pointerdown', event => {{ down = event; }});
  listen('pointerup', event => {{
    if (!down) return;
    const way = Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY);
    done[way > {_FAR} ? 'drags' : 'clicks'] += 1;
    down = null;
  }});
  // A node that is dragged from the palette: no button is said to be let go.
  listen('dragend', () => {{ done.drags += 1; down = null; }});
  listen('input', ({{target, data, inputType}}) => {{
    if (target !== box) {{ box = target; length = 0; done.texts += 1; }}
    const is_typed = inputType === 'insertText' && data;
    done.keys += is_typed ? data.length : Math.abs(target.value.length - length);
    length = target.value.length;
  }});
}}"""


@dataclass(frozen=True)
class Gestures:
    """How often a mouse was clicked and dragged, into how many boxes was typed, how many keys."""

    clicks: int
    drags: int
    texts: int
    keys: int

    @property
    def seconds(self) -> float:
        """The time that a practised person's hands need for them."""
        mouse = self.clicks * 2 * _BUTTON + self.drags * (_POINT + 2 * _BUTTON)
        deciding = (self.clicks + self.drags) * (_DECIDE + _POINT)
        return mouse + deciding + self.texts * 2 * _HOME + self.keys * _KEY


def count_gestures(page: Page) -> None:
    """Begin to count in this window, from nothing."""
    page.evaluate(_LISTEN)


def gestures(page: Page) -> Gestures:
    """The gestures since the counting began."""
    return Gestures(**page.evaluate("() => window.gestures"))
