"""Tools without an agent: call them, find them, plan with them, and look at their history."""

from xai_components.base import (
    BaseComponent,
    Component,
    InArg,
    InCompArg,
    OutArg,
    dynalist,
    xai_component,
)

from xai_mcp_agent import canvas


@xai_component(color="rgb(6, 88, 63)")
class MCPListTools(Component):
    """Lists the tools of an MCP server, or of a group.

    ##### inPorts:
    - server_name (str): The server's name under `mcpServers` in `mcp_settings.json`, or a group's
      name under `groups`.

    ##### outPorts:
    - tools (list): One dict for each tool: name, title, description, input_schema,
      output_schema, annotations, tags, operation (method and path of a request, or None), note
      (our remark about it, or None), is_enabled (False: a person switched it off), is_changed
      (since it was accepted), is_held (True: locked until it is accepted).
    - summary (str): The same as text: a line for each tool with its parameters.

    ##### Example:
    server_name `library`, and summary wired to a Print node.
    """

    server_name: InCompArg[str]

    tools: OutArg[list]
    summary: OutArg[str]

    def execute(self, ctx) -> None:
        canvas.ports.outputs(self, canvas.servers.list_tools(ctx, **canvas.ports.inputs(self)))


@xai_component(color="rgb(6, 88, 63)")
class MCPCallTool(Component):
    """Calls a tool of an MCP server. Wrong arguments are refused before anything is sent.

    ##### inPorts:
    - server_name (str): The server's name under `mcpServers` in `mcp_settings.json`.
    - tool_name (str): The tool's name at the server.
    - arguments (dict): Its arguments by name. Default: none.
    - timeout_seconds (int): The longest wait. Default: the server's `timeout` in the settings.

    ##### outPorts:
    - text (str): The result as text; pictures and sounds are named, not shown.
    - structured (any): The result as data, if the tool returns any.
    - parts (list): Every part of the result as a dict with its `kind`; binary data is base64.
    - is_error (bool): True if the tool reports an error; `text` then says why.

    ##### Example:
    server_name `units`, tool_name `convert_units`,
    arguments `"value": 5, "from_unit": "mile", "to_unit": "kilometre"`.
    """

    server_name: InCompArg[str]
    tool_name: InCompArg[str]
    arguments: InArg[dict]
    timeout_seconds: InArg[int]

    text: OutArg[str]
    structured: OutArg[any]
    parts: OutArg[list]
    is_error: OutArg[bool]

    def execute(self, ctx) -> None:
        canvas.ports.outputs(self, canvas.servers.call_tool(ctx, **canvas.ports.inputs(self)))


@xai_component(color="rgb(6, 88, 63)")
class MCPToolStep(Component):
    """Calls a tool with arguments that you write in a few lines, or take from earlier results.

    The first line is the tool: a source of `mcp_settings.json` (a server, or any other kind), a
    slash, and the tool's name. Each further line sets an argument to a value, or to a part of a
    result that is wired to results. `xai-mcp-agent plan draw` makes workflows of these nodes from
    an agent's run.

    - `title = "Moby-Dick"`: texts are in quotation marks; `5`, `true`, `["a", "b"]` are not.
    - `book_id = results[0].books[0].id`: the `id` of the first of the `books` on the first wire.
    - `["odd name"]` is a name with spaces, `[]` the first item, `.{key}` the first value.
    - `title = "About " + results[0].title`: several parts are joined to a text.
    - `day = results[0] after "until " before "."`: the text between these words.
    - `count = number(results[0] after "found ")`: the number in a text.
    - A line that begins with `#` is a comment.

    If the tool reports an error, or a result has no such part, the workflow stops and says so.

    ##### inPorts:
    - results (dynalist): The results of earlier steps, `results[0]` and so on in the lines; or any
      other value. Default: none.
    - call (str): The tool and its arguments, as above.

    ##### outPorts:
    - result (any): The result as data, or as text if the tool returns no data.
    - text (str): The result as text; pictures and sounds are named, not shown.

    ##### Example:
    call `library/search_books`, and in its second line `query = "sea"`; result wired to results of
    a second step with `library/get_book` and `book_id = results[0].books[0].id`.
    """

    results: InArg[dynalist]
    call: InCompArg[str]

    result: OutArg[any]
    text: OutArg[str]

    def execute(self, ctx) -> None:
        canvas.ports.outputs(self, canvas.steps.call_step(ctx, **canvas.ports.inputs(self)))


