"""The settings as values: what each server is, which are unusable and why, where we looked.

Made by `load`. Nothing here shows a secret when it is printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ..core.errors import SettingsError, UnknownServer
from ..core.names import nearest
from ..core.questions import ANSWER_SECONDS
from ..core.shell import shown_command
from .auth import AuthSettings
from .secret_rules import masked_args, masked_url, secrets_in_text
from .secrets import MASK, Secrets

TransportName: TypeAlias = Literal["stdio", "http", "sse"]
ProtocolMode: TypeAlias = Literal["auto", "legacy", "2026-07-28"]
"""auto: find out. legacy: the handshake of 2025-11-25 and before. 2026-07-28: only that."""

Elicitation: TypeAlias = Literal["ask", "decline", "defaults"]
"""ask: whoever makes the call. decline: the server is told that nobody can be asked. defaults:
accept with the form's own defaults where every field that is needed has one."""

Sampling: TypeAlias = Literal["refuse", "allow"]
"""Whether a server may ask the model of the agent that calls it."""

LogLevel: TypeAlias = Literal[
    "off", "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
]
"""The least serious of a server's log messages that are wanted."""

SAMPLING_MAX_TOKENS = 1000  # a page: enough to sum up or to judge, not to write a book
SAMPLING_MAX_CALLS = 5  # of one tool call: a loop with tools of its own, not one without end
CALL_TIMEOUT_SECONDS = 60.0  # long enough for a slow search or build, short enough to notice
START_TIMEOUT_SECONDS = 30.0  # npx and uvx download the server on first use
PROBE_TIMEOUT_SECONDS = 5.0  # a few real servers ignore what they do not know; many start slowly
LIST_TIMEOUT_SECONDS = 30.0
CLOSE_TIMEOUT_SECONDS = 2.0  # servers flush their logs and databases when their input ends

ALL_TOOLS = "*"


@dataclass(frozen=True, repr=False)
class ServerSettings:
    """One entry under `mcpServers`, complete: variables replaced, paths absolute, limits known.

    `transport` says which fields count: `command`, `args`, `env`, `cwd` for stdio; `url`,
    `headers` for http (Streamable HTTP) and sse. `env` is what to add to the server's
    environment. `roots` are the folders it is told of; None: those of its arguments, else the
    working folder. `auto_approve` names tools that need no approval (`ALL_TOOLS`: none does). With
    `pin` its tools are held to the definitions that were accepted. The texts of a disabled server
    are kept as they were written. `auth` is how we may get access to a
    server behind a URL. `secrets` are the known secrets of the whole file.

    Printing it shows names, never the values of `env` and `headers`, nor secrets in the rest.
    `dataclasses.asdict` shows everything.
    """

    name: str
    transport: TransportName
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    mode: ProtocolMode = "auto"
    call_timeout_seconds: float = CALL_TIMEOUT_SECONDS
    start_timeout_seconds: float = START_TIMEOUT_SECONDS
    probe_timeout_seconds: float = PROBE_TIMEOUT_SECONDS
    list_timeout_seconds: float = LIST_TIMEOUT_SECONDS
    close_timeout_seconds: float = CLOSE_TIMEOUT_SECONDS
    elicitation: Elicitation = "ask"
    elicitation_timeout_seconds: float = ANSWER_SECONDS
    sampling: Sampling = "refuse"
    sampling_max_tokens: int = SAMPLING_MAX_TOKENS
    sampling_max_calls: int = SAMPLING_MAX_CALLS
    roots: tuple[str, ...] | None = None
    log_level: LogLevel = "warning"
    transport_is_guess: bool = False  # http because nothing names it: it may be sse
    disabled: bool = False
    auto_approve: tuple[str, ...] = ()
    disabled_tools: tuple[str, ...] = ()
    pin: bool = False
    auth: AuthSettings = field(default_factory=AuthSettings)
    secrets: Secrets = field(default_factory=Secrets, compare=False)

    def approves(self, tool: str) -> bool:
        """Whether the settings say that this tool may run without asking."""
        return ALL_TOOLS in self.auto_approve or tool in self.auto_approve

    @property
    def target(self) -> str:
        """The command line or the URL, for a person to read and paste: without secrets."""
        if self.transport != "stdio":
            return self.secrets.mask(masked_url(self.url))
        return shown_command(self._shown(self.command), *masked_args(self.args, self.secrets))

    def __repr__(self) -> str:
        shown = {
            "name": self.name,
            "transport": self.transport,
            "target": self.target,
            "env": dict.fromkeys(self.env, MASK),
            "cwd": self._shown(self.cwd),
            "headers": dict.fromkeys(self.headers, MASK),
            "auth": self.auth,
            "mode": self.mode,
            "call_timeout_seconds": self.call_timeout_seconds,
            "start_timeout_seconds": self.start_timeout_seconds,
            "probe_timeout_seconds": self.probe_timeout_seconds,
            "list_timeout_seconds": self.list_timeout_seconds,
            "close_timeout_seconds": self.close_timeout_seconds,
            "elicitation": self.elicitation,
            "elicitation_timeout_seconds": self.elicitation_timeout_seconds,
            "sampling": self.sampling,
            "sampling_max_tokens": self.sampling_max_tokens,
            "sampling_max_calls": self.sampling_max_calls,
            "roots": self.roots,
            "log_level": self.log_level,
            "disabled": self.disabled,
            "auto_approve": self.auto_approve,
            "disabled_tools": self.disabled_tools,
            "pin": self.pin,
        }
        return f"ServerSettings({', '.join(f'{name}={x!r}' for name, x in shown.items())})"

    def _shown(self, text: str) -> str:
        return self.secrets.mask(Secrets(secrets_in_text(text)).mask(text))


