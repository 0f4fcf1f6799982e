"""Nodes that collect an agent's tools: drawn, of servers, files, workflows, other agents."""

from xai_components.base import (
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


@xai_component(type="Start", color="rgb(118, 64, 12)")
class AgentDefineTool(Component):
    """Starts a tool that you draw: the nodes after it run each time an agent uses the tool.

    Draw the tool's work to the right of this node and end it with AgentToolOutput.
    It is a start of its own: nothing flows into it. Drawn tools run one at a time, also those in
    which an agent runs; tools of servers go on meanwhile.

    ##### inPorts:
    - tool_name (str): What the model calls the tool, such as `get_weather`. Letters, digits, `_`.
      No two tools of a toolbelt may have the same.
    - description (str): Tells the model what the tool does and when to use it. Be exact.
    - for_toolbelt (str): The toolbelt it belongs to. Default: `default`.
    - parameters (dict): What the tool takes, as names and types, such as
      `"city": "string", "days": "integer"`, or a JSON Schema. Default: one text.
    - timeout_seconds (int): How long the agent waits for the result. Then it goes on without; the
      node that runs just then ends by itself. Default: 600.

    ##### outPorts:
    - tool_input (str): What the model wrote: the text, or with `parameters` a JSON object.
    - tool_args (dict): The same as a dict, if it is one.

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
        canvas.define_tool(
            ctx,
            self.for_toolbelt.value,
            self.tool_name.value,
            self.description.value,
            self.run_drawn_nodes,
            self.parameters.value,
            self.timeout_seconds.value,
        )

    def run_drawn_nodes(self, ctx, text, arguments):
        """Run the chain after this node once and give what AgentToolOutput was given."""
        self.tool_input.value = text
        self.tool_args.value = arguments
        if self.next is None:
            return None
        return canvas.collect_output(ctx, lambda: SubGraphExecutor(self.next).do(ctx))

    def execute(self, ctx) -> None:
        pass


@xai_component(color="rgb(118, 64, 12)")
class AgentToolOutput(Component):
    """Ends a drawn tool: what it is given goes back to the agent.

    ##### inPorts:
    - results (dynalist): The tool's result. Several are given back as a list, in order.
      Default: nothing.

    ##### Example:
    The last node of the chain that starts at AgentDefineTool: wire the value
    your nodes worked out to `results`.
    """

    results: InArg[dynalist]

    def execute(self, ctx) -> None:
        canvas.give_output(ctx, self.results.value or [])


@xai_component(color="rgb(118, 64, 12)")
class AgentUseMCPTools(Component):
    """Gives an agent the tools of one MCP server.

    The server starts in the background while the workflow goes on; AgentRun waits for it, up
    to its `startTimeout`. If it cannot be used, the agent works without it and says so. A run
    that has none of its servers fails, with `required` also one that lacks this server. Use
    one node for each server. If a server asks something during a call, the run shows the
    question and waits for you.

    ##### inPorts:
    - server_name (str): The server's name under `mcpServers` in `mcp_settings.json`.
    - toolbelt_name (str): The toolbelt it belongs to. Default: `default`.
    - tools (any): Only these of its tools, a list or a text with commas; `*` stands for any text.
      Type a text with a quotation mark before it: `"search_books, list_*`. Default: all.
    - except_tools (any): Not these, written in the same way. Default: none.
    - required (bool): True: a run fails if this gives it no tool. Default: False.

    ##### Example:
    server_name `library`, before AgentMakeToolbelt.
    """

    server_name: InCompArg[str]
    toolbelt_name: InArg[str]
    tools: InArg[any]
    except_tools: InArg[any]
    required: InArg[bool]

    def execute(self, ctx) -> None:
        canvas.use_server(
            ctx,
            self.server_name.value,
            self.toolbelt_name.value,
            self.tools.value,
            self.except_tools.value,
            self.required.value,
        )


@xai_component(color="rgb(118, 64, 12)")
class AgentUseFunctions(Component):
    """Gives an agent the functions of a Python file or module as tools.

    It is imported in the background while the workflow goes on. If that fails, the
    agent works without it and says so. When you change the file, the agent has the new
    functions at its next step. Use one node for each file.

    ##### inPorts:
    - functions_name (str): The file's name under `functions` in `mcp_settings.json`.
    - toolbelt_name (str): The toolbelt it belongs to. Default: `default`.
    - tools (any): Only these of its tools, a list or a text with commas; `*` stands for any text.
      Type a text with a quotation mark before it: `"search_books, list_*`. Default: all.
    - except_tools (any): Not these, written in the same way. Default: none.
    - required (bool): True: a run fails if this gives it no tool. Default: False.

    ##### Example:
    functions_name `shopping`, before AgentMakeToolbelt.
    """

    functions_name: InCompArg[str]
    toolbelt_name: InArg[str]
    tools: InArg[any]
    except_tools: InArg[any]
    required: InArg[bool]

    def execute(self, ctx) -> None:
        canvas.use_functions(
            ctx,
            self.functions_name.value,
            self.toolbelt_name.value,
            self.tools.value,
            self.except_tools.value,
            self.required.value,
        )


@xai_component(color="rgb(118, 64, 12)")
class AgentUseTools(Component):
    """Gives an agent the tools of a group of the settings, whatever sources they are of.

    The group's sources start in the background while the workflow goes on. Only its tools are in
    the toolbelt; one that comes later and fits the group comes in at the agent's next step.

    ##### inPorts:
    - group_name (str): The group's name under `groups` in `mcp_settings.json`, or the name of
      a server or another source.
    - toolbelt_name (str): The toolbelt it belongs to. Default: `default`.
    - tools (any): Only these of its tools, a list or a text with commas; `*` stands for any text.
      Type a text with a quotation mark before it: `"search_books, list_*`. Default: all.
    - except_tools (any): Not these, written in the same way. Default: none.
    - required (bool): True: a run fails if this gives it no tool. Default: False.

    ##### Example:
    group_name `reading`, before AgentMakeToolbelt.
    """

    group_name: InCompArg[str]
    toolbelt_name: InArg[str]
    tools: InArg[any]
    except_tools: InArg[any]
    required: InArg[bool]

    def execute(self, ctx) -> None:
        canvas.use_tools(
            ctx,
            self.group_name.value,
            self.toolbelt_name.value,
            self.tools.value,
            self.except_tools.value,
            self.required.value,
        )


@xai_component(color="rgb(118, 64, 12)")
class AgentUseOpenAPI(Component):
    """Gives an agent what a web service can do: each operation of its OpenAPI document is a tool.

    The document is read in the background while the workflow goes on. If that fails, the agent
    works without it and says so. Nothing is sent to the service before the agent calls a tool.
    A service with more than one key, or with a sign-in of its own, needs an entry in the settings.

    ##### inPorts:
    - service_name (str): The service's name under `openapiServices` in `mcp_settings.json`. With
      `spec`: how it is called. Default: the name of that file or host.
    - spec (str): The document itself, in place of an entry: a file beside this workflow, in the
      working folder or beside `mcp_settings.json`, or a URL. Default: that of the entry.
    - base_url (str): Where the service is, with `spec`. Default: where its document says.
    - api_key (secret): The key or token that it wants, with `spec`; `${NAME}` takes it from the
      environment. Default: none.
    - toolbelt_name (str): The toolbelt it belongs to. Default: `default`.
    - tools (any): Only these of its tools, a list or a text with commas; `*` stands for any text.
      Type a text with a quotation mark before it: `"search_books, list_*`. Default: all.
    - except_tools (any): Not these, written in the same way. Default: none.
    - required (bool): True: a run fails if this gives it no tool. Default: False.

    ##### Example:
    spec `petstore.yaml`, before AgentMakeToolbelt.
    """

    service_name: InArg[str]
    spec: InArg[str]
    base_url: InArg[str]
    api_key: InArg[secret]
    toolbelt_name: InArg[str]
    tools: InArg[any]
    except_tools: InArg[any]
    required: InArg[bool]

    def execute(self, ctx) -> None:
        canvas.use_openapi(
            ctx,
            self.service_name.value,
            self.toolbelt_name.value,
            self.spec.value,
            self.base_url.value,
            self.api_key.value,
            self.tools.value,
            self.except_tools.value,
            self.required.value,
        )


@xai_component(color="rgb(118, 64, 12)")
class AgentUseAgents(Component):
    """Lets an agent ask another one, which runs somewhere else: each of its skills is a tool.

    The other agent speaks A2A. What it can do is read from its card in the background while the
    workflow goes on. If that fails, the agent works without it and says so. When the other agent
    asks something before it goes on, the question comes back as the tool's result, and the agent
    can answer it. Use one node for each remote agent.

    ##### inPorts:
    - remote_agent (str): The remote agent's name under `agents` in `mcp_settings.json`.
    - toolbelt_name (str): The toolbelt it belongs to. Default: `default`.
    - tools (any): Only these of its tools, a list or a text with commas; `*` stands for any text.
      Type a text with a quotation mark before it: `"search_books, list_*`. Default: all.
    - except_tools (any): Not these, written in the same way. Default: none.
    - required (bool): True: a run fails if this gives it no tool. Default: False.

    ##### Example:
    remote_agent `travel`, before AgentMakeToolbelt.
    """

    remote_agent: InCompArg[str]
    toolbelt_name: InArg[str]
    tools: InArg[any]
    except_tools: InArg[any]
    required: InArg[bool]

    def execute(self, ctx) -> None:
        canvas.use_agent(
            ctx,
            self.remote_agent.value,
            self.toolbelt_name.value,
            self.tools.value,
            self.except_tools.value,
            self.required.value,
        )


@xai_component(color="rgb(118, 64, 12)")
class AgentUseBuiltinTools(Component):
    """Gives an agent tools that come along: a clock, a calculator, the files of one folder.

    They need no server and no settings. Those for files stay in the folder `workspace` and
    cannot leave it.

    ##### inPorts:
    - tools (any): Which of them, a list or a text with commas: `current_time`, `calculate`,
      `list_files`, `read_file`, `write_file`. Type a text with a quotation mark before it:
      `"current_time, calculate`. Default: those of `builtin_name`.
    - except_tools (any): Not these, written in the same way, also with `*` for any text.
      Default: none.
    - workspace (str): The folder for those with files, such as `notes`: relative to
      `mcp_settings.json`, and made when something is written. Default: none.
    - builtin_name (str): In place of tools and workspace, an entry under `builtin` in
      `mcp_settings.json`. Default: none.
    - toolbelt_name (str): The toolbelt it belongs to. Default: `default`.
    - required (bool): True: a run fails if this gives it no tool. Default: False.

    ##### Example:
    tools `"calculate`, before AgentMakeToolbelt.
    """

    tools: InArg[any]
    except_tools: InArg[any]
    workspace: InArg[str]
    builtin_name: InArg[str]
    toolbelt_name: InArg[str]
    required: InArg[bool]

    def execute(self, ctx) -> None:
        canvas.use_builtin_tools(
            ctx,
            self.tools.value,
            self.workspace.value,
            self.builtin_name.value,
            self.toolbelt_name.value,
            self.except_tools.value,
            self.required.value,
        )


@xai_component(color="rgb(118, 64, 12)")
class AgentUseWorkflow(Component):
    """Gives an agent another workflow as a tool.

    The tool is called like the file. What the model has to give are the workflow's Argument
    nodes; what the agent gets is what is wired to its Finish. A comment titled Description in
    it tells the model what the tool does; a line in it such as `city (default: Berlin): where
    to look` describes an argument. Each call runs in a process of its own, which sees what the
    workflow would see if you ran it yourself. When you change the workflow, the agent has the
    new one at its next step. It may have an agent in it; three such levels are allowed.

    ##### inPorts:
    - workflow (str): A file that ends in .xircuits, or its compiled .py: beside this workflow,
      in the working folder, or beside `mcp_settings.json`. Or the name of an entry under
      `workflows` in `mcp_settings.json`.
    - description (str): Tells the model what the tool does. Default: what the workflow says.
    - arguments (dict): Values that the model is not asked for, such as
      `"api_key": "${API_KEY}"`, which takes it from the environment. Default: none.
    - timeout_seconds (int): The longest time for one call. Then the workflow is ended, with all
      that it started. Default: 300.
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
        canvas.use_workflow(
            ctx,
            self.workflow.value,
            self.toolbelt_name.value,
            self.description.value,
            self.arguments.value,
            self.timeout_seconds.value,
            self.required.value,
        )


@xai_component(color="rgb(118, 64, 12)")
class AgentMakeToolbelt(Component):
    """Puts a toolbelt together: all that was drawn for it and declared for it so far.

    Place every node AgentUse... for it before this node.

    ##### inPorts:
    - name (str): The toolbelt's name. Default: `default`.
    - lock_tools (bool): True: the agent reads and calls only what was accepted of its servers, with
      MCPAcceptTool or `xai-mcp-agent tools accept`. What is new or changed is held back. Default:
      False.
    - lock_first (bool): True: the same, and what a server lists first is accepted. Default: False.
    - approval (str): Which calls a person is asked for first: `ask`, `ask_unless_read_only`,
      `allow` or `deny` for all tools, or words by tools and servers, such as
      `delete_*: ask, files: deny`. Default: those of tools that may destroy something, by what
      their server says or by their name, unless the settings say more.
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
        made = canvas.make_toolbelt(
            ctx,
            self.name.value,
            self.lock_tools.value,
            self.lock_first.value,
            self.approval.value,
            self.planning_tools.value,
        )
        self.toolbelt_spec.value = made
