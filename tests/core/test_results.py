"""Results of tools, as a reader of text gets them."""

from __future__ import annotations

import base64

from xai_mcp_agent import (
    AudioPart,
    ImagePart,
    LinkPart,
    ResourcePart,
    TextPart,
    ToolResult,
    UnknownPart,
)


def test_parts_are_read_in_their_order_and_pictures_are_named_not_shown():
    picture = base64.b64encode(b"12345").decode()
    result = ToolResult(
        (
            TextPart("first"),
            ImagePart(picture, "image/png"),
            AudioPart(picture, "audio/wav"),
            LinkPart("file:///a", "a", "An A."),
            ResourcePart("file:///b", text="inside"),
            ResourcePart("file:///c", data=picture, mime_type="application/zip"),
            UnknownPart("hologram", {}),
        )
    )
    assert result.text.splitlines() == [
        "first",
        "[image image/png, 5 bytes, not shown as text]",
        "[audio audio/wav, 5 bytes, not shown as text]",
        "[resource a: file:///a] An A.",
        "inside",
        "[resource file:///c, application/zip, 5 bytes]",
        "[content of unknown kind 'hologram', left out]",
    ]
