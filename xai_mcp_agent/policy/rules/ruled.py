"""What rules and approvals together say of a tool: a value for people to read."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.approval import Ruling
from ...core.tools import Tool
from ...settings.approval import ApprovalWord


@dataclass(frozen=True, slots=True)
class RuledTool:
    """What is said of an agent's calls of a tool: by the rules, and together with the approvals."""

    tool: Tool
    ruling: Ruling
    word: ApprovalWord
    reason: str
