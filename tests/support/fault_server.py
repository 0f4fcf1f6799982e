"""An MCP server of our own, on the standard library alone, so it starts at once.

Run as a child it speaks over stdio: `python -S fault_server.py '{"exit": 3}'`, or with `@FILE` for
many options; `entry(exit=3)` is what a settings file holds for that, and `catalog_entry` for many
tools. `fault_http.py` puts the same server behind a URL.

Options, all of them optional:
- at the start: `delay` (seconds), `exit` (a code), `hang`, `stderr` (text), `stdout` (text),
  `child` (starts a child of its own: "polite", "deaf" to SIGTERM, "apart" in a session of
  its own, also deaf, an "heir" to its stdout, a "daemon", which cuts itself loose, or the
  "double" child of a child that is gone),
  `journal` (a file that gets a line for each start and each message)
- `era`: "legacy" (default), "modern", or "both"; `version` (its answer to initialize),
  `instructions`, `no_tools`
- listing: `tools` (in place of the usual ones), `many` (so many more), `page` (tools on a page),
  `cursor`: "loop", "endless";
  `ttl_ms`; `prompts`, `resources` (what it has of these, else it has no such lists);
  `mute_listen` (no word about subscriptions to resources)
- `on`: for a method, what is done in place of the usual answer: see `perform`
- `crlf` (lines end as on Windows)
- the end: `ignore_eof`, `ignore_term`, `slow_end` (seconds it needs to finish)
- `then`: options that replace these from the second start on, perhaps with a `then` for the third;
  needs a `journal`
- `until` (a file: once it is there, a new start is healthy)

Its tools do what their arguments say; see `_TOOLS`. Others answer with their name and arguments.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator

MODERN = "2026-07-28"
# Long enough to be for ever in a test, short enough that a forgotten server ends by itself.
FOR_EVER_SECONDS = 120.0
_DRIP_SECONDS = 0.02

_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


_SETTINGS = ("mode", "timeout", "startTimeout", "probeTimeout", "listTimeout", "closeTimeout")


def tool(name: object, **fields: object) -> dict:
    """Return a tool as a server lists it."""
    return {"name": name, "description": name, "inputSchema": {"type": "object"}, **fields}


def entry(file: os.PathLike[str] | None = None, **options: object) -> dict[str, object]:
    """Return the entry of a settings file for this server; `mode` and limits are settings.

    Options that are too long for a command line are written into a file.
    """
    settings = {key: options.pop(key) for key in _SETTINGS if key in options}
    text = json.dumps(options)
    if file is not None:
        with open(file, "w", encoding="utf-8") as writing:
            writing.write(text)
        text = f"@{os.fspath(file)}"
    return {"command": sys.executable, "args": ["-S", "-E", __file__, text], **settings}


def catalog_entry(
    file: os.PathLike[str], tools: Iterable[dict], **settings: object
) -> dict[str, object]:
    """Return the entry of a server of both eras that has these tools, and `set_tools`."""
    listed = [
        tool(x["name"], description=x["description"], inputSchema=x["input_schema"]) for x in tools
    ]
    return {**entry(file, era="both", tools=[*listed, _tool_entry("set_tools")]), **settings}


class FaultServer:
    """Answers messages. An answer is a message, or bytes to be sent as they are."""

    def __init__(self, options: dict) -> None:
        self.options = options
        self.messages: list[dict] = []
        self.tools = options.get("tools") or [_tool_entry(name) for name in _TOOLS]
        self.tools += [_tool_entry(f"tool_{number}") for number in range(options.get("many", 0))]
        self.features = {x: options[x] for x in ("prompts", "resources") if x in options}
        self._listener: object = None

    def handle(self, message: dict) -> Iterator[dict | bytes]:
        """Yield everything to send because of this message, in order."""
        self.messages.append(message)
        method = message.get("method", "(answer)")
        journal(self.options, method)
        if method in self.options.get("on", {}):
            yield from self.perform(message, self.options["on"][method])
        else:
            yield from self.usual(message)

    def usual(self, message: dict) -> Iterator[dict | bytes]:
        """Yield the usual answers to a message."""
        method, request = message.get("method"), message.get("id")
        answer_to = _METHODS.get(method)
        if answer_to is not None and self._is_of_my_era(method):
            for answer in answer_to(self, message):
                yield _with_id(answer, request)
        elif method is not None and request is not None:
            yield _error(request, -32601, "Method not found")

    def perform(self, message: dict, steps: list) -> Iterator[dict | bytes]:
        """Do these steps, each a list: what, and with what. In texts ID is the request's.

        `line` (a text), `write` (the same, without an end), `reply` (a result), `error` (code and
        text), `usual`, `pause` (seconds), `exit` (a code), `close` (a file number), `stderr` (a
        text, and perhaps how often), `drip` (a text that is written again and again for ever),
        `times` (how often, and a text that is written).
        """
        for what, *how in steps:
            match what:
                case "line":
                    yield self._fill_in(how[0], message).encode("latin-1")
                case "write":
                    _write_all(1, self._fill_in(how[0], message).encode("latin-1"))
                case "reply":
                    yield _with_id(how[0], message.get("id"))
                case "error":
                    yield _error(message.get("id"), *how)
                case "usual":
                    yield from self.usual(message)
                case "pause":
                    time.sleep(how[0])
                case "exit":
                    os._exit(how[0])
                case "close":
                    os.close(how[0])
                case "stderr":
                    _write_all(2, how[0].encode("latin-1") * (how[1] if how[1:] else 1))
                case "drip":
                    while True:
                        _write_all(1, how[0].encode("latin-1"))
                        time.sleep(_DRIP_SECONDS)
                case "times":
                    _write_all(1, self._fill_in(how[1], message).encode("latin-1") * how[0])

    def _fill_in(self, text: str, message: dict) -> str:
        return text.replace("ID", str(message.get("id")))

    def methods(self) -> list[str]:
        """Return the methods it has received; answers to its own requests count as `(answer)`."""
        return [x.get("method", "(answer)") for x in self.messages]

    def change_tools(self, tools: list, notices: int = 1) -> Iterator[dict]:
        """Offer other tools from now on, and say so as often as that."""
        self.tools = [_tool_entry(x) if isinstance(x, str) else x for x in tools]
        for _ in range(notices):
            yield self.notice()

    def notice(self, name: str = "tools") -> dict:
        """Return a notice that a list changed, in the form of the era."""
        notice = {"jsonrpc": "2.0", "method": f"notifications/{name}/list_changed"}
        if self._listener is None:
            return notice
        return {**notice, "params": {"_meta": {_SUBSCRIPTION: self._listener}}}

    def _is_of_my_era(self, method: str) -> bool:
        era = self.options.get("era", "legacy")
        return era in (
            "both",
            {"initialize": "legacy", "server/discover": "modern"}.get(method, era),
        )

    def initialize(self, message: dict) -> Iterator[dict]:
        version = message["params"]["protocolVersion"]
        yield {
            "protocolVersion": self.options.get("version", version),
            "capabilities": self._capabilities(),
            "serverInfo": {"name": "fault", "version": "1"},
            "instructions": self.options.get("instructions", ""),
        }

    def discover(self, _message: dict) -> Iterator[dict]:
        yield {
            "supportedVersions": [MODERN],
            "capabilities": self._capabilities(),
            "instructions": self.options.get("instructions", ""),
            "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "fault", "version": "1"}},
            **_FOR_LISTS,
        }

    def listen(self, message: dict) -> Iterator[dict]:
        filter_ = message["params"]["notifications"]
        if self.options.get("mute_listen") and "resourceSubscriptions" in filter_:
            return
        self._listener = message["id"]
        yield {
            "jsonrpc": "2.0",
            "method": "notifications/subscriptions/acknowledged",
            "params": {
                "_meta": {_SUBSCRIPTION: self._listener},
                "notifications": {"toolsListChanged": True},
            },
        }

    def list_tools(self, message: dict) -> Iterator[dict]:
        if self.options.get("no_tools"):
            yield _error(0, -32601, "Method not found")
        else:
            yield self._page((message.get("params") or {}).get("cursor"))

    def list_features(self, message: dict) -> Iterator[dict]:
        name = message["method"].partition("/")[0]
        if name in self.features:
            yield {name: self.features[name], **_FOR_LISTS}
        else:
            yield _error(0, -32601, "Method not found")

    def call_tool(self, message: dict) -> Iterator[dict | bytes]:
        name = message["params"]["name"]
        arguments = message["params"].get("arguments") or {}
        behaviour = _TOOLS.get(name)
        if behaviour is None:
            yield _text(f"{name} {json.dumps(arguments, sort_keys=True)}")
        else:
            yield from behaviour(self, message, **arguments)

    def _capabilities(self) -> dict:
        if self.options.get("no_tools"):
            return {"prompts": {}, "resources": {}}
        return {x: {"listChanged": True} for x in ("tools", *self.features)}

    def _page(self, cursor: str | None) -> dict:
        how = self.options.get("cursor")
        if how:
            at = "again" if how == "loop" else str(int(cursor or 0) + 1)
            return {"tools": self.tools[:1], "nextCursor": at, **_FOR_LISTS}
        start = int(cursor or 0)
        size = self.options.get("page", len(self.tools))
        page = {"tools": self.tools[start : start + size], **_FOR_LISTS}
        if "ttl_ms" in self.options:
            page["ttlMs"] = self.options["ttl_ms"]
        if start + size < len(self.tools):
            page["nextCursor"] = str(start + size)
        return page


_FOR_LISTS = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}

_METHODS: dict[str, Callable[[FaultServer, dict], Iterator]] = {
    "initialize": FaultServer.initialize,
    "server/discover": FaultServer.discover,
    "subscriptions/listen": FaultServer.listen,
    "tools/list": FaultServer.list_tools,
    "prompts/list": FaultServer.list_features,
    "resources/list": FaultServer.list_features,
    "tools/call": FaultServer.call_tool,
    "ping": lambda _server, _message: iter([{}]),
}


# The tools: each gets the server, the whole message, and the arguments of the call.


def echo(_server: FaultServer, _message: dict, text: str = "") -> Iterator[dict]:
    """Say the text."""
    yield _text(text)


def pid(_server: FaultServer, _message: dict) -> Iterator[dict]:
    """Say the number of its process."""
    yield _text(str(os.getpid()))


def environment(_server: FaultServer, _message: dict) -> Iterator[dict]:
    """Say its environment and folder, without what every machine has otherwise."""
    machine = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "LC_CTYPE")
    env = {name: value for name, value in os.environ.items() if name not in machine}
    yield _text(json.dumps({"env": env, "cwd": os.getcwd()}, sort_keys=True))


def seen(server: FaultServer, _message: dict) -> Iterator[dict]:
    """List the methods of the messages so far."""
    yield _text(json.dumps(server.methods()))


def never(_server: FaultServer, _message: dict) -> Iterator[dict]:
    """Do not answer, and go on with other messages."""
    return iter(())


def freeze(_server: FaultServer, _message: dict) -> Iterator[dict]:
    """Do not answer, nor read anything from now on."""
    time.sleep(FOR_EVER_SECONDS)
    return iter(())


def die(_server: FaultServer, _message: dict, code: int = 3, says: str = "") -> Iterator[dict]:
    """End the process at once: with this exit code, or by this signal if it is negative."""
    os.write(2, says.encode())
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)
    yield {}


def result(_server: FaultServer, _message: dict, **anything: object) -> Iterator[dict]:
    """Answer with exactly these arguments as the result."""
    yield anything


def rpc_error(_server: FaultServer, _message: dict, code: int, message: str) -> Iterator[dict]:
    """Answer with a JSON-RPC error."""
    yield _error(0, code, message)


def act(server: FaultServer, message: dict, steps: list) -> Iterator[dict | bytes]:
    """Do these steps; see `FaultServer.perform`."""
    yield from server.perform(message, steps)


def big(_server: FaultServer, _message: dict, characters: int) -> Iterator[dict]:
    """Answer with a text of this length."""
    yield _text("x" * characters)


def set_tools(
    server: FaultServer,
    _message: dict,
    tools: list,
    notices: int = 1,
    only: bool = False,
    add: bool = False,
    features: dict | None = None,
) -> Iterator[dict]:
    """Offer other tools from now on, besides the usual ones or (`add`) those that are there."""
    if features is not None:
        server.features |= features
        yield from (server.notice(x) for x in features for _ in range(notices))
        yield _text("ok")
        return
    names = {x["name"] for x in tools} if add else set()
    remaining = [x for x in server.tools if x["name"] not in names] if add else [*_TOOLS]
    yield from server.change_tools(tools if only else [*remaining, *tools], notices)
    yield _text("ok")


def progress(_server: FaultServer, message: dict, steps: int) -> Iterator[dict]:
    """Tell how far it is, so many times, then answer."""
    token = message["params"].get("_meta", {}).get("progressToken")
    for step in range(1, steps + 1):
        params = {"progressToken": token, "progress": step, "total": steps}
        params["message"] = f"step {step}"
        yield {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    yield _text("done")


def ask(_server: FaultServer, _message: dict, method: str, times: int = 1) -> Iterator[dict]:
    """Send requests to the client, then answer without waiting for what it says."""
    for number in range(times):
        yield {"jsonrpc": "2.0", "id": f"s{number}", "method": method, "params": {}}
    yield _text("asked")


_TOOLS: dict[str, Callable[..., Iterator]] = {
    x.__name__: x
    for x in (
        echo, pid, environment, seen, never, freeze, die, result, rpc_error, act, big, set_tools,
        progress, ask,
    )
}  # fmt: skip


def _tool_entry(name: str) -> dict:
    schema: dict = {"type": "object"}
    if name == "echo":
        schema = {**schema, "properties": {"text": {"type": "string"}}, "required": ["text"]}
    behaviour = _TOOLS.get(name)
    return tool(name, description=(behaviour and behaviour.__doc__) or name, inputSchema=schema)


def _text(text: str) -> dict:
    return {"content": [{"type": "text", "text": text}], "resultType": "complete"}


def _error(request: object, code: int, message: str) -> dict:
    return {"jsonrpc": "2.0", "id": request, "error": {"code": code, "message": message}}


def _with_id(answer: dict | bytes, request: object) -> dict | bytes:
    if isinstance(answer, bytes) or "method" in answer or "result" in answer:
        return answer
    if "error" in answer:
        return {**answer, "id": request}
    return {"jsonrpc": "2.0", "id": request, "result": answer}


def journal(options: dict, line: str) -> None:
    """Add a line to the journal, if there is one, with the time in seconds."""
    if "journal" in options:
        with open(options["journal"], "a", encoding="utf-8") as file:
            file.write(f"{line} {time.monotonic()}\n")


def _prepare(options: dict) -> None:
    journal(options, "start")
    journal(options, f"pid {os.getpid()}")
    if options.get("ignore_term"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(options.get("delay", 0))
    if "stderr" in options:
        os.write(2, options["stderr"].encode("utf-8"))
    if "child" in options:
        _start_child(options)
    if "exit" in options:
        sys.exit(options["exit"])
    if options.get("hang"):
        time.sleep(FOR_EVER_SECONDS)
    _write_all(1, options.get("stdout", "").encode())


def _start_child(options: dict) -> None:
    apart = options["child"] == "apart"
    deaf = "signal.signal(15, signal.SIG_IGN);" if apart or options["child"] == "deaf" else ""
    code = f"import signal, time; {deaf} print(1, flush=True); time.sleep({FOR_EVER_SECONDS})"
    code = [sys.executable, "-S", "-c", code]
    if options["child"] == "heir":
        code[-1] = f"import time; time.sleep({FOR_EVER_SECONDS})"
        child = subprocess.Popen(code, stdin=subprocess.DEVNULL)
    elif options["child"] == "daemon":
        journal(options, f"child {_start_daemon(code)}")
        return
    elif options["child"] == "double":
        code[-1] = f"import subprocess; subprocess.Popen({code!r})"
        subprocess.run(code, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        return
    else:
        child = subprocess.Popen(code, stdout=subprocess.PIPE, start_new_session=apart)
        child.stdout.readline()  # it ignores the signal by now
    journal(options, f"child {child.pid}")


def _start_daemon(code: list) -> int:
    """Return its process id; its parent has ended by then."""
    options = f"{code!r}, stdout=subprocess.DEVNULL, start_new_session=True"
    starter = f"import subprocess; print(subprocess.Popen({options}).pid)"
    process = subprocess.run([sys.executable, "-S", "-c", starter], stdout=subprocess.PIPE)
    return int(process.stdout)


def _write_all(file: int, data: bytes) -> None:
    data = memoryview(data)  # a slice of bytes would copy what is left each time
    while data:
        data = data[os.write(file, data) :]


def _serve_stdio(options: dict) -> None:
    server = FaultServer(options)
    end = b"\r\n" if options.get("crlf") else b"\n"
    for line in sys.stdin.buffer:
        for answer in server.handle(json.loads(line)):
            _write_all(
                1, (answer if isinstance(answer, bytes) else json.dumps(answer).encode()) + end
            )
    if options.get("ignore_eof"):
        time.sleep(FOR_EVER_SECONDS)
    if "slow_end" in options:
        time.sleep(options["slow_end"])
        journal(options, "finished")


def _options_text(text: str = "{}") -> str:
    if text.startswith("@"):
        with open(text[1:], encoding="utf-8") as file:
            return file.read()
    return text


def _starts_before(options: dict) -> int:
    """Return the number of earlier starts, if `then` needs it."""
    if "then" not in options or not os.path.exists(options["journal"]):
        return 0
    with open(options["journal"], encoding="utf-8") as lines:
        return sum(line.startswith("pid ") for line in lines)


def main() -> None:
    """Run over stdio until stdin ends, or for a long while at most."""
    watchdog = threading.Timer(FOR_EVER_SECONDS, os._exit, [99])
    watchdog.daemon = True
    watchdog.start()
    options = json.loads(_options_text(*sys.argv[1:]))
    for _ in range(_starts_before(options)):
        options |= options.pop("then", {})
    if os.path.exists(options.get("until", "")):
        options = {}
    _prepare(options)
    _serve_stdio(options)


if __name__ == "__main__":
    main()
