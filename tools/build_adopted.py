"""The adopted workflows in docs/measured.md: `python -m tools.build_adopted` writes their table.

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

COMMAND = "python -m tools.build_adopted"

_HEAD = """\
| workflow | nodes | ours now | to do | what came of it |
| --- | --- | --- | --- | --- |
"""


def main() -> None:
    """Write the table."""
    with TemporaryDirectory() as folder:
        place = init_folder(Path(folder) / "lab").folder
        page.write(COMMAND, "".join([_HEAD, *(outcome(x, place).row() for x in SHAPES.values())]))


if __name__ == "__main__":
    main()
