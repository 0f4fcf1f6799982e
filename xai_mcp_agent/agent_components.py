"""Nodes that set up an agent, run it, and use its tools."""

from xai_components.base import (
    BaseComponent,
    Component,
    InArg,
    InCompArg,
    OutArg,
    secret,
    xai_component,
)

from xai_mcp_agent import canvas


@xai_component(color="rgb(5, 22, 104)")
class AgentInit(Component):
    """Sets up an agent: a model, its instructions, and its tools. Run it with AgentRun.

    Without a provider it uses `offline`: fixed rules that need no key and no network,
    good for trying a workflow out.

    ##### inPorts:
    - toolbelt_spec (dict): The tools, from AgentMakeToolbelt. Default: no tools.
    - system_prompt (str): Who the agent is and how it should work. May hold `{tools}`,
      `{tool_instruction}`, `{memory}`, `{metadata}` and `{provided_system}`. Default: none.
    - agent_provider (str): `offline`, `openai` (also every service that speaks its protocol,
      by base_url of AgentModel), `openai_responses` (the same by the Responses API), or with the
      extra `providers` `anthropic`, `google`, `vertexai`, `bedrock`, `mistral`, `groq`, `cohere` or
      `xai`. Default: what AgentModel or agent_model says, else `offline`.
    - agent_model (str): The model's name at its provider, such as `gpt-5-mini`; or both, such as
      `anthropic:claude-sonnet-5`. Default: what AgentModel says; only `offline` needs none.
    - model_settings (dict): All else about the model, from AgentModel: address, key, limits.
      Default: the provider's own.
    - agent_name (str): What other nodes call the agent; with several agents give each its own.
      Default: `agent`.
    - agent_memory (any): What it can note things in, from a memory node. Default: none.
    - max_thoughts (int): The most turns of the model in one run; the last one answers. Default: 10.

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
        canvas.init_agent(
            ctx,
            self.agent_name.value,
            provider=self.agent_provider.value,
            model=self.agent_model.value,
            memory=self.agent_memory.value,
            system_prompt=self.system_prompt.value,
            max_thoughts=self.max_thoughts.value,
            toolbelt_spec=self.toolbelt_spec.value,
            model_settings=self.model_settings.value,
        )

    def __getattr__(self, name):
        canvas.moved_port(self, name)


@xai_component(color="rgb(5, 22, 104)")
class AgentModel(Component):
    """Says which model an agent asks, where it is, and within which limits.

    Place it before AgentInit. The key is hidden: whoever prints model_settings sees `***`.

    ##### inPorts:
    - provider (str): `openai` (also every service that speaks its protocol, by base_url),
      `openai_responses` (the same by the Responses API), `offline`, or one of the others that
      agent_provider of AgentInit may be. Default: what that says.
    - model (str): The model's name at its provider, such as `gpt-5-mini`. Default: what agent_model
      of AgentInit says.
    - base_url (str): Where the model's service is, such as `http://localhost:11434/v1` for
      Ollama. Default: the provider's own.
    - api_key (secret): The key, or the name of an environment variable that holds it, such as
      `${ACME_API_KEY}`; that is the better place, because a key on the canvas is saved in the
      workflow's file. Default: for OpenAI what the environment variable OPENAI_API_KEY holds.
    - temperature (float): 0 is steady, 1 is lively. Default: the service's.
    - max_output_tokens (int): The longest answer, in tokens. Default: the service's.
    - reasoning_effort (str): For models that reason: `low`, `medium`, `high`.
      Default: the service's.
    - extra_body (dict): Further fields for the service's request, as they are. Default: none.
    - timeout_seconds (int): The longest silence of the model's service. Default: 120.
    - turn_timeout_seconds (int): The longest time for one turn of the model. Default: 600.
    - context_tokens (int): How much the model takes in, its answer included. What is more is not
      sent: of the oldest turns a summary, of long texts a part. Default: 128000, or what the
      service says.
    - max_run_tokens (int): The most tokens of one run, in and out. Before they are used up the
      model is asked for its answer. Default: no limit.
    - max_run_cost (float): The same in money; wants the two prices. Default: no limit.
    - input_price (float): What a million tokens cost that go in. Default: none.
    - output_price (float): What a million tokens cost that come out. Default: none.
    - tool_protocol (str): How tools are called: `native` (function calling), `text` (for models
      without it), or `auto`. Default: `auto`.
    - tool_token_budget (int): The most tokens that the descriptions of tools take in a request.
      With more tools than fit, the model searches for those it needs. Default: what the settings
      say, else 3800.

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
    max_output_tokens: InArg[int]
    reasoning_effort: InArg[str]
    extra_body: InArg[dict]
    timeout_seconds: InArg[int]
    turn_timeout_seconds: InArg[int]
    context_tokens: InArg[int]
    max_run_tokens: InArg[int]
    max_run_cost: InArg[float]
    input_price: InArg[float]
    output_price: InArg[float]
    tool_protocol: InArg[str]
    tool_token_budget: InArg[int]

    model_settings: OutArg[dict]

    def execute(self, ctx) -> None:
        ports = {
            "provider": self.provider.value,
            "model": self.model.value,
            "base_url": self.base_url.value,
            "api_key": self.api_key.value,
            "temperature": self.temperature.value,
            "max_output_tokens": self.max_output_tokens.value,
            "reasoning_effort": self.reasoning_effort.value,
            "extra_body": self.extra_body.value,
            "timeout_seconds": self.timeout_seconds.value,
            "turn_timeout_seconds": self.turn_timeout_seconds.value,
            "context_tokens": self.context_tokens.value,
            "max_run_tokens": self.max_run_tokens.value,
            "max_run_cost": self.max_run_cost.value,
            "input_price": self.input_price.value,
            "output_price": self.output_price.value,
            "tool_protocol": self.tool_protocol.value,
            "tool_token_budget": self.tool_token_budget.value,
        }
        self.model_settings.value = canvas.gather_settings(ports)


