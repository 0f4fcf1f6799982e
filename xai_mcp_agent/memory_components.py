"""Nodes that give an agent a memory."""

from xai_components.base import Component, InArg, InCompArg, OutArg, secret, xai_component

from xai_mcp_agent import canvas


@xai_component(color="rgb(118, 11, 214)")
class AgentNumpyMemory(Component):
    """Gives an agent a memory on this machine: it can note things and find them again.

    It needs no key: notes are compared by their words. With an embedding model they are
    compared by their meaning. Agents that share this node do not see each other's notes.
    Only you can read the file, an SQLite database. Several runs may use it at once, and each finds
    what the others note.

    ##### inPorts:
    - file (str): Keeps the notes in this file, and finds them there in the next run.
      Default: they are gone when the run ends.
    - embedding_model (str): A model of an embeddings endpoint. Default: none.
    - base_url (str): Where the endpoint is, such as `http://localhost:11434/v1`.
      Default: OpenAI's.
    - api_key (secret): Its key, or the name of an environment variable that holds it, such as
      `${ACME_API_KEY}`. Default: for OpenAI what the environment variable OPENAI_API_KEY holds.

    ##### outPorts:
    - memory (any): Wire it to `agent_memory` of AgentInit.

    ##### Example:
    file `notes.db`, memory wired to AgentInit; then ask `Remember that my dog is called Rex.`
    """

    file: InArg[str]
    embedding_model: InArg[str]
    base_url: InArg[str]
    api_key: InArg[secret]

    memory: OutArg[any]

    def execute(self, ctx) -> None:
        self.memory.value = canvas.local_memory(
            self.file.value, self.embedding_model.value, self.base_url.value, self.api_key.value
        )


@xai_component(color="rgb(118, 11, 214)")
class AgentVectoMemory(Component):
    """Gives an agent a memory in a vector space of the Vecto service.

    It needs an account there and a package: `pip install "xai-mcp-agent[vecto]"`.

    ##### inPorts:
    - api_key (secret): The key. Default: what the environment variable VECTO_API_KEY holds;
      that is the better place.
    - vector_space (str): The name of the space; it is made if there is none.
    - initialize (bool): Empties the space first. Default: False.

    ##### outPorts:
    - memory (any): Wire it to `agent_memory` of AgentInit.

    ##### Example:
    vector_space `my-notes`, and memory wired to AgentInit.
    """

    api_key: InArg[secret]
    vector_space: InCompArg[str]
    initialize: InArg[bool]

    memory: OutArg[any]

    def execute(self, ctx) -> None:
        self.memory.value = canvas.remote_memory(
            self.vector_space.value, self.api_key.value, self.initialize.value
        )
