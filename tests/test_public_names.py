"""The public names of `xai_mcp_agent`; pages and examples import no others.

Names of inner modules may change at any time; these may not.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import xai_mcp_agent
from tests.support.pages import PAGES, ROOT, codes_of, text_of
from tests.test_house import ARROWS, HEAVY, modules_after
from xai_mcp_agent import drawing, planning, registries, search
from xai_mcp_agent.sources import openapi

PUBLIC = [
    "AcceptanceUnknown", "Agent", "AgentModel", "AgentResult", "AioBridge", "AioSubscription",
    "Answer", "Answerer", "ApprovalAnswer",
    "ApprovalRequest", "Approver", "AudioPart",
    "BadConversation", "BadSetting", "Bridge", "CallCancelled", "CallStats", "Choice",
    "CircuitOpen", "Completion", "DefinitionChanged",
    "Event", "FoundTools", "Graph", "Icon", "ImagePart", "InvalidArguments", "JsonObject",
    "LinkPart",
    "LockFailed", "Mark",
    "ModelAnswerInvalid", "ModelAnswerMissing", "ModelAuthenticationError",
    "ModelCannotCallFunctions", "ModelContentFiltered", "ModelContextOverflow",
    "ModelError", "ModelRateLimited",
    "ModelTimeout", "ModelUnreachable", "NoTools", "NotAccepted", "NotApproved", "OnChange",
    "Operation", "Prompt", "PromptArgument",
    "PromptMessage", "Question", "Ranked", "Records", "Resource", "ResourcePart",
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
    "bytes_of", "load_settings", "settings_from",
]  # fmt: skip
SEARCH = ["Hit", "ToolIndex"]
REGISTRIES = ["FoundServer", "Listing", "Offer", "Registries", "RegistryManifest", "Signal"]
PLANNING = [
    "BadPlan", "Edge", "FinishedCall", "Flow", "FromResult", "Missing", "MissingArgument", "Parts",
    "Plan", "PlanRun", "PlannedCall", "Planner", "Suggestion", "Value", "plan_as_json",
    "plan_from_json", "read_plan",
]  # fmt: skip
DRAWING = ["draw_plan"]
OPENAPI = ["BadDocument", "Operation", "Problem", "RequestPlan", "Service", "load_service"]
PACKAGE = Path(xai_mcp_agent.__file__).parent


def test_these_are_the_public_names():
    """Taking one away breaks programs; adding one is a promise."""
    assert xai_mcp_agent.__all__ == PUBLIC


@pytest.mark.parametrize(
    ("package", "names", "also_heavy"),
    [
        (search, SEARCH, {"numpy"}),
        (drawing, DRAWING, {"sqlalchemy"}),
        (planning, PLANNING, {"numpy", "urllib.parse"}),
        (openapi, OPENAPI, {"yaml"}),
        (registries, REGISTRIES, {"yaml", "sqlite3"}),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_a_public_package_has_these_names_and_imports_nothing_heavy(
    package: ModuleType, names: list[str], also_heavy: set[str]
):
    """They need no bridge."""
    assert package.__all__ == names
    assert all(getattr(package, x).__doc__ for x in names)
    first = {"search": "ToolIndex", "planning": "Planner"}.get(package.__name__.split(".")[-1], "")
    parent, _, name = package.__name__.rpartition(".")
    code = f"from {package.__name__} import {first}" if first else f"from {parent} import {name}"
    assert {*HEAVY, *also_heavy} & modules_after(code) == set()


def test_a_missing_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Brigde'"):
        xai_mcp_agent.__getattr__("Brigde")
    with pytest.raises(ImportError, match="cannot import name 'Brigde'"):
        exec("from xai_mcp_agent import Brigde")
    with pytest.raises(ImportError, match="cannot import name 'ToolIndxe'"):
        exec("from xai_mcp_agent.search import ToolIndxe")


def test_listing_names_and_importing_values_load_nothing_heavy():
    """A program that only catches an error or builds a value starts quickly."""
    look = f"import xai_mcp_agent as x; assert {{*{PUBLIC}}} <= {{*dir(x)}}"
    values = "from xai_mcp_agent import SettingsError, ToolResult, Question, ToolRecord, Tool"
    assert HEAVY & modules_after(f"{look}; {values}") == set()


def test_the_stub_has_the_same_names():
    """They read the stub, which imports each name from its own module."""
    tree = ast.parse((PACKAGE / "__init__.pyi").read_text(encoding="utf-8"))
    (exported,) = (ast.literal_eval(x.value) for x in tree.body if isinstance(x, ast.Assign))
    homes = {
        alias.name: f"xai_mcp_agent.{x.module}"
        for x in tree.body
        if isinstance(x, ast.ImportFrom)
        for alias in x.names
    }
    assert sorted(homes) == sorted(exported) == sorted(PUBLIC)
    for name, module in homes.items():
        assert getattr(xai_mcp_agent, name) is getattr(import_module(module), name)


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_says_what_it_is(name: str):
    value = getattr(xai_mcp_agent, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        assert value.__doc__
        assert not value.__doc__.startswith(f"{name}(")  # a dataclass without words of its own
    else:
        assert _alias_doc(name)


def _alias_doc(name: str) -> str:
    """Return the docstring below a type alias, which Python does not keep."""
    file = PACKAGE / f"{xai_mcp_agent._HOMES[name][1:].replace('.', '/')}.py"
    body = ast.parse(file.read_text(encoding="utf-8")).body
    for statement, below in itertools.pairwise(body):
        if isinstance(statement, ast.AnnAssign) and ast.unparse(statement.target) == name:
            return ast.unparse(below) if isinstance(below, ast.Expr) else ""
    return ""


# Names on pages and in examples

OUTER = {"components", "drawing", "planning", "registries", "search", "sources"}
INNER = re.compile(
    rf"\bxai_mcp_agent\.({'|'.join(sorted(set(ARROWS) - OUTER))}"
    r"|(?:drawing|planning|search|registries)\.\w+|sources(?!\.openapi\b))\b"
)
IMPORTED = re.compile(
    r"from xai_mcp_agent(?:\.drawing|\.planning|\.search|\.registries|\.sources\.openapi)? import "
    r"(\([^)]*\)|[^\n`]+)"
)
EXAMPLES = [
    *(x for x in sorted((ROOT / "examples").rglob("*")) if x.suffix in (".py", ".xircuits")),
    ROOT / "mcp_settings.json.example",
]


@pytest.mark.parametrize("file", [*PAGES, *EXAMPLES], ids=lambda file: file.name)
def test_pages_and_examples_name_public_names_only(file: Path):
    """Loggers (`xai_mcp_agent.servers.NAME`) and component files are named by their own names."""
    text = text_of(file)
    assert INNER.findall(text) == []
    imported = {y for x in IMPORTED.findall(text) for y in re.findall(r"\w+", x)}
    assert imported <= {*PUBLIC, *PLANNING, *SEARCH, *REGISTRIES, *OPENAPI, *DRAWING}


def test_every_public_name_is_on_the_page_about_python():
    assert [x for x in PUBLIC if x not in codes_of(ROOT / "docs" / "python.md")] == []
