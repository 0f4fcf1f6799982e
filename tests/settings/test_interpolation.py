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
from xai_mcp_agent.settings.document import Place
from xai_mcp_agent.settings.interpolation import Variables

HERE = Place("settings.json", "mcpServers.github.env.TOKEN")
ENVIRON = {"NAME": "ada", "EMPTY": "", "MY_TOKEN": "tok-123456", "python": "from outside"}


def expand(text: str) -> str:
    return Variables(ENVIRON, str(Path("/srv"))).expand(text, HERE)


def error_of(text: str) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        expand(text)
    return caught.value


def test_variables_are_replaced() -> None:
    cases: list[tuple[str, str]] = [
        ("${NAME}", "ada"),
        ("${env:NAME}", "ada"),
        ("a${NAME}b${NAME}", "aadabada"),
        ("${NOPE:-else}", "else"),
        ("${env:NOPE:-else}", "else"),
        ("${NOPE:-}", ""),
        ("${NAME:-else}", "ada"),
        ("${EMPTY:-else}", "else"),
        ("${EMPTY}", ""),
        ("${NOPE:-http://x:1/-y}", "http://x:1/-y"),
        ("$${NAME}", "${NAME}"),
        ("$$${NAME}", "$${NAME}"),
        ("$NAME $$ $ {NAME}", "$NAME $$ $ {NAME}"),
        ("${python}", sys.executable),
        ("${env:python}", "from outside"),
        ("${settingsFolder}/x", f"{Path('/srv')}/x"),
        ("${workspaceFolder}", str(Path("/srv"))),
        ("${userHome}", os.path.expanduser("~")),
    ]
    for text, expanded in cases:
        assert expand(text) == expanded


def test_a_value_is_not_expanded_again() -> None:
    """A variable that somebody else sets must not read others."""
    assert Variables({"A": "${B}", "B": "x"}, "/").expand("${A}", HERE) == "${B}"


def test_a_missing_variable_is_named_with_its_place_and_the_fix() -> None:
    error = error_of("${GITHUB_TOKEN}")
    assert str(error) == (
        "settings.json, at mcpServers.github.env.TOKEN: environment variable GITHUB_TOKEN is not "
        "set. Set it before starting, or give a default: ${GITHUB_TOKEN:-...}."
    )


def test_questions_only_vs_code_can_ask_are_explained() -> None:
    error = error_of("${input:github-key}")
    assert "VS Code" in error.problem
    assert "environment variable" in error.fix


def test_a_malformed_variable_is_an_error_with_a_fix() -> None:
    cases: list[str] = ["${NAME", "${}", "${NA-ME}", "${A:-${B}}", "${1}", "${ NAME }"]
    for text in cases:
        error = error_of(text)
        assert error.key_path == HERE.path
        assert error.fix


def test_a_secret_that_happens_to_hold_the_mark_is_not_quoted() -> None:
    assert "hunter2" not in str(error_of("pass${hunter2!word}"))
    assert "hunter2" not in str(error_of("pass${hunter2"))


def test_the_values_of_secret_variables_are_remembered() -> None:
    variables = Variables({**ENVIRON, "AUTH": "Bearer abc-123"}, "/srv")
    variables.expand("${NAME} ${MY_TOKEN} ${AUTH} ${API_KEY:-written-here}", HERE)
    assert variables.secrets.redact("tok-123456 abc-123 written-here ada") == "*** *** *** ada"


@given(text=st.text(alphabet="${}:-NAMEenv x", max_size=40))
def test_any_text_expands_or_is_a_settings_error(text: str) -> None:
    with suppress(SettingsError):
        assert isinstance(expand(text), str)


@given(text=st.text(), value=st.text(alphabet=st.characters(codec="utf-8"), max_size=20))
def test_a_literal_mark_can_always_be_written(text: str, value: str) -> None:
    escaped = text.replace("${", "$${")
    assert expand(escaped) == text
