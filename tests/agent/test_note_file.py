"""The file of a memory: shared by processes, whole after anything, and searched at once."""

from __future__ import annotations

import copy
import json
import logging
import os
import pickle
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.support.scripts import child_environment
from xai_mcp_agent import JsonObject
from xai_mcp_agent.agent.memory import note_file
from xai_mcp_agent.agent.memory.notes import MemoryFailed, NoteStore
from xai_mcp_agent.secrets.private_files import file_lock

_CHILD_SECONDS = 60
_MANY = 3_000


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a memory is kept."""
    return tmp_path / "notes.jsonl"


def line(text: object, **fields: object) -> bytes:
    """A line of a memory of the agent `a`."""
    note: JsonObject = {"agent": "a", "id": "1", "text": text, "metadata": {"summary": text}}
    return json.dumps({**note, **fields}, ensure_ascii=False).encode()


def texts(store: NoteStore) -> list[str]:
    return [x.text for x in store.notes]


def found(store: NoteStore, query: str) -> list[str]:
    return [x.attributes["summary"] for x in store.query("a", query, 3)]


# Broken lines

BROKEN = {
    "half": b'{"agent": "a", "id": "2", "te',
    "no text": b"\xff\xfe\x00{",
    "no note": b'{"name": "Rex"}',
    "a number": b"5",
    "deep": b"[" * 100_000,
    "other types": line(5),
    "a vector of words": line("x", vector=["one"]),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_a_broken_line_costs_that_line_and_is_kept_aside(
    file: Path, broken: bytes, at: int, caplog: pytest.LogCaptureFixture
):
    lines = [line("Rex is a dog."), line("Tom is a cat.")]
    file.write_bytes(b"\n".join([*lines[:at], broken, *lines[at:]]))
    assert texts(NoteStore(file)) == ["Rex is a dog.", "Tom is a cat."]
    (told,) = caplog.messages
    assert "has 1 broken line(s), the first begins" in told
    assert "What is broken is in notes.jsonl.broken now" in told
    assert (file.parent / "notes.jsonl.broken").read_bytes() == broken + b"\n"
    caplog.clear()
    again = NoteStore(file)
    again.add("a", "", "It rains.", {})
    assert texts(NoteStore(file)) == ["Rex is a dog.", "Tom is a cat.", "It rains."]
    assert caplog.messages == []


def test_broken_lines_are_added_to_those_that_are_kept(file: Path):
    file.write_bytes(line("Rex is a dog.") + b"\nfirst\n")
    store = NoteStore(file)
    with file.open("ab") as other:
        other.write(b"second\n" + line("Tom is a cat.") + b"\n")
    assert found(store, "cat") == ["Tom is a cat."]
    assert (file.parent / "notes.jsonl.broken").read_bytes() == b"first\nsecond\n"


@pytest.mark.parametrize(
    "content", [b"\xff\xfe\x00", b'{\n "mcpServers": {}\n}\n', b"dear diary\n"]
)
def test_a_file_that_is_no_memory_is_left_as_it_is(file: Path, content: bytes):
    file.write_bytes(content)
    with pytest.raises(MemoryFailed, match="no line of it is a note"):
        NoteStore(file)
    assert file.read_bytes() == content
    assert not (file.parent / "notes.jsonl.broken").exists()


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away"
)
def test_a_broken_line_of_somebody_elses_memory_stays_where_it_is(
    file: Path, caplog: pytest.LogCaptureFixture
):
    content = line("Rex is a dog.") + b"\nbroken\n"
    file.write_bytes(content)
    os.chown(file, 4711, 4711)
    assert texts(NoteStore(file)) == ["Rex is a dog."]
    assert "stays in it, as it cannot be moved (it belongs to somebody else)" in caplog.text
    assert file.read_bytes() == content
    assert not (file.parent / "notes.jsonl.broken").exists()


def test_a_first_note_that_was_cut_off_is_set_aside(file: Path):
    file.write_bytes(line("Rex is a dog.")[:30])
    store = NoteStore(file)
    store.add("a", "", "Tom is a cat.", {"summary": "Tom is a cat."})
    assert texts(NoteStore(file)) == ["Tom is a cat."]


def test_lines_end_where_files_end_them_and_nowhere_else(file: Path):
    """Other programs write such characters as they are; an editor begins with a mark."""
    odd = "one\u2028two\x85three"
    file.write_bytes(b"\xef\xbb\xbf" + line(odd) + b"\r\n\r\n" + line("Rex"))
    assert texts(NoteStore(file)) == [odd, "Rex"]


# Several processes

WRITER = """
import sys
from pathlib import Path
from xai_mcp_agent.agent.memory.notes import NoteStore
store, name = NoteStore(Path(sys.argv[1])), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
for number in range(200):
    text = f"{name} saw {number}"
    store.add("a", "", text, {"summary": text})
    store.add("a", "", f"both saw {number}", {"summary": number})
