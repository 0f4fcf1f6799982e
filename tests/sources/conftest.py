"""A service on loopback, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.support.http_service import HttpService, http_service


@pytest.fixture
def service() -> Generator[HttpService]:
    """A service behind HTTP without any answers yet."""
    with http_service() as running:
        yield running
