"""Writes the table of adopted workflows: `python -m tools.build_adopted`.

It draws each shape of tests/support/old_workflows, adopts it, and compiles and runs the result.
Takes half a minute.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import page
from tests.support.old_workflows.drawn import SHAPES
from tests.support.old_workflows.outcomes import outcome
from xai_mcp_agent.cli.init import init_folder

PAGE = Path(__file__).parents[1] / "tests" / "support" / "old_workflows" / "README.md"
COMMAND = "python -m tools.build_adopted"

_HEAD = """\
| workflow | nodes | ours now | to do | what came of it |
| --- | --- | --- | --- | --- |
"""


def main() -> None:
    """Write the table."""
    with TemporaryDirectory() as folder:
        place = init_folder(Path(folder) / "lab").folder
        rows = [outcome(x, place).row() for x in SHAPES.values()]
        page.write(COMMAND, "".join([_HEAD, *rows]), PAGE)


if __name__ == "__main__":
    main()
