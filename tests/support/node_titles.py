"""How well a node's title is read: Xircuits' colours, as its style sheets work them out.

A title is white on the node's colour, made livelier by a fifth and with a quarter of the canvas
shining through; it is lightest at its upper edge (CustomNodeWidget.tsx of Xircuits 1.19.2).
"""

from __future__ import annotations

from typing import TypeAlias

Rgb: TypeAlias = tuple[float, float, float]

CANVASES: dict[str, Rgb] = {"light": (245, 245, 245), "dark": (60, 60, 60)}
_LIVELIER, _OPAQUE = 1.2, 0.75


def title_contrast(color: Rgb, canvas: Rgb) -> float:
    """Return the contrast of WCAG 2.2 between a title and its background, where it is least."""
    behind = _from_oklab(*_livelier(color))
    background = [_OPAQUE * x + (1 - _OPAQUE) * y for x, y in zip(behind, canvas, strict=True)]
    light = sum(w * _linear(x) for w, x in zip((0.2126, 0.7152, 0.0722), background, strict=True))
    return 1.05 / (light + 0.05)


def _livelier(color: Rgb) -> Rgb:
    r, g, b = map(_linear, color)
    long = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    mid = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    short = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * mid - 0.0040720468 * short,
        _LIVELIER * (1.9779984951 * long - 2.4285922050 * mid + 0.4505937099 * short),
        _LIVELIER * (0.0259040371 * long + 0.7827717662 * mid - 0.8086757660 * short),
    )


def _from_oklab(light: float, a: float, b: float) -> Rgb:
    long = (light + 0.3963377774 * a + 0.2158037573 * b) ** 3
    mid = (light - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (light - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        _encode(4.0767416621 * long - 3.3077115913 * mid + 0.2309699292 * short),
        _encode(-1.2684380046 * long + 2.6097574011 * mid - 0.3413193965 * short),
        _encode(-0.0041960863 * long - 0.7034186147 * mid + 1.7076147010 * short),
    )


def _linear(value: float) -> float:
    part = value / 255
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4


def _encode(part: float) -> float:
    part = min(max(part, 0.0), 1.0)
    return 255 * (12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055)
