"""An MCP server: the catalogue and the loans of a small public library.

    python library.py                  over stdio, as an MCP client starts it
    python library.py --http 8001      at http://127.0.0.1:8001/mcp (Streamable HTTP)
    python library.py --sse 8001       at http://127.0.0.1:8001/sse (the older HTTP transport)
    python library.py --db loans.db    keeps everything in a file; otherwise every start is fresh

Open it, change it, connect again. Over stdio, standard output belongs to the protocol: to see a
value while you experiment, `print(value, file=sys.stderr)`.

Needs only the `mcp` package (which brings pydantic).
"""

import argparse
import contextlib
import signal
import sqlite3
import sys
import threading
import unicodedata
from collections.abc import Generator
from datetime import date, timedelta
from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError, ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

LOAN_DAYS = 21  # three weeks: long enough for War and Peace, if you hurry
LOANS_PER_READER = 3  # small enough that a workshop meets the limit

server = MCPServer(
    "library",
    title="Public library",
    version="1.0",
    instructions=(
        "Search the catalogue first: every other tool takes the book_id that search_books gives. "
        "Borrowing is for registered readers and follows the rules in library://rules."
    ),
    log_level="WARNING",  # to standard error; refusals that we word ourselves are not warnings
)

# Promises to clients about the tools. None of them reaches beyond this library.
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
# Only adds a loan, and asking again adds no second one.
LENDS = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
# Ends a loan for good, since another reader may take the book at once: a client should ask first.
TAKES_BACK = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)


# --- Results of the tools ----------------------------------------------------------------------


class Book(BaseModel):
    """A book, and whether it is available."""

    book_id: int = Field(description="The number other tools take.")
    title: str
    author: str
    year: int = Field(description="Year in which the work first appeared complete.")
    subjects: list[str]
    on_loan_to: str | None = Field(description="The reader who has it, or null: it is available.")
    due_on: date | None = Field(description="When it must be back, or null: it is available.")


class SearchResult(BaseModel):
    """The books that match a search."""

    total: int = Field(description="How many books match; more than are listed if over the limit.")
    books: list[Book]


class Loan(BaseModel):
    """A book that a reader has now."""

    book_id: int
    title: str
    reader: str
    borrowed_on: date
    due_on: date
    overdue: bool = Field(description="True if it should have been back before today.")


class LoanList(BaseModel):
    """The current loans, the earliest due first."""

    loans: list[Loan]


class ReturnedBook(BaseModel):
    """A loan that has just ended."""

    book_id: int
    title: str
    reader: str
    returned_on: date
    days_late: int = Field(description="0 if it came back in time.")


class LoanCount(BaseModel):
    """How often a book has been borrowed."""

    book_id: int
    title: str
    loans: int


class Statistics(BaseModel):
    """The library in numbers."""

    books: int
    available: int
    on_loan: int
    overdue: int
    readers: int
    loans_ever: int = Field(description="Loans since the catalogue was made, ended ones included.")
    most_borrowed: list[LoanCount] = Field(description="At most three books.")


# --- The catalogue -----------------------------------------------------------------------------

