"""Who we say we are: servers log it, and some treat clients differently."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import mcp_types as types

_NAME = "xai-mcp-agent"


@cache
def our_name() -> types.Implementation:
    """Our name and version."""
    import mcp_types as types  # as heavy as the SDK, which is loaded when this is called

    return types.Implementation(name=_NAME, version=_version())


def _version() -> str:
    try:
        return version(_NAME)
    except PackageNotFoundError:  # run from its folder, without being installed
        return "unknown"
