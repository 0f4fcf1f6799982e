"""What holds of all tests of the examples."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _no_loop_stands_still() -> None:
    """Not looked at here: server and SDK run in the test's own loop, and import there."""
