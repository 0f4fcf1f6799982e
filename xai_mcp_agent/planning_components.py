"""Nodes for tools that fit together: plans and their runs, what comes next, wires, reasons."""

from xai_components.base import BaseComponent, Component, InArg, InCompArg, OutArg, xai_component

from xai_mcp_agent import canvas


@xai_component(type="branch", color="rgb(60, 11, 53)")
class MCPPlan(Component):
    """Plans which tools are called for a request, and what with. Nothing is called.

    Without a model the plan is made of words and shapes, and rough: look at it before it runs.

    ##### Branches:
    - on_missing: The way on when somebody has to give something first; `problems` says what.
      Nothing after the node runs then. Not wired: the workflow goes on.

    ##### inPorts:
    - request (str): What is to be done, in your words.
    - toolbelt_spec (dict): Only tools of this toolbelt, drawn ones too, without what it blocks;
      from AgentMakeToolbelt. Default: all servers of the settings.
    - model (str): A model that is asked once, such as `openai:gpt-5-mini`; each call, argument and
      reference in its answer is checked. Default: none is asked.
    - base_url (str): Where the model's service is, as for AgentInit. Default: the provider's own.

    ##### outPorts:
    - summary (str): The plan to read.
    - problems (list): What somebody must see to before it can run, a text for each.
    - plan (dict): request, calls (each with tool, name, args, reasons, confidence), problems,
      reasons and is_rough; for MCPRunPlan, or as a file for `xai-mcp-agent plan draw`.

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
        self.plan.value, self.problems.value, self.summary.value = canvas.planning.plan_request(
            ctx,
            self.request.value,
            self.toolbelt_spec.value,
            self.model.value,
            self.base_url.value,
        )

    def do(self, ctx):
        way_on = super().do(ctx)
        return self.on_missing if self.problems.value and self.on_missing else way_on


@xai_component(type="branch", color="rgb(60, 11, 53)")
class MCPRunPlan(Component):
    """Makes the calls of a plan one after another, each with what earlier ones gave.

    The calls are judged as those of an agent: by rules, approvals, and what is switched off. The
    plan stops where something is missing, fails, or must be approved; no call is made twice.

    ##### Branches:
    - on_missing: The way on when an argument must be given first; `missing` says which. Nothing
      after the node runs then. Not wired: the workflow stops with the reason.
    - on_waiting: The way on when a call waits for approval in the file of run_state. Nothing after
      the node runs then. Not wired: the workflow ends.
    - on_error: The way on when a call failed, or nobody knows whether it was made; `problem` says
      why. Nothing after the node runs then. Not wired: the workflow ends with the error.

    ##### inPorts:
    - plan (any): The plan of MCPPlan, or the name of a file that has one as JSON, typed with a
      quotation mark before it.
    - given (dict): What the plan lacks, or what is put in the place of what it says, by parameter
      (`reader`) or by call and parameter (`2.reader`), counted from 1. Default: nothing.
    - run_state (str): A file to keep the run in until it comes to its end: run the workflow again,
      and it goes on there, also after `xai-mcp-agent plan approve` of this file. Default: none.
    - again (int): The call, counted from 1, that may have been made when the run was killed, and
      that is made once more. Default: none is.
    - agent_name (str): In whose name the calls are made, for rules and the history. Default:
      `plan`.
    - toolbelt_spec (dict): The toolbelt whose approvals, locks, blocked and drawn tools hold; from
      AgentMakeToolbelt. Default: those of the settings, and all tools that are drawn.

    ##### outPorts:
    - result (any): What the last call gave, as data if it is any, else as text.
    - results (list): What all calls gave, in their order.
    - text (str): What the last call gave, as text.
    - status (str): `finished`, `missing`, `waiting` (for approval), `failed` or `unknown` (a call
      may have been made: see again).
    - missing (list): One dict for each argument to give: call (from 1 on), parameter and reason.
    - problem (str): Why it stopped, and what to do. Empty if it came to its end.

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


