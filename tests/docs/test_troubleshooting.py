"""docs/troubleshooting.md quotes what the software really says: each text is provoked here.

Who decided it: a person looks for the words on the screen, so the page must have just those.
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
    """Everything that was provoked, in a folder of its own, which gets the history of it."""
    folder = tmp_path_factory.mktemp("wrong")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(folder)
        return list(everything(folder, monkeypatch))


def quotes(text: str, block: Block) -> bool:
    """Whether every line of the block stands in the text; `...` stands for anything in a line."""
    lines = (re.escape(line).replace(r"\.\.\.", ".*") for line in block.text.splitlines())
    return all(re.search(line, text) for line in lines)


@pytest.mark.parametrize("block", QUOTED, ids=str)
def test_a_quoted_text_is_one_that_the_software_says(block: Block, messages: list[str]):
    assert any(quotes(text, block) for text in messages), f"nothing says:\n{block.text}"


def test_everything_that_is_provoked_stands_on_the_page(messages: list[str]):
    assert [text for text in messages if not any(quotes(text, block) for block in QUOTED)] == []