@xai_component(color="rgb(5, 22, 104)")
class AgentUpdate(Component):
    """Changes an agent that AgentInit set up. What is not wired, or empty, stays as it is.

    With another provider or base_url the agent talks to another service: the old one's key,
    base_url and extra_body are forgotten, not sent to it.

    ##### inPorts:
    - new_system_prompt (str): As system_prompt of AgentInit. Default: unchanged.
    - new_toolbelt_spec (dict): As toolbelt_spec of AgentInit. Default: unchanged.
    - new_agent_provider (str): As agent_provider of AgentInit. Default: unchanged.
    - new_agent_model (str): As agent_model of AgentInit. Default: unchanged.
    - new_model_settings (dict): From AgentModel; what was not set there is unchanged.
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
        canvas.update_agent(
            ctx,
            self.agent_name.value,
            provider=self.new_agent_provider.value,
            model=self.new_agent_model.value,
            system_prompt=self.new_system_prompt.value,
            max_thoughts=self.new_max_thoughts.value,
            toolbelt_spec=self.new_toolbelt_spec.value,
            model_settings=self.new_model_settings.value,
        )

    def __getattr__(self, name):
        canvas.moved_port(self, name)


@xai_component(type="branch", color="rgb(5, 22, 104)")
class AgentRun(Component):
    """Runs an agent: it thinks, uses its tools, and answers. What happens is printed as it happens.

    ##### Branches:
    - on_thought: Runs after each use of a tool, once for each; `thought` is up to date.
    - on_error: The way on when there is no answer; `error` says why. Not wired: the workflow ends.
    - on_approval: Says whether a call is made that needs approval. End it with AgentApprove. Not
      wired: the person in front of the run is asked.
    - on_waiting: The way on when the run waits in the file of run_state. Not wired: the workflow
      ends.

    ##### inPorts:
    - question (str): What to ask. Default: nothing new; then conversation has the question.
    - conversation (any): What was said before: the out_conversation of an earlier run, a chat
      literal, or a text, typed with a quotation mark before it. Default: none.
    - agent_name (str): The agent. Default: the one that was set up last.
    - metadata (dict): Facts for `{metadata}` in the system prompt. Default: none.
    - show (str): How much is printed: `quiet` (only what went wrong), `normal` or `verbose`.
      Default: what the environment variable XAI_MCP_SHOW says, else `normal`.
    - output_schema (dict): A JSON Schema that the answer must fit. Default: any text.
    - run_state (str): A file in which the run waits when nobody is there to approve a call.
      Default: such calls are not made.
    - wait_for_approval (bool): Waits in that file also when somebody is there. Default: False.

    ##### outPorts:
    - out_conversation (list): The conversation with everything that was said and done.
    - last_response (str): The answer.
    - thought (str): In the branch on_thought: what the agent said when it used the tool.
    - stopped (str): How it ended, such as `answered`, `max_thoughts`, `limit`, `error`, or
      `no_tools`: no tool of its servers can be used, so the model was not asked.
    - usage (dict): What it used: tokens, turns, calls and seconds.
    - error (str): Why there is no answer. Empty if there is one.
    - structured (any): With output_schema, the answer as data.
    - approval (dict): In the branch on_approval: the call, as server, tool and arguments, and why.

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
        self.structured.value = None
        outcome = canvas.run_node(
            self,
            ctx,
            canvas.run_agent,
            question=self.question.value,
            output_schema=self.output_schema.value,
            run_state=self.run_state.value,
            wait_for_approval=self.wait_for_approval.value,
        )
        self.structured.value = outcome.structured

    def do(self, ctx):
        way_on = super().do(ctx)
        if self.stopped.value == "waiting":
            return self.on_waiting
        return self.on_error if self.error.value else way_on


