"""A real authorization server on loopback, and a real MCP server that it protects.

It checks what matters (the registered redirect address, PKCE, one use of each code, rotation of
refresh tokens, clients' secrets and signatures) and records its requests. Tests turn its
attributes to have it misbehave.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import secrets
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode

import anyio
import httpx2
import jwt
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import Context, MCPServer
from starlette.applications import Starlette
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route

from tests.support.web_server import serving
from xai_mcp_agent import Bridge, SignIn, SignInRequest

_BROWSER_SECONDS = 20.0
_TOKEN_SECONDS = 3600
SCOPE = "tools"


@dataclass
class _Grant:
    """The rights of one code or refresh token."""

    client_id: str
    scope: str
    challenge: str = ""
    redirect_uri: str = ""


@dataclass
class AuthorizationServer:
    """`requests` has one word for each request; other attributes change its behaviour.

    `denies`: the error a person's browser is sent back with.
    `shows_page`: a person agrees or refuses there; without it everybody agrees at once.
    `redirect_issuer`: the `iss` in redirects; None: its own, empty: none.
    `grants`: the most it gives.
    """

    url: str = ""
    requests: list[str] = field(default_factory=list)
    denies: str = ""
    shows_page: bool = False
    registers: bool = True
    codes_are_expired: bool = False
    is_down: bool = False
    redirect_issuer: str | None = None
    grants: frozenset[str] | None = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    clients: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    public_key: str = ""
    codes: dict[str, _Grant] = field(default_factory=dict[str, _Grant])
    tokens: dict[str, tuple[str, float]] = field(default_factory=dict[str, tuple[str, float]])
    refresh_tokens: dict[str, _Grant] = field(default_factory=dict[str, _Grant])
    requested_scopes: list[str] = field(default_factory=list[str])

    def app(self, url: str) -> Starlette:
        """Return the web application for this address."""
        self.url = url
        routes = [
            Route("/.well-known/oauth-authorization-server", self._metadata),
            Route("/register", self._register, methods=["POST"]),
            Route("/authorize", self._authorize),
            Route("/token", self._token, methods=["POST"]),
        ]
        return Starlette(routes=routes)

    def add_client(self, client_id: str, secret: str) -> None:
        """Add a client as if a person had registered it."""
        self.clients[client_id] = {"client_secret": secret, "redirect_uris": None}

    def revoke_tokens(self) -> None:
        """Revoke all tokens, also refresh tokens."""
        self.tokens.clear()
        self.refresh_tokens.clear()

    def end_access_tokens(self) -> None:
        """End all access tokens; they can be renewed."""
        self.tokens.clear()

    def scope_of(self, token: str) -> str | None:
        """Return the scope of a token, or None if it is not valid."""
        scope, until = self.tokens.get(token, ("", 0.0))
        return scope if until > time.time() else None

    def count(self, word: str) -> int:
        """Return how many requests it has had of this type."""
        return self.requests.count(word)

    async def _metadata(self, _request: Request) -> Response:
        self.requests.append("metadata")
        fields = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "registration_endpoint": f"{self.url}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
        return JSONResponse({**fields, **self.metadata})

    async def _register(self, request: Request) -> Response:
        self.requests.append("register")
        if not self.registers:
            return PlainTextResponse("not here", 403)
        client_id = f"client-{secrets.token_hex(4)}"
        self.clients[client_id] = {"client_secret": "", **await request.json()}
        return JSONResponse({**await request.json(), "client_id": client_id}, 201)

    async def _authorize(self, request: Request) -> Response:
        self.requests.append("authorize")
        query = request.query_params
        client = self.clients.get(query["client_id"])
        redirect_uris = client and client["redirect_uris"]
        if client is None or (redirect_uris and query["redirect_uri"] not in redirect_uris):
            return PlainTextResponse("unknown client, or another redirect_uri", 400)
        if query["response_type"] != "code" or query["code_challenge_method"] != "S256":
            return PlainTextResponse("no code with S256", 400)
        if self.shows_page and "decision" not in query:
            return HTMLResponse(_agreement(query))
        self.requested_scopes.append(query.get("scope", ""))
        fields = {"state": query["state"]}
        issuer = self.url if self.redirect_issuer is None else self.redirect_issuer
        fields |= {"iss": issuer} if issuer else {}
        denial = "access_denied" if query.get("decision") == "refuse" else self.denies
        if denial:
            fields |= {"error": denial, "error_description": "The person said no."}
        else:
            fields["code"] = secrets.token_urlsafe(16)
            self.codes[fields["code"]] = _Grant(
                query["client_id"],
                query.get("scope", ""),
                query["code_challenge"],
                query["redirect_uri"],
            )
        return RedirectResponse(f"{query['redirect_uri']}?{urlencode(fields)}", 302)

    async def _token(self, request: Request) -> Response:
        form = {name: str(value) for name, value in (await request.form()).items()}
        self.requests.append(form["grant_type"])
        if self.is_down:
            return PlainTextResponse("out of order", 503)
        client_id = self._client(request, form)
        if client_id is None:
            return _error_reply("invalid_client", 401)
        match form["grant_type"]:
            case "authorization_code":
                return self._for_code(form, client_id)
            case "refresh_token":
                return self._for_refresh_token(form, client_id)
            case "client_credentials":
                return self._give(_Grant(client_id, form.get("scope", SCOPE)), renewable=False)
            case _:
                return _error_reply("unsupported_grant_type")

    def _client(self, request: Request, form: dict[str, str]) -> str | None:
        """Return the client of a request, if it authenticates itself."""
        how, _, credentials = request.headers.get("authorization", "").partition(" ")
        client_id, secret = form.get("client_id", ""), form.get("client_secret", "")
        if how.lower() == "basic":
            user, _, password = base64.b64decode(credentials).decode().partition(":")
            client_id, secret = unquote(user), unquote(password)
        elif "client_assertion" in form:
            claims = jwt.decode(
                form["client_assertion"], self.public_key, ["RS256", "ES256"], audience=self.url
            )
            return claims["sub"]
        client = self.clients.get(client_id)
        return client_id if client and client["client_secret"] == secret else None

    def _for_code(self, form: dict[str, str], client_id: str) -> Response:
        grant = self.codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if grant is None or self.codes_are_expired:
            return _error_reply("invalid_grant", description="the code has expired")
        if (grant.client_id, grant.challenge) != (client_id, challenge):
            return _error_reply("invalid_grant", description="wrong proof")
        if grant.redirect_uri != form["redirect_uri"]:
            return _error_reply("invalid_grant", description="wrong address")
        return self._give(grant)

    def _for_refresh_token(self, form: dict[str, str], client_id: str) -> Response:
        grant = self.refresh_tokens.pop(form["refresh_token"], None)
        if grant is None or grant.client_id != client_id:
            return _error_reply("invalid_grant", description="the refresh token was used before")
        return self._give(grant)

    def _give(self, grant: _Grant, *, renewable: bool = True) -> Response:
        scopes = [x for x in grant.scope.split() if self.grants is None or x in self.grants]
        grant = replace(grant, scope=" ".join(scopes))
        token, refresh = f"access-{secrets.token_urlsafe(24)}", f"refresh-{secrets.token_urlsafe()}"
        self.tokens[token] = (grant.scope, time.time() + _TOKEN_SECONDS)
        fields = {"access_token": token, "token_type": "Bearer", "expires_in": _TOKEN_SECONDS}
        if renewable:
            self.refresh_tokens[refresh] = grant
            fields["refresh_token"] = refresh
        return JSONResponse({**fields, "scope": grant.scope})


@dataclass
class Protected:
    """An MCP server that wants a token of `service`. `tokens` are the tokens it has received.

    `scope_for` has the additional scope that a tool requires. `refuses_all`: it accepts no token.
    """

    service: AuthorizationServer
    url: str = ""
    tokens: list[str] = field(default_factory=list[str])
    scope_for: dict[str, str] = field(default_factory=dict[str, str])
    refuses_all: bool = False
    has_moved: bool = False

    @property
    def entry(self) -> dict[str, Any]:
        """Its entry in the settings."""
        return {"url": f"{self.url}/mcp"}

    def app(self, url: str) -> Any:
        """Return the web application for this address."""
        self.url = url
        server = MCPServer(
            "protected",
            log_level="CRITICAL",
            token_verifier=_Verifier(self),
            auth=AuthSettings(
                issuer_url=self.service.url,
                resource_server_url=f"{url}/mcp",
                required_scopes=[SCOPE],
                validate_token_resource=True,
            ),
        )
        _add_tools(server)
        app = server.streamable_http_app()

        async def dispatch(request: Request, call_next: Any) -> Response:
            return await self.instead(request) or await call_next(request)

        app.add_middleware(BaseHTTPMiddleware, dispatch=dispatch)
        return app

    @contextmanager
    def renewed(self) -> Generator[None]:
        """Reset it and its service for the length of a block."""
        service = self.service
        for key, value in vars(AuthorizationServer(url=service.url)).items():
            setattr(service, key, value)
        for key, value in vars(Protected(service, self.url)).items():
            setattr(self, key, value)
        yield
        self.service = service

    def move_to(self, service: AuthorizationServer) -> None:
        """Let another service issue its tokens from now on."""
        self.service, self.has_moved = service, True

    async def instead(self, request: Request) -> Response | None:
        """Return a response in place of the server's, or None."""
        if self.has_moved and "oauth-protected-resource" in request.url.path:
            servers = {"resource": f"{self.url}/mcp", "authorization_servers": [self.service.url]}
            return JSONResponse(servers)
        if request.method != "POST":
            return None
        scope = self.scope_for.get(_tool_in(await request.body()), "")
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        scopes_granted = (self.service.scope_of(token) or "").split()
        if not scope or not scopes_granted or scope in scopes_granted:
            return None
        challenge = f'Bearer error="insufficient_scope", scope="{scope}"'
        return PlainTextResponse("more", 403, {"www-authenticate": challenge})


