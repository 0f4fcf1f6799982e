"""Nodes that use MCP servers directly, without a model."""

from xai_components.base import Component, InArg, InCompArg, OutArg, dynalist, xai_component

from xai_mcp_agent import canvas


@xai_component(color="rgb(6, 88, 63)")
class MCPListTools(Component):
    """Lists the tools of an MCP server, or of a group.

    ##### inPorts:
    - server_name (str): The server's name under `mcpServers` in `mcp_settings.json`, or that of
      a group under `groups`.

    ##### outPorts:
    - tools (list): One dict for each tool: name, title, description, input_schema,
      output_schema, annotations, tags, operation (method and path of a request, or None), note
      (ours: what to know about it, or None), is_enabled (False: a person switched it off),
      is_changed (since it was accepted), is_held (True: a lock holds it back until it is accepted).
    - summary (str): The same to read: a line for each tool with its parameters.

    ##### Example:
    server_name `library`, and summary wired to a Print node.
    """

    server_name: InCompArg[str]

    tools: OutArg[list]
    summary: OutArg[str]

    def execute(self, ctx) -> None:
        listed = canvas.servers.list_tools(ctx, self.server_name.value)
        self.tools.value, self.summary.value = listed


@xai_component(color="rgb(6, 88, 63)")
class MCPCallTool(Component):
    """Calls a tool of an MCP server. Wrong arguments are refused before anything is sent.

    ##### inPorts:
    - server_name (str): The server's name under `mcpServers` in `mcp_settings.json`.
    - tool_name (str): The tool, by the server's own name for it.
    - arguments (dict): Its arguments by name. Default: none.
    - timeout_seconds (int): The longest wait. Default: the server's `timeout` in the settings.

    ##### outPorts:
    - text (str): The result as text; pictures and sounds are named, not shown.
    - structured (any): The result as data, if the tool gives it.
    - parts (list): Every part of the result as a dict with its `kind`; binary data is base64.
    - is_error (bool): True if the tool says that it failed; `text` then says why.

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
        # Here: a component file loads nothing heavy.
        from xai_mcp_agent.views.servers import parts_json

        result = canvas.servers.call_tool(
            ctx,
            self.server_name.value,
            self.tool_name.value,
            self.arguments.value,
            self.timeout_seconds.value,
        )
        self.text.value = result.text
        self.structured.value = result.structured
        self.parts.value = parts_json(result)
        self.is_error.value = result.is_error


@xai_component(color="rgb(6, 88, 63)")
class MCPToolStep(Component):
    """Calls a tool with what you write in a few lines, and with what earlier steps gave.

    The first line is the tool: a source of `mcp_settings.json` (a server, or any other kind), a
    slash, and the tool's name. Then a line for each argument: a value, or a part of a result that
    is wired to results. `xai-mcp-agent plan draw` makes workflows of these nodes from what an agent
    did.

    - `title = "Moby-Dick"`: texts stand in quotation marks; `5`, `true`, `["a", "b"]` as they are.
    - `book_id = results[0].books[0].id`: of the first wire, in `books` the first one's `id`.
    - `["odd name"]` is a name with spaces, `[]` the first item, `.{key}` the first value.
    - `title = "About " + results[0].title`: several parts are joined to a text.
    - `day = results[0] after "until " before "."`: what stands between these words of a text.
    - `count = number(results[0] after "found ")`: the number that a text holds.
    - A line that begins with `#` is a remark.

    If the tool says that it failed, or a result has no such part, the workflow stops and says so.

    ##### inPorts:
    - results (dynalist): The results of earlier steps, `results[0]` and so on in the lines; or any
      other value. Default: none.
    - call (str): The tool and its arguments, as above.

    ##### outPorts:
    - result (any): The result as data, or as text where the tool gives no data.
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
        done = canvas.steps.call_step(ctx, self.call.value, self.results.value)
        self.result.value, self.text.value = done


@xai_component(color="rgb(6, 88, 63)")
class MCPListResources(Component):
    """Lists what an MCP server lets you read: its resources, and templates for them.

    ##### inPorts:
    - server_name (str): The server's name under `mcpServers` in `mcp_settings.json`.

    ##### outPorts:
    - resources (list): One dict for each: uri, name, description, mime_type, is_template.

    ##### Example:
    server_name `library`, and resources wired to a Print node.
    """

    server_name: InCompArg[str]

    resources: OutArg[list]

    def execute(self, ctx) -> None:
        self.resources.value = canvas.servers.list_resources(ctx, self.server_name.value)