@xai_component(color="rgb(6, 88, 63)")
class MCPReadResource(Component):
    """Reads a resource of an MCP server, or lists its resources.

    ##### inPorts:
    - server_name (str): The server's name under `mcpServers` in `mcp_settings.json`.
    - uri (str): The resource, or a template. Default: all resources and templates are listed.
    - values (dict): The values of the template's parameters, by name. Default: none.
    - save_as (str): A file to save it to, for instance a picture. Default: it is not saved.

    ##### outPorts:
    - text (str): Its text; pictures and the like are named, not shown. A list has a line for each.
    - contents (list): Every part as a dict: uri, mime_type, text, or data in base64. A list has one
      dict for each resource: uri, name, description, mime_type, is_template.
    - files (list): The saved files, one for each part.

    ##### Example:
    server_name `library`, uri `library://book/{book_id}`, values `"book_id": 14`, and text wired
    to a Print node.
    """

    server_name: InCompArg[str]
    uri: InArg[str]
    values: InArg[dict]
    save_as: InArg[str]

    text: OutArg[str]
    contents: OutArg[list]
    files: OutArg[list]

    def execute(self, ctx) -> None:
        canvas.ports.outputs(self, canvas.servers.read_resource(ctx, **canvas.ports.inputs(self)))


@xai_component(color="rgb(6, 88, 63)")
class MCPGetPrompt(Component):
    """Gets a prompt of an MCP server, filled in and ready for AgentRun, or lists its prompts.

    ##### inPorts:
    - server_name (str): The server's name under `mcpServers` in `mcp_settings.json`.
    - prompt_name (str): The prompt. Default: all prompts are listed.
    - arguments (dict): The prompt's arguments by name. Prompts take texts; any other value is sent
      as JSON. Default: none.

    ##### outPorts:
    - conversation (list): The prompt as messages; wire it to the conversation of AgentRun.
    - text (str): Its text, or a line for each listed prompt.
    - prompts (list): One dict for each listed prompt: name, description, arguments.

    ##### Example:
    server_name `library`, prompt_name `recommend_book`, arguments `"reader_interest": "the sea"`.
    """

    server_name: InCompArg[str]
    prompt_name: InArg[str]
    arguments: InArg[dict]

    conversation: OutArg[list]
    text: OutArg[str]
    prompts: OutArg[list]

    def execute(self, ctx) -> None:
        canvas.ports.outputs(self, canvas.servers.get_prompt(ctx, **canvas.ports.inputs(self)))


@xai_component(color="rgb(6, 88, 63)")
class MCPServerStatus(Component):
    """Shows the state of the configured MCP servers: connected or not, and if not, why.

    A server that is disabled, wrong in the settings or not reachable is reported like any other:
    only a name that the settings do not have is an error.

    ##### inPorts:
    - server_name (str): Only this server, which is connected first. Default: all, as they are now.

    ##### outPorts:
    - status (list): One dict for each: name, kind (`mcp`), state, transport, era, server,
      tool_count, prompt_count, resource_count, connect_seconds, error, next_step, stderr_tail,
      notes (which of its tools were left out or repaired, and why), breaker (why it is not called
      now, if it failed too often), marks (suspicious texts, such as instructions to a model: tool,
      place, reason, words).
    - summary (str): The same as text, and where the history is kept or why it is not.

    ##### Example:
    Nothing wired, and summary wired to a Print node.
    """

    server_name: InArg[str]

    status: OutArg[list]
    summary: OutArg[str]

    def execute(self, ctx) -> None:
        canvas.ports.outputs(self, canvas.servers.status(ctx, **canvas.ports.inputs(self)))


@xai_component(color="rgb(60, 11, 53)")
class MCPSearchTools(Component):
    """Finds the tools that match what you want to do, best first. It needs no model.

    `summary` names servers that cannot be used, and says if the search by meaning was incomplete:
    `12 of 16 tools prepared`.

    ##### inPorts:
    - query (str): The task in your own words, such as `lend a book`.
    - toolbelt_spec (dict): Search only this toolbelt's servers, without what it blocks.
      Default: all servers of the settings.
    - limit (int): The most tools to return. Default: 10.

    ##### outPorts:
    - found (list): One dict for each tool: server, name, score (1 for the best), reasons,
      description, input_schema and the other fields of MCPListTools.
    - best (str): The name of the best one. Empty if there is none.
    - best_server (str): The name of its server.
    - summary (str): The same as text.

    ##### Example:
    query `lend a book`, then MCPExplainTool with best_server and best wired to it.
    """

    query: InCompArg[str]
    toolbelt_spec: InArg[dict]
    limit: InArg[int]

    found: OutArg[list]
    best: OutArg[str]
    best_server: OutArg[str]
    summary: OutArg[str]

    def execute(self, ctx) -> None:
        canvas.ports.outputs(self, canvas.queries.find_tools(ctx, **canvas.ports.inputs(self)))