@xai_component(color="rgb(5, 22, 104)")
class AgentApprove(Component):
    """Says whether the call is made that waits in the branch on_approval of AgentRun.

    ##### inPorts:
    - answer (str): `once` (this call, with these arguments), `run` (this tool until the run ends),
      `always` (this tool from now on, as it is described now) or `no`.

    ##### Example:
    In on_approval of AgentRun: a node that looks at `approval` and gives `once` or `no`, wired to
    answer.
    """

    answer: InCompArg[str]

    def execute(self, ctx) -> None:
        canvas.give_approval(self.answer.value)


@xai_component(color="rgb(5, 22, 104)")
class AgentRunTool(Component):
    """Uses one tool of an agent without asking its model, and notes it in a conversation.

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
        outcome = canvas.run_tool(
            ctx,
            self.agent_name.value,
            self.tool_name.value,
            self.tool_args.value,
            self.conversation.value,
        )
        self.tool_output.value = outcome.answer
        self.updated_conversation.value = outcome.conversation


@xai_component(type="branch", color="rgb(5, 22, 104)")
class AgentLearn(Component):
    """Has an agent look back on a conversation and note what is worth keeping in its memory.

    ##### Branches:
    - on_thought: Runs after each use of a tool; `thought` and `out_conversation` are up to date.
    - on_error: The way on when it did not learn; as in AgentRun.

    ##### inPorts:
    - conversation (any): The conversation to learn from, such as the out_conversation of AgentRun.
    - agent_name (str): The agent; it needs a memory. Default: the one that was set up last.
    - metadata (dict): Facts for `{metadata}` in the system prompt. Default: none.
    - show (str): How much is printed, as in AgentRun. Default: as there.

    ##### outPorts:
    - out_conversation (list): The conversation with what was learned.
    - last_response (str): What the agent says it has learned.
    - thought (str): In the branch on_thought: what the agent said when it used the tool.
    - stopped (str): How it ended, as in AgentRun.
    - usage (dict): What it used, as in AgentRun.
    - error (str): Why it did not learn. Empty if it did.

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
        canvas.run_node(self, ctx, canvas.learn)

    def do(self, ctx):
        way_on = super().do(ctx)
        return self.on_error if self.error.value else way_on


@xai_component(color="rgb(5, 22, 104)")
class AgentMergeSystem(Component):
    """Adds a text to the system message at the start of a conversation.

    ##### inPorts:
    - new_system_prompt (str): The text to add.
    - conversation (any): The conversation. It is not changed.

    ##### outPorts:
    - out_conversation (list): A copy with the text added; with a system message if it had none.

    ##### Example:
    new_system_prompt `Answer in French.`, out_conversation wired to AgentRun.
    """

    new_system_prompt: InCompArg[str]
    conversation: InCompArg[any]

    out_conversation: OutArg[list]

    def execute(self, ctx) -> None:
        self.out_conversation.value = canvas.merge_system(
            self.new_system_prompt.value, self.conversation.value
        )


@xai_component(color="rgb(5, 22, 104)")
class AgentStreamStringResponse(Component):
    """Turns a text into a stream of small pieces, as if it were being typed.

    ##### inPorts:
    - input_str (str): The text.

    ##### outPorts:
    - result_stream (any): Gives the pieces one by one; for nodes that take a stream.

    ##### Example:
    input_str from last_response of AgentRun, result_stream to a node that streams to a chat.
    """

    input_str: InCompArg[str]

    result_stream: OutArg[any]

    def execute(self, ctx) -> None:
        self.result_stream.value = canvas.words_of(self.input_str.value)
