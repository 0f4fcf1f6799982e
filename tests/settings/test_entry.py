"""One server's entry: every accepted spelling, and every mistake with its place and fix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xai_mcp_agent import Secret, ServerSettings, SettingsError, settings_from

ENVIRON = {"NAME": "ada", "GITHUB_TOKEN": "tok-123456", "NEWLINE": "a\nb"}
FOLDER = Path("/srv/project")


def read(entry: Any) -> ServerSettings:
    settings = settings_from({"mcpServers": {"x": entry}}, folder=FOLDER, environ=ENVIRON)
    return settings.server("x")


def error_of(entry: Any) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        read(entry)
    return caught.value


def notes_on(entry: Any) -> str:
    return "\n".join(settings_from({"x": entry}, environ=ENVIRON).notes)


def test_a_command_is_a_stdio_server_with_everything_filled_in() -> None:
    server = read({"command": "npx", "args": ["-y", "${NAME}"], "env": {"A": "${NAME}"}})
    assert server == ServerSettings(
        name="x", transport="stdio", command="npx", args=("-y", "ada"), env={"A": "ada"},
        cwd=str(FOLDER), mode="auto", call_timeout_seconds=60.0, start_timeout_seconds=30.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("entry", "transport"),
    [
        ({"url": "https://h/mcp"}, "http"),
        ({"url": "https://h/sse"}, "sse"),
        ({"url": "https://h/sse/?a=b"}, "sse"),
        ({"url": "https://h/mcp?path=/sse"}, "http"),
        ({"url": "https://h/sse", "type": "http"}, "http"),
        ({"url": "https://h/mcp", "transport": "sse"}, "sse"),
        ({"httpUrl": "https://h/sse"}, "http"),
        ({"serverUrl": "https://h/mcp"}, "http"),
        ({"url": "https://h/mcp", "type": "streamable-http"}, "http"),
        ({"url": "https://h/mcp", "type": "streamableHttp"}, "http"),
        ({"url": "https://h/mcp", "transport": "streamable_http"}, "http"),
        ({"url": "https://h/mcp", "transport": "HTTP", "type": "http"}, "http"),
        ({"command": "a", "url": "https://h/mcp", "type": "http"}, "http"),
        ({"command": "a", "url": "https://h/mcp", "type": "stdio"}, "stdio"),
        ({"command": "a", "url": ""}, "stdio"),
        ({"command": None, "url": "https://h/mcp"}, "http"),
    ],
)
def test_the_transport_is_what_is_reported_or_what_fits(entry: Any, transport: str) -> None:
    server = read(entry)
    assert server.transport == transport
    assert bool(server.url) == (transport != "stdio")
    assert bool(server.command) == (transport == "stdio")


def test_a_url_and_its_headers_take_variables() -> None:
    server = read({"url": "https://${NAME}/mcp", "headers": {"X-Key": " Bearer ${GITHUB_TOKEN} "}})
    assert server.url == "https://ada/mcp"
    assert server.headers == {"X-Key": "Bearer tok-123456"}


@pytest.mark.parametrize(
    ("cwd", "folder"),
    [("", FOLDER), ("sub/..", FOLDER), ("sub", FOLDER / "sub"), ("/tmp", Path("/tmp"))],
)
def test_the_working_folder_starts_from_the_settings(cwd: str, folder: Path) -> None:
    assert read({"command": "a", "cwd": cwd}).cwd == str(folder)


def test_numbers_and_booleans_in_env_become_text() -> None:
    server = read({"command": "a", "env": {"PORT": 80, "RATIO": 0.5, "DEBUG": True, "OFF": False}})
    assert server.env == {"PORT": "80", "RATIO": "0.5", "DEBUG": "true", "OFF": "false"}


def test_limits_modes_and_tools_are_read() -> None:
    server = read(
        {"command": "a", "timeout": 5, "startTimeout": 0.5, "mode": "legacy",
         "autoApprove": ["one"], "alwaysAllow": ["one", "two"], "disabledTools": ["three"]}
    )  # fmt: skip
    assert (server.call_timeout_seconds, server.start_timeout_seconds) == (5.0, 0.5)
    assert (server.mode, server.auto_approve) == ("legacy", ("one", "two"))
    assert server.disabled_tools == ("three",)


def test_every_phase_has_a_limit_that_can_be_set() -> None:
    server = read({"command": "a", "probeTimeout": 1, "listTimeout": 2, "closeTimeout": 3})
    limits = server.probe_timeout_seconds, server.list_timeout_seconds, server.close_timeout_seconds
    assert limits == (1.0, 2.0, 3.0)


def test_all_tools_can_be_approved_at_once() -> None:
    server = read({"command": "a", "alwaysAllow": True})
    assert server.auto_approve == ("*",)
    assert not read({"command": "a", "autoApprove": False}).auto_approve


@pytest.mark.parametrize("entry", [{"disabled": True}, {"enabled": False}])
def test_a_server_can_be_switched_off_in_both_spellings(entry: Any) -> None:
    assert read({"command": "a", **entry}).disabled


@pytest.mark.parametrize(
    ("section", "entry"),
    [
        ("functions", {"file": "x.py"}), ("builtin", {"tools": ["read_file"]}),
        ("agents", {"url": "${NOPE}"}), ("openapiServices", {"spec": "${NOPE}"}),
        ("workflows", {"file": "x.py"}),
    ],
)  # fmt: skip
def test_a_source_of_any_kind_is_switched_off_as_a_server_is(section: str, entry: Any) -> None:
    """Other clients write `enabled`; taken for unknown, it left the source on."""
    for written in ({"disabled": True}, {"enabled": False}):
        settings = settings_from({section: {"x": {**entry, **written}}}, environ=ENVIRON)
        assert (settings.usable, settings.notes) == ((), ())
        assert settings.source("x").disabled
    wrong = settings_from(
        {section: {"x": {**entry, "enabled": "no"}}}, environ={"NOPE": "http://h"}
    )
    assert "x.enabled: must be true or false" in str(wrong.problems["x"])


def test_a_server_that_is_switched_off_does_not_need_its_variables() -> None:
    server = read({"url": "${BASE}/mcp", "disabled": True, "headers": {"A": "${NOPE}"}})
    assert (server.url, server.headers) == ("${BASE}/mcp", {"A": "${NOPE}"})


@pytest.mark.parametrize(
    ("entry", "key_path", "problem", "fix"),
    [
        ("npx", "", "must be an object, but is a text", '{"command": ...}'),
        (None, "", "but is null", ""),
        ({}, "", "neither a `command` nor a `url`", "Add `command`"),
        ({"comand": "npx"}, "", "neither", "Rename 'comand' to 'command'"),
        ({"uri": "http://x"}, "", "neither", "Rename 'uri' to 'url'"),
        ({"command": "  "}, ".command", "empty", "Name the program"),
        ({"command": "${EMPTY:-}"}, ".command", "empty", "Name the program"),
        ({"command": ["npx"]}, ".command", "must be a text, but is a list", "quotes"),
        ({"command": "a", "args": "-y x"}, ".args", "list of texts, but is a text", '["..."]'),
        ({"command": "a", "args": ["b", 1]}, ".args[1]", "must be a text, but is a number", ""),
        ({"command": "a", "env": ["A=b"]}, ".env", "must be an object, but is a list", "NAME"),
        ({"command": "a", "env": {"A": None}}, ".env.A", "a text, but is null", ""),
        ({"command": "a", "env": {"A": {}}}, ".env.A", "a text, but is an object", ""),
        ({"command": "a", "env": {"A=B": "c"}}, ".env", "not a valid name of a variable", ""),
        ({"command": "a", "env": {"": "c"}}, ".env", "not a valid name of a variable", ""),
        ({"command": "a", "env": {"T": "${NOPE}"}}, ".env.T", "NOPE is not set", "default"),
        ({"command": "a", "args": ["${NOPE}"]}, ".args[0]", "NOPE is not set", "default"),
        ({"command": "a", "cwd": "${NOPE}"}, ".cwd", "NOPE is not set", "default"),
        ({"command": "${NOPE}"}, ".command", "NOPE is not set", "default"),
        ({"url": "http://${NOPE}"}, ".url", "NOPE is not set", "default"),
        ({"httpUrl": "http://${NOPE}"}, ".httpUrl", "NOPE is not set", "default"),
        ({"command": "a", "args": ["a\0b"]}, ".args[0]", "contains U+0000", "Remove"),
        ({"command": "\ud800"}, ".command", "contains U+0000", ""),
        ({"command": "a", "url": "http://h"}, "", "`command` and `url` are both", "Remove one"),
        ({"url": "http://h", "httpUrl": "http://h"}, "", "`url` and `httpUrl`", "but one"),
        ({"command": "a", "type": "pipe"}, ".type", "unknown transport", "stdio, http or"),
        ({"command": "a", "transport": 1}, ".transport", "must be a text", ""),
        ({"command": "a", "type": "http"}, "", "type is http, but there is no `url`", "Add"),
        ({"url": "http://h", "type": "stdio"}, "", "there is no `command`", "Add"),
        ({"url": "http://h", "type": "sse", "transport": "http"}, "", "differ", "Remove one"),
        ({"url": "h/mcp"}, ".url", "does not start with http", "https://example.com/mcp"),
        ({"url": "ftp://h"}, ".url", "does not start with http", ""),
        ({"url": "http://"}, ".url", "has no host", ""),
        ({"url": "http://h:port/"}, ".url", "host or port", ""),
        ({"url": "http://h:99999/"}, ".url", "host or port", ""),
        ({"url": "http://[h/"}, ".url", "host or port", ""),
        ({"url": "http://h/a b"}, ".url", "space or a line break", ""),
        (
            {"url": "http://h", "headers": {"A B": "c"}},
            ".headers",
            "not a valid name of a header",
            "",
        ),
        ({"url": "http://h", "headers": {"A": "${NEWLINE}"}}, ".headers.A", "line break", "ASCII"),
        ({"url": "http://h", "headers": {"A": "é"}}, ".headers.A", "cannot have", "ASCII"),
        ({"url": "http://h", "headers": {"A": 1}}, ".headers.A", "must be a text", ""),
        ({"command": "a", "timeout": 60000}, ".timeout", "milliseconds", "such as 60"),
        ({"command": "a", "closeTimeout": 6}, ".closeTimeout", "at most 5", ""),
        ({"command": "a", "timeout": 0}, ".timeout", "more than 0", "such as 60"),
        ({"command": "a", "timeout": float("nan")}, ".timeout", "more than 0", ""),
        ({"command": "a", "timeout": 10**400}, ".timeout", "milliseconds", ""),
        ({"command": "a", "timeout": "60"}, ".timeout", "a number, but is a text", ""),
        ({"command": "a", "timeout": True}, ".timeout", "but is true or false", ""),
        ({"command": "a", "start_timeout": -1}, ".start_timeout", "more than 0", ""),
        ({"command": "a", "mode": "new"}, ".mode", "auto, legacy, 2026-07-28", "leave it out"),
        ({"command": "a", "elicitation": "yes"}, ".elicitation", "ask, decline, defaults", ""),
        ({"command": "a", "disabled": "no"}, ".disabled", "true or false", "without quotes"),
        ({"command": "a", "autoApprove": "*"}, ".autoApprove", "list of texts", ""),
        ({"command": "a", "disabledTools": [1]}, ".disabledTools[0]", "a text", ""),
    ],
)
def test_a_mistake_is_reported_with_its_place_and_the_fix(
    entry: Any, key_path: str, problem: str, fix: str
) -> None:
    """style.md: what, where, what next."""
    error = error_of(entry)
    assert error.key_path == f"mcpServers.x{key_path}"
    assert problem in error.problem
    assert fix in error.fix
    assert error.fix


def test_unknown_keys_are_noted_with_what_they_may_mean() -> None:
    notes = notes_on({"command": "a", "enviroment": {}, "envFile": "x", "description": "mine"})
    assert "x.enviroment: unknown key, ignored. Did you mean 'env'?" in notes
    assert "x.envFile" in notes
    assert "description" not in notes


def test_what_the_transport_has_no_use_for_is_noted() -> None:
    assert "x.headers: ignored" in notes_on({"command": "a", "headers": {"A": "b"}})
    assert "x.env: ignored" in notes_on({"url": "http://h", "env": {"A": "b"}})
    assert notes_on({"command": "a", "env": {"A": "b"}}) == ""


def test_settings_given_in_python_may_hold_paths_tuples_and_secrets() -> None:
    server = read({"command": Path("/bin/x"), "args": ("a",), "env": {"A": Secret("hush-hush")}})
    assert (server.command, server.args, server.env) == (
        str(Path("/bin/x")),
        ("a",),
        {"A": "hush-hush"},
    )
    assert server.secrets.redact("hush-hush") == "***"


HIDDEN = "Hidden-Value-42"
HIDING_PLACES: list[Any] = [
    HIDDEN,
    {"command": [HIDDEN]},
    {"command": "a", "args": HIDDEN},
    {"command": "a", "args": [{"a": HIDDEN}]},
    {"command": "a", "env": {"TOKEN": HIDDEN, "B": "${NOPE}"}},
    {"command": "a", "env": {"TOKEN": [HIDDEN]}},
    {"command": "a", "env": {"TOKEN": f"{HIDDEN}\0"}},
    {"command": "a", "env": {"TOKEN": f"${{{HIDDEN}"}},
    {"command": "a", "type": HIDDEN},
    {"command": "a", "mode": HIDDEN},
    {"command": "a", "timeout": HIDDEN},
    {"url": f"ftp://u:{HIDDEN}@h/"},
    {"url": f"http://u:{HIDDEN}@h:port/"},
    {"url": f"http://h/?key={HIDDEN} x"},
    {"url": "http://h", "headers": {"Authorization": f"{HIDDEN}\n{HIDDEN}"}},
    {"url": "http://h", "headers": {"Authorization": {HIDDEN: 1}}},
]


@pytest.mark.parametrize("entry", HIDING_PLACES, ids=range(len(HIDING_PLACES)))
def test_no_error_quotes_a_value(entry: Any) -> None:
    """design.md 1.7: nothing leaks, not even through the cause of an error."""
    error = error_of(entry)
    assert HIDDEN not in str(error)
    assert HIDDEN not in str(error.__cause__)
    assert error.__suppress_context__ or HIDDEN not in str(error.__context__)


_KEYS = st.sampled_from(
    ["command", "args", "env", "cwd", "url", "httpUrl", "headers", "type", "timeout", "mode",
     "disabled", "autoApprove", "disabledTools", "", "comand"]
)  # fmt: skip
_TEXTS = st.one_of(
    st.text(max_size=12), st.sampled_from(["${NAME}", "${NOPE}", "http://h/sse", "stdio", "\ud800"])
)
_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), _TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(_KEYS, _TEXTS), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(entry=st.dictionaries(_KEYS, _VALUES))
def test_any_entry_is_a_server_or_a_problem(entry: Any) -> None:
    settings = settings_from({"mcpServers": {"x": entry}}, environ=ENVIRON)
    assert len(settings.servers) + len(settings.problems) == 1
    assert str(settings)
    json.dumps([str(x) for x in settings.problems.values()])


_HIDING = st.sampled_from([HIDDEN, f"${{{HIDDEN}", f"a${{{HIDDEN}}}", f"http://{HIDDEN}@h\n/"])
_HIDDEN_VALUES = st.recursive(
    st.one_of(_HIDING, st.sampled_from(["${NOPE}", "stdio", "a\0", 1])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["TOKEN", "A B"]), inner)
    ),
    max_leaves=6,
)


@given(entry=st.dictionaries(_KEYS, _HIDDEN_VALUES))
def test_no_problem_and_no_note_shows_a_value(entry: Any) -> None:
    """Keys are names and may be shown."""
    settings = settings_from({"x": {"command": "a", **entry}}, environ=ENVIRON)
    shown = [*settings.notes, *(str(x) for x in settings.problems.values())]
    assert HIDDEN not in "".join(shown)
