"""The asking server over HTTP, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.support.asking_server import asking
from tests.support.mcp_servers import serving


@pytest.fixture(scope="package")
def asking_url() -> Generator[str]:
    """The asking server over Streamable HTTP, in both eras."""
    with serving(asking().streamable_http_app()) as address:
        yield f"{address}/mcp"
