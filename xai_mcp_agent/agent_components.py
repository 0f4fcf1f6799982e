"""Agents: their tools, models, memories and runs."""

from xai_components.base import (
    BaseComponent,
    Component,
    InArg,
    InCompArg,
    OutArg,
    SubGraphExecutor,
    dynalist,
    secret,
    xai_component,
)

from xai_mcp_agent import canvas

# In the order in which the palette shows them: the first agent, its tools, what it remembers,
# several of them.


@xai_component(color="rgb(118, 64, 12)")
class AgentUseMCPTools(Component):
    """Gives an agent the tools of one MCP server. Use one node for each server.

    The server starts in the background, and AgentRun waits for it, up to its `startTimeout`. If it
    cannot be used, the agent works without it and says so. If it asks something during a call, the
    run shows the question and waits for you.

    ##### inPorts:
    - server_name (str): The server's name under `mcpServers` in `mcp_settings.json`.
    - toolbelt_name (str): The toolbelt it belongs to. Default: `default`.
    - tools (str): Only these of its tools, with commas: `get_book, list_*`, where `*` stands
      for any text. Default: all.
    - except_tools (str): Not these, written in the same way. Default: none.
    - required (bool): True: a run fails if this gives it no tool. Default: False.

    ##### Example:
    server_name `library`, before AgentMakeToolbelt.
    """

    server_name: InCompArg[str]
    toolbelt_name: InArg[str]
    tools: InArg[str]
    except_tools: InArg[str]
    required: InArg[bool]

    def execute(self, ctx) -> None:
        canvas.sources.use(ctx, self)


@xai_component(color="rgb(118, 64, 12)")
class AgentMakeToolbelt(Component):
    """Makes a toolbelt of all tools that were drawn and declared for it so far.

    Place the nodes AgentUse... before it. If there is only one toolbelt and you set none of these
    ports, you can leave this node out.

    ##### inPorts:
    - name (str): The toolbelt's name. Default: `default`.
    - lock_tools (bool): True: the agent uses only tools whose definition was accepted with
      `xai-mcp-agent tools accept`; new and changed ones wait. Default: False.
    - lock_first (bool): True: the same, but a server's first listing is accepted. Default: False.
    - approval (str): Which calls need your approval: `ask`, `ask_unless_read_only`, `allow` or
      `deny` for all tools, or by tool and server: `delete_*: ask, files: deny`. Default: as in the
      settings, otherwise calls that may destroy something.
    - planning_tools (bool): True: the agent has `select_tool`, `plan_tools`, `execute_tool` and
      `list_tools`, to choose among its own tools and to plan with them. Default: False.

    ##### outPorts:
    - toolbelt_spec (dict): Wire it to AgentInit.

    ##### Example:
    AgentUseMCPTools, then this node, then AgentInit, with toolbelt_spec wired from here.
    """

    name: InArg[str]
    lock_tools: InArg[bool]
    lock_first: InArg[bool]
    approval: InArg[str]
    planning_tools: InArg[bool]

    toolbelt_spec: OutArg[dict]

    def execute(self, ctx) -> None:
        self.toolbelt_spec.value = canvas.toolbelts.make_toolbelt(
            ctx, **canvas.ports.raw_inputs(self)
        )


