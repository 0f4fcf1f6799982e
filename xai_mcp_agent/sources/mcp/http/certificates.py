"""Whose certificates are trusted when a server is reached by https."""

from __future__ import annotations

import os
import ssl
from functools import cache


def trusted_certificates() -> ssl.SSLContext:
    """Those of this machine, or what `SSL_CERT_FILE` and `SSL_CERT_DIR` name.

    Raises:
        OSError: the file or folder that the environment names cannot be read.
    """
    return _trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _trusted(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """Shared, because loading it takes a twentieth of a second."""
    # Here, because it is only needed once a server is reached by URL.
    import httpx2

    return httpx2.create_ssl_context()
