"""Does what people do wrong, and gives what the software then says, word for word.

Everything here really happens: files are read, servers are started, a model's service answers.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import anyio
import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from tests.support.agents_in_ctx import init_agent
from tests.support.asking_server import asking_entry, form
from tests.support.authorization_server import go_there, protected_server
from tests.support.canvas import make, play
from tests.support.fault_http import fault_http, refuse
from tests.support.fault_server import entry
from tests.support.http_faults import endpoint_elsewhere
from tests.support.mcp_servers import serving
from tests.support.model_endpoint import (
    Step,
    breaks_off,
    calls,
    fails,
    hangs,
    html,
    model_endpoint,
    says,
)
from tests.support.odd_agent import odd_agent
from tests.support.processes import free_port
from tests.support.warm_python import warm_python
from tests.support.xai_agent_workflow import xai_agent_workflow
from xai_mcp_agent import (
    Agent,
    Answer,
    Bridge,
    Question,
    Settings,
    XaiMcpError,
    canvas,
    load_settings,
    settings_from,
)
from xai_mcp_agent.agent.models.base import ModelRequest, ModelSettings
from xai_mcp_agent.agent.models.chat import ChatModel
from xai_mcp_agent.agent.models.choice import model_for
from xai_mcp_agent.agent.models.offline import OfflineModel
from xai_mcp_agent.agent_components import AgentInit
from xai_mcp_agent.canvas.agent_run import CanvasRun
from xai_mcp_agent.canvas.installation import warn_if_stale
from xai_mcp_agent.canvas.model_settings import UNDECIDED
from xai_mcp_agent.canvas.waits import call_here
from xai_mcp_agent.cli.adopt.command import adopt_file
from xai_mcp_agent.cli.component_files import find_clashes
from xai_mcp_agent.cli.init import init_folder
from xai_mcp_agent.core.provider_schema import FunctionSpec
from xai_mcp_agent.settings.trust import TrustStore, without_untrusted
from xai_mcp_agent.steps.references import TO_BE_GIVEN

_CHILD_SECONDS = 30
_ANSWER_SECONDS = 30.0
# What would let a person's own settings decide about what is said.
_FOREIGN = (
    "XAI_MCP_SETTINGS", "OPENAI_API_KEY", "OPENAI_BASE_URL",
    "GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION",
)  # fmt: skip
_UNITS = Path(__file__).parents[2] / "examples" / "servers" / "units.py"


def _said_by(do: Callable[[], Any]) -> str:
    """What the error says that this raises."""
    with pytest.raises(XaiMcpError) as raised:
        do()
    return str(raised.value)


# Before a workflow begins


def installation(folder: Path) -> Iterator[str]:
    """The command and the nodes are not where they are looked for."""
    nowhere = {"PATH": str(folder)}
    yield _stderr_of(["/bin/bash", "-c", "xai-mcp-agent init"], folder, nowhere)
    (folder / "xai_components").mkdir()
    (folder / "xai_components" / "__init__.py").touch()
    code = "import xai_components.xai_mcp_agent.agent_components"
    yield _stderr_of([sys.executable, "-c", code], folder, {"PYTHONPATH": str(folder)})
    old = folder / "xai_components" / "xai_mcp_agent" / "agent_components.py"
    old.parent.mkdir()
    old.write_text("# of an older version\n", encoding="ascii")
    yield warn_if_stale(str(old)) or ""
    yield _said_by(lambda: init_folder(old))
    theirs = folder / "xai_components" / "xai_agent" / "agent_components.py"
    theirs.parent.mkdir()
    theirs.write_text(_THEIRS, encoding="ascii")
    yield from (f"note: {clash.explanation}" for clash in find_clashes(folder))
    made = xai_agent_workflow().write(folder)
    adopted = adopt_file(made).written
    assert adopted is not None
    adopted.write_text("{}", encoding="ascii")
    yield _said_by(lambda: adopt_file(made))
    yield _said_by(lambda: adopt_file(adopted))
    yield _said_by(lambda: canvas.gather_settings({"base_url": UNDECIDED}))


_THEIRS = """
@xai_component
class AgentInit(Component): ...
@xai_component
class AgentRun(Component): ...
"""


def _stderr_of(command: Sequence[str], folder: Path, variables: dict[str, str]) -> str:
    done = subprocess.run(
        command, cwd=folder, env={"HOME": str(folder), **variables}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=_CHILD_SECONDS,
    )  # fmt: skip
    assert done.returncode != 0
    return done.stderr


# The settings


def settings(folder: Path) -> Iterator[str]:
    """The settings file is missing, broken, or wrong in one entry."""
    file = folder / "mcp_settings.json"
    yield _said_by(lambda: load_settings(start=folder, environ={}).server("library"))
    named = {"XAI_MCP_SETTINGS": str(folder / "my_settings.json")}
    yield _said_by(lambda: load_settings(environ=named))
    file.write_text('{"mcpServers": {"library": {"command": "x" "args": []}}}', encoding="utf-8")
    yield _said_by(lambda: load_settings(file))
    file.write_text('{"mcpServers": {"library": {"command": "x"}}}', encoding="utf-8")
    distrusted = TrustStore(folder / "trusted.json", environ={})
    yield _said_by(lambda: without_untrusted(load_settings(file), distrusted).server("library"))
    known = _settings_of({"library": {"command": "x"}, "units": {"command": "x"}})
    yield _said_by(lambda: known.server("libary"))
    for wrong in _WRONG_ENTRIES:
        file.write_text(json.dumps({"mcpServers": {"search": wrong}}), encoding="utf-8")
        problem = str(load_settings(file, environ={}).problems["search"])
        yield problem.replace(str(file), file.name)
    misspelled = _settings_of({"library": {"command": "x", "argz": []}})
    yield misspelled.notes[0]


_WRONG_ENTRIES: list[dict[str, Any]] = [
    {"url": "https://example.org/mcp", "headers": {"Authorization": "Bearer ${SEARCH_TOKEN}"}},
    {"cmd": "python"},
    {"command": "x", "url": "https://example.org/mcp"},
    {"command": "x", "timeout": 60000},
    {"command": "x", "args": "--verbose"},
]


def _settings_of(servers: dict[str, Any]) -> Settings:
    return settings_from({"mcpServers": servers}, file="mcp_settings.json", environ={})


# Servers that cannot be used


def starting(folder: Path) -> Iterator[str]:
    """Servers that do not come up, all at once."""
    crash = "import sys; print('no licence found', file=sys.stderr); sys.exit(3)"
    with _refusing_service() as url, fault_http() as elsewhere:
        elsewhere.faults["GET"] = endpoint_elsewhere
        servers: dict[str, dict[str, Any]] = {
            "files": {"command": "npx", "args": ["-y", "x"], "env": {"PATH": str(folder)}},
            "notes": {"command": sys.executable, "args": ["-c", crash]},
            "slow": entry(hang=True, startTimeout=0.5),
            "lost": {"command": sys.executable, "cwd": str(folder / "gone")},
            "older": entry(era="legacy", mode="2026-07-28"),
            "down": {"url": f"http://127.0.0.1:{free_port()}/mcp"},
            "closed": {"url": f"{url}/closed"},
            "moved": {"url": f"{url}/moved"},
            "old": {"url": elsewhere.sse_url},
            "plain": {"url": f"{url}/mcp".replace("http:", "https:")},
        }
        with Bridge({"mcpServers": servers}) as made:
            made.connect(wait=True)
            yield from (_said_by(lambda name=name: made.list_tools(name)) for name in servers)


def remote_agents() -> Iterator[str]:
    """An agent whose card leads elsewhere, and one that has none."""
    face = {"url": "http://0.0.0.0:9/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    with odd_agent(name_here="travel", supportedInterfaces=[face]) as (agent, made):
        yield _said_by(lambda: made.list_tools("travel"))
        agent.card = {"name": "Odd"}
        yield _said_by(lambda: made.refresh("travel")[0].require())


def without_access(folder: Path) -> Iterator[str]:
    """What servers say that want somebody to sign in, each time for another reason."""
    ways: list[tuple[dict[str, Any], Any]] = [
        ({}, None),
        ({"denies": "access_denied"}, go_there),
        ({"registers": False}, go_there),
        ({"metadata": {"token_endpoint": "http://127.0.0.2/token"}}, go_there),
    ]
    for number, (options, sign_in) in enumerate(ways):
        with protected_server(**options) as protected:
            yield _refused_by(protected.entry, sign_in, folder / str(number))
    with fault_http() as peer:
        peer.faults["*"] = refuse(401, **{"www-authenticate": "Bearer"})
        yield _refused_by(peer.entry(), None, folder)


def _refused_by(server: dict[str, Any], sign_in: Any, folder: Path) -> str:
    servers = {"mcpServers": {"notes": server}}
    with Bridge(servers, sign_in=sign_in, token_folder=folder / "tokens") as made:
        return _said_by(lambda: made.list_tools("notes"))


@contextmanager
def _refusing_service() -> Generator[str]:
    async def refuse(_request: Any) -> PlainTextResponse:
        return PlainTextResponse("no token", 401)

    with serving(Starlette(routes=[Route("/closed", refuse, methods=["POST"])])) as url:
        yield url


def left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """What a run shows of a server that its agent cannot use, and how it fails without another."""
    file = folder / "mcp_settings.json"
    servers = {"files": {"command": "npx", "env": {"PATH": str(folder)}}}
    clock = {"clock": {"tools": ["current_time"]}}
    written = {"mcpServers": servers, "builtin": clock}
    file.write_text(json.dumps(written), encoding="utf-8")
    monkeypatch.setenv("XAI_MCP_SETTINGS", str(file))
    ctx: dict[str, Any] = {}
    spec = {"standard_tools": {}, "mcp_servers": ["files"]}
    canvas.init_agent(ctx, "helper", toolbelt_spec={**spec, "builtin_sources": ["clock"]})
    with redirect_stdout(io.StringIO()) as screen:
        canvas.run_agent(ctx, "helper", "Hello", outcome=CanvasRun())
    yield screen.getvalue()
    with Bridge.open(file) as bridge:
        yield _said_by(lambda: Agent(bridge, "files").run("Hello"))


# Calls


def calling() -> Iterator[str]:
    """Calls that are wrong, too slow, or lose their server."""
    servers = {
        "units": {"command": warm_python(), "args": [str(_UNITS)]},
        "notes": entry(timeout=0.5),
    }
    with Bridge({"mcpServers": servers}) as made:
        call = made.call_tool
        yield _said_by(lambda: call("units", "convert_units", {"value": 5}))
        yield _said_by(lambda: call("units", "convert_unit", {}))
        yield _said_by(lambda: call("notes", "never", {}))
        yield _said_by(lambda: call("notes", "die", {}))


def changed() -> Iterator[str]:
    """A locked tool whose server says something else of it, and a name that it never had."""
    tool = {"name": "pay", "inputSchema": {"type": "object"}}
    listed = [{**tool, "description": "Pays."}, {**tool, "name": "set_tools", "description": ""}]
    with Bridge({"mcpServers": {"shop": {**entry(tools=listed), "lock": "first"}}}) as made:
        made.call_tool("shop", "pay")
        with made.watch("shop") as lists:
            later = {"tools": [{**tool, "description": "Pays twice."}], "only": True}
            made.call_tool("shop", "set_tools", later)
            lists.wait(_ANSWER_SECONDS)
        yield _said_by(lambda: made.call_tool("shop", "pay"))
        yield _said_by(lambda: made.disable("shop", "pya"))


def asked() -> Iterator[str]:
    """A server's questions that nobody answers."""
    waiting = threading.Event()

    def answer(_: Question) -> Answer:
        waiting.wait(_ANSWER_SECONDS)
        return Answer.accepted()

    servers = {"mcpServers": {"it": asking_entry(elicitationTimeout=0.1)}}
    with Bridge(servers, answer=answer) as made:
        yield call_here(made, "it", "ask", form(), None, lambda *_: None).notes[0]
        yield made.call_tool("it", "ask", form()).notes[0]
        waiting.set()