@xai_component(color="rgb(5, 22, 104)")
class AgentInit(Component):
    """Sets up an agent, a chatbot with tools: an LLM, its instructions, its tools. Then AgentRun.

    Without a provider it uses `offline`: fixed rules that need no key and no network, good for
    trying out a workflow.

    ##### inPorts:
    - toolbelt_spec (dict): The tools, from AgentMakeToolbelt. Default: the only toolbelt that the
      nodes before declared, if the workflow has no AgentMakeToolbelt; otherwise none.
    - system_prompt (str): Who the agent is and how it should work. May contain `{tools}`,
      `{tool_instruction}`, `{memory}`, `{metadata}` and `{provided_system}`. Default: none.
    - agent_provider (str): `offline`, `openai` (also compatible services, by base_url of
      AgentModel), `openai_responses` (the Responses API), or with the extra `providers`
      `anthropic`, `google`, `vertexai`, `bedrock`, `mistral`, `groq`, `cohere` or `xai`.
      Default: from AgentModel or agent_model, otherwise `offline`.
    - agent_model (str): The model's name at its provider, such as `gpt-5-mini`; or both, such as
      `anthropic:claude-sonnet-5`. Default: from AgentModel; only `offline` needs none.
    - model_settings (dict): Address, key and limits of the model, from AgentModel. Default: the
      provider's own.
    - agent_name (str): The agent's name for other nodes. Each agent needs its own. Default:
      `agent`.
    - agent_memory (any): The agent's memory, from a memory node. Default: none.
    - max_thoughts (int): The most turns of the model in one run; in the last one it must answer.
      Default: 10.

    ##### Example:
    system_prompt `You are a friendly librarian.`, toolbelt_spec from AgentMakeToolbelt; then
    AgentRun with a question.
    """

    toolbelt_spec: InArg[dict]
    system_prompt: InArg[str]
    agent_provider: InArg[str]
    agent_model: InArg[str]
    model_settings: InArg[dict]
    agent_name: InArg[str]
    agent_memory: InArg[any]
    max_thoughts: InArg[int]

    def execute(self, ctx) -> None:
        canvas.agents.set_up_agent(ctx, self)


@xai_component(type="branch", color="rgb(5, 22, 104)")
class AgentRun(Component):
    """Asks an agent: the LLM thinks, uses its tools, and answers, as in a chat.

    ##### inPorts:
    - question (str): The question. Default: none; then conversation ends with it.
    - conversation (any): The conversation so far: the out_conversation of an earlier run, or a chat
      literal. Default: none.
    - agent_name (str): The agent. Default: the one that was set up last.
    - metadata (dict): Facts for `{metadata}` in the system prompt. Default: none.
    - show (str): How much is printed: `quiet` (only what went wrong), `normal` or `verbose`.
      Default: the environment variable XAI_MCP_SHOW, otherwise `normal`.
    - output_schema (dict): A JSON Schema that the answer must match. Default: any text.
    - run_state (str): A file in which the run waits if nobody is there to approve a call.
      Default: such calls are not made.
    - wait_for_approval (bool): True: the run waits in that file even if somebody could be asked.
      Default: False.

    ##### outPorts:
    - out_conversation (list): The whole conversation, with all calls and results.
    - last_response (str): The answer.
    - thought (str): In the branch on_thought: what the agent said when it used the tool.
    - stopped (str): How the run ended, such as `answered`, `max_thoughts`, `limit`, `error`, or
      `no_tools`: no tool of its servers can be used, so the model was not asked.
    - usage (dict): The tokens, turns, calls and seconds of the run.
    - error (str): Why there is no answer; empty if there is one.
    - structured (any): With output_schema, the answer as data.
    - approval (dict): In the branch on_approval: the call, as server, tool and arguments, and why.

    ##### Branches:
    - on_thought: Runs after each use of a tool, once for each; `thought` is up to date.
    - on_error: Runs instead of the next node if there is no answer; `error` says why. Not wired:
      the workflow ends.
    - on_approval: Decides whether a call that needs approval is made. End it with AgentApprove. Not
      wired: you are asked.
    - on_waiting: Runs instead of the next node if the run waits in the file of run_state. Not
      wired: the workflow ends.

    ##### Example:
    question `Which books do you have about the sea?`, and last_response wired to a Print node.
    """

    on_thought: BaseComponent
    on_error: BaseComponent
    on_approval: BaseComponent
    on_waiting: BaseComponent

    question: InArg[str]
    conversation: InArg[any]
    agent_name: InArg[str]
    metadata: InArg[dict]
    show: InArg[str]
    output_schema: InArg[dict]
    run_state: InArg[str]
    wait_for_approval: InArg[bool]

    out_conversation: OutArg[list]
    last_response: OutArg[str]
    thought: OutArg[str]
    stopped: OutArg[str]
    usage: OutArg[dict]
    error: OutArg[str]
    structured: OutArg[any]
    approval: OutArg[dict]

    def execute(self, ctx) -> None:
        canvas.agent_run.run_node(self, ctx)

    def do(self, ctx):
        way_on = super().do(ctx)
        if self.stopped.value == "waiting":
            return self.on_waiting
        return self.on_error if self.error.value else way_on


