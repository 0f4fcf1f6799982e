"""An MCP server: an entry under `mcpServers`, in the spellings of the usual hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, cast

from pydantic import BeforeValidator, Field, ModelWrapValidatorHandler, model_validator
from pydantic_core import PydanticCustomError, PydanticKnownError

from ..core.names import nearest
from ..core.questions import ANSWER_SECONDS
from ..core.shell import shell_command
from ..core.tools import MCP
from ..secrets.redactor import (
    Redactor,
    redact_args,
    redact_url,
)
from .auth import AuthSettings, read_auth
from .entry import (
    START_TIMEOUT_SECONDS,
    Arguments,
    Count,
    Environment,
    Flag,
    Headers,
    MaskedText,
    Path,
    Seconds,
    SourceSettings,
    ToolNames,
    url_problem,
)
from .validation import INTERNAL, file_keys, mistake, prepared_by, read_by, valid_keys

TransportName: TypeAlias = Literal["stdio", "http", "sse"]
ProtocolMode: TypeAlias = Literal["auto", "legacy", "2026-07-28"]
"""auto: find out. legacy: the handshake of 2025-11-25 and before. 2026-07-28: only this version."""

Elicitation: TypeAlias = Literal["ask", "decline", "defaults"]
"""ask: the caller answers. decline: the server learns that no person can answer.

defaults: the form's own defaults are accepted if every required field has one.
"""

Sampling: TypeAlias = Literal["refuse", "allow"]
"""Whether a server may ask the model of the agent that calls it."""

Sharing: TypeAlias = Literal["shared", "client"]
"""Whether all clients of the gateway use one session, or each has its own process or connection."""

LogLevel: TypeAlias = Literal[
    "off", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
]
"""The lowest level of a server's log messages to keep."""

SAMPLING_MAX_TOKENS = 1000  # a page: enough to sum up or to judge, not to write a book
SAMPLING_MAX_CALLS = 5  # per tool call: allows a loop with its own tools, but not an endless one
SESSION_LIMIT = 16  # processes of one server: a browser takes a few hundred megabytes
PROBE_TIMEOUT_SECONDS = 5.0  # a few real servers ignore unknown requests; many start slowly
LIST_TIMEOUT_SECONDS = 30.0
CLOSE_TIMEOUT_SECONDS = 2.0  # servers flush their logs and databases when their input ends

# A closing bridge stops all servers together within this time.
_MAX_CLOSE_SECONDS = 5
URL_KEYS = {"url": "url", "serverUrl": "server_url", "httpUrl": "http_url"}
_TRANSPORTS: dict[str, TransportName] = {
    "stdio": "stdio",
    "http": "http",
    "streamablehttp": "http",
    "sse": "sse",
}


def _read_transport(value: Any) -> TransportName:
    if not isinstance(value, str):
        raise PydanticKnownError("string_type")
    transport = _TRANSPORTS.get(re.sub("[-_ ]", "", value).lower())
    if transport is None:
        fix = "Write stdio, http or sse, or leave it out."
        raise mistake("unknown transport.", fix)
    return transport


def _close_seconds(value: Any) -> Any:
    if isinstance(value, int | float) and value > _MAX_CLOSE_SECONDS:
        problem = "must be at most 5 seconds: a kernel that ends waits no longer."
        raise mistake(problem, "Write seconds, such as 2.")
    return value


_Auth = Annotated[AuthSettings, prepared_by(read_auth, AuthSettings | bool)]
_Transport = Annotated[Any, read_by(_read_transport, TransportName | str)]


