"""Xircuits components for LLM agents, and the engine behind them.

`from xai_mcp_agent import Bridge` is the Python face (see docs/python.md).
Importing this package alone imports nothing heavy: `Bridge` is found on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .bridge.bridge import AioBridge, Answer, Bridge, Question, answer_with_defaults

__all__ = ["AioBridge", "Answer", "Bridge", "Question", "answer_with_defaults"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from .bridge import bridge

        return getattr(bridge, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
