"""Operations: everything a user can do over a bridge, as coroutines on the bridge's loop."""

from __future__ import annotations

from ...core.calls import Caller
from ..context import OwnTools
from .decisions import DecisionOperations
from .history import HistoryOperations
from .plans import PlanOperations
from .resources import ResourceOperations
from .rules import RuleOperations
from .runs import RunOperations
from .signing_in import SignInOperations
from .warm import WarmOperations


class Operations(
    PlanOperations,
    DecisionOperations,
    RuleOperations,
    HistoryOperations,
    RunOperations,
    ResourceOperations,
    SignInOperations,
    WarmOperations,
):
    """Operations of one caller. `AioBridge` and `Bridge` are its faces for other threads."""

    def for_caller(self, caller: Caller, own: OwnTools | None = None) -> Operations:
        """Return the operations of another caller, with its own tools."""
        return Operations(self.engine, caller, own)
