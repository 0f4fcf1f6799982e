"""A server that wants authorization, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.support.authorization_server import Protected, protected_server


@pytest.fixture
def protected() -> Generator[Protected]:
    """A server that wants a token, and the service that gives it."""
    with protected_server() as found:
        yield found