@dataclass(frozen=True)
class Settings:
    """All servers of one settings file.

    `file` is its path, a description when the settings were given in Python, or empty when no
    file was found. `servers` are the usable ones, also those that are switched off (`disabled`);
    `problems` says why the others are not usable. `secrets` are all secret texts seen.
    `searched` tells where a file was looked for, `notes` what was ignored or looks misspelled.
    `store` is where the history is kept, as it is written there; `record` says what it keeps of
    calls, `arguments` and `results`.
    """

    file: str
    servers: dict[str, ServerSettings] = field(default_factory=dict[str, ServerSettings])
    problems: dict[str, SettingsError] = field(default_factory=dict[str, SettingsError])
    secrets: Secrets = field(default_factory=Secrets)
    searched: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    store: str = ""
    record: frozenset[str] = frozenset()
    is_from_python: bool = False

    @property
    def names(self) -> list[str]:
        """The names of all servers in the file, the usable ones first."""
        return [*self.servers, *(name for name in self.problems if name not in self.servers)]

    def server(self, name: str) -> ServerSettings:
        """The server with this name, which may be disabled.

        Raises:
            UnknownServer: there is none; names the nearest and says what to do.
            SettingsError: there is one, and something in its entry is wrong.
        """
        if name in self.servers:
            return self.servers[name]
        problem = self.problems.get(name)
        if problem is not None:
            # A new one each time: a raised exception collects the tracebacks of its travels.
            raise SettingsError(problem.file, problem.key_path, problem.problem, problem.fix)
        raise self._unknown(name)

    def _unknown(self, name: str) -> UnknownServer:
        known = self._nearest_first(name)
        if not self.file:
            return UnknownServer(_no_file(name, self.searched), name, known)
        names = ", ".join(_printable(x) for x in known)
        having = f"Known: {names}." if names else "It has no servers."
        fix = "Correct the name, or add it under `mcpServers`."
        message = f"No MCP server {name!r} in {self.file}. {having} {fix}"
        return UnknownServer(message, name, known)

    def _nearest_first(self, name: str) -> list[str]:
        return list(dict.fromkeys([*nearest(name, self.names), *sorted(self.names)]))


def _no_file(name: str, searched: tuple[str, ...]) -> str:
    where = f" Looked for {', '.join(searched)}." if searched else ""
    return (
        f"No MCP server {name!r}: no mcp_settings.json was found.{where} "
        "Run `xai-mcp-agent init` to write one, or name yours in XAI_MCP_SETTINGS."
    )


def _printable(name: str) -> str:
    return name if name and name.isprintable() else ascii(name)