# Nodes


def nodes(folder: Path) -> Iterator[str]:
    """Ports that are empty or wrong, and names that nothing has."""
    ctx: dict[str, Any] = {}
    canvas.init_agent(ctx, "helper")
    outcome = CanvasRun()
    run = canvas.run_agent
    yield _shown_in_the_lab(make(AgentInit, agent_name="helper", agent_provider="opnai"))
    yield _said_by(lambda: run(ctx, "helpr", "Hello", outcome=outcome))
    yield _said_by(lambda: run({}, "", "Hello", outcome=outcome))
    yield _said_by(lambda: run(ctx, "", None, outcome=outcome))
    yield _said_by(lambda: AgentInit().base_url)
    yield _said_by(lambda: run(ctx, "helper", 5, outcome=outcome))
    yield _said_by(lambda: canvas.init_agent(ctx, "other", provider="opnai"))
    yield _said_by(lambda: canvas.init_agent(ctx, "other", max_thoughts="many"))
    yield _said_by(lambda: run(ctx, "helper", "Hello", outcome=outcome, show="loud"))
    yield _said_by(lambda: canvas.init_agent(ctx, "other", memory="notes.db"))
    yield _said_by(lambda: canvas.init_agent(ctx, "other", toolbelt_spec="default"))
    canvas.define_tool(ctx, None, "shout", "Says it loudly.", print)
    yield _said_by(lambda: canvas.define_tool(ctx, None, "shout", "Says it loudly.", repr))
    wrong = {"city": "string"}
    yield _said_by(lambda: run(ctx, "helper", "Hello", outcome=outcome, output_schema=wrong))
    yield _said_by(lambda: canvas.follow_route(ctx, "helper", "My invoice is wrong.", None))
    yield _said_by(lambda: canvas.local_memory(str(folder), None, None, None))
    diary = folder / "diary.txt"
    diary.write_text("Dear diary,\n", encoding="utf-8")
    yield _said_by(lambda: canvas.local_memory(str(diary), None, None, None))
    step = canvas.steps.call_step
    taking = "library/get_book\nbook_id = results[0].id"
    yield _said_by(lambda: step(ctx, taking, [{"books": [], "total": 0}]))
    yield _said_by(lambda: step(ctx, "library/search_books\nquery = sea", []))
    yield _said_by(lambda: step(ctx, taking, [TO_BE_GIVEN]))


