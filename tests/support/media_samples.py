"""Small pictures and sounds, with enough bytes to recognize their type."""

from __future__ import annotations

import base64

# One pixel.
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
GIF = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"


def beginning(data: bytes) -> str:
    """Return a file with this beginning, as base64."""
    return base64.b64encode(data + bytes(40)).decode()


JPEG = beginning(b"\xff\xd8\xff\xe0")
WEBP = beginning(b"RIFF\x10\x00\x00\x00WEBP")
WAV = beginning(b"RIFF\x10\x00\x00\x00WAVE")
MP3 = beginning(b"ID3\x04")
TIFF = beginning(b"II*\x00")
