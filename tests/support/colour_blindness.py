"""How different colours look to people who see red, green or blue in another way, or not at all.

The simulation is that of Machado, Oliveira and Fernandes (2009) at its full severity; differences
are distances in CIE L*a*b* (1976), where about 2 can just be seen by everybody.
"""

from __future__ import annotations

import math
from typing import TypeAlias

Rgb: TypeAlias = tuple[float, float, float]
_Matrix: TypeAlias = tuple[Rgb, Rgb, Rgb]

SIGHTS: dict[str, _Matrix] = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "no red": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "no green": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "no blue": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}


def difference(one: Rgb, other: Rgb, sight: str) -> float:
    """Return the distance of two colours for this kind of sight."""
    return math.dist(_lab(_simulate(one, SIGHTS[sight])), _lab(_simulate(other, SIGHTS[sight])))


def _simulate(color: Rgb, sight: _Matrix) -> Rgb:
    """Return the colour for this kind of sight, as linear light."""
    light = [_linear(x) for x in color]
    red, green, blue = (sum(a * b for a, b in zip(row, light, strict=True)) for row in sight)
    return _within(red), _within(green), _within(blue)


def _within(part: float) -> float:
    return min(max(part, 0.0), 1.0)


def _lab(light: Rgb) -> Rgb:
    red, green, blue = light
    x = _root((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047)
    y = _root(0.2126 * red + 0.7152 * green + 0.0722 * blue)
    z = _root((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _root(part: float) -> float:
    return part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116


def _linear(value: float) -> float:
    part = value / 255
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