@dataclass(frozen=True, kw_only=True, repr=False)
class ServerSettings(SourceSettings):
    """One server.

    `transport` decides which fields apply: `command`, `args`, `env`, `cwd` for stdio; `url`,
    `headers` for http (Streamable HTTP) and sse. `env` is added to the server's environment.
    `roots` are the folders that the server may ask for; None: the folders in its arguments, else
    the working folder. With `instructions`, agents read the server's own instructions. `auth` is
    the access to a server at a URL.
    """

    kind: ClassVar = MCP
    noun: ClassVar = "MCP server"
    example: ClassVar = '{"command": ...} or {"url": ...}'

    transport: Annotated[TransportName, INTERNAL] = "stdio"
    command: MaskedText = ""
    args: Arguments = ()
    env: Environment = field(default_factory=dict[str, str], hash=False)
    cwd: Annotated[Path, Field(validate_default=True)] = ""
    url: MaskedText = ""
    headers: Headers = field(default_factory=dict[str, str], hash=False)
    mode: ProtocolMode = "auto"
    start_timeout_seconds: Annotated[Seconds, file_keys("startTimeout", "start_timeout")] = (
        START_TIMEOUT_SECONDS
    )
    probe_timeout_seconds: Seconds = PROBE_TIMEOUT_SECONDS
    list_timeout_seconds: Seconds = LIST_TIMEOUT_SECONDS
    close_timeout_seconds: Annotated[Seconds, BeforeValidator(_close_seconds)] = (
        CLOSE_TIMEOUT_SECONDS
    )
    elicitation: Elicitation = "ask"
    elicitation_timeout_seconds: Seconds = ANSWER_SECONDS
    sampling: Sampling = "refuse"
    sampling_max_tokens: Count = SAMPLING_MAX_TOKENS
    sampling_max_calls: Count = SAMPLING_MAX_CALLS
    roots: tuple[Path, ...] | None = None
    instructions: Flag = True
    log_level: LogLevel = "warning"
    session: Sharing = "shared"
    session_limit: Count = SESSION_LIMIT
    # Words before the command: a program that reaches the server elsewhere, or runs it here.
    through: Annotated[tuple[str, ...], INTERNAL] = ()
    # The entry has a URL but no type: the transport is http, but may turn out to be sse.
    transport_is_guess: Annotated[bool, INTERNAL] = False
    auth: Annotated[_Auth, file_keys("auth", "oauth")] = field(default_factory=AuthSettings)

    @classmethod
    def entry_class(cls) -> type[Self]:
        """See `SourceSettings.entry_class`."""
        return cast(type[Self], ServerEntry)

    def unused_keys(self) -> Iterator[str]:
        """See `SourceSettings.unused_keys`."""
        is_process = self.transport == "stdio"
        unused = {"env": self.env and not is_process, "headers": self.headers and is_process,
                  "auth": self.auth.use == "yes" and is_process}  # fmt: skip
        return (key for key, is_unused in unused.items() if is_unused)

    @property
    def target(self) -> str:
        """The command line or the URL without secrets, for a person to read and paste."""
        if self.transport != "stdio":
            return self.secrets.redact(redact_url(self.url))
        command = self.redacted(self.command)
        return shell_command(command, *redact_args(self.args, self.secrets))

    def redacted(self, text: str) -> str:
        """Mask known and probable secrets in a text of the server."""
        return Redactor([self.secrets], guesses=True, environ={})(text)


