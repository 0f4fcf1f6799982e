"""One server's entry: every accepted spelling, and every mistake with its place and fix."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from xai_mcp_agent import Secret, ServerSettings, settings_from

ENVIRON = {"NAME": "ada", "GITHUB_TOKEN": "tok-123456", "NEWLINE": "a\nb"}
FOLDER = Path("/srv/project")


def read(entry: Any) -> ServerSettings:
    settings = settings_from({"mcpServers": {"x": entry}}, folder=FOLDER, environ=ENVIRON)
    return settings.server("x")


def test_a_source_of_any_kind_is_switched_off_as_a_server_is() -> None:
    """Other clients write `enabled`; taken for unknown, it left the source on."""
    cases: list[tuple[str, Any]] = [
        ("functions", {"file": "x.py"}),
        ("builtin", {"tools": ["read_file"]}),
        ("agents", {"url": "${NOPE}"}),
        ("openapiServices", {"spec": "${NOPE}"}),
        ("workflows", {"file": "x.py"}),
    ]
    for section, entry in cases:
        for written in ({"disabled": True}, {"enabled": False}):
            settings = settings_from({section: {"x": {**entry, **written}}}, environ=ENVIRON)
            assert (settings.usable, settings.notes) == ((), ())
            assert settings.source("x").disabled
        wrong = settings_from(
            {section: {"x": {**entry, "enabled": "no"}}}, environ={"NOPE": "http://h"}
        )
        assert "x.enabled: must be true or false" in str(wrong.problems["x"])


def test_settings_given_in_python_may_hold_paths_tuples_and_secrets() -> None:
    server = read({"command": Path("/bin/x"), "args": ("a",), "env": {"A": Secret("hush-hush")}})
    assert (server.command, server.args, server.env) == (
        str(Path("/bin/x")),
        ("a",),
        {"A": "hush-hush"},
    )
    assert server.secrets.redact("hush-hush") == "***"


HIDDEN = "Hidden-Value-42"


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
