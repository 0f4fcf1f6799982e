"""The public names and where each is: for type checkers, editors, and `__init__.py`."""

from .agent.conversation import BadConversation
from .agent.models.choice import AgentModel, UnknownProvider
from .agent.run_file import RunFileError, WaitingRun
from .bridge.agent import Agent, AgentResult
from .bridge.faces import AioBridge, Bridge
from .bridge.streams import AioSubscription, OnChange, Subscription
from .core.approval import ApprovalAnswer, ApprovalRequest, Approver
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
from .core.json import JsonObject
from .core.questions import Answer, Answerer, Question, SignIn, SignInRequest, answer_with_defaults
from .core.results import (
    AudioPart,
    Completion,
    ImagePart,
    LinkPart,
    Prompt,
    PromptArgument,
    PromptMessage,
    Resource,
    ResourcePart,
    ResultPart,
    TextPart,
    ToolResult,
    UnknownPart,
    bytes_of,
)
from .core.tools import Icon, Operation, Tool, ToolAnnotations, ToolKey
from .history.event import Event, Subject
from .history.graph import Graph
from .history.place import StoreStatus
from .history.records import Records, SourceRecord, ToolRecord, ToolState
from .history.tool_changes import ToolChanged, Version
from .history.usage import CallStats, Stats, Usage
from .policy.review import Choice, Review
from .policy.suspicion import Mark
from .search.ranking import Ranked
from .search.results import FoundTools, SelectedTool
from .secrets.secrets import Secret
from .settings.load import load_settings, settings_from
from .settings.models import Settings
from .settings.server import ServerSettings
from .sources.functions.context import CallCancelled, ToolContext

__all__ = [
    "AcceptanceUnknown", "Agent", "AgentModel", "AgentResult", "AioBridge", "AioSubscription",
    "Answer", "Answerer", "ApprovalAnswer", "ApprovalRequest", "Approver", "AudioPart",
    "BadConversation", "BadSetting", "Bridge", "CallCancelled", "CallStats", "Choice",
    "CircuitOpen", "Completion", "DefinitionChanged", "Event", "FoundTools", "Graph", "Icon",
    "ImagePart", "InvalidArguments", "JsonObject", "LinkPart", "LockFailed", "Mark",
    "ModelAnswerInvalid", "ModelAnswerMissing", "ModelAuthenticationError",
    "ModelCannotCallFunctions", "ModelContentFiltered", "ModelContextOverflow", "ModelError",
    "ModelRateLimited", "ModelTimeout", "ModelUnreachable", "NoTools", "NotAccepted", "NotApproved",
    "OnChange", "Operation", "Prompt", "PromptArgument", "PromptMessage", "Question", "Ranked",
    "Records", "Resource", "ResourcePart", "ResultPart", "Review", "ReviewNeeded", "RuleDenied",
    "RunFileError", "Secret", "SelectedTool", "ServerError", "ServerSettings", "Settings",
    "SettingsError", "SignIn", "SignInRequest", "SourceClosed", "SourceError", "SourceFailed",
    "SourceRecord", "SourceState", "SourceStatus", "Stats", "StoreFailed", "StoreStatus", "Subject",
    "Subscription", "TextPart", "Tool", "ToolAnnotations", "ToolChanged", "ToolContext",
    "ToolDisabled", "ToolKey", "ToolRecord", "ToolResult", "ToolState", "ToolTimeout",
    "UnknownAgent", "UnknownPart", "UnknownProvider", "UnknownServer", "UnknownTool", "Usage",
    "Version", "WaitingRun", "XaiMcpError", "answer_with_defaults", "bytes_of", "load_settings",
    "settings_from",
]  # fmt: skip
