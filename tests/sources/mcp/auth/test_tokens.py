"""Tokens that expire, are renewed, revoked or refused, and never leak."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.support.authorization_server import Protected, bridge_to, protected_server
from tests.support.bridges import failure_of
from tests.support.warm_python import warm_python
from xai_mcp_agent import ServerError
from xai_mcp_agent.bridge.operations import Operations

_CHILD_SECONDS = 60
# Says when it is ready, waits for a line, then calls; prints the answer.
_CALLER = """
import sys
from xai_mcp_agent import Bridge
url, folder = sys.argv[1:]
with Bridge({"mcpServers": {"it": {"url": url}}}, token_folder=folder) as bridge:
    bridge.list_tools("it")
    print("ready", flush=True)
    sys.stdin.readline()
    print(bridge.call_tool("it", "who").text)
"""


def sign_in_before(protected: Protected, folder: Path) -> None:
    """Sign in, in another run."""
    with bridge_to(protected, folder) as bridge:
        bridge.list_tools("it")


def test_a_token_that_expired_between_runs_is_renewed(protected: Protected, tmp_path: Path):
    """The plain SDK forgets when a token expires, and asks for a new sign-in."""
    sign_in_before(protected, tmp_path)
    file = next(tmp_path.glob("*.json"))
    file.write_text(json.dumps({**json.loads(file.read_text()), "expires_at": 1.0}))
    with bridge_to(protected, tmp_path, sign_in=None) as bridge:
        assert bridge.call_tool("it", "who").text
    assert protected.service.count("refresh_token") == 1
    assert protected.service.count("authorize") == 1


def test_a_revoked_token_fails_a_call_and_keeps_the_connection(
    protected: Protected, tmp_path: Path
):
    sign_in_before(protected, tmp_path)
    with bridge_to(protected, tmp_path, sign_in=None) as bridge:
        bridge.list_tools("it")
        protected.service.revoke_tokens()
        with pytest.raises(ServerError) as raised:
            bridge.call_tool("it", "who")
        assert "xai-mcp-agent login it" in raised.value.next_step
        sign_in_before(protected, tmp_path)
        assert bridge.call_tool("it", "who").text, "another program has signed in meanwhile"


def test_the_refresh_token_survives_while_the_service_is_down(protected: Protected, tmp_path: Path):
    with bridge_to(protected, tmp_path) as bridge:
        bridge.list_tools("it")
        protected.service.end_access_tokens()
        protected.service.is_down = True
        with pytest.raises(ServerError) as raised:
            bridge.call_tool("it", "who")
        assert "cannot be reached: HTTP 503" in raised.value.problem
    protected.service.is_down = False
    with bridge_to(protected, tmp_path, sign_in=None) as bridge:
        assert bridge.call_tool("it", "who").text


def test_two_processes_renew_a_token_once(protected: Protected, tmp_path: Path):
    """A refresh token can be used once: the second process takes the first one's new token."""
    sign_in_before(protected, tmp_path)
    command = [warm_python(), "-c", _CALLER, f"{protected.url}/mcp", str(tmp_path)]
    pipe = subprocess.PIPE
    with (
        subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as child,
        bridge_to(protected, tmp_path, sign_in=None) as bridge,
    ):
        assert child.stdin
        assert child.stdout
        try:
            bridge.list_tools("it")
            assert child.stdout.readline() == "ready\n"
            protected.service.end_access_tokens()
            child.stdin.write("go\n")
            child.stdin.flush()
            ours = bridge.call_tool("it", "who").text
            theirs = child.communicate(timeout=_CHILD_SECONDS)[0]
        finally:
            child.kill()
    assert theirs.strip() == ours, "both use the same token"
    assert ours[::-1].startswith("Bearer access-")
    assert protected.service.count("refresh_token") == 1


def test_calls_at_once_share_one_renewal_and_run_side_by_side(protected: Protected, tmp_path: Path):
    """The plain SDK sends one request at a time to a server that requires a token."""
    with bridge_to(protected, tmp_path) as bridge:
        bridge.list_tools("it")
        protected.service.end_access_tokens()
        slow = bridge.submit(Operations.call_tool, "it", "wait")
        calls = [bridge.submit(Operations.call_tool, "it", "who") for _ in range(8)]
        assert len({call.result(20).text for call in calls}) == 1
        assert not slow.done()
        slow.cancel()
    assert protected.service.count("refresh_token") == 1


def test_a_new_sign_in_service_gets_no_credentials_of_the_old_one(
    protected: Protected, tmp_path: Path
):
    """MCP: credentials are bound to the issuer that issued them."""
    sign_in_before(protected, tmp_path)
    with protected_server() as other:
        protected.move_to(other.service)
        with bridge_to(protected, tmp_path) as bridge:
            token = bridge.call_tool("it", "who").text[::-1].removeprefix("Bearer ")
        assert token in other.service.tokens
        assert other.service.requests == ["metadata", "register", "authorize", "authorization_code"]


def test_tokens_are_in_no_error_or_log(
    protected: Protected, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    caplog.set_level("DEBUG")
    with bridge_to(protected, tmp_path) as bridge:
        token = bridge.call_tool("it", "who").text[::-1].removeprefix("Bearer ")
        stored = json.loads(next(tmp_path.glob("*.json")).read_text())["tokens"]
        masked = bridge.settings.secrets.redact(f"it is {token} or {stored['refresh_token']}")
        assert masked == "it is *** or ***"
        assert token not in repr(bridge.settings)
        protected.service.revoke_tokens()
        protected.service.denies = "access_denied"
        with pytest.raises(ServerError) as raised:
            bridge.call_tool("it", "who")
    assert token not in str(raised.value)
    assert token not in caplog.text
    assert stored["refresh_token"] not in caplog.text


ROBOT = {"grant": "client_credentials", "clientId": "robot", "scopes": "tools"}


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_machine_gets_a_token_with_its_secret(protected: Protected, tmp_path: Path, method: str):
    protected.service.add_client("robot", "secret of a robot")
    auth = ROBOT | {"clientSecret": "secret of a robot", "tokenEndpointAuthMethod": method}
    with bridge_to(protected, tmp_path, sign_in=None, auth=auth) as bridge:
        assert bridge.call_tool("it", "who").text
        protected.service.end_access_tokens()
        assert bridge.call_tool("it", "who").text
    assert protected.service.count("client_credentials") == 2
    assert protected.service.count("register") == 0


def test_a_machine_signs_with_its_key(protected: Protected, tmp_path: Path):
    private, protected.service.public_key = _key_pair()
    (tmp_path / "robot.pem").write_text(private)
    key = {"privateKeyFile": str(tmp_path / "robot.pem"), "signingAlgorithm": "ES256"}
    with bridge_to(protected, tmp_path, sign_in=None, auth=ROBOT | key) as bridge:
        assert bridge.call_tool("it", "who").text


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("clientSecret", "wrong-secret", "gave no token: HTTP 401 invalid_client"),
        ("privateKey", "not a key at all", "private key cannot be used"),
    ],
)
def test_an_error_about_wrong_credentials_of_a_machine_does_not_contain_them(
    protected: Protected, tmp_path: Path, name: str, value: str, problem: str
):
    protected.service.add_client("robot", "secret of a robot")
    with bridge_to(protected, tmp_path, sign_in=None, auth=ROBOT | {name: value}) as bridge:
        error = failure_of(bridge)
    assert problem in error.problem
    assert name != "clientSecret" or "Check `clientId`" in error.next_step
    assert value not in str(error)


def _key_pair() -> tuple[str, str]:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return private.decode(), public.decode()
