"""A run that waits for approvals, as a signed file from which another process resumes it.

The file may come from anywhere, so its content counts only if this user's runs or commands wrote
it: a planted file could approve calls. An older state of a run does not count either: restoring a
copy would make its calls again. Only one process at a time has a run.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from ..core.approval import ApprovalAnswer, ApprovalScope, AwaitedCall, RunFacts, scope_of
from ..core.errors import BadSetting, XaiMcpError
from ..core.json import JsonObject
from ..core.tools import ToolKey
from ..secrets.private_files import (
    file_lock,
    follow_link,
    make_private_folder,
    open_to_read,
    replace_private,
)
from ..secrets.redactor import redact_json
from ..settings.load import user_settings_path
from .conversation import BadConversation
from .state import RunState

KEY_VARIABLE = "XAI_MCP_RUN_KEY"
Granted = tuple[tuple[ToolKey, str], ...]
"""Tools approved for the length of the run, with digests of the definitions that were shown."""

_VERSION = 1
_MAX_BYTES = 100 << 20  # a conversation with pictures has some megabytes
_MIN_KEY_CHARS, _KEY_BYTES = 32, 32
_LOCK_SECONDS = 5.0
_MAX_STATES = 10_000  # half a megabyte, rewritten with each state
# Fields of a state that may quote secrets, and are not needed to make a call.
_FIELDS_TO_MASK = ("conversation", "thought", "thinking", "long_results", "made")


class RunFileError(XaiMcpError):
    """The file of a waiting run cannot be used; the message says why and what to do."""


@dataclass
class Stamp:
    """The run and state number of a file; all copies of a value share it."""

    run: str = field(default_factory=lambda: secrets.token_hex(8))
    state: int = 0


@dataclass(frozen=True, slots=True)
class WaitingRun:
    """A waiting run of `agent`, as its `file` has it; `calls` need the approval of a person.

    `request_digest` is the digest of the conversation at its start, `facts` are for rules. For a
    plan's run, `plan` has the values for its arguments, and the whole results so far. Answer each
    call with `answered`, and `write`; when the workflow or plan runs again, it resumes from there.
    """

    file: Path
    agent: str
    request_digest: str
    state: RunState
    granted: Granted = ()
    facts: RunFacts = field(default_factory=RunFacts)
    plan: JsonObject | None = None
    stamp: Stamp = field(default_factory=Stamp, compare=False, repr=False)

    @property
    def calls(self) -> tuple[AwaitedCall, ...]:
        """The calls to approve, in order; each with its answer, once there is one."""
        return tuple(self.state.awaiting[x] for x in sorted(self.state.awaiting))

    @property
    def answers(self) -> list[AwaitedCall]:
        """The answered calls, in order."""
        return [x for x in self.calls if x.answer is not None]

    def answered(
        self, number: int, answer: ApprovalScope, *, by: str = "the program", reason: str = ""
    ) -> WaitingRun:
        """Answer one of the calls, counted from 1: once, run, always or no.

        Raises:
            BadSetting: there is no such call, or no such answer.
        """
        places, scope = sorted(self.state.awaiting), scope_of(answer)
        if scope is None or not 1 <= number <= len(places):
            raise BadSetting(
                f"There is no call {number} with an answer {answer!r}. The calls are 1 to "
                f"{len(places)}; answers are once, run, always, no."
            )
        place = places[number - 1]
        approval = ApprovalAnswer(scope, reason, by=by)
        call = replace(self.state.awaiting[place], answer=approval)
        awaiting = {**self.state.awaiting, place: call}
        return replace(self, state=replace(self.state, awaiting=awaiting))

    def write(self, mask: Callable[[str], str] = str) -> None:
        """Replace the file, readable by this user only.

        `mask` hides secrets in the conversation. The arguments of calls stay as they are: they are
        needed to make the calls.

        Raises:
            RunFileError: the file cannot be written, or the run has gone on since it was read.
        """
        state = self.state.to_json()
        for name in _FIELDS_TO_MASK:
            state[name] = json.loads(redact_json(json.dumps(state[name], default=str), mask))
        granted = [[x.kind, x.source, x.name, digest] for x, digest in self.granted]
        run = {
            "agent": self.agent,
            "asked": self.request_digest,
            "granted": granted,
            "state": state,
        }
        run |= {"facts": self.facts.to_json(), "plan": self.plan}
        _write_signed(self.file, run, self.stamp)

    def remove(self) -> None:
        """Remove the file, because the run has ended; a copy of it does not count any more.

        Raises:
            RunFileError: the end of the run cannot be recorded.
        """
        if self.stamp.state:
            with _lock_states():
                _record_state(self.stamp.run, self.stamp.state + 1)
        self.file.unlink(missing_ok=True)

    @staticmethod
    def read(file: str | Path) -> WaitingRun:
        """Return the run in this file.

        Raises:
            RunFileError: there is no file, this user's runs did not write it, or it is an older
                copy of a run that has gone on since.
        """
        path = place_of(file)
        run, stamp = _read_signed(path)
        try:
            granted = tuple((ToolKey(*key), digest) for *key, digest in run["granted"])
            state, facts = RunState.from_json(run["state"]), RunFacts.from_json(run["facts"])
            agent, digest, plan = run["agent"], run["asked"], run["plan"]
            return WaitingRun(path, agent, digest, state, granted, facts, plan, stamp)
        except (KeyError, TypeError, ValueError, AttributeError, BadConversation) as cause:
            raise RunFileError(
                f"{path} was written by another version of xai-mcp-agent: {cause!r}. Go on with it "
                "there, or delete it, and the run starts again."
            ) from cause


def place_of(file: str | Path) -> Path:
    """Return the absolute path of a file that a person named."""
    return Path(os.path.abspath(os.path.expanduser(file)))


def _write_signed(file: Path, run: JsonObject, stamp: Stamp) -> None:
    """Replace the file with the next state of a run, readable by this user only.

    Raises:
        RunFileError: the file cannot be written, is too large, or a newer state was written
            meanwhile.
    """
    state = stamp.state + 1
    # In the form in which it is read back.
    run = json.loads(json.dumps({**run, "stamp": [stamp.run, state]}, default=str))
    content = {"version": _VERSION, "signature": keyed_digest(run), "run": run}
    data = f"{json.dumps(content, indent=1)}\n".encode()
    if len(data) > _MAX_BYTES:
        raise RunFileError(
            f"The run is too large for {file}: {len(data) >> 20} MB, of {_MAX_BYTES >> 20} at "
            "most. What was done last is not in it. Make the tools return less, or use no run file."
        )
    with _lock_states():  # of two processes with copies of a file, one goes on
        _refuse_older(file, stamp)
        try:
            replace_private(follow_link(file), data)
        except OSError as cause:
            raise RunFileError(f"{file} cannot be written: {cause}.") from cause
        # After the file: a process killed in between leaves a usable file.
        _record_state(stamp.run, state)
    stamp.state = state


def _read_signed(path: Path) -> tuple[JsonObject, Stamp]:
    """Return the run in the file, if its signature is ours. Until then, all of it is hostile.

    Raises:
        RunFileError: there is no file, this user's runs did not write it, or the run has gone on.
    """
    try:
        with os.fdopen(open_to_read(path), "rb") as stream:
            value: Any = json.loads(stream.read(_MAX_BYTES + 1))
    except FileNotFoundError:
        raise RunFileError(f"{path} does not exist: no run waits there.") from None
    except (OSError, ValueError, RecursionError) as cause:
        raise RunFileError(f"{path} cannot be read as a run: {cause}.") from cause
    match value:
        case {"version": int(), "signature": str(signature), "run": {**content}}:
            run = cast(JsonObject, content)
        case _:
            raise RunFileError(f"{path} is not the file of a waiting run.")
    if not hmac.compare_digest(keyed_digest(run), signature.encode("ascii", "replace").decode()):
        raise RunFileError(
            f"{path} was not written by a run or command of yours, so nothing in it counts. Delete "
            "it, and the run starts again. A run of another user or machine: set "
            f"{KEY_VARIABLE} to the same text for both."
        )
    _refuse_older(path, stamp := Stamp(*run.pop("stamp")))
    return run, stamp


def keyed_digest(value: object) -> str:
    """Return a digest that only this user can make, and that does not reveal the value."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hmac.new(_key(), text.encode(), hashlib.sha256).hexdigest()