@xai_component(color="rgb(60, 11, 53)")
class MCPExplainTool(Component):
    """Explains one tool, and why it is chosen for a request or not.

    It needs no model: it explains which tools a model is shown, not which the model then chooses.

    ##### inPorts:
    - server_name (str): The server's name under `mcpServers` in `mcp_settings.json`.
    - tool_name (str): The tool's name at the server.
    - request (str): A request as an agent would get it. Default: only the tool is explained.
    - toolbelt_spec (dict): With request: the agent's toolbelt. Default: all servers of the
      settings.

    ##### outPorts:
    - definition (dict): server, name, signature, description, input_schema, example, first_seen,
      last_changed, calls and the other fields of MCPListTools.
    - example (dict): Arguments that the tool would accept, to start from in MCPCallTool.
    - choice (dict): With request: is_chosen, search (place, score, reasons, and the tools ahead of
      it), plan (step, steps, reasons), rules, and barred: why it cannot be chosen at all.
    - is_chosen (bool): With request: True if the tool is first in a search, or in the plan.
    - summary (str): The same as text.

    ##### Example:
    server_name `library`, tool_name `borrow_book`, request `lend a book`, and summary wired to a
    Print node.
    """

    server_name: InCompArg[str]
    tool_name: InCompArg[str]
    request: InArg[str]
    toolbelt_spec: InArg[dict]

    definition: OutArg[dict]
    example: OutArg[dict]
    choice: OutArg[dict]
    is_chosen: OutArg[bool]
    summary: OutArg[str]

    def execute(self, ctx) -> None:
        canvas.ports.outputs(self, canvas.queries.explain_tool(ctx, **canvas.ports.inputs(self)))


@xai_component(type="branch", color="rgb(60, 11, 53)")
class MCPPlan(Component):
    """Plans the calls for a request, with their arguments. Nothing is called.

    Without a model the plan is made from words and schemas, and is rough: check it before it runs.

    ##### inPorts:
    - request (str): The request in your own words.
    - toolbelt_spec (dict): Only tools of this toolbelt, drawn ones too, without what it blocks.
      Default: all servers of the settings.
    - model (str): A model that writes the plan, such as `openai:gpt-5-mini`; each call, argument
      and reference is checked. Default: none.
    - base_url (str): The address of the model's service, as in AgentModel. Default: the provider's
      own.

    ##### outPorts:
    - summary (str): The plan as text.
    - problems (list): What must be fixed before the plan can run, a text for each problem.
    - plan (dict): request, calls (each with tool, name, args, reasons, confidence), problems,
      reasons and is_rough; for MCPRunPlan, or as a file for `xai-mcp-agent plan draw`.

    ##### Branches:
    - on_missing: Runs instead of the next node if a value is missing; `problems` says which. Not
      wired: the workflow goes on.

    ##### Example:
    request `Find a book about the sea`, plan wired to MCPRunPlan, and summary to a Print node.
    """

    on_missing: BaseComponent

    request: InCompArg[str]
    toolbelt_spec: InArg[dict]
    model: InArg[str]
    base_url: InArg[str]

    summary: OutArg[str]
    problems: OutArg[list]
    plan: OutArg[dict]

    def execute(self, ctx) -> None:
        canvas.ports.outputs(self, canvas.planning.plan_request(ctx, **canvas.ports.inputs(self)))

    def do(self, ctx):
        way_on = super().do(ctx)
        return self.on_missing if self.problems.value and self.on_missing else way_on


