"""The table in docs/adopting.md: `python -m tools.build_adopted` writes it.

It draws each shape of tests/support/old_workflows, adopts it, and compiles and runs what comes of
it. Takes half a minute. The rest of the page is written by hand.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.old_workflows.drawn import SHAPES
from tests.support.old_workflows.outcomes import Outcome, outcome
from xai_mcp_agent.cli.init import init_folder

PAGE = Path(__file__).parents[1] / "docs" / "adopting.md"
BEGIN = "<!-- Written by `python -m tools.build_adopted`: begin -->\n"
END = "<!-- end of the shapes -->"

_HEAD = """\
| workflow | nodes | ours now | to do | what came of it |
| --- | --- | --- | --- | --- |
"""


def table(outcomes: Iterable[Outcome]) -> str:
    """The shapes, each with what came of it."""
    return "".join([_HEAD, *(x.row() for x in outcomes)])


def page_with(page: str, shapes: str) -> str:
    """The page with this table in it."""
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    assert begin, f"{PAGE.name} has lost its mark {BEGIN}"
    assert end, f"{PAGE.name} has lost its mark {END}"
    return f"{head}{BEGIN}{shapes}{END}{tail}"


def main() -> None:
    """Write the table."""
    with TemporaryDirectory() as folder:
        place = init_folder(Path(folder) / "lab").folder
        shapes = table(outcome(x, place) for x in SHAPES.values())
    PAGE.write_text(page_with(PAGE.read_text(encoding="utf-8"), shapes), encoding="utf-8")


if __name__ == "__main__":
    main()