@xai_component(color="rgb(5, 22, 104)")
class AgentModel(Component):
    """Sets which LLM an agent asks, and where it is. Place it before AgentInit.

    The key is hidden: a printed model_settings shows `***`. For limits see AgentModelLimits.

    ##### inPorts:
    - provider (str): `openai` (also compatible services, by base_url) or another one, as in
      agent_provider of AgentInit. Default: from AgentInit.
    - model (str): The model's name at its provider, such as `gpt-5-mini`. Default: agent_model of
      AgentInit.
    - base_url (str): The address of the model's service, such as `http://localhost:11434/v1` for
      Ollama. Default: the provider's own.
    - api_key (secret): The key, best as `${ACME_API_KEY}`, a variable of the environment or of
      `.env` beside `mcp_settings.json`: a typed key is saved in the workflow's file.
      Default: OPENAI_API_KEY for OpenAI.
    - temperature (float): 0 is steady, 1 is lively. Default: the service's.

    ##### outPorts:
    - model_settings (dict): Wire it to AgentInit, or to new_model_settings of AgentUpdate.

    ##### Example:
    provider `openai`, model `qwen3`, base_url `http://localhost:11434/v1`, then AgentInit with
    model_settings wired from here.
    """

    provider: InArg[str]
    model: InArg[str]
    base_url: InArg[str]
    api_key: InArg[secret]
    temperature: InArg[float]

    model_settings: OutArg[dict]

    def execute(self, ctx) -> None:
        self.model_settings.value = canvas.model_settings.gather_settings(ctx, self)


@xai_component(color="rgb(5, 22, 104)")
class AgentModelLimits(Component):
    """Sets limits of an agent's LLM: tokens, time, money. Place it before AgentInit.

    ##### inPorts:
    - from_model (dict): The model_settings of AgentModel; the limits are added. Default: the limits
      alone.
    - max_output_tokens (int): The longest answer, in tokens. Default: the service's.
    - context_tokens (int): The model's window, its answer included. The oldest turns are summarized
      and long texts cut to fit. Default: 128000, or what the service says.
    - tool_token_budget (int): The most tokens for tool definitions in a request. If not all tools
      fit, the model searches for those it needs. Default: from the settings, otherwise 3800.
    - tool_protocol (str): How tools are called: `native` (function calling), `text` (for models
      without it), or `auto`. Default: `auto`.
    - reasoning_effort (str): For models that reason: `low`, `medium`, `high`.
      Default: the service's.
    - timeout_seconds (int): The longest silence of the model's service. Default: 120.
    - turn_timeout_seconds (int): The longest time for one turn of the model. Default: 600.
    - max_run_tokens (int): The most tokens of one run, in and out; before it is reached, the model
      has to answer. Default: no limit.
    - max_run_cost (float): The same as an amount of money; needs the two prices. Default: no limit.
    - input_price (float): The price of a million input tokens. Default: none.
    - output_price (float): The price of a million output tokens. Default: none.
    - extra_body (dict): Further fields for the service's request, as they are. Default: none.

    ##### outPorts:
    - model_settings (dict): Wire it to AgentInit, or to new_model_settings of AgentUpdate.

    ##### Example:
    from_model wired from AgentModel, max_run_tokens 20000, then AgentInit with model_settings wired
    from here.
    """

    from_model: InArg[dict]
    max_output_tokens: InArg[int]
    context_tokens: InArg[int]
    tool_token_budget: InArg[int]
    tool_protocol: InArg[str]
    reasoning_effort: InArg[str]
    timeout_seconds: InArg[int]
    turn_timeout_seconds: InArg[int]
    max_run_tokens: InArg[int]
    max_run_cost: InArg[float]
    input_price: InArg[float]
    output_price: InArg[float]
    extra_body: InArg[dict]

    model_settings: OutArg[dict]

    def execute(self, ctx) -> None:
        self.model_settings.value = canvas.model_settings.gather_settings(ctx, self)


