"""The example library: searches, loans, returns and refusals."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import INVALID_PARAMS

from .servers import answer, load, refusal

MOBY_DICK, DON_QUIXOTE, FRANKENSTEIN = 14, 1, 8


@pytest.fixture
def library() -> Any:
    """Yield the module with a fresh catalogue in memory."""
    module = load("library")
    yield module
    module.catalogue.close()


@pytest.fixture
async def client(library: ModuleType) -> AsyncIterator[Client]:
    """Yield a client of that library inside this process."""
    async with Client(library.server) as client:
        yield client


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("moby dick", ["Moby-Dick"]),
        ("BRONTE", ["Jane Eyre", "Wuthering Heights"]),
        ("sōseki", ["Botchan"]),
        ("gulliver’s", ["Gulliver's Travels"]),  # noqa: RUF001 (the apostrophe that phones type)
        ("rock", []),  # only the start of a word counts, so not Sherlock
        ("100%", []),
    ],
)
def test_a_search_finds_words_of_title_author_and_subjects(
    library: ModuleType, query: str, titles: list[str]
) -> None:
    hits = library.search_books(query)
    assert [book.title for book in hits.books] == titles
    assert hits.total == len(titles)


@pytest.mark.anyio
async def test_a_loan_starts_today_for_three_weeks_and_ends_when_returned(client: Client) -> None:
    loan = await answer(client, "borrow_book", book_id=FRANKENSTEIN, reader=" ada ")
    assert (loan["reader"], loan["overdue"]) == ("Ada", False)
    assert loan["borrowed_on"] == date.today().isoformat()
    assert loan["due_on"] == (date.today() + timedelta(days=21)).isoformat()
    assert loan in (await answer(client, "list_loans"))["loans"]
    back = await answer(client, "return_book", book_id=FRANKENSTEIN)
    assert (back["reader"], back["days_late"]) == ("Ada", 0)
    assert (await answer(client, "list_loans", reader="Ada"))["loans"] == []
    assert (await answer(client, "get_book", book_id=FRANKENSTEIN))["on_loan_to"] is None


@pytest.mark.anyio
async def test_loans_are_listed_by_due_date_with_overdue_ones_marked(client: Client) -> None:
    loans = [(x["title"], x["overdue"]) for x in (await answer(client, "list_loans"))["loans"]]
    assert loans == [("Moby-Dick", True), ("Jane Eyre", False)]
    assert (await answer(client, "return_book", book_id=MOBY_DICK))["days_late"] == 9


@pytest.mark.anyio
async def test_every_refusal_says_what_to_do_next(client: Client) -> None:
    """A model must be able to act on each rule of library://rules."""
    on_loan = await refusal(client, "borrow_book", book_id=MOBY_DICK, reader="Ada")
    assert "Moby-Dick (book 14) is on loan to Esi until" in on_loan
    assert "Choose another book" in on_loan
    overdue = await refusal(client, "borrow_book", book_id=DON_QUIXOTE, reader="Esi")
    assert "Esi must first return Moby-Dick (book 14), which was due on" in overdue
    stranger = await refusal(client, "borrow_book", book_id=DON_QUIXOTE, reader="Eve")
    assert "'Eve'. Registered: Ada, Ben, Chiara, Dmitri, Esi." in stranger
    idle = await refusal(client, "return_book", book_id=DON_QUIXOTE)
    assert "Don Quixote (book 1) is not on loan" in idle
    assert "No reader" in await refusal(client, "list_loans", reader="Eve")
    assert "There is no book 31." in await refusal(client, "return_book", book_id=31)
    assert "limit" in await refusal(client, "search_books", query="", limit=0)
    for book_id in (1, 2, 3):
        await answer(client, "borrow_book", book_id=book_id, reader="Ada")
    words = await refusal(client, "borrow_book", book_id=4, reader="Ada")
    assert "Ada already has 3 books" in words
    assert "Robinson Crusoe (book 2)" in words
    numbers = await answer(client, "library_statistics")
    assert [numbers[x] for x in ("books", "available", "on_loan", "overdue")] == [30, 25, 5, 1]
    assert numbers["most_borrowed"][0]["title"] == "Pride and Prejudice"


@pytest.mark.anyio
async def test_resources_and_the_prompt_are_listed_and_read(client: Client) -> None:
    (rules,) = (await client.list_resources()).resources
    assert "21 days" in (await client.read_resource(rules.uri)).contents[0].text
    (template,) = (await client.list_resource_templates()).resource_templates
    assert template.uri_template == "library://book/{book_id}"
    card = (await client.read_resource("library://book/14")).contents[0]
    assert json.loads(card.text) == await answer(client, "get_book", book_id=MOBY_DICK)
    prompt = await client.get_prompt("recommend_book", {"reader_interest": "the sea"})
    assert "interested in: the sea" in prompt.messages[0].content.text
    for book_id in ("99", "moby", "1" + "0" * 30):
        # MCP 2026-07-28, server/resources: not found is -32602.
        with pytest.raises(MCPError, match=f"There is no book '{book_id}'") as caught:
            await client.read_resource(f"library://book/{book_id}")
        assert caught.value.code == INVALID_PARAMS


def test_two_servers_on_one_file_lend_a_book_once(tmp_path: Path) -> None:
    """A workshop may start the server twice on the same --db file."""
    first, second = load("library"), load("library")
    for module in (first, second):
        module.catalogue.close()
        module.catalogue.open(str(tmp_path / "loans.db"))

    def borrow(module: ModuleType, reader: str) -> str:
        try:
            return module.borrow_book(FRANKENSTEIN, reader).title
        except ToolError as error:
            return str(error).partition(" until ")[0].rpartition(" ")[0]

    tries = [(first, "Ada"), (second, "Ben"), (first, "Chiara"), (second, "Dmitri")]
    with ThreadPoolExecutor(len(tries)) as threads:
        outcomes = list(threads.map(lambda one: borrow(*one), tries))
    refusal = "Frankenstein (book 8) is on loan to"
    assert sorted(outcomes) == ["Frankenstein", refusal, refusal, refusal]
    assert first.list_loans().model_dump() == second.list_loans().model_dump()
    for module in (first, second):
        module.catalogue.close()
