"""Settings that the nodes for models and memories give to AgentInit.

AgentModel gives the settings of a model as a dict that shows no secret. The same dict may be
written by hand on a port `model_settings`, so it is checked by the node that takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, SupportsIndex, TypeAlias, cast

from ..agent.memory.notes import MemoryFailed, NoteStore
from ..agent.memory.vecto import VectoStore, vecto_store
from ..agent.models.choice import PROVIDERS, unknown_provider
from ..agent.models.embeddings import endpoint_embeddings
from ..agent.state import RunLimits
from ..core.errors import BadSetting
from ..core.json import JsonObject
from ..core.names import did_you_mean
from ..secrets.redactor import redact_url
from ..secrets.secrets import MASK, Secret
from .lease import bridge_of
from .panel.chat import chat_memory
from .ports import mapping, optional, positive, raw_inputs, secret_on, whole

NODE = "AgentModel"
Env: TypeAlias = Callable[[], Mapping[str, str]]
# What `adopt` writes as an address if it could not determine it.
UNDECIDED = "still to be decided"
PROTOCOLS = ("auto", "native", "text")
# Settings of one service that must not be sent to another.
_OF_ONE_SERVICE = ("base_url", "api_key", "extra_body")


class Hidden(str):
    """A secret text that prints, joins and dumps to JSON as another text.

    As a `str` it has the visible text, so a dict with it can go anywhere. Copies and pickles keep
    the secret; JSON loses it.
    """

    secret: Secret

    def __new__(cls, secret: Secret, visible_text: str = MASK) -> Hidden:
        """Make a text that reads as `visible_text`; only `reveal` returns the secret."""
        text = super().__new__(cls, visible_text)
        text.secret = secret
        return text

    def __reduce_ex__(self, _: SupportsIndex) -> tuple[type[Hidden], tuple[Secret, str]]:
        return type(self), (self.secret, str(self))


def reveal(value: Any) -> Any:
    """Return a value with its secrets in place of the hidden texts."""
    return _rewrite(value, lambda x: x.secret.reveal() if isinstance(x, Hidden) else x)


def secrets_in(value: Any) -> list[Secret]:
    """Return the secrets of the hidden texts in a value."""
    secrets: list[Secret] = []
    _rewrite(value, lambda x: secrets.append(x.secret) if isinstance(x, Hidden) else None)
    return secrets


def _hide(value: Any) -> Any:
    """Return a value that shows only names and numbers: some services take a key there."""

    def hide(leaf: Any) -> Any:
        is_bare = isinstance(leaf, str) and not isinstance(leaf, Hidden)
        return Hidden(Secret(leaf)) if is_bare else leaf

    return _rewrite(value, hide)


def _rewrite(value: Any, leaf: Callable[[Any], Any]) -> Any:
    """Return a value of JSON with another value for each that is neither a dict nor a list."""
    if isinstance(value, Mapping):
        return {k: _rewrite(x, leaf) for k, x in cast(JsonObject, value).items()}
    if isinstance(value, list | tuple):
        return [_rewrite(x, leaf) for x in cast(list[Any], value)]
    return leaf(value)


def gather_settings(ctx: Any, node: Any) -> JsonObject:
    """Return the settings from the ports of AgentModel or AgentModelLimits.

    Empty ports are left out. Settings on `from_model`, if the node has that port, are included.

    Raises:
        BadSetting: a value is invalid; names the port.
        UnknownProvider: there is no such model provider.
    """
    ports, name, env = raw_inputs(node), type(node).__name__, env_of(ctx)
    before = settings_on(ports.pop("from_model", None), "from_model", name, env)
    return before | _read_settings(ports, name, lambda port: port, env)


def env_of(ctx: Any) -> Env:
    """Return a function that reads the `.env` beside the settings when a value is needed."""
    return lambda: bridge_of(ctx).settings.env


def settings_on(value: Any, port: str, node: str, env: Env = dict) -> JsonObject:
    """Return the settings on a port, as AgentModel gives them or as a person wrote them.

    Raises:
        BadSetting: it is not such a dict, or has an unknown key or an invalid value.
        UnknownProvider: there is no such model provider.
    """
    values = mapping(value, port, node)
    if unknown := [x for x in values if x not in _READERS]:
        hint = did_you_mean(str(unknown[0]), _READERS) or f"Known: {', '.join(_READERS)}."
        raise BadSetting(f"`{port}` of {node} has the unknown key {unknown[0]!r}. {hint}")
    return _read_settings(values, node, lambda key: f"{port}.{key}", env)


def without_service(settings: JsonObject) -> JsonObject:
    """Return the settings without the secrets and addresses of their service."""
    return {key: x for key, x in settings.items() if key not in _OF_ONE_SERVICE}


def as_run_limits(settings: Mapping[str, Any]) -> RunLimits:
    """Return the limits of a run."""
    return RunLimits(
        settings.get("max_run_tokens"),
        settings.get("max_run_cost"),
        settings.get("input_price") or 0.0,
        settings.get("output_price") or 0.0,
    )


def with_prices(settings: JsonObject) -> JsonObject:
    """Return the settings, if a limit in money can be computed.

    Raises:
        BadSetting: the prices are missing.
    """
    has_prices = settings.get("input_price") or settings.get("output_price")
    if settings.get("max_run_cost") and not has_prices:
        raise BadSetting(
            "`max_run_cost` of AgentModelLimits has no prices to count with. Set `input_price` and "
            "`output_price`, the prices of a million tokens."
        )
    return settings


def provider_on(value: Any, port: str, node: str) -> str:
    """Return the provider on a port, or an empty text.

    Raises:
        UnknownProvider: there is no such provider.
    """
    provider = str(value or "").strip().lower()
    if provider and provider not in PROVIDERS:
        raise unknown_provider(provider)
    return provider


def _read_settings(
    values: Mapping[str, Any], node: str, port: Callable[[str], str], env: Env
) -> JsonObject:
    readers = {**_READERS, "api_key": partial(_key, env=env)}
    settings = {key: read(values.get(key), port(key), node) for key, read in readers.items()}
    return {key: x for key, x in settings.items() if x not in (None, "", {})}


def _address(url: Any, port: str, node: str) -> str:
    text = url if isinstance(url, Hidden) else optional(url, port, node)
    if text == UNDECIDED:
        raise BadSetting(
            f"`{port}` of {node} is {UNDECIDED}: the workflow was adopted, and it is unclear "
            "where its prompts went. Write that address there, such as http://localhost:11434/v1, "
            "or https://api.openai.com/v1 for OpenAI itself."
        )
    visible_text = text if isinstance(text, Hidden) else redact_url(text)
    return Hidden(Secret(text), visible_text) if visible_text != text else text


def _key(value: Any, port: str, node: str, env: Env = dict) -> Hidden | None:
    if isinstance(value, Hidden):
        return value
    secret = secret_on(value, port, node, env)
    return Hidden(secret) if secret else None


def _body(value: Any, port: str, node: str) -> JsonObject:
    return _hide(mapping(value, port, node))


def _protocol(value: Any, port: str, node: str) -> str:
    protocol = optional(value, port, node).strip().lower()
    if protocol and protocol not in PROTOCOLS:
        raise BadSetting(f"No {port} {protocol!r} for {node}. Use one of: {', '.join(PROTOCOLS)}.")
    return protocol


def _temperature(value: Any, port: str, node: str) -> float | None:
    # 0 is a valid temperature.
    is_zero = not isinstance(value, bool) and value == 0
    return 0.0 if is_zero else positive(value, port, node)


_READERS: dict[str, Callable[[Any, str, str], Any]] = {
    "provider": provider_on,
    "model": optional,
    "base_url": _address,
    "api_key": _key,
    "temperature": _temperature,
    "max_output_tokens": whole,
    "reasoning_effort": optional,
    "extra_body": _body,
    "timeout_seconds": positive,
    "turn_timeout_seconds": positive,
    "context_tokens": whole,
    "max_run_tokens": whole,
    "max_run_cost": positive,
    "input_price": positive,
    "output_price": positive,
    "tool_protocol": _protocol,
    "tool_token_budget": whole,
}


def local_memory(
    file: str | None = None,
    embedding_model: str | None = None,
    base_url: str | None = None,
    api_key: Any = None,
    env: Env = dict,
) -> NoteStore:
    """Return a memory of notes on this machine; with a file, the next run has them too.

    Without an embedding model, notes are compared by their words.

    Raises:
        MemoryFailed: the file exists and cannot be read.
    """
    path = Path(file).expanduser() if file else None
    if path and path.is_dir():
        raise MemoryFailed(f"The memory file {path} is a folder. Name a file in it.")

    def make() -> NoteStore:
        if not embedding_model:
            return NoteStore(path)
        key = secret_on(api_key, "api_key", "AgentNumpyMemory", env)
        embed = endpoint_embeddings(embedding_model, base_url=base_url or "", api_key=key)
        return NoteStore(path, embed)

    return make() if path else chat_memory((embedding_model, base_url), make)


def remote_memory(
    vector_space: str, api_key: Any = None, initialize: bool = False, env: Env = dict
) -> VectoStore:
    """Return a memory in a vector space of the Vecto service; see `vecto_store`."""
    key = secret_on(api_key, "api_key", "AgentVectoMemory", env)
    return vecto_store(vector_space, api_key=key, initialize=initialize)
