"""Nodes for agents and servers with many tools: which are shown, which are found."""

from xai_components.base import Component, InArg, InCompArg, OutArg, xai_component

from xai_mcp_agent import canvas


@xai_component(color="rgb(60, 11, 53)")
class AgentAlwaysShowTools(Component):
    """Shows tools of a toolbelt in every request to the model, however many others there are.

    With more tools than fit into a request, an agent is shown those that it finds. Name what it
    needs again and again; tools that you draw are always shown. Put it before AgentMakeToolbelt.

    ##### inPorts:
    - tools (any): What to show, a list or a text with commas: a tool (`search_books`), a server
      (`library`), a tool of a server (`library/search_books`) or a group of the settings. `*`
      stands for any text. Type a text with a quotation mark before it.
    - toolbelt_name (str): The toolbelt it is about. Default: `default`.

    ##### Example:
    tools `"search_books, calendar/*`, before AgentMakeToolbelt.
    """

    tools: InCompArg[any]
    toolbelt_name: InArg[str]

    def execute(self, ctx) -> None:
        canvas.always_show_tools(ctx, self.toolbelt_name.value, self.tools.value)


@xai_component(color="rgb(60, 11, 53)")
class AgentPreferTools(Component):
    """Says which tools of a toolbelt an agent should trust, and which it must not use.

    Trusted tools come before others that fit as well when the agent looks for one. Blocked ones
    are not shown, found or called. Put it before AgentMakeToolbelt.

    ##### inPorts:
    - trusted (any): Names as in AgentAlwaysShowTools, a list or a text with commas. Type a text
      with a quotation mark before it. Default: none.
    - blocked (any): The same for what the agent must not use. Drawn tools are never blocked.
      Default: none.
    - toolbelt_name (str): The toolbelt it is about. Default: `default`.

    ##### Example:
    trusted `"library`, blocked `"files/delete_*, shell`, before AgentMakeToolbelt.
    """

    trusted: InArg[any]
    blocked: InArg[any]
    toolbelt_name: InArg[str]

    def execute(self, ctx) -> None:
        canvas.prefer_tools(ctx, self.toolbelt_name.value, self.trusted.value, self.blocked.value)


@xai_component(color="rgb(60, 11, 53)")
class AgentSelectionReport(Component):
    """Tells which tools an agent's first request to its model would show, and why. Asks no model.

    ##### inPorts:
    - request (str): What the agent may be asked: what a search for it finds is shown too. Default:
      nothing has been searched for yet.
    - agent_name (str): The agent. Default: the one that was set up last.

    ##### outPorts:
    - report (dict): tokens, budget_tokens, shown, left_out (they had no room), deferred (a search
      finds them), unusable (servers). Of each tool name, server, tokens and why.
    - shown (list): The names of the tools that are shown.
    - tokens (int): What they cost.
    - summary (str): The same to read.

    ##### Example:
    After AgentInit, and summary wired to a Print node.
    """

    request: InArg[str]
    agent_name: InArg[str]

    report: OutArg[dict]
    shown: OutArg[list]
    tokens: OutArg[int]
    summary: OutArg[str]

    def execute(self, ctx) -> None:
        told = canvas.search.report_selection(ctx, self.agent_name.value, self.request.value)
        self.report.value, self.shown.value, self.tokens.value, self.summary.value = told


@xai_component(color="rgb(60, 11, 53)")
class MCPSearchTools(Component):
    """Finds the tools that fit what you want to do, best first. No model is needed.

    A server that cannot be used is named in summary, and the others are searched. So is what a
    search by meaning had to do without, such as `12 of 16 tools prepared`.

    ##### inPorts:
    - query (str): What a tool should do, in your words, such as `lend a book`.
    - toolbelt_spec (dict): Search only this toolbelt's servers, without what it blocks; from
      AgentMakeToolbelt. Default: all servers of the settings.
    - limit (int): At most so many. Default: 10.

    ##### outPorts:
    - found (list): One dict for each: server, name, score (the best one has 1), reasons,
      description, input_schema and the rest of what MCPListTools gives.
    - best (str): The name of the best one. Empty if there is none.
    - best_server (str): The name of its server.
    - summary (str): The same to read.

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
        found, self.summary.value = canvas.search.find_tools(
            ctx, self.query.value, self.toolbelt_spec.value, self.limit.value
        )
        self.found.value = found
        self.best.value = found[0]["name"] if found else ""
        self.best_server.value = found[0]["server"] if found else ""


@xai_component(color="rgb(60, 11, 53)")
class MCPExplainTool(Component):
    """Tells all there is to know of one tool, with an example call. No model is needed.

    ##### inPorts:
    - server_name (str): The server's name under `mcpServers` in `mcp_settings.json`.
    - tool_name (str): The tool, by the server's own name for it.

    ##### outPorts:
    - definition (dict): server, name, signature, description, input_schema, example, first_seen,
      last_changed, calls and the rest of what MCPListTools gives.
    - example (dict): Arguments that the tool would accept, made up from what it says of them; a
      start for the arguments of MCPCallTool.
    - summary (str): The same to read.

    ##### Example:
    server_name `library`, tool_name `borrow_book`, and summary wired to a Print node.
    """

    server_name: InCompArg[str]
    tool_name: InCompArg[str]

    definition: OutArg[dict]
    example: OutArg[dict]
    summary: OutArg[str]

    def execute(self, ctx) -> None:
        explained = canvas.search.explain_tool(ctx, self.server_name.value, self.tool_name.value)
        self.definition.value, self.example.value, self.summary.value = explained