@dataclass(frozen=True, kw_only=True, repr=False)
class ServerEntry(ServerSettings):
    """A server as the file has it: with the spellings of other hosts, maybe without a transport."""

    transport: _Transport = None
    type: _Transport = None
    server_url: MaskedText = ""
    http_url: MaskedText = ""
    always_allow: ToolNames = ()

    @model_validator(mode="wrap")
    @classmethod
    def _as_server(cls, value: Any, read_fields: ModelWrapValidatorHandler[Self]) -> Self:
        server = read_fields(value)._server(cast(Mapping[str, Any], value))
        return cast(Self, server)

    def _server(self, entry: Mapping[str, Any]) -> ServerSettings:
        """Return the server that the entry describes."""
        values = {x.name: getattr(self, x.name) for x in fields(ServerSettings)}
        is_off = self.disabled or not self.enabled
        key, url = self._url(entry)
        transport = self._transport(key, url, entry)
        if transport == "stdio" and not self.command.strip():
            raise mistake("it is empty.", "Name the program to start.", "command")
        if transport != "stdio" and not is_off and (problem := url_problem(url)):
            raise mistake(problem, "Write a full address such as https://example.com/mcp.", key)
        values |= {
            "transport": transport,
            "transport_is_guess": transport == "http" and not (self.type or self.transport),
            "command": self.command.strip() if transport == "stdio" else "",
            "url": url if transport != "stdio" else "",
            "disabled": is_off,
            "auto_approve": tuple(dict.fromkeys((*self.auto_approve, *self.always_allow))),
            "auth": self._access(entry, is_off),
        }
        return ServerSettings(**values)

    def _url(self, entry: Mapping[str, Any]) -> tuple[str, str]:
        """Return the key of the URL, and the URL; both are "" if the entry has none."""
        urls = {k: getattr(self, x) for k, x in URL_KEYS.items() if _is_filled(entry.get(k))}
        if len(urls) > 1:
            keys = " and ".join(f"`{key}`" for key in urls)
            raise mistake(f"{keys} are both set.", "Remove all but one.")
        return next(((key, url.strip()) for key, url in urls.items()), ("", ""))

    def _transport(self, key: str, url: str, entry: Mapping[str, Any]) -> TransportName:
        has_command = _is_filled(entry.get("command"))
        if not has_command and not key:
            raise _nothing_to_reach(entry)
        if self.type and self.transport and self.type != self.transport:
            raise mistake("`type` and `transport` differ.", "Remove one of them.")
        declared = self.type or self.transport
        if declared is None and has_command and key:
            problem = f"`command` and `{key}` are both set, without a `type`."
            raise mistake(problem, 'Remove one, or add "type": "stdio" or "http".')
        transport = declared or ("stdio" if has_command else _transport_of(key, url))
        if transport == "stdio" and not has_command:
            raise mistake("the type is stdio, but there is no `command`.", "Add it.")
        if transport != "stdio" and not key:
            raise mistake(f"the type is {transport}, but there is no `url`.", "Add it.")
        return transport

    def _access(self, entry: Mapping[str, Any], is_off: bool) -> AuthSettings:
        """Return the access settings; a configured `Authorization` header replaces them."""
        has_header = any(name.lower() == "authorization" for name in self.headers)
        keys = [key for key in ("auth", "oauth") if entry.get(key) is not None]
        if len(keys) > 1:
            raise mistake("`auth` and `oauth` are both set.", "Remove one of them.")
        if keys and has_header and self.auth.use == "yes":
            problem = f"`{keys[0]}` and the header `Authorization` are both set."
            raise mistake(problem, "Remove one of them.")
        if keys and not is_off:
            return self.auth
        return AuthSettings(use="no" if has_header else "auto")


def _is_filled(value: Any) -> bool:
    """Return whether a value is filled: a text that is not blank, or any other value but None."""
    return value is not None and (not isinstance(value, str) or bool(value.strip()))


def _transport_of(key: str, url: str) -> TransportName:
    """Return the transport of a URL without a type: old SSE servers end their path in `/sse`."""
    path = url.partition("?")[0].partition("#")[0].rstrip("/")
    return "sse" if path.endswith("/sse") and key != "httpUrl" else "http"


def _nothing_to_reach(entry: Mapping[str, Any]) -> PydanticCustomError:
    if entry.get("command") is not None:
        return mistake("it is empty.", "Name the program to start.", "command")
    problem = "it has neither a `command` nor a `url`."
    keys = (*valid_keys(ServerEntry), *ServerEntry.ignored_keys)
    for key in (x for x in entry if x not in keys):
        if matches := nearest(key, ("command", *URL_KEYS), count=1):
            return mistake(problem, f"Rename {key!r} to {matches[0]!r}.")
    return mistake(problem, "Add `command` to start a server, or `url` to reach one.")
