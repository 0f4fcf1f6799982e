"""A run that waits for approvals, as a file: another process goes on with it, with the answers.

The file may have come from anywhere, so nothing in it counts unless this user's runs or commands
wrote it: it is signed with a key of theirs. Without that a planted file could approve calls.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from ..core.approval import ApprovalAnswer, ApprovalScope, AwaitedCall, scope_of
from ..core.errors import BadSetting, XaiMcpError
from ..core.ruling import RunFacts
from ..core.tools import JsonObject, ToolKey
from ..secrets.private_files import file_lock, make_private_folder, open_to_read, replace_private
from ..secrets.redactor import redact_json
from ..settings.load import user_settings_path
from .conversation import BadConversation
from .state import RunState

KEY_VARIABLE = "XAI_MCP_RUN_KEY"

_VERSION = 1
_MOST_BYTES = 100 << 20  # a conversation with pictures has some megabytes
_LEAST_KEY_CHARS = 32
_KEY_BYTES = 32
_LOCK_SECONDS = 5.0
_HIDDEN = ("given", "said", "thought", "thinking", "kept", "made")
"""What of a state may quote secrets, and is not needed to make a call."""

Granted = tuple[tuple[ToolKey, str], ...]
"""Tools that were approved for the length of the run, with the digests of what was shown."""


class RunFileError(XaiMcpError):
    """The file of a waiting run cannot be used; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class WaitingRun:
    """A run of `agent` that waits, as its `file` has it; `calls` are what it waits for.

    `asked` is the digest of the conversation that it was given, `facts` are what rules ask of the
    run. Give each call its answer with `answered`, and `write`; the workflow that is run again goes
    on with it.
    """

    file: Path
    agent: str
    asked: str
    state: RunState
    granted: Granted = ()
    facts: RunFacts = field(default_factory=RunFacts)

    @property
    def calls(self) -> tuple[AwaitedCall, ...]:
        """What somebody has to approve, in order; each with its answer, once there is one."""
        return tuple(self.state.awaiting[x] for x in sorted(self.state.awaiting))

    def answered(
        self, number: int, answer: ApprovalScope, *, by: str = "the program", reason: str = ""
    ) -> WaitingRun:
        """With an answer to one of the calls, counted from 1: once, run, always or no.

        Raises:
            BadSetting: there is no such call, or no such answer.
        """
        places = sorted(self.state.awaiting)
        scope = scope_of(answer)
        if scope is None or not 1 <= number <= len(places):
            raise BadSetting(
                f"There is no call {number} with an answer {answer!r}. The calls are 1 to "
                f"{len(places)}; answers are once, run, always, no."
            )
        place = places[number - 1]
        call = replace(self.state.awaiting[place], answer=ApprovalAnswer(scope, reason, by=by))
        state = replace(self.state, awaiting={**self.state.awaiting, place: call})
        return replace(self, state=state)

    def write(self, mask: Callable[[str], str] = str) -> None:
        """Put it in the place of the file, readable by this user only.

        `mask` hides secrets in what was said. The arguments of calls stay as they are: they are
        needed to make them.

        Raises:
            RunFileError: it cannot be written.
        """
        run: JsonObject = {
            "agent": self.agent,
            "asked": self.asked,
            "granted": [[x.kind, x.source, x.name, digest] for x, digest in self.granted],
            "facts": self.facts.to_json(),
            "state": _masked(self.state.to_json(), mask),
        }
        run = json.loads(json.dumps(run, default=str))  # as it is read back
        signed = {"version": _VERSION, "signature": _signature(run, _key()), "run": run}
        try:
            replace_private(self.file, f"{json.dumps(signed, indent=1)}\n".encode())
        except OSError as cause:
            raise RunFileError(f"{self.file} cannot be written: {cause}.") from cause

    @staticmethod
    def read(file: str | Path) -> WaitingRun:
        """The run that this file has.

        Raises:
            RunFileError: there is none, or it is not one that this user's runs wrote.
        """
        path = Path(os.path.abspath(os.path.expanduser(file)))
        run = _trusted(path)
        try:
            granted = tuple((ToolKey(*key), digest) for *key, digest in run["granted"])
            state, facts = RunState.from_json(run["state"]), RunFacts.from_json(run["facts"])
            return WaitingRun(path, run["agent"], run["asked"], state, granted, facts)
        except (KeyError, TypeError, ValueError, AttributeError, BadConversation) as cause:
            raise RunFileError(
                f"{path} was written by another version of xai-mcp-agent: {cause!r}. Go on with it "
                "there, or delete it, and the run begins anew."
            ) from cause