@xai_component(type="Start", color="rgb(118, 64, 12)")
class AgentDefineTool(Component):
    """Starts a tool that you draw: the nodes after it run each time an agent uses the tool.

    End it with AgentToolOutput. It is a start of its own: nothing flows into it. Drawn tools run
    one at a time, even those that run an agent; tools of servers go on meanwhile.

    ##### inPorts:
    - tool_name (str): The tool's name for the model, such as `get_weather`: letters, digits, `_`.
      It must be unique in its toolbelt.
    - description (str): What the tool does and when to use it, for the model. Be exact.
    - for_toolbelt (str): The toolbelt it belongs to. Default: `default`.
    - parameters (dict): The tool's parameters, as names and types, such as
      `"city": "string", "days": "integer"`, or a JSON Schema. Default: one text.
    - timeout_seconds (int): How long the agent waits for the result before it goes on without it.
      Default: 600.

    ##### outPorts:
    - tool_input (str): The model's input: the text, or with `parameters` a JSON object.
    - tool_args (dict): The same as a dict, if it is an object.

    ##### Example:
    tool_name `shout`, description `Says a text loudly.`, then a node that takes
    tool_input and makes it upper case, then AgentToolOutput.
    """

    tool_name: InCompArg[str]
    description: InCompArg[str]
    for_toolbelt: InArg[str]
    parameters: InArg[dict]
    timeout_seconds: InArg[int]

    tool_input: OutArg[str]
    tool_args: OutArg[dict]

    def init(self, ctx):
        ports = canvas.ports.inputs(self, "description")
        canvas.toolbelts.define_tool(ctx, run=self.run_drawn_nodes, **ports)

    def run_drawn_nodes(self, ctx, text, arguments):
        """Run the chain after this node once and return the results of AgentToolOutput."""
        self.tool_input.value = text
        self.tool_args.value = arguments
        if self.next is None:
            return None
        return canvas.node_answers.collect_output(ctx, lambda: SubGraphExecutor(self.next).do(ctx))

    def execute(self, ctx) -> None:
        pass


@xai_component(color="rgb(118, 64, 12)")
class AgentToolOutput(Component):
    """Ends a drawn tool: its results go back to the agent.

    ##### inPorts:
    - results (dynalist): The tool's result. Several are returned as a list, in order.
      Default: nothing.

    ##### Example:
    The last node of the chain that starts at AgentDefineTool: wire the value that your nodes
    computed to `results`.
    """

    results: InArg[dynalist]

    def execute(self, ctx) -> None:
        canvas.node_answers.give_output(ctx, self.results.value or [])


@xai_component(color="rgb(118, 64, 12)")
class AgentUseFunctions(Component):
    """Gives an agent the functions of a Python file or module as tools. Use one node for each file.

    The file is imported in the background; if that fails, the agent works without it and says so.
    When you change the file, the agent has the new functions at its next step.

    ##### inPorts:
    - functions_name (str): The file's name under `functions` in `mcp_settings.json`.
    - toolbelt_name (str): The toolbelt it belongs to. Default: `default`.
    - tools (str): Only these of its tools, with commas: `get_book, list_*`, where `*` stands
      for any text. Default: all.
    - except_tools (str): Not these, written in the same way. Default: none.
    - required (bool): True: a run fails if this gives it no tool. Default: False.

    ##### Example:
    functions_name `shopping`, before AgentMakeToolbelt.
    """

    functions_name: InCompArg[str]
    toolbelt_name: InArg[str]
    tools: InArg[str]
    except_tools: InArg[str]
    required: InArg[bool]

    def execute(self, ctx) -> None:
        canvas.sources.use(ctx, self)


@xai_component(color="rgb(118, 64, 12)")
class AgentUseBuiltinTools(Component):
    """Gives an agent built-in tools: a clock, a calculator, the files of one folder.

    They need no server and no settings. The tools for files cannot leave the folder `workspace`.

    ##### inPorts:
    - tools (str): Which of them, with commas: `current_time`, `calculate`, `list_files`,
      `read_file`, `write_file`. Default: those of `builtin_name`.
    - except_tools (str): Not these, written in the same way, also with `*` for any text.
      Default: none.
    - workspace (str): The folder for the file tools, such as `notes`: relative to
      `mcp_settings.json`, and made when something is written. Default: none.
    - builtin_name (str): Instead of tools and workspace, an entry under `builtin` in
      `mcp_settings.json`. Default: none.
    - toolbelt_name (str): The toolbelt it belongs to. Default: `default`.
    - required (bool): True: a run fails if this gives it no tool. Default: False.

    ##### Example:
    tools `current_time, calculate`, before AgentMakeToolbelt.
    """

    tools: InArg[str]
    except_tools: InArg[str]
    workspace: InArg[str]
    builtin_name: InArg[str]
    toolbelt_name: InArg[str]
    required: InArg[bool]

    def execute(self, ctx) -> None:
        canvas.sources.use(ctx, self)


