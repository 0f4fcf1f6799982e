"""Advice about an adopted workflow, beyond its nodes and ports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...agent.models.choice import NATIVE, PROVIDERS
from ...agent.prompt import PLACEHOLDERS
from ...core.json import JsonObject
from ...core.names import did_you_mean
from ...core.util import LIBRARY
from .address import AUTHORIZE, addresses_by_node
from .nodes import is_upstream
from .workflow import AdoptedNode, AdoptedWorkflow, Remark, library_of, path_of, port_name

# These come with Xircuits and need no installation.
_BUNDLED = {"xai_controlflow", "xai_events", "xai_template", "xai_utils"}
_PROVIDER_PORTS = {"agent_provider", "new_agent_provider"}
_PROMPT_PORTS = {"system_prompt", "new_system_prompt"}
_TEXT_CALLS = re.compile(r"^[^\w\n]*TOOL:", re.MULTILINE)
_MAX_PROVIDER_CHARS = 100
# Where agents of this library find their API keys.
_ACCESS = {
    "openai": (
        "Set the environment variable OPENAI_API_KEY before you start. Or put an AgentModel "
        "before AgentInit, wire its `model_settings`, and the key to its `api_key`."
    ),
    "bedrock": "They look for it in AWS's usual places, such as AWS_PROFILE.",
    "vertex": "They look for it in Google's usual places, such as GOOGLE_CLOUD_PROJECT.",
}
_ACCESS_TO_ADDRESS = (
    "The one in OPENAI_API_KEY goes to OpenAI alone, or to the address in OPENAI_BASE_URL: "
    "wire the key of its address to `api_key` of the AgentModel before AgentInit."
)
_ACCESS_ELSEWHERE = "Give them theirs by the ports of AgentModel or by the environment."
# Code that reads what xai-agent keeps in `ctx`; adopted agents keep it elsewhere.
_REACHING = re.compile(
    r"""\bctx\s*(?:\[|\.(?:get|setdefault|pop)\()\s*[fF]?['"](?P<key>agent_|toolbelt_|mcp_servers_)"""
    r"""|(?P<module>\bxai_agent(?:\.\w+)*)(?!_)"""
)


def advice(workflow: AdoptedWorkflow, adopted: Sequence[AdoptedNode]) -> Iterator[Remark]:
    """Yield further remarks; component files are searched from the working folder on."""
    yield from _keys(workflow)
    yield from _texts(workflow, adopted)
    yield from _libraries(workflow)
    yield from _reaching(workflow)


def _other_nodes(workflow: AdoptedWorkflow) -> Iterator[tuple[str, JsonObject]]:
    """Yield components that are neither ours, nor xai-agent's, nor bundled with Xircuits."""
    for node_id, node in workflow.components():
        path = path_of(node)
        if not is_upstream(path) and library_of(path) not in {LIBRARY, *_BUNDLED}:
            yield node_id, node


def _keys(workflow: AdoptedWorkflow) -> Iterator[Remark]:
    addressed = addresses_by_node(workflow)
    for node_id, node in _other_nodes(workflow):
        name = node["name"]
        if AUTHORIZE not in name.lower():
            continue
        words = f"{name} {path_of(node)}".lower()
        access = next((text for key, text in _ACCESS.items() if key in words), _ACCESS_ELSEWHERE)
        if node_id in addressed:
            access = _ACCESS_TO_ADDRESS
        text = (
            f"the agents here do not get their key from it. {access} Then remove this node, "
            "unless a node that is not ours needs it."
        )
        yield Remark(name, node_id, text)


def _texts(workflow: AdoptedWorkflow, adopted: Sequence[AdoptedNode]) -> Iterator[Remark]:
    """Yield remarks about the texts wired to adopted nodes."""
    for node in adopted:
        for port in workflow.nodes[node.node_id]["ports"]:
            text, name = workflow.text_at(port) if port["in"] else None, port_name(port)
            if text is not None and name in _PROVIDER_PORTS:
                yield from _provider(node, name, text)
            if text is not None and name in _PROMPT_PORTS:
                for remark in _prompt(name, text):
                    yield Remark(node.node, node.node_id, remark, to_do=False, port=name)


def _provider(node: AdoptedNode, port: str, text: str) -> Iterator[Remark]:
    provider = text.strip().lower()
    if provider in NATIVE:
        remark = f'provider {provider} needs a package: pip install "xai-mcp-agent[providers]".'
        yield Remark(node.node, node.node_id, remark, to_do=False, port=port)
    elif provider and provider not in PROVIDERS:
        # The text is not shown: a key may have been wired to the wrong port.
        near = did_you_mean(provider, PROVIDERS) if len(provider) <= _MAX_PROVIDER_CHARS else ""
        hint = near or f"Known: {', '.join(PROVIDERS)}."
        remark = f"the text at `{port}` is not a provider here. {hint}"
        yield Remark(node.node, node.node_id, remark, port=port)


def _prompt(port: str, text: str) -> Iterator[str]:
    """Yield remarks about a system prompt that was written for xai-agent."""
    if _has_doubled_braces(text):
        yield (
            f"`{port}` has doubled braces. xai-agent made single ones of them; here "
            "braces stay as they are, so write them once."
        )
    if _TEXT_CALLS.search(text):
        yield (
            f"`{port}` tells the model to write lines such as `TOOL: name`. Here it calls tools "
            "as its service wants it: take that part out, or have tools called in text, by "
            "`tool_protocol` of AgentModelLimits."
        )


def _has_doubled_braces(text: str) -> bool:
    for name in PLACEHOLDERS:  # doubled, these become single here as well
        text = text.replace(f"{{{{{name}}}}}", "")
    return "{{" in text or "}}" in text


def _libraries(workflow: AdoptedWorkflow) -> Iterator[Remark]:
    """Yield one remark for each library that the workflow still needs."""
    homes: dict[str, dict[str, str]] = {}
    for node_id, node in _other_nodes(workflow):
        homes.setdefault(_home(path_of(node)), {}).setdefault(node["name"], node_id)
    for home, names in homes.items():
        text = f"not changed: the workflow still needs {home}."
        yield Remark(", ".join(names), next(iter(names.values())), text, to_do=False)


def _home(path: str) -> str:
    if library := library_of(path):
        return f"the library {library}"
    return f"{path}, which should be adopted as well if it is a workflow with agents"


# Code that reaches into xai-agent


def _reaching(workflow: AdoptedWorkflow) -> Iterator[Remark]:
    """Yield a remark for each node whose text or source reaches into xai-agent."""
    for node_id, node in workflow.nodes.items():
        path = path_of(node)
        if is_upstream(path) or library_of(path) == LIBRARY:
            continue
        texts = [workflow.text_at(x) or "" for x in node["ports"] if x["in"]]
        codes = [(path, _source(path)), *(("a text in it", x) for x in texts)]
        for where, code in codes:
            if use := _use_in(code):
                text = (
                    f"{where} uses {use} of xai-agent, which adopted nodes do not have. Find "
                    "another way to do its work, such as the ports of AgentRun and AgentRunTool."
                )
                yield Remark(node["name"], node_id, text)


def _use_in(code: str) -> str:
    match = _REACHING.search(code)
    if match is None:
        return ""
    return f"`ctx['{match['key']}...']`" if match["key"] else f"`{match['module'][:60]}`"


def _source(path: str) -> str:
    """Return the text of a library's component file, or "" if there is none."""
    if not library_of(path) or not path.endswith(".py") or ".." in path:
        return ""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
