"""Nodes for what is known of tools, and for what you decide about them."""

from xai_components.base import Component, InArg, InCompArg, OutArg, xai_component

from xai_mcp_agent import canvas


@xai_component(color="rgb(6, 88, 63)")
class MCPEnableTool(Component):
    """Switches a tool off for all agents, or on again. It stays so until you decide otherwise.

    An agent that asks for it is told that a person switched it off. MCPCallTool still calls it.

    ##### inPorts:
    - server_name (str): The server's name under `mcpServers` in `mcp_settings.json`; `canvas` for
      a tool that you draw.
    - tool_name (str): The tool, by the server's own name for it.
    - enabled (bool): False: no agent is offered it. Default: True.

    ##### outPorts:
    - summary (str): What came of it, to read.

    ##### Example:
    server_name `library`, tool_name `lend_book`, enabled False, before AgentRun.
    """

    server_name: InCompArg[str]
    tool_name: InCompArg[str]
    enabled: InArg[bool]

    summary: OutArg[str]

    def execute(self, ctx) -> None:
        self.summary.value = canvas.decisions.enable_tool(
            ctx, self.server_name.value, self.tool_name.value, self.enabled.value
        )


@xai_component(color="rgb(6, 88, 63)")
class MCPAcceptTool(Component):
    """Accepts what a server says of a tool now, when you have read it.

    Agents read and call of a locked server only what was accepted, while it stays so. Servers are
    locked by `"lock": true` in the settings, or by AgentMakeToolbelt.

    ##### inPorts:
    - server_name (str): The server's name under `mcpServers` in `mcp_settings.json`.
    - tool_name (str): The tool, by the server's own name for it.
    - digest (str): That of what you have read, the whole of it: just that is accepted.
      Default: you are shown what is new, and asked.

    ##### outPorts:
    - changes (list): A line for each thing that is different from what was accepted before.
    - summary (str): What came of it, to read.

    ##### Example:
    server_name `library`, tool_name `lend_book`, and summary wired to a Print node.
    """

    server_name: InCompArg[str]
    tool_name: InCompArg[str]
    digest: InArg[str]

    changes: OutArg[list]
    summary: OutArg[str]

    def execute(self, ctx) -> None:
        accepted = canvas.decisions.accept_tool(
            ctx, self.server_name.value, self.tool_name.value, self.digest.value
        )
        self.changes.value, self.summary.value = accepted


@xai_component(color="rgb(6, 88, 63)")
class MCPToolHistory(Component):
    """Tells what happened to servers and tools: what came, changed, was called, failed and went.

    Nothing is connected for it. What is remembered, and where, is told in docs/history.md.

    ##### inPorts:
    - server_name (str): Only this server and its tools; `canvas` for tools that you draw.
      Default: all.
    - tool_name (str): Only tools of this name. Default: all.
    - since (str): Only what happened since then: `2h`, `3d`, `2026-11-20`, `2026-11-20 14:00`.
      Default: the beginning.
    - limit (int): The newest so many events. Default: 100.
    - until (str): Only what happened before then, in the words of since. Default: now.
    - agent_name (str): Only what this agent called. Default: all.
    - failed (bool): True: only what failed or was refused. Default: False.
    - text_in_it (str): Only what has this text in it, in capitals or not. Default: all.

    ##### outPorts:
    - events (list): One dict for each, oldest first: position, time, change, reason, tool_source,
      tool, payload and more.
    - text (str): The same to read; many that are alike in one line.

    ##### Example:
    since `1h` after AgentRun, and text wired to a Print node: what the agent has called.
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

    def execute(self, ctx) -> None:
        ports = {
            "server_name": self.server_name.value,
            "tool_name": self.tool_name.value,
            "since": self.since.value,
            "limit": self.limit.value,
            "until": self.until.value,
            "agent_name": self.agent_name.value,
            "failed": self.failed.value,
            "text_in_it": self.text_in_it.value,
        }
        self.events.value, self.text.value = canvas.history.tool_history(ctx, ports)


@xai_component(color="rgb(6, 88, 63)")
class MCPToolStatus(Component):
    """Tells how every tool is doing that there ever was: calls, errors, how long, and why gone.

    Nothing is connected for it: MCPRefreshTools asks the servers themselves.

    ##### inPorts:
    - server_name (str): Only the tools of this server; `canvas` for tools that you draw.
      Default: all.

    ##### outPorts:
    - tools (list): One dict for each: name, server, state (`available`, `at rest` while its server
      is not connected, or `gone`), reason, is_enabled, is_held (True: a lock holds it back until it
      is accepted), calls, errors, last_error, mean_seconds, median_seconds, p95_seconds and more.
    - text (str): The same to read.

    ##### Example:
    Nothing wired, and text wired to a Print node.
    """

    server_name: InArg[str]

    tools: OutArg[list]
    text: OutArg[str]

    def execute(self, ctx) -> None:
        found = canvas.history.tool_status(ctx, self.server_name.value)
        self.tools.value, self.text.value = found


@xai_component(color="rgb(6, 88, 63)")
class MCPRefreshTools(Component):
    """Lists the tools of servers anew, and tells what changed since they were listed last.

    A server that cannot be listed is told of in text, and the workflow goes on. One that was not
    called any more because it failed too often is called again.

    ##### inPorts:
    - server_name (str): Only this server. Default: all.
    - force (bool): True: write every tool into the history, though nothing may have changed.
      Default: False.

    ##### outPorts:
    - tools (list): One dict for each tool there is now: server, name, description, input_schema
      and more.
    - changes (list): One dict for each tool that changed: source, tool, how (`added`, `removed`,
      `renamed` or `changed`), was (its former name), lines (what is different).
    - text (str): What changed, to read.

    ##### Example:
    server_name `library`, and text wired to a Print node.
    """

    server_name: InArg[str]
    force: InArg[bool]

    tools: OutArg[list]
    changes: OutArg[list]
    text: OutArg[str]

    def execute(self, ctx) -> None:
        found = canvas.history.refresh_tools(ctx, self.server_name.value, self.force.value)
        self.tools.value, self.changes.value, self.text.value = found