@xai_component(color="rgb(118, 64, 12)")
class AgentUseTools(Component):
    """Gives an agent the tools of any source of the settings, or of a group of them.

    The sources start in the background while the workflow goes on. A group gives only its own
    tools; a tool that appears later and matches it is added at the agent's next step.

    ##### inPorts:
    - group_name (str): The group's name under `groups` in `mcp_settings.json`, or the name of
      a server or another source.
    - toolbelt_name (str): The toolbelt it belongs to. Default: `default`.
    - tools (str): Only these of its tools, with commas: `get_book, list_*`, where `*` stands
      for any text. Default: all.
    - except_tools (str): Not these, written in the same way. Default: none.
    - required (bool): True: a run fails if this gives it no tool. Default: False.

    ##### Example:
    group_name `reading`, before AgentMakeToolbelt.
    """

    group_name: InCompArg[str]
    toolbelt_name: InArg[str]
    tools: InArg[str]
    except_tools: InArg[str]
    required: InArg[bool]

    def execute(self, ctx) -> None:
        canvas.sources.use(ctx, self)


@xai_component(color="rgb(118, 64, 12)")
class AgentUseOpenAPI(Component):
    """Gives an agent what a web service can do: each operation of its OpenAPI document is a tool.

    The document is read in the background; if that fails, the agent works without it and says so.
    A service with more than one key, or with a sign-in, needs an entry in the settings.

    ##### inPorts:
    - service_name (str): The service's name under `openapiServices` in `mcp_settings.json`. With
      `spec`: a name of your choice. Default: the name of that file or host.
    - spec (str): The document itself, instead of an entry: a file beside this workflow, in the
      working folder or beside `mcp_settings.json`, or a URL. Default: that of the entry.
    - base_url (str): With `spec`: the address of the service. Default: the one in its document.
    - api_key (secret): With `spec`: its key or token, best as `${NAME}`, see AgentModel.
      Default: none.
    - toolbelt_name (str): The toolbelt it belongs to. Default: `default`.
    - tools (str): Only these of its tools, with commas: `get_book, list_*`, where `*` stands
      for any text. Default: all.
    - except_tools (str): Not these, written in the same way. Default: none.
    - required (bool): True: a run fails if this gives it no tool. Default: False.

    ##### Example:
    spec `petstore.yaml`, before AgentMakeToolbelt.
    """

    service_name: InArg[str]
    spec: InArg[str]
    base_url: InArg[str]
    api_key: InArg[secret]
    toolbelt_name: InArg[str]
    tools: InArg[str]
    except_tools: InArg[str]
    required: InArg[bool]

    def execute(self, ctx) -> None:
        canvas.sources.use(ctx, self)


@xai_component(color="rgb(118, 64, 12)")
class AgentUseWorkflow(Component):
    """Gives an agent another workflow as a tool, named after its file.

    The model fills in the workflow's Argument nodes, and the agent gets the value wired to its
    Finish. A comment titled Description tells the model what the tool does; a line in it such as
    `city (default: Berlin): where to look` describes an argument. Each call runs in a process of
    its own. A changed workflow is used from the agent's next step on. It may contain an agent, up
    to three levels deep.

    ##### inPorts:
    - workflow (str): A .xircuits file, or its compiled .py, beside this workflow, in the working
      folder or beside `mcp_settings.json`; or an entry's name under `workflows` there.
    - description (str): What the tool does, for the model. Default: the workflow's own description.
    - arguments (dict): Values that the model does not fill in, such as `"api_key": "${API_KEY}"`,
      which takes it from the environment. Default: none.
    - timeout_seconds (int): The longest time for one call. Then the workflow is stopped, with
      everything it started. Default: 300.
    - toolbelt_name (str): The toolbelt it belongs to. Default: `default`.
    - required (bool): True: a run fails if this gives it no tool. Default: False.

    ##### Example:
    workflow `summarize.xircuits`, before AgentMakeToolbelt.
    """

    workflow: InCompArg[str]
    description: InArg[str]
    arguments: InArg[dict]
    timeout_seconds: InArg[int]
    toolbelt_name: InArg[str]
    required: InArg[bool]

    def execute(self, ctx) -> None:
        canvas.sources.use(ctx, self)