@contextmanager
def lock_run(file: Path) -> Generator[None]:
    """Keep other processes of this user from resuming this file's run or answering its calls.

    Raises:
        RunFileError: another process has it, or the lock cannot be taken.
    """
    name = hashlib.sha256(os.path.realpath(file).encode("utf-8", "surrogatepass")).hexdigest()
    lock = user_settings_path().parent / "runs" / f"{name[:32]}.lock"
    with ExitStack() as locks:  # keeps the block's errors out of the handlers below
        try:
            make_private_folder(lock.parent)
            if not locks.enter_context(file_lock(lock, 0.0)):
                raise OSError("files cannot be locked there")
        except TimeoutError:
            raise RunFileError(
                f"The run in {file} is in use: another process goes on with it, or answers its "
                "calls. Wait until it has ended."
            ) from None
        except OSError as cause:
            raise RunFileError(
                f"The run in {file} cannot be kept from other processes: {lock}: {cause}. Make "
                "that folder writable."
            ) from cause
        yield


def _states_file() -> Path:
    """Return the path of the file with the newest state of each run, by run id."""
    return user_settings_path().parent / "run_states.json"


@contextmanager
def _lock_states() -> Generator[None]:
    """Keep other processes from changing the states of runs within the block."""
    file = _states_file()
    try:
        make_private_folder(file.parent)
        with file_lock(file.with_suffix(".lock"), _LOCK_SECONDS):
            yield
    except OSError as cause:
        raise RunFileError(
            f"No run can wait: {file} cannot be written: {cause}. It notes which run files were "
            "already used. Make it writable."
        ) from cause