# Title, author, year, subjects; the book_id is the place in this list, from 1.
BOOKS = [
    ("Don Quixote", "Miguel de Cervantes", 1615, "adventure, satire, knights"),
    ("Robinson Crusoe", "Daniel Defoe", 1719, "adventure, island, survival"),
    ("Gulliver's Travels", "Jonathan Swift", 1726, "satire, travel, fantasy"),
    ("Candide", "Voltaire", 1759, "satire, philosophy, travel"),
    ("Dream of the Red Chamber", "Cao Xueqin", 1791, "family, love, China"),
    ("Pride and Prejudice", "Jane Austen", 1813, "love, family, manners"),
    ("Emma", "Jane Austen", 1815, "love, manners, comedy"),
    ("Frankenstein", "Mary Shelley", 1818, "horror, science, gothic"),
    ("The Three Musketeers", "Alexandre Dumas", 1844, "adventure, history, friendship"),
    ("The Count of Monte Cristo", "Alexandre Dumas", 1846, "adventure, revenge, prison"),
    ("Jane Eyre", "Charlotte Brontë", 1847, "love, gothic, childhood"),
    ("Wuthering Heights", "Emily Brontë", 1847, "love, gothic, revenge"),
    ("The Scarlet Letter", "Nathaniel Hawthorne", 1850, "guilt, history, society"),
    ("Moby-Dick", "Herman Melville", 1851, "sea, whales, obsession, adventure"),
    ("Walden", "Henry David Thoreau", 1854, "nature, philosophy, essays"),
    ("A Tale of Two Cities", "Charles Dickens", 1859, "history, revolution, sacrifice"),
    ("On the Origin of Species", "Charles Darwin", 1859, "science, nature, evolution"),
    ("Great Expectations", "Charles Dickens", 1861, "childhood, society, ambition"),
    ("Les Misérables", "Victor Hugo", 1862, "history, justice, revolution"),
    ("Alice's Adventures in Wonderland", "Lewis Carroll", 1865, "fantasy, children, nonsense"),
    ("Crime and Punishment", "Fyodor Dostoevsky", 1866, "crime, guilt, psychology"),
    ("War and Peace", "Leo Tolstoy", 1869, "history, war, family"),
    ("Twenty Thousand Leagues Under the Seas", "Jules Verne", 1870, "sea, science fiction"),
    ("Around the World in Eighty Days", "Jules Verne", 1872, "adventure, travel"),
    ("Flatland", "Edwin A. Abbott", 1884, "mathematics, satire, science fiction"),
    ("The Adventures of Sherlock Holmes", "Arthur Conan Doyle", 1892, "crime, detectives"),
    ("The Time Machine", "H. G. Wells", 1895, "science fiction, future, time"),
    ("Dracula", "Bram Stoker", 1897, "horror, vampires, gothic"),
    ("The Wonderful Wizard of Oz", "L. Frank Baum", 1900, "fantasy, children, adventure"),
    ("Botchan", "Natsume Sōseki", 1906, "school, comedy, Japan"),
]

READERS = ["Ada", "Ben", "Chiara", "Dmitri", "Esi"]

# book_id, reader, days since it was borrowed, days since it was returned (None: still on loan).
# Esi is nine days late, so that there is something to discover.
LOANS = [
    (6, "Ada", 120, 110),
    (6, "Chiara", 90, 75),
    (28, "Dmitri", 60, 45),
    (14, "Esi", 30, None),
    (11, "Ben", 5, None),
]

TABLES = [
    """CREATE TABLE books (
        book_id INTEGER PRIMARY KEY, title TEXT NOT NULL, author TEXT NOT NULL,
        year INTEGER NOT NULL, subjects TEXT NOT NULL
    )""",
    "CREATE TABLE readers (name TEXT PRIMARY KEY)",
    """CREATE TABLE loans (
        loan_id INTEGER PRIMARY KEY,
        book_id INTEGER NOT NULL REFERENCES books,
        reader TEXT NOT NULL REFERENCES readers,
        borrowed_on TEXT NOT NULL, due_on TEXT NOT NULL, returned_on TEXT
    )""",
    # One copy of each book: the database itself refuses a second loan of it.
    "CREATE UNIQUE INDEX one_loan_per_book ON loans (book_id) WHERE returned_on IS NULL",
]

SELECT_BOOKS = """
SELECT books.*, loans.reader AS on_loan_to, loans.due_on FROM books
LEFT JOIN loans ON loans.book_id = books.book_id AND loans.returned_on IS NULL
"""

SELECT_LOANS = """
SELECT loans.*, books.title FROM loans JOIN books USING (book_id) WHERE returned_on IS NULL
ORDER BY due_on, title
"""


