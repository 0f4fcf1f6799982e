"""Memories: notes found again by what they are about, kept apart, kept in files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.agents_in_ctx import init_agent
from tests.support.model_endpoint import calls, model_endpoint, says
from tests.support.offline_talk import first_calls
from tests.support.processes import free_port
from tests.support.scripts import child_environment
from xai_mcp_agent import ModelError, Secret
from xai_mcp_agent.agent.memory.notes import MemoryFailed, NoteStore, Vector, memory_for
from xai_mcp_agent.agent.memory.tools import (
    CREATE_MEMORY,
    LOOKUP_MEMORY,
    MEMORY_TOOLS,
    answer_memory_call,
)
from xai_mcp_agent.agent.models.embeddings import endpoint_embeddings
from xai_mcp_agent.canvas.agent_run import CanvasRun, learn, run_agent
from xai_mcp_agent.canvas.model_settings import local_memory
from xai_mcp_agent.core.provider_schema import FunctionSpec

_CHILD_SECONDS = 60


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which gets the history of what agents do here."""
    monkeypatch.chdir(tmp_path)


def found(store: NoteStore, query: str) -> list[str]:
    return [x.attributes["summary"] for x in store.query("a", query, 3)]


def test_a_file_that_cannot_be_used_is_named(tmp_path: Path):
    with pytest.raises(MemoryFailed, match="is a folder"):
        local_memory(str(tmp_path))
    (tmp_path / "picture").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(MemoryFailed, match="picture cannot be read: file is not a database"):
        local_memory(str(tmp_path / "picture"))
    store = local_memory(str(tmp_path / "picture" / "notes"))
    with pytest.raises(MemoryFailed, match="cannot be written"):
        store.for_agent("a").add("", "x", {})


def test_what_is_no_memory_is_refused_in_words():
    with pytest.raises(MemoryFailed, match="agent_memory of 'a' is str"):
        memory_for("notes", "a")


def test_a_memory_of_xai_agents_kind_serves_too():
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


REMEMBER = {"summary": "The dog is called Rex.", "name": "Rex"}


def test_an_agent_notes_and_finds_again():
    script = [
        calls(("create_memory", REMEMBER)), says("Noted."),
        calls(("lookup_memory", {"query": "dog"})), says("Rex."),
    ]  # fmt: skip
    ctx: dict[str, Any] = {}
    with model_endpoint(script) as endpoint:
        init_agent(
            ctx, "a", provider="openai", model="m", base_url=endpoint.base_url,
            memory=NoteStore(), system_prompt="{memory}",
        )  # fmt: skip
        run_agent(ctx, "a", "My dog is Rex.", outcome=CanvasRun())
        run_agent(ctx, "a", "My dog's name?", outcome=CanvasRun())
    assert "lookup_memory:" in endpoint.requests[0].body["messages"][0]["content"]
    assert json.dumps([REMEMBER]) in endpoint.requests[3].body["messages"][-1]["content"]


def test_an_agent_without_a_memory_cannot_learn():
    ctx: dict[str, Any] = {}
    init_agent(ctx, "a")
    with pytest.raises(MemoryFailed, match="'a' has no memory"):
        learn(ctx, "a", "x", outcome=CanvasRun())


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("request_", "call"),
    [
        ("Remember that my dog is called Rex.", {"summary": "my dog is called Rex"}),
        (
            "Note that the door code is on the fridge.",
            {"summary": "the door code is on the fridge"},
        ),
        ("Please keep in mind that I like tea.", {"summary": "I like tea"}),
        ("What is my dog called?", {"query": "What is my dog called"}),
        ("Where do I live?", {"query": "Where do I live"}),
    ],
)
async def test_the_offline_model_notes_and_recalls(request_: str, call: dict[str, Any]):
    """A question about the one who asks is looked up before it is said that nothing fits."""
    functions = [FunctionSpec(x.name, x.description, x.input_schema) for x in MEMORY_TOOLS]
    assert [x for _, x in await first_calls(request_, functions)] == [call]