print(len(store.notes), store.query("a", f"{name} saw 199", 1)[0].attributes)
"""


def test_processes_that_write_at_once_lose_nothing(file: Path):
    """Also where their folder is not there yet; and what both noted is there once."""
    deep = file.parent / "made" / "notes.jsonl"
    children = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(deep), name], env=child_environment(file.parent),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for name in ("ada", "bob", "cyd")
    ]  # fmt: skip
    try:
        for child in children:
            assert child.stdout
            assert child.stdout.readline() == "ready\n"
        for child in children:
            assert child.stdin
            child.stdin.write("\n")
            child.stdin.flush()
        said = [child.communicate(timeout=_CHILD_SECONDS)[0] for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait(_CHILD_SECONDS)
    assert [x.split("'")[3] for x in said] == ["ada saw 199", "bob saw 199", "cyd saw 199"]
    store = NoteStore(deep)
    assert len(store.notes) == len(deep.read_text().splitlines()) == 800
    assert len({x.id for x in store.notes}) == 800
    assert max(int(x.split()[0]) for x in said) == 800
    assert not (deep.parent / "notes.jsonl.broken").exists()


def test_what_another_process_notes_is_found_at_once(file: Path):
    one, other = NoteStore(file), NoteStore(file)
    one.add("a", "", "Rex is a dog.", {"summary": "Rex is a dog."})
    assert found(other, "dog") == ["Rex is a dog."]
    other.add("a", "", "Rex is a dog.", {"summary": "Rex is a dog."})
    other.add("a", "", "Tom is a cat.", {"summary": "Tom is a cat."})
    assert found(one, "cat") == ["Tom is a cat."]
    assert [x.id for x in one.notes] == ["note-1", "note-2"]


def test_threads_that_share_a_memory_lose_nothing(file: Path):
    stores = [NoteStore(file), NoteStore(file)]

    def write(number: int) -> None:
        for n in range(20):
            stores[number % 2].add("a", "", f"{number} saw {n}", {})

    threads = [threading.Thread(target=write, args=(x,), daemon=True) for x in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_CHILD_SECONDS)
    assert len(NoteStore(file).notes) == 80


def test_a_file_that_a_person_edits_is_read_anew(file: Path):
    store = NoteStore(file)
    for text in ("Rex is a dog.", "Tom is a cat."):
        store.add("a", "", text, {"summary": text})
    file.write_bytes(file.read_bytes().replace(b"Rex", b"Bella").replace(b"Tom", b"Kit"))
    assert found(store, "dog") == ["Bella is a dog."]
    file.unlink()
    assert found(store, "dog") == []
    store.add("a", "", "Rex is a dog.", {"summary": "Rex is a dog."})
    assert texts(NoteStore(file)) == ["Rex is a dog."]


def test_a_memory_that_somebody_keeps_locked_says_so_and_is_still_read(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(note_file, "_LOCK_SECONDS", 0.05)
    store = NoteStore(file)
    store.add("a", "", "Rex is a dog.", {"summary": "Rex is a dog."})
    with file_lock(file.with_name("notes.jsonl.lock"), 1.0):
        with pytest.raises(MemoryFailed, match="another process keeps it locked"):
            store.add("a", "", "Tom is a cat.", {})
        with file.open("ab") as other:
            other.write(line("It rains.") + b"\n")
        assert found(store, "dog") == ["Rex is a dog."]
    assert "another process keeps it locked" in caplog.text
    assert found(store, "rains") == ["It rains."]


@pytest.mark.parametrize("with_file", [True, False])
def test_a_memory_goes_into_another_process_with_its_notes(file: Path, with_file: bool):
    store = NoteStore(file if with_file else None)
    store.add("a", "", "Rex is a dog.", {"summary": "Rex is a dog."})
    again = pickle.loads(pickle.dumps(store))
    assert found(again, "dog") == ["Rex is a dog."]
    assert len(again.notes) == 1
    assert copy.deepcopy(store) is store


# Meaning, and many notes


def test_notes_are_compared_by_meaning_where_all_have_vectors_of_one_model(file: Path):
    vectors = {"warm": [3.0, 0.0], "cold": [0.0, 0.5], "heat": [1.0, 0.1], "other": [1.0]}
    store = NoteStore(file, lambda texts: [vectors[x] for x in texts])
    for text in ("cold", "warm"):
        store.add("a", "", text, {"summary": text})
    again = NoteStore(file, lambda texts: [vectors[x] for x in texts])
    assert found(again, "heat") == ["warm", "cold"]
    assert again.query("a", "heat", 1)[0].similarity == pytest.approx(0.995)
    assert found(again, "other") == [], "of another model, so by words"
    assert found(NoteStore(file), "cold") == ["cold"]


def test_three_thousand_notes_are_searched_in_a_tiny_part_of_the_time_it_takes_to_read_them(
    file: Path, caplog: pytest.LogCaptureFixture
):
    chance = random.Random(1)
    words = [f"{chance.choice('bcdfgklmnprst')}{n:x}" for n in range(2_000)]
    notes = [" ".join(chance.choices(words, k=14)) for _ in range(_MANY)]
    file.write_bytes(b"".join(line(x, id=str(n)) + b"\n" for n, x in enumerate(notes)))
    started = time.thread_time()
    store = NoteStore(file)
    assert found(store, notes[7])[0] == notes[7]
    made = time.thread_time() - started
    started = time.thread_time()
    for text in notes[::300]:
        assert found(store, text)[0] == text
    asked = (time.thread_time() - started) / 10
    started = time.thread_time()
    store.add("a", "", "a new one", {"summary": "a new one"})
    assert found(store, "new one") == ["a new one"]
    added = time.thread_time() - started
    assert asked < made / 10
    assert added < made / 5, "one note more does not cost all of them again"
    assert caplog.records == [x for x in caplog.records if x.levelno < logging.WARNING]
