"""An entry as people write it: the keys and spellings of the usual hosts, with types checked.

`entry` makes a `ServerSettings` of it. Errors and notes never quote a value: it may be a secret.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Annotated, Any, cast

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
)
from pydantic_core import ErrorDetails, PydanticCustomError

from ..core.errors import SettingsError
from ..core.names import did_you_mean
from ..core.questions import ANSWER_SECONDS
from .document import Place, kind_of, repeated_keys
from .models import (
    ALL_TOOLS,
    CALL_TIMEOUT_SECONDS,
    CLOSE_TIMEOUT_SECONDS,
    LIST_TIMEOUT_SECONDS,
    PROBE_TIMEOUT_SECONDS,
    SAMPLING_MAX_CALLS,
    SAMPLING_MAX_TOKENS,
    START_TIMEOUT_SECONDS,
    Elicitation,
    LogLevel,
    ProtocolMode,
    Sampling,
)
from .secrets import Secret, Secrets
from .written_auth import WrittenAuth, auth_notes

# An hour: nobody waits longer for one call, and a larger number is one of milliseconds.
_MAX_SECONDS = 3600
# All servers are ended together within the time that a closing bridge has.
_MAX_CLOSE_SECONDS = 5
# Python refuses to write out integers of more than 4,300 digits; no variable holds one of these.
_MAX_NUMBER = 10**100
_URL_KEYS = ("url", "serverUrl", "httpUrl")
_AUTH_KEYS = ("auth", "oauth")
_KNOWN_KEYS = (
    "command", "args", "env", "cwd", *_URL_KEYS, "headers", "type", "transport", "mode", "timeout",
    "startTimeout", "start_timeout", "probeTimeout", "listTimeout", "closeTimeout", "elicitation",
    "elicitationTimeout", "sampling", "samplingMaxTokens", "samplingMaxCalls", "roots", "logLevel",
    "disabled", "enabled", "autoApprove", "alwaysAllow", "disabledTools", "pin", "auth",
    "oauth",
)  # fmt: skip
# Keys other hosts show to people; ignoring them changes nothing.
_HARMLESS_KEYS = (
    "//", "$schema", "comment", "description", "displayName", "gallery", "icon", "name", "note",
    "notes", "tags", "title", "version",
)  # fmt: skip


def _text(value: Any, info: ValidationInfo) -> Any:
    """Settings given in Python may hold paths, and secrets that hide themselves."""
    if isinstance(value, Secret):
        cast(Secrets, info.context).add(value)
        return value.reveal()
    return os.fspath(cast(os.PathLike[str], value)) if isinstance(value, os.PathLike) else value


def _env_text(value: Any, info: ValidationInfo) -> Any:
    """Numbers and true or false are common in `env`; the server gets them as text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < _MAX_NUMBER):
        return str(value)
    return _text(value, info)


def _list(value: Any) -> Any:
    return list(cast(tuple[Any, ...], value)) if isinstance(value, tuple) else value


def _object(value: Any) -> Any:
    return dict(cast(Mapping[Any, Any], value)) if isinstance(value, Mapping) else value