@xai_component(type="branch", color="rgb(60, 11, 53)")
class MCPRunPlan(Component):
    """Makes the calls of a plan, each with the results of earlier ones.

    Rules, approvals and switched-off tools apply as for an agent. The plan stops if a value is
    missing, a call fails, or a call needs approval; no call is made twice.

    ##### inPorts:
    - plan (any): The plan of MCPPlan, or the name of a file that has one as JSON, typed with a
      quotation mark before it.
    - given (dict): Values that the plan lacks, or that replace its own, by parameter (`reader`) or
      by call and parameter (`2.reader`), counted from 1. Default: none.
    - run_state (str): A file that stores the run: run the workflow again, and it continues, also
      after `xai-mcp-agent plan approve` with this file. Default: the run is not stored.
    - again (int): The call, counted from 1, to repeat although it may have been made when the run
      was killed. Default: none.
    - agent_name (str): The agent in whose name the calls are made. Default: `plan`.
    - toolbelt_spec (dict): The toolbelt whose approvals, locks, blocked and drawn tools apply.
      Default: those of the settings, and all drawn tools.

    ##### outPorts:
    - result (any): The result of the last call, as data if it has any, otherwise as text.
    - results (list): The results of all calls, in order.
    - text (str): The result of the last call, as text.
    - status (str): `finished`, `missing`, `waiting` (for approval), `failed` or `unknown` (a call
      may have been made: see again).
    - missing (list): One dict for each missing argument: call (from 1 on), parameter and reason.
    - problem (str): Why the plan stopped, and what to do. Empty if it finished.

    ##### Branches:
    - on_missing: Runs instead of the next node if an argument is missing; `missing` says which. Not
      wired: the workflow stops with the reason.
    - on_waiting: Runs instead of the next node if a call waits for approval in the file of
      run_state. Not wired: the workflow ends.
    - on_error: Runs instead of the next node if a call failed, or may have been made; `problem`
      says why. Not wired: the workflow ends with the error.

    ##### Example:
    plan wired from MCPPlan, given `"reader": "Ada"`, and text wired to a Print node.
    """

    on_missing: BaseComponent
    on_waiting: BaseComponent
    on_error: BaseComponent

    plan: InCompArg[any]
    given: InArg[dict]
    run_state: InArg[str]
    again: InArg[int]
    agent_name: InArg[str]
    toolbelt_spec: InArg[dict]

    result: OutArg[any]
    results: OutArg[list]
    text: OutArg[str]
    status: OutArg[str]
    missing: OutArg[list]
    problem: OutArg[str]

    def execute(self, ctx) -> None:
        canvas.planning.run_for_node(self, ctx)

    def do(self, ctx):
        return canvas.planning.way_on_of(self, super().do(ctx))


@xai_component(color="rgb(6, 88, 63)")
class MCPToolHistory(Component):
    """Shows what happened to servers and tools: new, changed, called, failed and gone.

    It connects to nothing. Without a tool_name it also shows the figures of every tool.

    ##### inPorts:
    - server_name (str): Only this server and its tools; `canvas` for tools that you draw.
      Default: all.
    - tool_name (str): Only tools of this name. Default: all.
    - since (str): Only events since then: `2h`, `3d`, `2026-11-20`, `2026-11-20 14:00`.
      Default: the beginning.
    - limit (int): The number of newest events. Default: 100.
    - until (str): Only events before then, written like since. Default: now.
    - agent_name (str): Only calls of this agent. Default: all.
    - failed (bool): True: only failures and refusals. Default: False.
    - text_in_it (str): Only events that contain this text, in capitals or not. Default: all.

    ##### outPorts:
    - events (list): One dict for each, oldest first: position, time, change, reason, tool_source,
      tool, payload and more.
    - text (str): The same as text, similar events in one line. It says if older ones are left out.
    - tools (list): Without tool_name, one dict for each tool there ever was: name, server, state
      (`available`, `at rest` while its server is not connected, or `gone`), reason, is_enabled,
      is_held (True: locked until it is accepted), calls, errors, last_error, mean_seconds,
      median_seconds, p95_seconds and more.
    - status (str): The same as text.

    ##### Example:
    since `1h` after AgentRun, and text wired to a Print node: the agent's calls.
    """

    server_name: InArg[str]
    tool_name: InArg[str]
    since: InArg[str]
    limit: InArg[int]
    until: InArg[str]
    agent_name: InArg[str]
    failed: InArg[bool]
    text_in_it: InArg[str]

    events: OutArg[list]
    text: OutArg[str]
    tools: OutArg[list]
    status: OutArg[str]

    def execute(self, ctx) -> None:
        canvas.ports.outputs(self, canvas.queries.tool_history(ctx, **canvas.ports.inputs(self)))


@xai_component(color="rgb(6, 88, 63)")
class MCPRefreshTools(Component):
    """Lists the tools of servers again, and shows what has changed since the last listing.

    A server that cannot be listed is named in text, and the workflow goes on. A server whose calls
    are refused because it failed too often is called again.

    ##### inPorts:
    - server_name (str): Only this server. Default: all.
    - force (bool): True: write every tool into the history, even unchanged ones. Default: False.

    ##### outPorts:
    - tools (list): One dict for each present tool: server, name, description, input_schema and
      more.
    - changes (list): One dict for each tool that changed: source, tool, how (`added`, `removed`,
      `renamed` or `changed`), was (its former name), lines (the differences).
    - text (str): The changes as text.

    ##### Example:
    server_name `library`, and text wired to a Print node.
    """

    server_name: InArg[str]
    force: InArg[bool]

    tools: OutArg[list]
    changes: OutArg[list]
    text: OutArg[str]

    def execute(self, ctx) -> None:
        canvas.ports.outputs(self, canvas.servers.refresh_tools(ctx, **canvas.ports.inputs(self)))