class Catalogue:
    """The database. In memory until `open` gets a file."""

    def __init__(self) -> None:
        # MCPServer runs plain functions in worker threads, several at once; they take turns here.
        self._turn = threading.Lock()
        self.open(":memory:")

    def open(self, file: str) -> None:
        """Open this file, and fill it if it is new. Raises sqlite3.Error if it cannot be used."""
        # isolation_level=None: transaction() begins each transaction itself.
        self._connection = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        with self.transaction() as db:
            if not db.execute("SELECT 1 FROM sqlite_schema WHERE name = 'books'").fetchone():
                fill(db)

    def close(self) -> None:
        """Close the database; one in memory is lost."""
        self._connection.close()

    @contextlib.contextmanager
    def transaction(self) -> Generator[sqlite3.Connection]:
        """Run a transaction that no other thread, and no other server on this file, interrupts."""
        with self._turn, self._connection as db:  # commits at the end, or rolls back after an error
            db.execute("BEGIN IMMEDIATE")
            yield db


def fill(db: sqlite3.Connection) -> None:
    """Create the tables and add the first books, readers and loans."""
    for statement in TABLES:
        db.execute(statement)
    db.executemany("INSERT INTO books VALUES (NULL, ?, ?, ?, ?)", BOOKS)
    db.executemany("INSERT INTO readers VALUES (?)", [(name,) for name in READERS])
    for book_id, reader, borrowed, returned in LOANS:
        start = date.today() - timedelta(days=borrowed)
        end = None if returned is None else date.today() - timedelta(days=returned)
        add_loan(db, book_id, reader, start, end)


def add_loan(
    db: sqlite3.Connection, book_id: int, reader: str, start: date, end: date | None = None
) -> None:
    """Record a loan from `start`; without `end` the book is still on loan."""
    due = start + timedelta(days=LOAN_DAYS)
    dates = [day and day.isoformat() for day in (start, due, end)]
    db.execute("INSERT INTO loans VALUES (NULL, ?, ?, ?, ?, ?)", (book_id, reader, *dates))


def plain(text: str) -> str:
    """Return a text in lower case, without accents and punctuation: `les miserables`."""
    letters = unicodedata.normalize(
        "NFKD", text.casefold()
    )  # an accent becomes a letter of its own
    letters = "".join(c for c in letters if not unicodedata.combining(c) and c not in "'\u2019")
    return " ".join("".join(c if c.isalnum() else " " for c in letters).split())


def to_book(row: sqlite3.Row) -> Book:
    """Return a row of SELECT_BOOKS as a result."""
    return Book.model_validate({**dict(row), "subjects": row["subjects"].split(", ")})


def to_loan(row: sqlite3.Row) -> Loan:
    """Return a row of SELECT_LOANS as a result."""
    overdue = row["due_on"] < date.today().isoformat()
    return Loan.model_validate({**dict(row), "overdue": overdue})


def find_book(db: sqlite3.Connection, book_id: int) -> Book:
    """Return the book with this number, or raise an error that says how to find it."""
    row = db.execute(SELECT_BOOKS + "WHERE books.book_id = ?", (book_id,)).fetchone()
    if row is None:
        raise ToolError(f"There is no book {book_id}. Find its book_id with search_books.")
    return to_book(row)


def find_reader(db: sqlite3.Connection, name: str) -> str:
    """Return the registered name of a reader, or raise an error that lists the readers."""
    readers = [row["name"] for row in db.execute("SELECT name FROM readers ORDER BY name")]
    for reader in readers:
        if plain(reader) == plain(name):
            return reader
    raise ToolError(f"No reader is called {name!r}. Registered: {', '.join(readers)}.")


def current_loans(db: sqlite3.Connection, reader: str | None = None) -> list[Loan]:
    """Return the current loans of everybody or of one reader, the earliest due first."""
    loans = [to_loan(row) for row in db.execute(SELECT_LOANS)]
    return [loan for loan in loans if reader in (None, loan.reader)]


