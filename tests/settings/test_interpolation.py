"""`${...}` in the settings (design.md section 5)."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xai_mcp_agent import SettingsError
from xai_mcp_agent.settings.document import KeyPlace
from xai_mcp_agent.settings.interpolation import Variables

HERE = KeyPlace("settings.json", "mcpServers.github.env.TOKEN")
ENVIRON = {"NAME": "ada", "EMPTY": "", "MY_TOKEN": "tok-123456", "python": "from outside"}


def expand(text: str) -> str:
    return Variables(ENVIRON, str(Path("/srv"))).expand(text, HERE)


def test_variables_are_replaced_once():
    """A variable's value may come from a stranger, so variables in it are not replaced."""
    rows: list[tuple[str, str]] = [
        ("${NAME}", "ada"), ("${env:NAME}", "ada"), ("a${NAME}b${NAME}", "aadabada"),
        ("${NOPE:-else}", "else"), ("${env:NOPE:-else}", "else"), ("${NOPE:-}", ""),
        ("${NAME:-else}", "ada"), ("${EMPTY:-else}", "else"), ("${EMPTY}", ""),
        ("${NOPE:-http://x:1/-y}", "http://x:1/-y"), ("$${NAME}", "${NAME}"),
        ("$$${NAME}", "$${NAME}"), ("$NAME $$ $ {NAME}", "$NAME $$ $ {NAME}"),
        ("${python}", sys.executable), ("${env:python}", "from outside"),
        ("${settingsFolder}/x", f"{Path('/srv')}/x"), ("${workspaceFolder}", str(Path("/srv"))),
        ("${userHome}", os.path.expanduser("~")),
    ]  # fmt: skip
    for text, expanded in rows:
        assert expand(text) == expanded
    assert Variables({"A": "${B}", "B": "x"}, "/").expand("${A}", HERE) == "${B}"


def test_a_missing_variable_is_named_with_its_place_and_the_fix():
    """A secret that contains `${` is not quoted in the error."""
    with pytest.raises(SettingsError) as caught:
        expand("${GITHUB_TOKEN}")
    assert str(caught.value) == (
        "settings.json, at mcpServers.github.env.TOKEN: environment variable GITHUB_TOKEN is not "
        "set. Set it before starting, or give a default: ${GITHUB_TOKEN:-...}."
    )
    for text in ("pass${hunter2!word}", "pass${hunter2"):
        with pytest.raises(SettingsError) as caught:
            expand(text)
        assert "hunter2" not in str(caught.value)


def test_the_values_of_secret_variables_are_remembered():
    variables = Variables({**ENVIRON, "AUTH": "Bearer abc-123"}, "/srv")
    variables.expand("${NAME} ${MY_TOKEN} ${AUTH} ${API_KEY:-written-here}", HERE)
    assert variables.secrets.redact("tok-123456 abc-123 written-here ada") == "*** *** *** ada"


@given(text=st.text(alphabet="${}:-NAMEenv x", max_size=40), plain=st.text())
def test_any_text_expands_or_is_an_error_and_any_text_can_be_escaped(text: str, plain: str):
    with suppress(SettingsError):
        assert isinstance(expand(text), str)
    assert expand(plain.replace("${", "$${")) == plain
