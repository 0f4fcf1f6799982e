"""Memories: notes found by their subject, apart for each agent, and in files."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.agents_in_ctx import init_agent
from tests.support.processes import free_port
from tests.support.scripts import child_environment
from tests.support.warm_python import warm_python
from xai_mcp_agent import ModelError, Secret
from xai_mcp_agent.agent.memory.notes import MemoryFailed, NoteStore, Vector, memory_for
from xai_mcp_agent.agent.memory.tools import CREATE_MEMORY, LOOKUP_MEMORY, answer_memory_call
from xai_mcp_agent.agent.models.embeddings import endpoint_embeddings
from xai_mcp_agent.canvas.agent_run import CanvasRun, learn
from xai_mcp_agent.canvas.model_settings import local_memory

_CHILD_SECONDS = 60


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder gets the history of the agents in these tests."""
    monkeypatch.chdir(tmp_path)


def summaries(store: NoteStore, query: str) -> list[str]:
    return [x.attributes["summary"] for x in store.query("a", query, 3)]


def test_the_error_names_a_file_or_value_that_is_no_memory(tmp_path: Path):
    with pytest.raises(MemoryFailed, match="is a folder"):
        local_memory(str(tmp_path))
    (tmp_path / "picture").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MemoryFailed, match="picture cannot be read: file is not a database"):
        local_memory(str(tmp_path / "picture"))
    store = local_memory(str(tmp_path / "picture" / "notes"))
    with pytest.raises(MemoryFailed, match="cannot be written"):
        store.for_agent("a").add("", "x", {})
    with pytest.raises(MemoryFailed, match="agent_memory of 'a' is str"):
        memory_for("notes", "a")
    ctx: dict[str, Any] = {}
    init_agent(ctx, "a")
    with pytest.raises(MemoryFailed, match="'a' has no memory"):
        learn(ctx, "a", "x", outcome=CanvasRun())


def test_a_memory_of_xai_agent_works_too():
    class Old:
        def query(self, query: str, n: int) -> list[str]:
            return [f"about {query}"]

        def add(self, id: str, text: str, metadata: Any) -> None:
            raise RuntimeError("full")

    memory = memory_for(Old(), "a")
    assert memory is not None
    assert answer_memory_call(memory, LOOKUP_MEMORY, {"query": "x"}).text == '["about x"]'
    with pytest.raises(MemoryFailed, match="RuntimeError: full"):
        answer_memory_call(memory, CREATE_MEMORY, {"summary": "x"})


def test_an_agent_finds_its_own_notes_with_all_that_it_noted():
    note = {"summary": "The dog is called Rex.", "name": "Rex"}
    memory = memory_for(NoteStore(), "a")
    assert memory is not None
    answer_memory_call(memory, CREATE_MEMORY, note)
    result = answer_memory_call(memory, LOOKUP_MEMORY, {"query": "dog"})
    assert result.text == json.dumps([note])


WRITER = """\
import sys
from pathlib import Path
from xai_mcp_agent.agent.memory.notes import NoteStore
store = NoteStore(Path(sys.argv[1]))
for number in range(50):
    store.add("a", "", f"{sys.argv[2]} saw {number}", {})
    store.add("a", "", f"both saw {number}", {"summary": f"both saw {number}"})
"""


def test_processes_that_write_at_once_lose_nothing_and_the_same_note_is_stored_once(tmp_path: Path):
    """Their folder does not exist yet."""
    file, writer = tmp_path / "made" / "notes.db", tmp_path / "writer.py"
    writer.write_text(WRITER, encoding="utf-8")
    children = [
        subprocess.Popen([warm_python(), writer, file, name], env=child_environment(tmp_path))
        for name in ("ada", "bob")
    ]
    assert [x.wait(_CHILD_SECONDS) for x in children] == [0, 0]
    store = NoteStore(file)
    assert len(store.query("a", "saw", 1_000)) == 150
    assert all(x.startswith("both saw") for x in summaries(store, "both"))
    assert store.for_agent("b").query("saw", 3) == [], "they are the notes of one agent"


def test_notes_are_compared_by_meaning_where_all_have_vectors_of_one_model(tmp_path: Path):
    vectors = {"warm": [3.0, 0.0], "cold": [0.0, 0.5], "heat": [1.0, 0.1], "other": [1.0]}
    file = tmp_path / "notes.db"

    def embed(texts: list[str]) -> list[Vector]:
        return [vectors[x] for x in texts]

    for text in ("cold", "warm"):
        NoteStore(file, embed).add("a", "", text, {"summary": text})
    again = NoteStore(file, embed)
    assert summaries(again, "heat") == ["warm", "cold"]
    assert again.query("a", "heat", 1)[0].similarity == pytest.approx(0.995)
    assert summaries(again, "other") == [], "of another model, so by words"
    assert summaries(NoteStore(file), "cold") == ["cold"]


def test_embeddings_that_fail_are_reported_once_and_words_serve(caplog: pytest.LogCaptureFixture):
    def embed(texts: list[str]) -> list[Vector]:
        raise ModelError("no such model")

    store = NoteStore(embed=embed)
    store.add("a", "", "Rex is a dog.", {"summary": "Rex is a dog."})
    assert summaries(store, "dog") == ["Rex is a dog."]
    assert [x.getMessage() for x in caplog.records] == [
        "Embeddings failed, notes are compared by their words: no such model"
    ]


def test_an_error_of_an_embeddings_endpoint_shows_no_key_and_no_password(
    monkeypatch: pytest.MonkeyPatch,
):
    """The errors of the client library hold the request. The environment's key stays here."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    embed = endpoint_embeddings("e", base_url="https://models.example.com/v1")
    with pytest.raises(ModelError, match="`api_key` of AgentNumpyMemory") as caught:
        embed(["x"])
    assert "sk-of-openai" not in str(caught.value)
    url = f"http://ada:a-password@127.0.0.1:{free_port()}/v1"
    embed = endpoint_embeddings("e", base_url=url, api_key=Secret("sk-very-secret"))
    with pytest.raises(ModelError, match="did not answer") as caught:
        embed(["x"])
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert "a-password" not in str(caught.value)