def _refuse_older(file: Path, stamp: Stamp) -> None:
    """Refuse a state of a run on this machine that is not its newest.

    Raises:
        RunFileError: the state is older, or the newest is unknown.
    """
    if stamp.state < _newest_states().get(stamp.run, 0):
        raise RunFileError(
            f"{file}: this state of the run was already used. The run has gone on since, or has "
            "ended, and no answer counts twice. Delete the file, and the run starts again; if a "
            "newer file of the run is elsewhere, put that one here."
        )


def _record_state(run: str, state: int) -> None:
    """Record the newest state of a run; beyond the limit, forget the oldest runs."""
    others = [x for x in _newest_states().items() if x[0] != run]
    states = dict([*others, (run, state)][-_MAX_STATES:])
    replace_private(_states_file(), json.dumps(states).encode())


def _newest_states() -> dict[str, int]:
    file = _states_file()
    try:
        return {run: int(state) for run, state in json.loads(file.read_bytes()).items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as cause:
        raise RunFileError(
            f"{file} cannot be read, so it is unknown which run files were already used: {cause}. "
            "Fix it, or delete it together with the files of all runs that wait."
        ) from cause


def _key() -> bytes:
    """Return the key of this user; the first use makes it.

    Raises:
        RunFileError: there is no key, and none can be made.
    """
    file, key = user_settings_path().parent / "run.key", os.environ.get(KEY_VARIABLE, "").strip()
    if not key:
        try:
            make_private_folder(file.parent)
            with file_lock(file.with_suffix(".lock"), _LOCK_SECONDS):
                if not file.is_file():
                    replace_private(file, secrets.token_hex(_KEY_BYTES).encode())
                key = file.read_text("ascii").strip()
        except (OSError, ValueError) as cause:
            raise RunFileError(
                f"No run can wait: {file} cannot be used: {cause}. Fix that, or set {KEY_VARIABLE}."
            ) from cause
    if len(key) < _MIN_KEY_CHARS:
        raise RunFileError(
            f"The key of waiting runs has fewer than {_MIN_KEY_CHARS} characters. Give "
            f"{KEY_VARIABLE} more, or, where it is not set, delete {file}: runs start again."
        )
    return key.encode("utf-8", "surrogatepass")
