"""What a person has to know about an adopted workflow beyond its nodes and ports."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ...agent.models.choice import NATIVE, PROVIDERS
from ...agent.prompt import PLACEHOLDERS
from ...core.json import JsonObject
from ...core.names import did_you_mean
from ...drawing.components import ComponentClass
from .address import naming_an_address
from .document import COMPULSORY_MARK, nodes_of, ports_of, text_of, texts_by_port
from .migrate import AUTHORIZE, AdoptedNode, Migration, Remark, is_upstream, library_of, path_of

# They come with Xircuits itself, and need nothing to be installed.
_BUNDLED = {"xai_controlflow", "xai_events", "xai_template", "xai_utils"}
_PROVIDER_PORTS = {"agent_provider", "new_agent_provider"}
_PROMPT_PORTS = {"system_prompt", "new_system_prompt"}
_OWN_CALLS = re.compile(r"^[^\w\n]*TOOL:", re.MULTILINE)
_CALLS_ADVICE = (
    "`{}` tells the model to write lines such as `TOOL: name`. Here it calls tools as its service "
    "wants it: take that part out, or have tools called in text, by `tool_protocol` of AgentModel."
)
_LONGEST_NAME = 100  # of what may be meant for a provider's
# Where the agents here find their access.
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


def advice(migration: Migration, classes: Mapping[str, ComponentClass]) -> tuple[Remark, ...]:
    """Return what else to do or to know; nothing if nothing was taken over."""
    if not migration.taken:
        return ()
    return (
        *_keys(migration.document, classes),
        *_values(migration),
        *_libraries(migration.document, classes),
    )


def _strangers(
    document: JsonObject, classes: Mapping[str, ComponentClass]
) -> Iterator[tuple[str, JsonObject]]:
    """Components that are neither ours nor xai-agent's, nor come with Xircuits."""
    ours = {cls.path for cls in classes.values()}
    for node_id, node in nodes_of(document).items():
        path = path_of(node)
        known = path in ours or is_upstream(path) or library_of(path) in _BUNDLED
        if path and not known:
            yield node_id, node


def _keys(document: JsonObject, classes: Mapping[str, ComponentClass]) -> Iterator[Remark]:
    naming = naming_an_address(document)
    for node_id, node in _strangers(document, classes):
        name = text_of(node, "name")
        if AUTHORIZE not in name.lower():
            continue
        whose = f"{name} {path_of(node)}".lower()
        access = next((text for key, text in _ACCESS.items() if key in whose), _ACCESS_ELSEWHERE)
        if node_id in naming:
            access = _ACCESS_TO_ADDRESS
        text = (
            f"the agents here do not get their key from it. {access} Then remove this node, "
            "unless a node that is not ours needs it."
        )
        yield Remark(name, node_id, text)


def _values(migration: Migration) -> Iterator[Remark]:
    """Look at the texts that are wired to adopted nodes."""
    texts, nodes = texts_by_port(migration.document), nodes_of(migration.document)
    for node in migration.taken:
        for port in ports_of(nodes[node.node_id]):
            written = texts.get(text_of(port, "id"))
            name = text_of(port, "varName").removeprefix(COMPULSORY_MARK)
            if written is None:
                continue
            if name in _PROVIDER_PORTS:
                yield from _provider(node, name, written)
            if name in _PROMPT_PORTS and _has_doubled_braces(written):
                text = (
                    f"`{name}` has doubled braces. xai-agent made single ones of them; here "
                    "braces stay as they are, so write them once."
                )
                yield Remark(node.node, node.node_id, text, to_do=False, port=name)
            if name in _PROMPT_PORTS and _OWN_CALLS.search(written):
                yield Remark(node.node, node.node_id, _CALLS_ADVICE.format(name), False, name)


def _provider(node: AdoptedNode, port: str, written: str) -> Iterator[Remark]:
    provider = written.strip().lower()
    if provider in NATIVE:
        text = f'provider {provider} needs a package: pip install "xai-mcp-agent[providers]".'
        yield Remark(node.node, node.node_id, text, to_do=False, port=port)
    elif provider and provider not in PROVIDERS:
        # It is not shown: what stands in the wrong port may be a key.
        near = did_you_mean(provider, PROVIDERS) if len(provider) <= _LONGEST_NAME else ""
        known = near or f"Known: {', '.join(PROVIDERS)}."
        text = f"the text at `{port}` is no provider here. {known}"
        yield Remark(node.node, node.node_id, text, port=port)


def _has_doubled_braces(text: str) -> bool:
    for name in PLACEHOLDERS:  # doubled, these do become single here as well
        text = text.replace(f"{{{{{name}}}}}", "")
    return "{{" in text or "}}" in text


def _libraries(document: JsonObject, classes: Mapping[str, ComponentClass]) -> Iterator[Remark]:
    """One remark for each library that is still needed."""
    found: dict[str, dict[str, str]] = {}
    for node_id, node in _strangers(document, classes):
        found.setdefault(_home(node), {}).setdefault(text_of(node, "name"), node_id)
    for home, names in found.items():
        text = f"not changed: the workflow still needs {home}."
        yield Remark(", ".join(names), next(iter(names.values())), text, to_do=False)


def _home(node: JsonObject) -> str:
    path = path_of(node)
    if library := library_of(path):
        return f"the library {library}"
    return f"{path}, which should be adopted as well if it is a workflow with agents"
