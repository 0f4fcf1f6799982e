"""Xircuits components for LLM agents, and the engine behind them.

Everything public is here (see docs/python.md); the names of inner modules may change at any time.
Importing this package alone imports nothing heavy: each name is looked up on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = [
    "AcceptanceUnknown", "Agent", "AgentModel", "AgentResult", "AioBridge", "AioSubscription",
    "Answer", "Answerer", "ApprovalAnswer",
    "ApprovalRequest", "Approver", "AudioPart",
    "BadConversation", "BadSetting", "Bridge", "CallCancelled", "CallStats", "Choice",
    "CircuitOpen", "Completion", "DefinitionChanged",
    "Event", "Graph", "Icon", "ImagePart", "InvalidArguments", "JsonObject", "LinkPart",
    "LockFailed", "Mark",
    "ModelAnswerInvalid", "ModelAnswerMissing", "ModelAuthenticationError",
    "ModelCannotCallFunctions", "ModelContentFiltered", "ModelContextOverflow",
    "ModelError", "ModelRateLimited",
    "ModelTimeout", "ModelUnreachable", "NoTools", "NotAccepted", "NotApproved", "OnChange",
    "Operation", "Prompt", "PromptArgument",
    "PromptMessage", "Question", "Ranked", "RankedTools", "Records", "Resource", "ResourcePart",
    "ResultPart",
    "Review", "ReviewNeeded", "RuleDenied", "RunFileError",
    "Secret", "SelectedTool",
    "ServerError", "ServerSettings", "Settings", "SettingsError", "SignIn", "SignInRequest",
    "SourceClosed", "SourceError", "SourceFailed", "SourceRecord", "SourceState", "SourceStatus",
    "Stats",
    "StoreFailed", "StoreStatus", "Subject", "Subscription", "TextPart", "Tool", "ToolAnnotations",
    "ToolChanged", "ToolContext", "ToolDisabled", "ToolKey", "ToolRecord", "ToolResult",
    "ToolState", "ToolTimeout", "UnknownAgent", "UnknownPart", "UnknownProvider", "UnknownServer",
    "UnknownTool", "Usage", "Version", "WaitingRun", "XaiMcpError", "answer_with_defaults",
    "bytes_of", "load_settings", "settings_from", "state_of",
]  # fmt: skip

# Where each name is, relative to this package.
_HOMES = {
    "agent.conversation": "BadConversation",
    "agent.run_file": "WaitingRun",
    "agent.signed_file": "RunFileError",
    "agent.models.choice": "AgentModel",
    "agent.models.registry": "UnknownProvider",
    "bridge.agent": "Agent AgentResult",
    "bridge.faces": "AioBridge Bridge",
    "bridge.streams": "AioSubscription OnChange Subscription",
    "core.approval": "ApprovalAnswer ApprovalRequest Approver",
    "core.elicitation": "Answer Answerer Question answer_with_defaults",
    "core.errors": (
        "AcceptanceUnknown BadSetting CircuitOpen DefinitionChanged InvalidArguments "
        "LockFailed "
        "ModelAnswerInvalid ModelAnswerMissing ModelAuthenticationError ModelCannotCallFunctions "
        "ModelContentFiltered ModelContextOverflow ModelError ModelRateLimited ModelTimeout "
        "ModelUnreachable NoTools NotAccepted NotApproved "
        "ReviewNeeded RuleDenied ServerError SettingsError SourceClosed SourceError SourceFailed "
        "StoreFailed ToolDisabled ToolTimeout UnknownAgent UnknownServer UnknownTool XaiMcpError"
    ),
    "core.events": "SourceState SourceStatus",
    "core.resources": "Completion Prompt PromptArgument PromptMessage Resource",
    "core.results": (
        "AudioPart ImagePart LinkPart ResourcePart ResultPart TextPart ToolResult UnknownPart "
        "bytes_of"
    ),
    "core.sign_in": "SignIn SignInRequest",
    "core.tools": "Icon JsonObject Operation Tool ToolAnnotations ToolKey",
    "history.diff.changes": "ToolChanged Version",
    "history.event": "Event Subject",
    "history.graph": "Graph",
    "history.place": "StoreStatus",
    "history.records": "Records SourceRecord ToolRecord ToolState Usage state_of",
    "history.stats": "CallStats Stats",
    "policy.decisions": "Choice",
    "policy.review": "Review",
    "policy.suspicion": "Mark",
    "search.found": "SelectedTool",
    "search.ranking": "Ranked RankedTools",
    "secrets.secrets": "Secret",
    "settings.load": "load_settings settings_from",
    "settings.models": "Settings",
    "settings.server": "ServerSettings",
    "sources.functions.context": "CallCancelled ToolContext",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

if TYPE_CHECKING:
    from .agent.conversation import BadConversation
    from .agent.models.choice import AgentModel
    from .agent.models.registry import UnknownProvider
    from .agent.run_file import WaitingRun
    from .agent.signed_file import RunFileError
    from .bridge.agent import Agent, AgentResult
    from .bridge.faces import AioBridge, Bridge
    from .bridge.streams import AioSubscription, OnChange, Subscription
    from .core.approval import ApprovalAnswer, ApprovalRequest, Approver
    from .core.elicitation import Answer, Answerer, Question, answer_with_defaults
    from .core.errors import (
        AcceptanceUnknown,
        BadSetting,
        CircuitOpen,
        DefinitionChanged,
        InvalidArguments,
        LockFailed,
        ModelAnswerInvalid,
        ModelAnswerMissing,
        ModelAuthenticationError,
        ModelCannotCallFunctions,
        ModelContentFiltered,
        ModelContextOverflow,
        ModelError,
        ModelRateLimited,
        ModelTimeout,
        ModelUnreachable,
        NotAccepted,
        NotApproved,
        NoTools,
        ReviewNeeded,
        RuleDenied,
        ServerError,
        SettingsError,
        SourceClosed,
        SourceError,
        SourceFailed,
        StoreFailed,
        ToolDisabled,
        ToolTimeout,
        UnknownAgent,
        UnknownServer,
        UnknownTool,
        XaiMcpError,
    )
    from .core.events import SourceState, SourceStatus
    from .core.resources import Completion, Prompt, PromptArgument, PromptMessage, Resource
    from .core.results import (
        AudioPart,
        ImagePart,
        LinkPart,
        ResourcePart,
        ResultPart,
        TextPart,
        ToolResult,
        UnknownPart,
        bytes_of,
    )
    from .core.sign_in import SignIn, SignInRequest
    from .core.tools import Icon, JsonObject, Operation, Tool, ToolAnnotations, ToolKey
    from .history.diff.changes import ToolChanged, Version
    from .history.event import Event, Subject
    from .history.graph import Graph
    from .history.place import StoreStatus
    from .history.records import (
        Records,
        SourceRecord,
        ToolRecord,
        ToolState,
        Usage,
        state_of,
    )
    from .history.stats import CallStats, Stats
    from .policy.decisions import Choice
    from .policy.review import Review
    from .policy.suspicion import Mark
    from .search.found import SelectedTool
    from .search.ranking import Ranked, RankedTools
    from .secrets.secrets import Secret
    from .settings.load import load_settings, settings_from
    from .settings.models import Settings
    from .settings.server import ServerSettings
    from .sources.functions.context import CallCancelled, ToolContext
else:  # for type checkers a name that is not there is a mistake

    def __getattr__(name: str) -> Any:
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
        globals()[name] = value  # found without this function from now on
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
