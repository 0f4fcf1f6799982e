"""Pictures and sounds in tool results: their parts of a message, and their limits."""

from __future__ import annotations

from typing import Any

from tests.support.media_samples import GIF, JPEG, MP3, PNG, TIFF, WAV, WEBP, beginning
from xai_mcp_agent import AudioPart, ImagePart, ResourcePart, TextPart, ToolResult
from xai_mcp_agent.agent.conversation import Conversation, call_message, result_messages
from xai_mcp_agent.agent.media import (
    MAX_CHARS,
    MAX_PARTS,
    RESULTS_WITH_MEDIA,
    content_of,
    fold_old,
    split,
)
from xai_mcp_agent.agent.messages import Message, ToolCall

LARGE = beginning(b"\x89PNG" + bytes(MAX_CHARS))


def text_and_media(*parts: Any) -> tuple[str, list[Any]]:
    """Return the text of a result with these parts, and its media."""
    result = ToolResult(parts)
    return split({"content": content_of(result.text, result)})


def urls(media: list[Any]) -> list[str]:
    return [x["image_url"]["url"] for x in media]


def test_the_type_of_a_picture_or_sound_comes_from_its_bytes():
    """Services refuse a picture that is not what it says."""
    for data, kind in ((PNG, "png"), (JPEG, "jpeg"), (GIF, "gif"), (WEBP, "webp")):
        _, media = text_and_media(ImagePart(data, "image/x-wrong"))
        assert urls(media) == [f"data:image/{kind};base64,{data}"]
    _, media = text_and_media(ResourcePart("file:///a.png", data=PNG, mime_type="image/png"))
    assert urls(media) == [f"data:image/png;base64,{PNG}"]
    for data, kind in ((WAV, "wav"), (MP3, "mp3")):
        text, media = text_and_media(TextPart("Listen:"), AudioPart(data, "audio/any"))
        assert text.startswith("Listen:\n[audio audio/any, ")
        assert media == [{"type": "input_audio", "input_audio": {"data": data, "format": kind}}]


def test_a_note_replaces_pictures_that_no_model_takes_or_that_are_too_many():
    for data in (TIFF, "not base64!", "", LARGE):
        text, media = text_and_media(ImagePart(PNG, "image/png"), ImagePart(data, "image/png"))
        assert urls(media) == [f"data:image/png;base64,{PNG}"]
        assert "[1 of the pictures and sounds cannot be shown. A result shows 8 at most" in text
    text, media = text_and_media(*[ImagePart(PNG, "image/png")] * (MAX_PARTS + 3))
    assert len(media) == MAX_PARTS
    assert "[3 of the pictures and sounds cannot be shown." in text


def conversation(count: int, data: str = PNG) -> Conversation:
    """A conversation in which so many tools gave a picture each."""
    messages: list[Message] = []
    for number in range(count):
        call = ToolCall(f"c{number}", "look", "{}")
        result = ToolResult((TextPart(f"Seen {number}."), ImagePart(data, "image/png")))
        messages.append(call_message("", [call]))
        messages += result_messages([(call, result.text, result)])
    return Conversation("Go.", messages)


def test_only_recent_results_keep_their_media_and_fewer_if_they_are_large():
    messages = fold_old(conversation(RESULTS_WITH_MEDIA + 2).turns())
    results = [split(x) for x in messages if x["role"] == "tool"]
    assert [len(media) for _, media in results] == [0, 0, *[1] * RESULTS_WITH_MEDIA]
    words = [text.splitlines()[-1] for text, _ in results]
    assert words[1] == "[Pictures and sounds of this result are not shown any more.]"
    assert words[2].startswith("[image image/png, ")
    large = beginning(b"\x89PNG" + bytes(MAX_CHARS * 3 // 4 - 100))
    messages = fold_old(conversation(3, large).turns())
    assert [len(split(x)[1]) for x in messages if x["role"] == "tool"] == [0, 1, 1]