def check_may_borrow(db: sqlite3.Connection, book: Book, reader: str) -> None:
    """Raise an error if a rule forbids the loan; it says what the reader can do."""
    if book.on_loan_to:
        raise ToolError(
            f"{book.title} (book {book.book_id}) is on loan to {book.on_loan_to} until "
            f"{book.due_on}. Choose another book, or wait until it is returned."
        )
    loans = current_loans(db, reader)
    for loan in loans:
        if loan.overdue:
            raise ToolError(
                f"{reader} must first return {loan.title} (book {loan.book_id}), "
                f"which was due on {loan.due_on}."
            )
    if len(loans) >= LOANS_PER_READER:
        titles = ", ".join(f"{loan.title} (book {loan.book_id})" for loan in loans)
        raise ToolError(
            f"{reader} already has {len(loans)} books, the most allowed: {titles}. "
            "Return one of them first."
        )


catalogue = Catalogue()


# --- Tools -------------------------------------------------------------------------------------

BookId = Annotated[
    int, Field(description="Number of the book, as search_books gives it.", ge=1, le=999_999)
]


@server.tool(title="Search the catalogue", annotations=READS)
def search_books(
    query: Annotated[
        str,
        Field(
            description="Words of the title, author or subject, all of which must occur; the start "
            "of a word is enough, case and accents do not matter. Empty lists every book."
        ),
    ],
    limit: Annotated[int, Field(description="List at most this many books.", ge=1, le=100)] = 10,
) -> SearchResult:
    """Find books of the library by title, author or subject, and see which are available."""
    words = plain(query).split()
    with catalogue.transaction() as db:
        books = [to_book(row) for row in db.execute(SELECT_BOOKS + "ORDER BY title")]
    matches: list[Book] = []
    for book in books:
        text = " " + plain(" ".join([book.title, book.author, *book.subjects]))
        if all(f" {word}" in text for word in words):
            matches.append(book)
    return SearchResult(total=len(matches), books=matches[:limit])


@server.tool(title="Look at a book", annotations=READS)
def get_book(book_id: BookId) -> Book:
    """Give the details of one book: title, author, year, subjects, and who has it until when."""
    with catalogue.transaction() as db:
        return find_book(db, book_id)


@server.tool(title="Borrow a book", annotations=LENDS)
def borrow_book(
    book_id: BookId,
    reader: Annotated[str, Field(description="Name of a registered reader, such as Ada.")],
) -> Loan:
    """Lend an available book to a registered reader for three weeks."""
    with catalogue.transaction() as db:
        book = find_book(db, book_id)
        name = find_reader(db, reader)
        check_may_borrow(db, book, name)
        add_loan(db, book_id, name, date.today())
        return next(loan for loan in current_loans(db, name) if loan.book_id == book_id)


@server.tool(title="Return a book", annotations=TAKES_BACK)
def return_book(book_id: BookId) -> ReturnedBook:
    """Take a book back from the reader who has it. This ends the loan and cannot be undone."""
    today = date.today()
    with catalogue.transaction() as db:
        book = find_book(db, book_id)
        if book.on_loan_to is None or book.due_on is None:
            raise ToolError(f"{book.title} (book {book_id}) is not on loan; nothing to return.")
        db.execute(
            "UPDATE loans SET returned_on = ? WHERE book_id = ? AND returned_on IS NULL",
            (today.isoformat(), book_id),
        )
    return ReturnedBook(
        book_id=book_id,
        title=book.title,
        reader=book.on_loan_to,
        returned_on=today,
        days_late=max(0, (today - book.due_on).days),
    )


@server.tool(title="List loans", annotations=READS)
def list_loans(
    reader: Annotated[
        str | None, Field(description="Name of a registered reader; leave out for everybody.")
    ] = None,
) -> LoanList:
    """List the books that are out now, with reader and due date, for one reader or everybody."""
    with catalogue.transaction() as db:
        name = find_reader(db, reader) if reader else None
        return LoanList(loans=current_loans(db, name))