@xai_component(color="rgb(6, 88, 63)")
class MCPReadResource(Component):
    """Reads a resource of an MCP server.

    ##### inPorts:
    - server_name (str): The server's name under `mcpServers` in `mcp_settings.json`.
    - uri (str): The resource, or a template, as MCPListResources gives it.
    - values (dict): What to fill in for the template's parameters, by name. Default: nothing.
    - save_as (str): A file to save it to, for instance a picture. Default: it is not saved.

    ##### outPorts:
    - text (str): Its text; pictures and the like are named, not shown.
    - contents (list): Every part as a dict: uri, mime_type, text, or data in base64.
    - files (list): Where it was saved, a file for each part.

    ##### Example:
    server_name `library`, uri `library://book/{book_id}`, values `"book_id": 14`, and text wired
    to a Print node.
    """

    server_name: InCompArg[str]
    uri: InCompArg[str]
    values: InArg[dict]
    save_as: InArg[str]

    text: OutArg[str]
    contents: OutArg[list]
    files: OutArg[list]

    def execute(self, ctx) -> None:
        read = canvas.servers.read_resource(
            ctx, self.server_name.value, self.uri.value, self.values.value, self.save_as.value
        )
        self.text.value, self.contents.value, self.files.value = read


@xai_component(color="rgb(6, 88, 63)")
class MCPListPrompts(Component):
    """Lists the prepared prompts of an MCP server.

    ##### inPorts:
    - server_name (str): The server's name under `mcpServers` in `mcp_settings.json`.

    ##### outPorts:
    - prompts (list): One dict for each: name, description, arguments.

    ##### Example:
    server_name `library`, and prompts wired to a Print node.
    """

    server_name: InCompArg[str]

    prompts: OutArg[list]

    def execute(self, ctx) -> None:
        self.prompts.value = canvas.servers.list_prompts(ctx, self.server_name.value)


@xai_component(color="rgb(6, 88, 63)")
class MCPGetPrompt(Component):
    """Gets a prepared prompt of an MCP server, filled in, ready for AgentRun.

    ##### inPorts:
    - server_name (str): The server's name under `mcpServers` in `mcp_settings.json`.
    - prompt_name (str): The prompt, as MCPListPrompts gives it.
    - arguments (dict): What to fill in, by name. Prompts take texts: any other value is given
      as JSON. Default: nothing.

    ##### outPorts:
    - conversation (list): The prompt as messages; wire it to the conversation of AgentRun.
    - text (str): Its text.

    ##### Example:
    server_name `library`, prompt_name `recommend_book`, arguments `"reader_interest": "the sea"`.
    """

    server_name: InCompArg[str]
    prompt_name: InCompArg[str]
    arguments: InArg[dict]

    conversation: OutArg[list]
    text: OutArg[str]

    def execute(self, ctx) -> None:
        prompt = canvas.servers.get_prompt(
            ctx, self.server_name.value, self.prompt_name.value, self.arguments.value
        )
        self.conversation.value, self.text.value = prompt


@xai_component(color="rgb(6, 88, 63)")
class MCPServerStatus(Component):
    """Tells how the configured MCP servers are doing: connected or not, and if not, why.

    A server that is disabled, wrong in the settings or not reachable is told of: only a name
    that the settings do not have is an error.

    ##### inPorts:
    - server_name (str): Only this server, and connect it first. Default: all, as they are now.

    ##### outPorts:
    - status (list): One dict for each: name, kind (`mcp`), state, transport, era, server,
      tool_count, prompt_count, resource_count, connect_seconds, error, next_step, stderr_tail,
      notes (what was left out of its tools or mended, and why), breaker (why it is not called
      now, if it failed too often), marks (what is odd in what it says, such as orders to a
      model: tool, place, reason, words).
    - summary (str): The same to read, and where the history is kept or why it is not.

    ##### Example:
    Nothing wired, and summary wired to a Print node.
    """

    server_name: InArg[str]

    status: OutArg[list]
    summary: OutArg[str]

    def execute(self, ctx) -> None:
        found = canvas.servers.status(ctx, self.server_name.value)
        self.status.value, self.summary.value = found


@xai_component(color="rgb(6, 88, 63)")
class MCPCloseServer(Component):
    """Closes an MCP server now. Otherwise it ends with the workflow, in the lab a while later.

    ##### inPorts:
    - server_name (str): The server to close. Default: all.

    ##### Example:
    server_name `library`, after the last node that uses it.
    """

    server_name: InArg[str]

    def execute(self, ctx) -> None:
        canvas.servers.close(ctx, self.server_name.value)
