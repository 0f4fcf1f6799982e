"""What a server logs (MCP: logging): kept with its other last words, passed to Python's logging.

It may log faster than anybody reads: then lines are counted and left out.
"""

from __future__ import annotations

import json
import logging
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast, get_args

from ....settings.server import ServerSettings
from ..stdio.stderr import StderrLog
from ..wire.streams import is_modern

if TYPE_CHECKING:
    from mcp import Client

# Its loggers; whoever sets up logging sees them, and nobody else: no run asked for these words.
SERVERS = logging.getLogger("xai_mcp_agent.servers")
SERVERS.addHandler(logging.NullHandler())

_Wanted: TypeAlias = Literal[
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
]
_LEVELS: tuple[str, ...] = get_args(_Wanted)  # the least serious first
_IN_PYTHON = {
    "debug": logging.DEBUG, "info": logging.INFO, "notice": logging.INFO,
    "warning": logging.WARNING, "error": logging.ERROR,
}  # fmt: skip
# A person reads a few lines a second; the last words of a server are a dozen lines.
_MOST_IN_A_SECOND = 50
_MOST_CHARS = 2000
# Turning what is no text into one costs time; more of it would be cut anyway.
_MOST_NESTED_CHARS = 20_000


def logger_of(server: str) -> logging.Logger:
    """Where the words of this server, and what is to say about it, are logged."""
    return SERVERS.getChild(server)


class ServerLog:
    """The log messages of one connection."""

    def __init__(self, settings: ServerSettings, words: StderrLog) -> None:
        self._logger = logger_of(settings.name)
        self._level = settings.log_level
        self._words = words
        self._second = self._count = 0

    @property
    def level(self) -> _Wanted | None:
        """The least serious level that is asked for; None: nothing is."""
        return cast(_Wanted, self._level) if self._level != "off" else None

    async def ask_for_it(self, client: Client) -> None:
        """Tell a server of the handshake era what is wanted; later ones are told by each request.

        A server that refuses goes on without.
        """
        import mcp_types as types
        from mcp import MCPError

        capabilities = client.server_capabilities
        if self.level is None or capabilities.logging is None or is_modern(client.protocol_version):
            return
        try:
            # Not by its own method, which warns whoever reads stderr that all this is deprecated.
            params = types.SetLevelRequestParams(level=self.level)
            request = types.SetLevelRequest(params=params)
            await client.session.send_request(request, types.EmptyResult)
        except MCPError as cause:
            self._logger.debug("it takes no level for its log: %s", cause)

    def take(self, message: dict[str, Any]) -> None:
        """One message as it came. Called for each, so it is quick; never raises."""
        level = message.get("level")
        if not isinstance(level, str) or not self._is_wanted(level) or not self._has_room():
            return
        source = message.get("logger")
        origin = f" {source[:_MOST_CHARS]}:" if isinstance(source, str) and source else ""
        line = f"log, {level}:{origin} {_text(message.get('data'))}"
        shown = self._words.add(line)
        if shown:
            self._logger.log(_IN_PYTHON.get(level, logging.CRITICAL), "%s", shown)

    def _is_wanted(self, level: str) -> bool:
        if self._level == "off" or level not in _LEVELS:
            return False
        return _LEVELS.index(level) >= _LEVELS.index(self._level)

    def _has_room(self) -> bool:
        """Whether this second has room for one more; the first of a second tells of those lost."""
        second = int(monotonic())
        if second != self._second:
            lost, self._second, self._count = self._count - _MOST_IN_A_SECOND, second, 0
            if lost > 0:
                self._logger.warning("it logged %d more lines within a second; left out", lost)
        self._count += 1
        return self._count <= _MOST_IN_A_SECOND


def _text(data: Any) -> str:
    """What was logged, on one line."""
    if not isinstance(data, str):
        try:
            data = json.dumps(data, ensure_ascii=False)[:_MOST_NESTED_CHARS]
        except (ValueError, RecursionError):
            data = "(something that cannot be shown)"
    return " ".join(data[:_MOST_NESTED_CHARS].split())
