"""Which model an agent talks to, and how, as a person chooses it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...core.json import JsonObject
from ...secrets.redactor import redact_url
from ...secrets.secrets import Secret
from ..window import DEFAULT_WINDOW_TOKENS, ContextWindow
from .base import Model, ModelSettings
from .registry import model_for, split_name

OFFLINE = "offline"


def window_for(
    provider: str, context_tokens: int | None, max_output_tokens: int | None
) -> ContextWindow:
    """The window of a model; rules take in any length, and cannot sum up."""
    is_offline = provider == OFFLINE
    size = context_tokens or (0 if is_offline else DEFAULT_WINDOW_TOKENS)
    return ContextWindow(size, max_output_tokens, sums_up=not is_offline)


@dataclass(frozen=True, kw_only=True)
class AgentModel:
    """A model of a provider, and what is set about it. None leaves a thing to the service.

    `provider` is `offline` (rules, no model), `openai` (also every service that speaks as it does,
    with its `base_url`), `openai_responses`, `bedrock` or `vertexai`; `name` is the model's there.
    Without `api_key` the provider's usual variable of the environment counts. `context_tokens` is
    the size of its window. The others are those of the node AgentModel.
    """

    provider: str = OFFLINE
    name: str = ""
    base_url: str = field(default="", repr=False)
    api_key: str | Secret | None = field(default=None, repr=False)
    context_tokens: int | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    reasoning_effort: str | None = None
    extra_body: JsonObject = field(default_factory=dict[str, Any], repr=False)
    timeout_seconds: float | None = None
    turn_timeout_seconds: float | None = None

    @classmethod
    def of(cls, said: AgentModel | str) -> AgentModel:
        """The model that `provider:name` means, such as `openai:gpt-5-mini`, or `offline`."""
        if isinstance(said, AgentModel):
            return said
        provider, _, model = said.partition(":")
        provider, name = split_name(said) or (provider.strip().lower(), model.strip())
        return cls(provider=provider, name=name)

    @property
    def secrets(self) -> list[Secret]:
        """What must not be shown anywhere."""
        address = [Secret(self.base_url)] if redact_url(self.base_url) != self.base_url else []
        return [*address, *([self._key] if self._key else [])]

    @property
    def window(self) -> ContextWindow:
        """That of the model."""
        return window_for(self.provider, self.context_tokens, self.max_output_tokens)

    def open(self) -> Model:
        """The model to talk to. Nothing is connected yet.

        Raises:
            UnknownProvider: there is no such provider, or it wants a model's name.
        """
        usual = ModelSettings()
        settings = ModelSettings(
            self.temperature,
            self.max_output_tokens,
            self.reasoning_effort,
            self.extra_body,
            self.timeout_seconds or usual.timeout_seconds,
            self.turn_timeout_seconds,
        )
        return model_for(
            self.provider,
            self.name,
            base_url=self.base_url,
            api_key=self._key,
            settings=settings,
        )

    @property
    def _key(self) -> Secret | None:
        return Secret(self.api_key) if isinstance(self.api_key, str) else self.api_key