@server.tool(title="Library in numbers", annotations=READS)
def library_statistics() -> Statistics:
    """Count the books, readers and loans of the library, and name the most borrowed books."""
    with catalogue.transaction() as db:
        books, readers, ever = (
            db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("books", "readers", "loans")
        )
        loans = current_loans(db)
        popular = db.execute(
            "SELECT book_id, title, count(*) AS loans FROM loans JOIN books USING (book_id) "
            "GROUP BY book_id ORDER BY loans DESC, title LIMIT 3"
        ).fetchall()
    return Statistics(
        books=books,
        available=books - len(loans),
        on_loan=len(loans),
        overdue=sum(loan.overdue for loan in loans),
        readers=readers,
        loans_ever=ever,
        most_borrowed=[LoanCount.model_validate(dict(row)) for row in popular],
    )


# --- Resources and a prompt --------------------------------------------------------------------


@server.resource("library://rules", title="Rules of the library", mime_type="text/markdown")
def rules() -> str:
    """What readers may borrow, how many books, and for how long."""
    return (
        "# Rules of the library\n\n"
        f"1. A loan lasts {LOAN_DAYS} days.\n"
        f"2. A reader may have {LOANS_PER_READER} books at a time.\n"
        "3. A reader with an overdue book returns it before borrowing another.\n"
        "4. There is one copy of each book.\n"
        "5. Only registered readers borrow; anybody may search.\n"
    )


@server.resource("library://book/{book_id}", title="A book", mime_type="application/json")
def book_card(book_id: str) -> Book:
    """The catalogue card of one book."""
    try:
        return get_book(int(book_id))
    except (ToolError, ValueError, OverflowError) as error:
        raise ResourceNotFoundError(
            f"There is no book {book_id!r}. Find its book_id with search_books."
        ) from error


@server.prompt(title="Recommend a book")
def recommend_book(
    reader_interest: Annotated[str, Field(description="What the reader likes, in any words.")],
) -> str:
    """Ask for a book of this library that suits a reader's interest."""
    return (
        f"A reader of our library is interested in: {reader_interest}\n\n"
        "Recommend one to three books. Search the catalogue with search_books, one or two words "
        "at a time, and recommend only books it lists. Prefer books that are available. For each, "
        "give the title, author and book_id, and one sentence on why it suits this reader. "
        "Offer to borrow one; do not borrow before the reader agrees."
    )


# --- Starting ----------------------------------------------------------------------------------


def main() -> None:
    """Read the command line and serve until the client leaves, or Ctrl+C."""
    parser = argparse.ArgumentParser(description="MCP server of a small public library.")
    over = parser.add_mutually_exclusive_group()
    over.add_argument("--http", type=int, metavar="PORT", help="serve Streamable HTTP on this port")
    over.add_argument("--sse", type=int, metavar="PORT", help="serve HTTP with SSE on this port")
    parser.add_argument("--db", metavar="FILE", help="keep the loans in this file")
    options = parser.parse_args()
    if options.db:
        catalogue.close()
        try:
            catalogue.open(options.db)
        except sqlite3.Error as error:
            parser.error(f"{options.db} cannot be used as the catalogue: {error}")
    with contextlib.suppress(KeyboardInterrupt):
        serve(options.http, options.sse)


def serve(http_port: int | None, sse_port: int | None) -> None:
    """Serve on one of the ports, or else over stdio."""
    if http_port is not None:
        print(f"Serving at http://127.0.0.1:{http_port}/mcp, Ctrl+C ends.", file=sys.stderr)
        server.run("streamable-http", port=http_port)
    elif sse_port is not None:
        print(f"Serving at http://127.0.0.1:{sse_port}/sse, Ctrl+C ends.", file=sys.stderr)
        server.run("sse", port=sse_port)
    else:
        if sys.stdin.isatty():
            print("Waiting for an MCP client; try --http 8001. Ctrl+C ends.", file=sys.stderr)
        # End at once on Ctrl+C; otherwise it would wait for one more line of input.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        server.run()


if __name__ == "__main__":
    main()