def test_what_another_process_notes_is_found_and_the_same_note_is_kept_once(tmp_path: Path):
    """For the agent whose it is."""
    one, other = (NoteStore(tmp_path / "deep" / "notes.db") for _ in range(2))
    for store in (one, other):
        store.add("a", "", "Rex is a dog.", {"summary": "Rex is a dog."})
    other.add("a", "", "Tom is a cat.", {"summary": "Tom is a cat."})
    assert found(one, "dog") == ["Rex is a dog."]
    assert found(one, "cat") == ["Tom is a cat."]
    assert one.for_agent("b").query("dog", 3) == []


WRITER = """\
import sys
from pathlib import Path
from xai_mcp_agent.agent.memory.notes import NoteStore
store = NoteStore(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
for number in range(50):
    store.add("a", "", f"{sys.argv[2]} saw {number}", {})
    store.add("a", "", f"both saw {number}", {})
"""


def test_processes_that_write_at_once_lose_nothing(tmp_path: Path):
    """Also where their folder is not there yet."""
    file = tmp_path / "made" / "notes.db"
    children = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(file), name], env=child_environment(tmp_path),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for name in ("ada", "bob")
    ]  # fmt: skip
    try:
        for child in children:
            assert child.stdout
            assert child.stdout.readline() == "ready\n"
        for child in children:
            child.communicate("\n", timeout=_CHILD_SECONDS)
    finally:
        for child in children:
            child.kill()
            child.wait(_CHILD_SECONDS)
    assert [x.returncode for x in children] == [0, 0]
    assert len(NoteStore(file).query("a", "saw", 1_000)) == 150


def test_notes_are_compared_by_meaning_where_all_have_vectors_of_one_model(tmp_path: Path):
    vectors = {"warm": [3.0, 0.0], "cold": [0.0, 0.5], "heat": [1.0, 0.1], "other": [1.0]}
    file = tmp_path / "notes.db"
    for text in ("cold", "warm"):
        NoteStore(file, lambda texts: [vectors[x] for x in texts]).add(
            "a", "", text, {"summary": text}
        )
    again = NoteStore(file, lambda texts: [vectors[x] for x in texts])
    assert found(again, "heat") == ["warm", "cold"]
    assert again.query("a", "heat", 1)[0].similarity == pytest.approx(0.995)
    assert found(again, "other") == [], "of another model, so by words"
    assert found(NoteStore(file), "cold") == ["cold"]


def test_embeddings_that_fail_are_reported_once_and_words_serve(caplog: pytest.LogCaptureFixture):
    def embed(texts: list[str]) -> list[Vector]:
        raise ModelError("no such model")

    store = NoteStore(embed=embed)
    store.add("a", "", "Rex is a dog.", {"summary": "Rex is a dog."})
    assert found(store, "dog") == ["Rex is a dog."]
    assert [x.getMessage() for x in caplog.records] == [
        "Embeddings failed, notes are compared by their words: no such model"
    ]


def test_the_key_of_the_environment_is_not_sent_to_another_embeddings_endpoint(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    embed = endpoint_embeddings("e", base_url="https://models.example.com/v1")
    with pytest.raises(ModelError, match="`api_key` of AgentNumpyMemory") as caught:
        embed(["x"])
    assert "sk-of-openai" not in str(caught.value)


def test_an_embeddings_endpoint_that_fails_is_reported_without_the_key():
    """The errors of the client library hold the request with its key."""
    url = f"http://ada:a-password@127.0.0.1:{free_port()}/v1"
    embed = endpoint_embeddings("e", base_url=url, api_key=Secret("sk-very-secret"))
    with pytest.raises(ModelError, match="did not answer") as caught:
        embed(["x"])
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert "a-password" not in str(caught.value)
