"""Search among tools, and the selection of tools that a request to a model shows.

The names here are public (see docs/python.md); inner modules may change at any time.
"""

from .tools import Hit, ToolIndex

__all__ = ["Hit", "ToolIndex"]
