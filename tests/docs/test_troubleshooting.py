"""docs/troubleshooting.md quotes real messages: each is provoked here.

A user searches for the words on the screen, so the page must have the same words.
"""

from __future__ import annotations

import re

import pytest

from tests.support.pages import ROOT, Block, blocks_of

from .provocations import everything

PAGE = ROOT / "docs" / "troubleshooting.md"
QUOTED = [x for x in blocks_of(PAGE) if x.language == "text"]


@pytest.fixture(scope="module")
def messages(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """All provoked messages; they and their history have a folder of their own."""
    folder = tmp_path_factory.mktemp("wrong")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(folder)
        return list(everything(folder, monkeypatch))


def quotes(text: str, block: Block) -> bool:
    """Return whether the text has every line of the block; `...` matches anything in a line."""
    lines = (re.escape(line).replace(r"\.\.\.", ".*") for line in block.text.splitlines())
    return all(re.search(line, text) for line in lines)


@pytest.mark.parametrize("block", QUOTED, ids=str)
def test_the_software_prints_every_quoted_text(block: Block, messages: list[str]):
    assert any(quotes(text, block) for text in messages), f"nothing says:\n{block.text}"


def test_every_provoked_message_is_on_the_page(messages: list[str]):
    assert [text for text in messages if not any(quotes(text, block) for block in QUOTED)] == []