@xai_component(color="rgb(118, 64, 12)")
class AgentUseAgents(Component):
    """Lets an agent ask a remote agent: each of its skills is a tool.

    The remote agent speaks A2A. Its card is read in the background; if that fails, the agent works
    without it and says so. A question of the remote agent comes back as the tool's result, and the
    agent can answer it. Use one node for each remote agent.

    ##### inPorts:
    - remote_agent (str): The remote agent's name under `agents` in `mcp_settings.json`.
    - toolbelt_name (str): The toolbelt it belongs to. Default: `default`.
    - tools (str): Only these of its tools, with commas: `get_book, list_*`, where `*` stands
      for any text. Default: all.
    - except_tools (str): Not these, written in the same way. Default: none.
    - required (bool): True: a run fails if this gives it no tool. Default: False.

    ##### Example:
    remote_agent `travel`, before AgentMakeToolbelt.
    """

    remote_agent: InCompArg[str]
    toolbelt_name: InArg[str]
    tools: InArg[str]
    except_tools: InArg[str]
    required: InArg[bool]

    def execute(self, ctx) -> None:
        canvas.sources.use(ctx, self)


@xai_component(color="rgb(60, 11, 53)")
class AgentPreferTools(Component):
    """Sets which tools of a toolbelt an agent always sees, prefers, or must not use.

    A name is a tool (`search_books`), a server (`library`), a tool of a server
    (`library/search_books`) or a group of the settings; `*` stands for any text. Place it before
    AgentMakeToolbelt.

    ##### inPorts:
    - trusted (str): Names, separated by commas, of tools that come first among equals when the
      agent searches. Default: none.
    - blocked (str): Names of tools that the agent must not use: they are not shown, found or
      called. Drawn tools are never blocked. Default: none.
    - always_shown (str): Names of tools that every request shows, however many tools there are.
      Drawn tools are always shown. Default: the tools that fit, or that a search finds.
    - toolbelt_name (str): The toolbelt. Default: `default`.

    ##### Example:
    trusted `library`, blocked `files/delete_*, shell`, before AgentMakeToolbelt.
    """

    trusted: InArg[str]
    blocked: InArg[str]
    always_shown: InArg[str]
    toolbelt_name: InArg[str]

    def execute(self, ctx) -> None:
        canvas.toolbelts.prefer_tools(ctx, **canvas.ports.inputs(self))


@xai_component(color="rgb(118, 11, 214)")
class AgentNumpyMemory(Component):
    """Gives an agent a memory on this machine: it can note things and find them again.

    It needs no key: notes are compared by words, or with an embedding model by meaning. Agents that
    share this node do not see each other's notes. Several runs may use one file, which only you can
    read.

    ##### inPorts:
    - file (str): The file for the notes, which keeps them for the next run.
      Default: they are gone when the run ends.
    - embedding_model (str): A model of an embeddings endpoint. Default: none.
    - base_url (str): The address of the endpoint, such as `http://localhost:11434/v1`.
      Default: OpenAI's.
    - api_key (secret): Its key, best as `${NAME}`, see AgentModel. Default: OPENAI_API_KEY for
      OpenAI.

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
        env = canvas.model_settings.env_of(ctx)
        self.memory.value = canvas.model_settings.local_memory(**canvas.ports.inputs(self), env=env)


@xai_component(color="rgb(118, 11, 214)")
class AgentVectoMemory(Component):
    """Gives an agent a memory in a vector space of the Vecto service.

    It needs an account there and a package: `pip install "xai-mcp-agent[vecto]"`.

    ##### inPorts:
    - api_key (secret): The key, best as `${NAME}`, see AgentModel. Default: VECTO_API_KEY.
    - vector_space (str): The name of the space, which is created if necessary.
    - initialize (bool): True: the space is emptied first. Default: False.

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
        env = canvas.model_settings.env_of(ctx)
        self.memory.value = canvas.model_settings.remote_memory(
            **canvas.ports.inputs(self), env=env
        )


