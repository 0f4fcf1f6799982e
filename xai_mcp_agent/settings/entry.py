"""One entry of the settings: from what is written to a `ServerSettings`.

Decides the transport, replaces `${...}`, and checks what the far side would trip over, so that
a person hears of it with a key path instead of from a library.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

from ..core.errors import SettingsError
from ..core.names import nearest
from .auth import AuthSettings
from .document import Place
from .entry_auth import read_auth, secrets_in_auth
from .interpolation import Variables
from .models import ServerSettings, TransportName
from .secret_rules import secrets_in_args, secrets_in_env, secrets_in_headers, secrets_in_text
from .written import Written, read_written, unknown_keys

_TRANSPORTS: dict[str, TransportName] = {
    "stdio": "stdio",
    "http": "http",
    "streamablehttp": "http",
    "sse": "sse",
}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e]*")
_URL_TEXT = re.compile(r"[^\s\x00-\x1f\x7f]+")


def read_entry(name: str, value: Any, place: Place, variables: Variables) -> ServerSettings:
    """The server that the entry `value` at `place` describes; its secrets are remembered.

    Raises:
        SettingsError: something in it is wrong or missing.
    """
    if not name:
        raise place.error("a server needs a name.", "Put one before the colon.")
    written = read_written(value, place, variables.secrets)
    if not written.urls and not (written.command or "").strip():
        raise _nothing_to_reach(written, value, place)
    server = _Reader(written, place, variables).server(name)
    variables.secrets.update(_secrets_of(server))
    return server


def ignored_parts(server: ServerSettings, place: Place) -> Iterator[str]:
    """A note for each part of an entry that its transport has no use for."""
    unused: dict[str, object] = {"env": server.env}
    if server.transport == "stdio":
        unused = {"headers": server.headers, "auth": server.auth.use == "yes"}
    for key, value in unused.items():
        if value:
            yield place.at(key).note(f"ignored, a server of type {server.transport} has no {key}.")


@dataclass(frozen=True)
class _Reader:
    """Reads one entry that says how its server is reached."""

    written: Written
    place: Place
    variables: Variables

    def server(self, name: str) -> ServerSettings:
        written = self.written
        key, url = self._url()
        transport = self._transport(key, url)
        remote = transport != "stdio"
        return ServerSettings(
            name=name,
            transport=transport,
            transport_is_guess=transport == "http" and self._named_transport() is None,
            command="" if remote else self._command(),
            args=tuple(self._text(x, "args", i) for i, x in enumerate(written.args)),
            env=dict(self._variable(name, x) for name, x in written.env.items()),
            cwd=self._cwd(),
            url=self._checked_url(key, url) if remote else "",
            headers=dict(self._header(name, x) for name, x in written.headers.items()),
            mode=written.mode,
            call_timeout_seconds=float(written.timeout),
            start_timeout_seconds=float(written.start_timeout),
            probe_timeout_seconds=float(written.probe_timeout),
            list_timeout_seconds=float(written.list_timeout),
            close_timeout_seconds=float(written.close_timeout),
            elicitation=written.elicitation,
            elicitation_timeout_seconds=float(written.elicitation_timeout),
            sampling=written.sampling,
            sampling_max_tokens=written.sampling_max_tokens,
            sampling_max_calls=written.sampling_max_calls,
            roots=self._roots(),
            log_level=written.log_level,
            disabled=written.off,
            auto_approve=tuple(dict.fromkeys([*written.auto_approve, *written.always_allow])),
            disabled_tools=tuple(written.disabled_tools),
            pin=written.pin,
            auth=self._auth(),
            secrets=self.variables.secrets,
        )

    def _transport(self, key: str, url: str) -> TransportName:
        named = self._named_transport()
        has_command = bool((self.written.command or "").strip())
        if named is None and has_command and url:
            problem = f"both `command` and `{key}` are given, and no `type`."
            raise self.place.error(problem, 'Remove one, or add "type": "stdio" or "http".')
        transport = named or ("stdio" if has_command else _transport_of(key, url))
        if transport == "stdio" and not has_command:
            raise self.place.error("the type is stdio, but there is no `command`.", "Add it.")
        if transport != "stdio" and not url:
            raise self.place.error(f"the type is {transport}, but there is no `url`.", "Add it.")
        return transport

    def _named_transport(self) -> TransportName | None:
        found: dict[str, TransportName] = {}
        for key, text in (("type", self.written.type), ("transport", self.written.transport)):
            if text is not None:
                found[key] = self._known_transport(key, text)
        if len(set(found.values())) > 1:
            raise self.place.error("`type` and `transport` differ.", "Remove one of them.")
        return next(iter(found.values()), None)

    def _known_transport(self, key: str, text: str) -> TransportName:
        transport = _TRANSPORTS.get(re.sub("[-_ ]", "", text).lower())
        if transport is None:
            fix = "Write stdio, http or sse, or leave it out."
            raise self.place.at(key).error("this is not a transport we know.", fix)
        return transport

    def _url(self) -> tuple[str, str]:
        """The key the URL is under, and the URL; both empty when there is none."""
        urls = self.written.urls
        if len(urls) > 1:
            keys = " and ".join(f"`{key}`" for key in urls)
            raise self.place.error(f"{keys} are given at once.", "Remove all but one.")
        for key, url in urls.items():
            return key, self._text(url, key).strip()
        return "", ""

    def _checked_url(self, key: str, url: str) -> str:
        problem = "" if self.written.off else _wrong_with_url(url)
        if problem:
            fix = "Write a full address such as https://example.com/mcp."
            raise self.place.at(key).error(problem, fix)
        return url

    def _command(self) -> str:
        command = self._text(self.written.command or "", "command").strip()
        if not command:
            raise self.place.at("command").error("it is empty.", "Name the program to start.")
        return command

    def _cwd(self) -> str:
        cwd = self._text(self.written.cwd, "cwd").strip()
        return os.path.normpath(os.path.join(self.variables.folder, cwd))

    def _roots(self) -> tuple[str, ...] | None:
        if self.written.roots is None:
            return None
        texts = [self._text(x, "roots", i) for i, x in enumerate(self.written.roots)]
        return tuple(os.path.normpath(os.path.join(self.variables.folder, x)) for x in texts)

    def _variable(self, name: str, text: str) -> tuple[str, str]:
        if not name or "=" in name or "\0" in name or not _is_encodable(name):
            fix = "Use letters, digits and underscores."
            raise self.place.at("env").error("this is not the name of a variable.", fix)
        return name, self._text(text, "env", name)

    def _header(self, name: str, text: str) -> tuple[str, str]:
        there = self.place.at("headers", name)
        if not _HEADER_NAME.fullmatch(name):
            fix = "Use letters, digits and hyphens, without the colon."
            raise self.place.at("headers").error("this is not the name of a header.", fix)
        value = self._text(text, "headers", name).strip()
        if not _HEADER_VALUE.fullmatch(value):
            raise there.error(
                "it has a line break or a character that headers cannot carry.",
                "Use plain ASCII on one line; look at the variables in it too.",
            )
        return name, value

    def _auth(self) -> AuthSettings:
        """How we may get access; a header that is configured says that already."""
        has_header = any(name.lower() == "authorization" for name in self.written.headers)
        written = {"auth": self.written.auth, "oauth": self.written.oauth}
        given = {key: value for key, value in written.items() if value is not None}
        if len(given) > 1:
            raise self.place.error("both `auth` and `oauth` are given.", "Remove one of them.")
        for key, value in given.items():
            if has_header and value.enabled:
                problem = f"both `{key}` and the header `Authorization` are given."
                raise self.place.error(problem, "Remove one of them.")
            if self.written.off:
                break
            return read_auth(value, key, self.place, self._text)
        return AuthSettings(use="no" if has_header else "auto")

    def _text(self, text: str, *keys: str | int) -> str:
        """`text` with its variables replaced; as it is when the server is switched off."""
        # The place is made only where it is needed: settings are read before any server starts.
        if "${" in text:
            text = self._expanded(text, self.place.at(*keys))
        if "\0" in text or not _is_encodable(text):
            fix = "Remove the character U+0000 or the broken escape."
            there = self.place.at(*keys)
            raise there.error("it has a character that no program can be given.", fix)
        return text

    def _expanded(self, text: str, there: Place) -> str:
        try:
            return self.variables.expand(text, there)
        except SettingsError:
            # Nobody needs to set the variables of a server that is not used.
            if not self.written.off:
                raise
            return text


def _transport_of(key: str, url: str) -> TransportName:
    """The transport of a URL without a type: the old SSE servers are known by their path."""
    path = url.partition("?")[0].partition("#")[0].rstrip("/")
    return "sse" if path.endswith("/sse") and key != "httpUrl" else "http"


def _wrong_with_url(url: str) -> str:
    """What is wrong with a URL, or nothing. Never quotes it."""
    if not url.lower().startswith(("http://", "https://")):
        return "it does not start with http:// or https://."
    if not _URL_TEXT.fullmatch(url):
        return "it has a blank or a line break in it."
    try:
        parts = urlsplit(url)
        # Reading the port is what checks it.
        host_and_port = parts.hostname, parts.port
    except ValueError:
        return "its host or port cannot be understood."
    return "" if host_and_port[0] else "it names no host."


def _nothing_to_reach(written: Written, value: Any, place: Place) -> SettingsError:
    if written.command is not None:
        return place.at("command").error("it is empty.", "Name the program to start.")
    problem = "there is neither a `command` nor a `url`."
    for key in unknown_keys(value):
        meant = nearest(key, ("command", "url", "serverUrl", "httpUrl"), count=1)
        if meant:
            return place.error(problem, f"Rename {key!r} to {meant[0]!r}.")
    return place.error(problem, "Add `command` to start a server, or `url` to reach one.")


def _secrets_of(server: ServerSettings) -> Iterator[str]:
    return chain(
        secrets_in_text(server.command),
        secrets_in_args(server.args),
        secrets_in_env(server.env),
        secrets_in_text(server.url),
        secrets_in_headers(server.headers),
        secrets_in_auth(server.auth),
    )


def _is_encodable(text: str) -> bool:
    try:
        # As the operating system gets it: variables may hold bytes that are not UTF-8.
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True
