"""Registries of MCP servers: search in a local copy, and entries for the settings, switched off.

The names here are public (see docs/registries.md); names in inner modules may change.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["FoundServer", "Listing", "Offer", "Registries", "RegistryManifest", "Signal"]

_HOMES = {
    "FoundServer": "registries", "Listing": "offers", "Offer": "offers",
    "Registries": "registries", "RegistryManifest": "offers", "Signal": "offers",
}  # fmt: skip

if TYPE_CHECKING:
    from .offers import Listing, Offer, RegistryManifest, Signal
    from .registries import FoundServer, Registries
else:  # looked up on first use, like the package's names

    def __getattr__(name: str) -> Any:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
