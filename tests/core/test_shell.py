"""Commands that a person can paste."""

from __future__ import annotations

from xai_mcp_agent.core.shell import shown_command


def test_a_path_with_a_space_is_quoted_as_the_shell_wants_it():
    path = "C:\\My Lab"
    assert shown_command("cd", path, windows=True) == 'cd "C:\\My Lab"'
    assert shown_command("cd", "/my lab", windows=False) == "cd '/my lab'"


def test_a_plain_path_stands_as_it_is():
    assert shown_command("cd", "C:\\Lab", windows=True) == "cd C:\\Lab"
    assert shown_command("cd", "/lab", windows=False) == "cd /lab"