def _shown_in_the_lab(node: Any) -> str:
    with pytest.raises(XaiMcpError) as raised:
        play({}, node)
    return "\n".join(raised.value._render_traceback_())


# Models


def models() -> Iterator[str]:
    """Services that refuse, and settings that lead to none."""
    yield _said_by(lambda: model_for("openai"))
    yield _said_by(lambda: model_for("anthropic", "m", base_url="https://models.example.com"))
    with patch.dict(sys.modules, {"pydantic_ai": None}):
        sys.modules.pop("xai_mcp_agent.agent.models.providers", None)
        yield _said_by(lambda: model_for("anthropic", "m"))
    yield _asked(ChatModel("gpt-5-mini"))
    yield _asked(ChatModel("qwen3", base_url=f"http://127.0.0.1:{free_port()}/v1"))
    yield _asked(ChatModel("qwen3", base_url="localhost:11434"))
    yield _asked(ChatModel("qwen3", base_url="https://models.example.com/v1"))
    yield _said_by(lambda: canvas.gather_settings({"api_key": "${ACME_API_KEY}"}))
    stopping = breaks_off(says("Half"), cleanly=True)
    with model_endpoint([*_REFUSALS, hangs(), *[stopping] * 3]) as endpoint:
        for step in _REFUSALS:
            limit = ModelSettings(timeout_seconds=0.5) if step.kind == "hangs" else None
            yield _asked(ChatModel("qwen3", base_url=endpoint.base_url, settings=limit))
        limit = ModelSettings(turn_timeout_seconds=0.5)
        yield _asked(ChatModel("qwen3", base_url=endpoint.base_url, settings=limit))
        yield _asked(ChatModel("qwen3", base_url=endpoint.base_url))


