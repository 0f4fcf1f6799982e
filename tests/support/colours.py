"""The colours of nodes as people see them: titles on both canvases, and roles of colour-blind eyes.

A title is white on the node's colour, made livelier by a fifth and with a quarter of the canvas
shining through; it is lightest at its upper edge (CustomNodeWidget.tsx of Xircuits 1.19.2).

Colour blindness is simulated as by Machado, Oliveira and Fernandes (2009) at its full severity;
differences are distances in CIE L*a*b* (1976), where about 2 can just be seen by everybody.
"""

from __future__ import annotations

from typing import Any

import numpy as np

CANVASES = {"light": (245, 245, 245), "dark": (60, 60, 60)}
SIGHTS: dict[str, Any] = {
    "usual": np.eye(3),
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
_LIVELIER, _OPAQUE = np.array([1, 1.2, 1.2]), 0.75
# From linear light to the cones of OKLab, from those to its axes, and from linear light to CIE XYZ.
_CONES = np.array([
    (0.4122214708, 0.5363325363, 0.0514459929),
    (0.2119034982, 0.6806995451, 0.1073969566),
    (0.0883024619, 0.2817188376, 0.6299787005),
])  # fmt: skip
_AXES = np.array([
    (0.2104542553, 0.7936177850, -0.0040720468),
    (1.9779984951, -2.4285922050, 0.4505937099),
    (0.0259040371, 0.7827717662, -0.8086757660),
])  # fmt: skip
_XYZ = np.array([
    (0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505),
])  # fmt: skip


def title_contrast(color: Any, canvas: Any) -> float:
    """Return the contrast of WCAG 2.2 between a title and its background, where it is least."""
    lively = _LIVELIER * (_AXES @ np.cbrt(_CONES @ _linear(color)))
    light = np.linalg.inv(_CONES) @ (np.linalg.inv(_AXES) @ lively) ** 3
    background = _OPAQUE * _encode(light) + (1 - _OPAQUE) * np.array(canvas)
    return 1.05 / (float(_XYZ[1] @ _linear(background)) + 0.05)


def difference(one: Any, other: Any, sight: str) -> float:
    """Return the distance of two colours for this kind of sight."""
    return float(np.linalg.norm(_lab(one, sight) - _lab(other, sight)))


def _lab(color: Any, sight: str) -> Any:
    light = np.clip(np.array(SIGHTS[sight]) @ _linear(color), 0, 1)
    parts = _XYZ @ light / (0.95047, 1, 1.08883)
    x, y, z = np.where(parts > 0.008856, np.cbrt(parts), 7.787 * parts + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def _linear(color: Any) -> Any:
    parts = np.array(color) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def _encode(light: Any) -> Any:
    parts = np.clip(light, 0, 1)
    return 255 * np.where(parts <= 0.0031308, 12.92 * parts, 1.055 * parts ** (1 / 2.4) - 0.055)
