"""Commands that a person can paste."""

from __future__ import annotations

from xai_mcp_agent.core.shell import shown_command, tool_command


def test_a_path_with_a_space_is_quoted_as_the_shell_wants_it():
    path = "C:\\My Lab"
    assert shown_command("cd", path, windows=True) == 'cd "C:\\My Lab"'
    assert shown_command("cd", "/my lab", windows=False) == "cd '/my lab'"


def test_a_plain_path_stands_as_it_is():
    assert shown_command("cd", "C:\\Lab", windows=True) == "cd C:\\Lab"
    assert shown_command("cd", "/lab", windows=False) == "cd /lab"


def test_a_tool_that_is_called_like_an_option_is_none_in_a_command():
    assert tool_command("approve", "shop", "buy") == "xai-mcp-agent tools approve shop buy"
    assert tool_command("approve", "shop", "--all") == "xai-mcp-agent tools approve -- shop --all"
    with_option = tool_command("accept", "shop", "--all", options=("--digest", "1a"))
    assert with_option == "xai-mcp-agent tools accept --digest 1a -- shop --all"