class _Verifier:
    def __init__(self, protected: Protected) -> None:
        self._protected = protected

    async def verify_token(self, token: str) -> AccessToken | None:
        self._protected.tokens.append(token)
        scope = self._protected.service.scope_of(token)
        if scope is None or self._protected.refuses_all:
            return None
        resource = f"{self._protected.url}/mcp"
        return AccessToken(
            token=token, client_id="x", scopes=scope.split() or [SCOPE], resource=resource
        )


def _add_tools(server: MCPServer) -> None:
    @server.tool()
    def who(ctx: Context) -> str:
        """The token of this request, backwards: as it is, it would be masked."""
        return (ctx.headers or {}).get("authorization", "")[::-1]

    @server.tool()
    async def wait() -> str:
        """Never answer."""
        await anyio.sleep_forever()
        return "never"

    @server.tool()
    def admin() -> str:
        """Something that may want more rights."""
        return "done"


def _agreement(query: Mapping[str, str]) -> str:
    """Return the page on which a person is asked whether the client may have access."""
    fields = "".join(
        f'<input type="hidden" name="{html.escape(name)}" value="{html.escape(value)}">'
        for name, value in query.items()
    )
    buttons = "".join(
        f'<button name="decision" value="{x}">{x.title()}</button>' for x in ("agree", "refuse")
    )
    return f"<!doctype html><title>The service</title><form>{fields}{buttons}</form>"


