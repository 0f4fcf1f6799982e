"""The certificates that servers and services are checked by."""

from __future__ import annotations

import os
import ssl
from functools import cache


def trusted_certificates() -> ssl.SSLContext:
    """The certificates of this machine, or what `SSL_CERT_FILE` and `SSL_CERT_DIR` name.

    Raises:
        OSError: the file or folder that the environment names cannot be read.
    """
    return _trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _trusted(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """Shared, because loading it takes a twentieth of a second."""
    import httpx2  # here, because most runs reach nothing over HTTP

    return httpx2.create_ssl_context()