@xai_component(type="branch", color="rgb(5, 22, 104)")
class AgentLearn(Component):
    """Lets an agent review a conversation and note in its memory what is worth keeping.

    ##### inPorts:
    - conversation (any): The conversation to learn from, such as the out_conversation of AgentRun.
    - agent_name (str): The agent; it needs a memory. Default: the one that was set up last.
    - metadata (dict): Facts for `{metadata}` in the system prompt. Default: none.
    - show (str): How much is printed, as in AgentRun. Default: as there.

    ##### outPorts:
    - out_conversation (list): The conversation, with the notes that were made.
    - last_response (str): The agent's summary of what it has learned.
    - thought (str): In the branch on_thought: what the agent said when it used the tool.
    - stopped (str): How it ended, as in AgentRun.
    - usage (dict): Tokens, turns, calls and seconds, as in AgentRun.
    - error (str): Why it did not learn. Empty if it did.

    ##### Branches:
    - on_thought: Runs after each use of a tool; `thought` and `out_conversation` are up to date.
    - on_error: Runs instead of the next node if it did not learn, as in AgentRun.

    ##### Example:
    After AgentRun: conversation from its out_conversation.
    """

    on_thought: BaseComponent
    on_error: BaseComponent

    conversation: InCompArg[any]
    agent_name: InArg[str]
    metadata: InArg[dict]
    show: InArg[str]

    out_conversation: OutArg[list]
    last_response: OutArg[str]
    thought: OutArg[str]
    stopped: OutArg[str]
    usage: OutArg[dict]
    error: OutArg[str]

    def execute(self, ctx) -> None:
        canvas.agent_run.run_node(self, ctx)

    def do(self, ctx):
        way_on = super().do(ctx)
        return self.on_error if self.error.value else way_on


@xai_component(type="Start", color="rgb(5, 22, 104)")
class AgentDefineRoute(Component):
    """Starts a route: the nodes after it run when AgentRouter chooses it.

    It is a start of its own: nothing flows into it.

    ##### inPorts:
    - agent_flow_name (str): The route's name, such as `billing`.
    - description (str): Which requests belong here, for the model. Be exact.

    ##### outPorts:
    - conversation (any): The routed conversation; wire it to AgentRun.

    ##### Example:
    agent_flow_name `billing`, description `Questions about invoices and payments.`, then an
    AgentRun whose conversation is wired from here.
    """

    agent_flow_name: InCompArg[str]
    description: InCompArg[str]

    conversation: OutArg[any]

    def init(self, ctx):
        ports = canvas.ports.inputs(self, "description")
        canvas.routing.define_route(ctx, *ports.values(), self.run_route_nodes)

    def run_route_nodes(self, ctx, conversation):
        """Run the chain after this node once."""
        self.conversation.value = conversation
        if self.next is not None:
            SubGraphExecutor(self.next).do(ctx)

    def execute(self, ctx) -> None:
        pass


@xai_component(color="rgb(5, 22, 104)")
class AgentRouter(Component):
    """Lets an agent's model choose the route that fits a request, and runs that route.

    ##### inPorts:
    - question (str): The request. The route gets it as its conversation. Default: none; then
      conversation ends with it.
    - conversation (any): The conversation so far, as in AgentRun. Default: none.
    - agent_name (str): The agent whose model decides. Default: the one that was set up last.
    - final_context_key (str): Where a route may leave its result in `ctx`.
      Default: `agent_flow_result`.

    ##### outPorts:
    - result (any): The route's result: the value it left in `ctx`, the results of an
      AgentToolOutput at its end, or the answer of its last AgentRun.
    - chosen_flow_name (str): The chosen route.

    ##### Example:
    Two AgentDefineRoute chains, `billing` and `repairs`, and this node with the question
    `My invoice is wrong.`
    """

    question: InArg[str]
    conversation: InArg[any]
    agent_name: InArg[str]
    final_context_key: InArg[str]

    result: OutArg[any]
    chosen_flow_name: OutArg[str]

    def execute(self, ctx) -> None:
        route = canvas.routing.follow_route(ctx, **canvas.ports.inputs(self))
        self.chosen_flow_name.value, self.result.value = route