def _tool_in(body: bytes) -> str:
    try:
        message = json.loads(body)
    except ValueError:
        return ""
    is_call = message.get("method") == "tools/call"
    return message["params"]["name"] if is_call else ""


def _error_reply(error: str, status: int = 400, description: str = "") -> Response:
    more = {"error_description": description} if description else {}
    return JSONResponse({"error": error, **more}, status)


@contextmanager
def protected_server(**options: Any) -> Generator[Protected]:
    """Yield an authorization server with these attributes, and an MCP server that it protects."""
    with ExitStack() as stack:
        service = AuthorizationServer(**options)
        stack.enter_context(serving(service.app))
        protected = Protected(service)
        stack.enter_context(serving(protected.app))
        yield protected


def go_there(request: SignInRequest) -> str:
    """Sign in like a program: request the page, and return where it redirects."""
    answer = httpx2.get(request.url, follow_redirects=False, timeout=_BROWSER_SECONDS)
    return answer.headers.get("location", "")


def browse(url: str) -> str:
    """Sign in like a browser: request the page, follow its redirects, and return the last page."""
    return httpx2.get(url, follow_redirects=True, timeout=_BROWSER_SECONDS).text


def bridge_to(
    protected: Protected, folder: Path, sign_in: SignIn | None = go_there, **more: Any
) -> Bridge:
    """Return a bridge to this server alone, as `it`; tokens are kept in the folder."""
    servers = {"it": {**protected.entry, **more}}
    return Bridge({"mcpServers": servers}, sign_in=sign_in, token_folder=folder)
