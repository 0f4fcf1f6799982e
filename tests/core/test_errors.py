"""Errors: what, where, and what next, in the text and as facts."""

from __future__ import annotations

from xai_mcp_agent.core.errors import InvalidArguments, ServerError, SettingsError, SourceClosed


def test_an_error_about_a_source_quotes_its_last_words_and_the_next_step():
    error = SourceClosed("db", "the connection was lost.", "Try again.", ["one", "two"])
    assert str(error) == (
        "db: the connection was lost.\n"
        "  Its last words on stderr:\n"
        "    one\n"
        "    two\n"
        "  Next step: Try again."
    )
    assert (error.source, error.problem, error.next_step) == (
        "db",
        "the connection was lost.",
        "Try again.",
    )
    assert error.stderr_tail == ("one", "two")


def test_what_is_not_known_is_not_mentioned():
    assert str(ServerError("db", "it refused.", -32000)) == "db: it refused."
    assert ServerError("db", "it refused.", -32000).code == -32000


def test_wrong_arguments_are_told_with_what_was_expected():
    error = InvalidArguments("add", ["a is missing", "b is odd"], "a: integer")
    assert str(error) == "Wrong arguments for add: a is missing; b is odd. Expected: a: integer."
    assert error.problems == ("a is missing", "b is odd")


def test_an_error_in_the_settings_names_the_place_and_the_fix():
    error = SettingsError("s.json", "mcpServers.db", "no command.", "Add one.")
    assert str(error) == "s.json, at mcpServers.db: no command. Add one."
    assert str(SettingsError("s.json", "", "not JSON.", "Mend it.")) == "s.json: not JSON. Mend it."