def digest_of_asked(messages: object) -> str:
    """What tells a conversation that is given to an agent from others."""
    text = json.dumps(messages, sort_keys=True, default=str)
    return hmac.new(_key(), text.encode(), hashlib.sha256).hexdigest()


@contextmanager
def held(file: Path) -> Generator[None]:
    """Have no other process of this user go on with the run of this file, or answer its calls.

    Raises:
        RunFileError: another one does, or nobody can be kept from it.
    """
    with ExitStack() as locks:
        _lock(file, locks)
        yield


def _lock(file: Path, locks: ExitStack) -> None:
    """Not beside the file, which people see, but where the folder of the settings is read-only."""
    name = hashlib.sha256(os.path.realpath(file).encode("utf-8", "surrogatepass")).hexdigest()
    folder = user_settings_path().parent / "runs"
    for lock in folder / f"{name[:32]}.lock", file.with_name(f".{file.name}.lock"):
        with suppress(OSError):
            make_private_folder(lock.parent)
        try:
            if locks.enter_context(file_lock(lock, 0.0)):
                return
        except TimeoutError:
            raise RunFileError(
                f"The run in {file} is in use: another process goes on with it, or answers its "
                "calls. Wait until it has ended."
            ) from None
    raise RunFileError(
        f"The run in {file} cannot be kept from other processes: neither in {folder} nor beside it "
        "can a file be locked. Make one of these folders writable."
    )


def _masked(state: JsonObject, mask: Callable[[str], str]) -> JsonObject:
    hidden = {x: json.loads(redact_json(json.dumps(state[x], default=str), mask)) for x in _HIDDEN}
    return {**state, **hidden}


def _trusted(path: Path) -> JsonObject:
    """What stands in the file, if its signature is ours. All else in it is hostile until then."""
    try:
        with os.fdopen(open_to_read(path), "rb") as opened:
            data = opened.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise ValueError("it is too large")
        value: Any = json.loads(data)
    except FileNotFoundError:
        raise RunFileError(f"{path} does not exist: no run waits there.") from None
    except (OSError, ValueError, RecursionError) as cause:
        raise RunFileError(f"{path} cannot be read as a run: {cause}.") from cause
    match value:
        case {"version": int(), "signature": str(signature), "run": {**found}}:
            run = cast(JsonObject, found)
            signed = _signature(run, _key())
            if hmac.compare_digest(signed.encode(), signature.encode("utf-8", "replace")):
                return run
        case _:
            raise RunFileError(f"{path} is no file of a waiting run.")
    raise RunFileError(
        f"{path} is not as a run or command of yours wrote it, so nothing in it counts. Delete it, "
        f"and the run begins anew. A run of another user or machine: set {KEY_VARIABLE} to the "
        "same text for both."
    )


def _signature(run: Mapping[str, Any], key: bytes) -> str:
    text = json.dumps(run, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _key() -> bytes:
    """The key of this user; made when it is first needed.

    Raises:
        RunFileError: there is none, and none can be made.
    """
    given = os.environ.get(KEY_VARIABLE, "").strip()
    if given and len(given) < _LEAST_KEY_CHARS:
        raise RunFileError(f"{KEY_VARIABLE} is too short: give it {_LEAST_KEY_CHARS} characters.")
    if given:
        return given.encode("utf-8", "surrogatepass")
    file = user_settings_path().parent / "run.key"
    try:
        make_private_folder(file.parent)
        with file_lock(file.with_suffix(".lock"), _LOCK_SECONDS):
            if not file.is_file():
                replace_private(file, secrets.token_hex(_KEY_BYTES).encode())
            key = file.read_bytes().strip()
    except OSError as cause:
        raise RunFileError(
            f"No run can be kept to wait: {file} cannot be used: {cause}. Mend that, or set "
            f"{KEY_VARIABLE}."
        ) from cause
    if len(key) < _LEAST_KEY_CHARS:
        raise RunFileError(f"{file} is damaged. Delete it; runs that wait now begin anew.")
    return key