@xai_component(color="rgb(60, 11, 53)")
class MCPSuggestTools(Component):
    """Suggests the tools that may come next after some calls, and says why. No model is needed.

    It looks at what these tools give and others take, at what followed them before, and at what
    you want. Without a request it knows little: the right one is among five in less than half of
    the cases.

    ##### inPorts:
    - after (any): The tools so far in their order, a list or a text with commas:
      `shop/list_orders`, or just `list_orders` where only one server has it. Type a text with a
      quotation mark before it. Default: none.
    - request (str): What you want to reach, in your words. Default: none.
    - toolbelt_spec (dict): Only tools of this toolbelt, without what it blocks; from
      AgentMakeToolbelt. Default: all servers of the settings.
    - limit (int): At most so many. Default: 5.

    ##### outPorts:
    - suggestions (list): One dict for each, the best first: server, name, score (1 for the best
      one) and reasons.
    - best (str): The name of the best one. Empty if there is none.
    - best_server (str): The name of its server.
    - summary (str): The same to read.

    ##### Example:
    after `library/search_books`, request `lend a book`, and summary wired to a Print node.
    """

    after: InArg[any]
    request: InArg[str]
    toolbelt_spec: InArg[dict]
    limit: InArg[int]

    suggestions: OutArg[list]
    best: OutArg[str]
    best_server: OutArg[str]
    summary: OutArg[str]

    def execute(self, ctx) -> None:
        found, self.summary.value = canvas.fitting.suggest_tools(
            ctx, self.after.value, self.request.value, self.toolbelt_spec.value, self.limit.value
        )
        self.suggestions.value = found
        self.best.value = found[0]["name"] if found else ""
        self.best_server.value = found[0]["server"] if found else ""


@xai_component(color="rgb(60, 11, 53)")
class MCPCheckWires(Component):
    """Checks a drawn workflow before it runs: whether each call is given what it needs.

    Of MCPToolStep and MCPCallTool it sees arguments that are missing, that the tool does not take,
    or that come from a part that a result does not have, and says which tool gives what is
    missing. It makes no call. What a tool does not declare cannot be checked.

    ##### inPorts:
    - workflow (str): The workflow, a `.xircuits` file beside this one or in the working folder.
      Default: a plan is checked.
    - plan (dict): A plan in its place: `calls`, each with `tool` and `args`. Default: none.

    ##### outPorts:
    - problems (list): One dict for each: call (from 1 on), server, tool, parameter, problem and
      remedies.
    - is_fine (bool): True if there are none.
    - summary (str): The same to read.

    ##### Example:
    workflow `my_agent_drawn.xircuits`, and summary wired to a Print node.
    """

    workflow: InArg[str]
    plan: InArg[dict]

    problems: OutArg[list]
    is_fine: OutArg[bool]
    summary: OutArg[str]

    def execute(self, ctx) -> None:
        found, self.summary.value = canvas.fitting.check_wires(
            ctx, self.workflow.value, self.plan.value
        )
        self.problems.value = found
        self.is_fine.value = not found


@xai_component(color="rgb(60, 11, 53)")
class MCPExplainChoice(Component):
    """Tells why a tool is chosen for a request, or why it is not. No model is needed.

    It tells what an agent's search finds, what a plan has, and which rules say something of it, by
    name. What a model chooses among the tools it is shown nobody can explain.

    ##### inPorts:
    - request (str): What is asked for, in the words that an agent would be given.
    - server_name (str): The server's name under `mcpServers` in `mcp_settings.json`.
    - tool_name (str): The tool, by the server's own name for it.
    - toolbelt_spec (dict): As for an agent with this toolbelt, from AgentMakeToolbelt. Default:
      with all servers of the settings.

    ##### outPorts:
    - report (dict): is_chosen, search (place, score, reasons, and what is ahead), plan (step,
      steps, reasons), rules, and barred: what keeps it from being chosen at all.
    - is_chosen (bool): True if a search finds it first, or a plan has it.
    - summary (str): The same to read.

    ##### Example:
    request `lend a book`, server_name `library`, tool_name `borrow_book`, and summary wired to a
    Print node.
    """

    request: InCompArg[str]
    server_name: InCompArg[str]
    tool_name: InCompArg[str]
    toolbelt_spec: InArg[dict]

    report: OutArg[dict]
    is_chosen: OutArg[bool]
    summary: OutArg[str]

    def execute(self, ctx) -> None:
        self.report.value, self.summary.value = canvas.fitting.explain_choice(
            ctx,
            self.request.value,
            self.server_name.value,
            self.tool_name.value,
            self.toolbelt_spec.value,
        )
        self.is_chosen.value = self.report.value["is_chosen"]
