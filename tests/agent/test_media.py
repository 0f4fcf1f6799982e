"""Pictures and sounds in tool results: what a message keeps of them, and for how long."""

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


def shown(*parts: Any) -> tuple[str, list[Any]]:
    """The text of a result with these parts, and what a model may see and hear of it."""
    result = ToolResult(parts)
    return split({"content": content_of(result.text, result)})


def urls(media: list[Any]) -> list[str]:
    return [x["image_url"]["url"] for x in media]


def test_the_bytes_of_a_picture_or_sound_say_what_it_is():
    """Services refuse a picture that is not what it says."""
    for data, kind in ((PNG, "png"), (JPEG, "jpeg"), (GIF, "gif"), (WEBP, "webp")):
        _, media = shown(ImagePart(data, "image/x-wrong"))
        assert urls(media) == [f"data:image/{kind};base64,{data}"]
    _, media = shown(ResourcePart("file:///a.png", data=PNG, mime_type="image/png"))
    assert urls(media) == [f"data:image/png;base64,{PNG}"]
    for data, kind in ((WAV, "wav"), (MP3, "mp3")):
        text, media = shown(TextPart("Listen:"), AudioPart(data, "audio/any"))
        assert text.startswith("Listen:\n[audio audio/any, ")
        assert media == [{"type": "input_audio", "input_audio": {"data": data, "format": kind}}]


def test_a_picture_that_no_model_takes_or_is_one_too_many_is_reported_in_words():
    for data in (TIFF, "not base64!", "", LARGE):
        text, media = shown(ImagePart(PNG, "image/png"), ImagePart(data, "image/png"))
        assert urls(media) == [f"data:image/png;base64,{PNG}"]
        assert "[1 of the pictures and sounds cannot be shown. A result shows 8 at most" in text
    text, media = shown(*[ImagePart(PNG, "image/png")] * (MAX_PARTS + 3))
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


def test_only_the_last_results_are_shown_and_large_ones_give_way_sooner():
    sent = fold_old(conversation(RESULTS_WITH_MEDIA + 2).turns())
    results = [split(x) for x in sent if x["role"] == "tool"]
    assert [len(media) for _, media in results] == [0, 0, *[1] * RESULTS_WITH_MEDIA]
    words = [text.splitlines()[-1] for text, _ in results]
    assert words[1] == "[Pictures and sounds of this result are not shown any more.]"
    assert words[2].startswith("[image image/png, ")
    large = beginning(b"\x89PNG" + bytes(MAX_CHARS * 3 // 4 - 100))
    sent = fold_old(conversation(3, large).turns())
    assert [len(split(x)[1]) for x in sent if x["role"] == "tool"] == [0, 1, 1]