def _seconds(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    if not value > 0:  # written so that NaN is refused too
        raise PydanticCustomError("seconds", "must be more than 0 seconds.")
    if value > _MAX_SECONDS:
        raise PydanticCustomError(
            "seconds", "counts seconds and may be at most 3600; this looks like milliseconds."
        )
    return value


def _close_seconds(value: Any) -> Any:
    if isinstance(value, int | float) and value > _MAX_CLOSE_SECONDS:
        raise PydanticCustomError(
            "seconds", "counts seconds and may be at most 5: a kernel that ends waits no longer."
        )
    return _seconds(value)


def _tool_names(value: Any) -> Any:
    if isinstance(value, bool):
        return [ALL_TOOLS] if value else []
    return _list(value)


def _auth(value: Any) -> Any:
    """`false` switches it off, `true` on; FastMCP writes the word."""
    if value is True or value == "oauth":
        return {}
    return {"enabled": False} if value is False else _object(value)


_Text = Annotated[str, BeforeValidator(_text)]
_Texts = Annotated[list[_Text], BeforeValidator(_list)]
_EnvText = Annotated[str, BeforeValidator(_env_text)]
_Environment = Annotated[dict[str, _EnvText], BeforeValidator(_object)]
_Headers = Annotated[dict[str, _Text], BeforeValidator(_object)]
_Count = Annotated[int, Field(ge=1)]
_Seconds = Annotated[float, BeforeValidator(_seconds)]
_CloseSeconds = Annotated[float, BeforeValidator(_close_seconds)]
_ToolNames = Annotated[list[str], BeforeValidator(_tool_names)]
_Auth = Annotated[WrittenAuth | None, BeforeValidator(_auth)]


class Written(BaseModel):
    """An entry as written, its types checked. A key that is null counts as not written."""

    model_config = ConfigDict(strict=True, frozen=True, hide_input_in_errors=True)

    command: _Text | None = None
    args: _Texts = []
    env: _Environment = {}
    cwd: _Text = ""
    url: _Text = ""
    server_url: _Text = Field("", alias="serverUrl")
    http_url: _Text = Field("", alias="httpUrl")
    headers: _Headers = {}
    type: str | None = None
    transport: str | None = None
    mode: ProtocolMode = "auto"
    timeout: _Seconds = CALL_TIMEOUT_SECONDS
    start_timeout: _Seconds = Field(
        START_TIMEOUT_SECONDS, validation_alias=AliasChoices("startTimeout", "start_timeout")
    )
    probe_timeout: _Seconds = Field(PROBE_TIMEOUT_SECONDS, alias="probeTimeout")
    list_timeout: _Seconds = Field(LIST_TIMEOUT_SECONDS, alias="listTimeout")
    close_timeout: _CloseSeconds = Field(CLOSE_TIMEOUT_SECONDS, alias="closeTimeout")
    elicitation: Elicitation = "ask"
    elicitation_timeout: _Seconds = Field(ANSWER_SECONDS, alias="elicitationTimeout")
    sampling: Sampling = "refuse"
    sampling_max_tokens: _Count = Field(SAMPLING_MAX_TOKENS, alias="samplingMaxTokens")
    sampling_max_calls: _Count = Field(SAMPLING_MAX_CALLS, alias="samplingMaxCalls")
    roots: _Texts | None = None
    log_level: LogLevel = Field("warning", alias="logLevel")
    disabled: bool = False
    enabled: bool = True
    auto_approve: _ToolNames = Field([], alias="autoApprove")
    always_allow: _ToolNames = Field([], alias="alwaysAllow")
    disabled_tools: _Texts = Field([], alias="disabledTools")
    pin: bool = False
    auth: _Auth = None
    oauth: _Auth = None

    @property
    def off(self) -> bool:
        """Whether the server is switched off, in either spelling."""
        return self.disabled or not self.enabled

    @property
    def urls(self) -> dict[str, str]:
        """The URLs that are given and not blank, by the key they are under."""
        found = zip(_URL_KEYS, (self.url, self.server_url, self.http_url), strict=True)
        return {key: url for key, url in found if url.strip()}


def read_written(value: Any, place: Place, secrets: Secrets) -> Written:
    """Check the types of one entry; a `Secret` in it is added to `secrets`.

    Raises:
        SettingsError: it is not an object, a key is there twice, or a type is wrong.
    """
    if not isinstance(value, Mapping):
        fix = 'Write {"command": ...} or {"url": ...}.'
        raise place.error(f"an entry must be an object, but is {kind_of(value)}.", fix)
    for twice in repeated_keys(value, place):
        raise twice.error("this key is written more than once.", "Remove all but one.")
    entry = cast(Mapping[Any, Any], value)
    known = {key: entry[key] for key in _KNOWN_KEYS if entry.get(key) is not None}
    try:
        return Written.model_validate(known, context=secrets)
    except ValidationError as cause:
        # Not chained: the exception holds the values.
        raise _wrong_type(cause.errors(include_url=False)[0], place) from None


def unknown_keys(value: Any) -> list[str]:
    """The keys of an entry that mean nothing to us and may be misspelled."""
    if not isinstance(value, Mapping):
        return []
    keys = [key for key in cast(Mapping[Any, Any], value) if isinstance(key, str)]
    return [key for key in keys if key not in _KNOWN_KEYS and key not in _HARMLESS_KEYS]


def notes_on(value: Any, place: Place) -> list[str]:
    """One line for each key of an entry that is ignored, with the one it may be meant for."""
    notes = [
        place.at(key).note(f"ignored, unknown key. {did_you_mean(key, _KNOWN_KEYS)}".rstrip())
        for key in unknown_keys(value)
    ]
    for key in _AUTH_KEYS if isinstance(value, Mapping) else ():
        notes += auth_notes(cast(Mapping[Any, Any], value).get(key), place.at(key))
    return notes


def _wrong_type(error: ErrorDetails, place: Place) -> SettingsError:
    keys = [key for key in error["loc"] if key != "[key]"]
    there = place.at(*keys)
    if "[key]" in error["loc"]:
        return there.error("the name must be a text.", "Put it in quotes.")
    if error["type"] == "seconds":
        return there.error(error["msg"], "Write seconds, such as 60.")
    if error["type"] == "literal_error":
        known = error.get("ctx", {})["expected"].replace("'", "").replace(" or ", ", ")
        return there.error(f"must be one of {known}.", "Write one of these, or leave it out.")
    if error["type"] in _OUT_OF_RANGE:
        limit = error["msg"].removeprefix("Input should be ")
        return there.error(f"must be {limit}.", "Correct the number.")
    wanted, fix = _WANTED.get(error["type"], ("something else", "Correct it."))
    return there.error(f"must be {wanted}, but is {kind_of(error['input'])}.", fix)


_OUT_OF_RANGE = ("greater_than", "greater_than_equal", "less_than_equal")
_WANTED = {
    "string_type": ("a text", "Put it in quotes."),
    "list_type": ("a list of texts", 'Write it in brackets: ["..."].'),
    "dict_type": ("an object", 'Write {"NAME": "value"}.'),
    "bool_type": ("true or false", "Write true or false, without quotes."),
    "float_type": ("a number of seconds", "Write a number, without quotes."),
    "int_type": ("a whole number", "Write a number, without quotes."),
    "model_type": ("an object, true or false", 'Write {"clientId": "..."}, or leave it out.'),
}