@xai_component(color="rgb(5, 22, 104)")
class AgentUpdate(Component):
    """Changes an agent that AgentInit set up. A port without a value changes nothing.

    Another provider or base_url also drops the old service's key, base_url and extra_body.

    ##### inPorts:
    - new_system_prompt (str): As system_prompt of AgentInit. Default: unchanged.
    - new_toolbelt_spec (dict): As toolbelt_spec of AgentInit. Default: unchanged.
    - new_agent_provider (str): As agent_provider of AgentInit. Default: unchanged.
    - new_agent_model (str): As agent_model of AgentInit. Default: unchanged.
    - new_model_settings (dict): From AgentModel; only the values set there change.
      Default: unchanged.
    - new_max_thoughts (int): As max_thoughts of AgentInit. Default: unchanged.
    - agent_name (str): The agent to change. Default: the one that was set up last.

    ##### Example:
    Between two AgentRun nodes: new_system_prompt `Answer in one word.`
    """

    new_system_prompt: InArg[str]
    new_toolbelt_spec: InArg[dict]
    new_agent_provider: InArg[str]
    new_agent_model: InArg[str]
    new_model_settings: InArg[dict]
    new_max_thoughts: InArg[int]
    agent_name: InArg[str]

    def execute(self, ctx) -> None:
        canvas.agents.change_agent(ctx, self)


@xai_component(color="rgb(5, 22, 104)")
class AgentMergeSystem(Component):
    """Adds a text to the system message at the start of a conversation.

    ##### inPorts:
    - new_system_prompt (str): The text to add.
    - conversation (any): The conversation. It is not changed.

    ##### outPorts:
    - out_conversation (list): A copy with the text added, in a new system message if necessary.

    ##### Example:
    new_system_prompt `Answer in French.`, out_conversation wired to AgentRun.
    """

    new_system_prompt: InCompArg[str]
    conversation: InCompArg[any]

    out_conversation: OutArg[list]

    def execute(self, ctx) -> None:
        ports = canvas.ports.inputs(self, "new_system_prompt")
        self.out_conversation.value = canvas.conversations.merge_system(**ports)


@xai_component(color="rgb(5, 22, 104)")
class AgentApprove(Component):
    """Decides about the call that waits in the branch on_approval of AgentRun.

    ##### inPorts:
    - answer (str): `once` (this call, with these arguments), `run` (this tool until the run ends),
      `always` (this tool from now on, with its present definition) or `no`.

    ##### Example:
    In on_approval of AgentRun: a node that reads `approval` and returns `once` or `no`, wired to
    answer.
    """

    answer: InCompArg[str]

    def execute(self, ctx) -> None:
        canvas.node_answers.give_approval(**canvas.ports.inputs(self, "answer"))


@xai_component(color="rgb(5, 22, 104)")
class AgentStreamStringResponse(Component):
    """Turns a text into a stream of small pieces, as if it were being typed.

    ##### inPorts:
    - input_str (str): The text.

    ##### outPorts:
    - result_stream (any): The pieces one by one, for nodes that take a stream.

    ##### Example:
    input_str from last_response of AgentRun, result_stream to a node that streams to a chat.
    """

    input_str: InCompArg[str]

    result_stream: OutArg[any]

    def execute(self, ctx) -> None:
        self.result_stream.value = canvas.conversations.words_of(
            **canvas.ports.inputs(self, "input_str")
        )


@xai_component(color="rgb(5, 22, 104)")
class AgentRunTool(Component):
    """Uses one tool of an agent without asking its model, and adds the call to a conversation.

    If the call fails, the result says why: the workflow goes on.

    ##### inPorts:
    - tool_name (str): The tool, as the model would call it, such as `library_search_books`.
    - tool_args (any): Its arguments: a dict, typed with `{` before it, or a text, typed with a
      quotation mark before it. Default: none.
    - conversation (list): The conversation to add to. It is not changed. Default: an empty one.
    - agent_name (str): The agent whose tool is used. Default: the one that was set up last.

    ##### outPorts:
    - tool_output (str): The tool's result as text.
    - updated_conversation (list): The conversation with the call and its result.

    ##### Example:
    tool_name `calendar_current_time`, and updated_conversation wired to the conversation of
    AgentRun: the agent then knows the time already.
    """

    tool_name: InCompArg[str]
    tool_args: InArg[any]
    conversation: InArg[list]
    agent_name: InArg[str]

    tool_output: OutArg[str]
    updated_conversation: OutArg[list]

    def execute(self, ctx) -> None:
        run = canvas.agent_run.run_tool(ctx, **canvas.ports.inputs(self))
        self.tool_output.value, self.updated_conversation.value = run.answer, run.conversation