_RETRY_NEVER = {"x-should-retry": "false"}
_REFUSALS: list[Step] = [
    fails(401, {"message": "bad key"}),
    fails(404, {"message": "model 'qwen3' not found"}),
    fails(429, {"message": "slow down"}, headers=_RETRY_NEVER),
    fails(429, {"message": "pay first", "code": "insufficient_quota"}),
    fails(400, {"message": "the prompt exceeds the context length"}),
    fails(400, {"message": "qwen3 does not support tools"}),
    fails(503, {"message": "loading"}, headers=_RETRY_NEVER),
    html(200),
    hangs(),
]


def _asked(model: ChatModel) -> str:
    tool = FunctionSpec("add", "Adds.", {"type": "object", "properties": {}})
    request = ModelRequest(({"role": "user", "content": "Hello"},), (tool,))

    async def ask() -> None:
        try:
            await model.reply(request, _hear)
        finally:
            await model.aclose()

    return _said_by(lambda: anyio.run(ask))


def without_answer() -> Iterator[str]:
    """Models that end without an answer, or with one of another form than was wanted."""
    ctx: dict[str, Any] = {}
    canvas.define_tool(ctx, None, "shout", "Says it loudly.", print)
    belt = canvas.make_toolbelt(ctx, None)
    form = {"properties": {"city": {"type": "string"}}, "required": ["city"]}
    script = [
        says(""), says(""), says("", finish="length"), calls(("shout", {})), says(""),
        says("Rome"), says('{"town": "Rome"}'),
    ]  # fmt: skip

    def run(schema: Any = None, **values: Any) -> str:
        address = {"provider": "openai", "model": "qwen3", "base_url": endpoint.base_url}
        init_agent(ctx, "helper", **address, **values)
        answer = CanvasRun()
        asked = partial(canvas.run_agent, outcome=answer, output_schema=schema)
        return _said_by(lambda: asked(ctx, "helper", "Hello"))

    with model_endpoint(script) as endpoint:
        yield run()
        yield run()
        yield run(max_thoughts=1, toolbelt_spec=belt)
        yield run(form)


def offline() -> Iterator[str]:
    """What the offline model says when no tool fits."""
    tool = FunctionSpec("add", "Adds two numbers.", {"type": "object", "properties": {}})
    request = ModelRequest(({"role": "user", "content": "Why is the sky blue?"},), (tool,))
    yield anyio.run(OfflineModel().reply, request, _hear).text


async def _hear(_text: str) -> None:
    """Nobody reads along."""


def everything(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """All of them. `folder` is empty."""
    for variable in _FOREIGN:
        monkeypatch.delenv(variable, raising=False)
    in_folders = (installation, settings, starting, nodes, without_access)
    for name, provoke in zip("abcde", in_folders, strict=True):
        place = folder / name
        place.mkdir()
        yield from provoke(place)
    yield from remote_agents()
    yield from calling()
    yield from changed()
    yield from asked()
    yield from models()
    yield from without_answer()
    yield from offline()
    yield from left_out(folder, monkeypatch)
