"""Files of runs that wait: signed with a key of this user, locked while somebody goes on with one.

The file may have come from anywhere, so nothing in it counts unless this user's runs or commands
wrote it. Without that a planted file could approve calls. Nor does an older state of a run count:
a copy that is put back would have its calls made again.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from ..core.errors import XaiMcpError
from ..core.json import JsonObject
from ..secrets.private_files import (
    file_lock,
    followed,
    make_private_folder,
    open_to_read,
    replace_private,
)
from ..settings.load import user_settings_path

KEY_VARIABLE = "XAI_MCP_RUN_KEY"

_VERSION = 1
_MOST_BYTES = 100 << 20  # a conversation with pictures has some megabytes
_LEAST_KEY_CHARS = 32
_KEY_BYTES = 32
_LOCK_SECONDS = 5.0
_STATES = "run_states.json"  # beside the key: the newest state of each run, by its id
_MOST_STATES = 10_000  # half a megabyte, which is written anew with each state


class RunFileError(XaiMcpError):
    """The file of a waiting run cannot be used; the message says why and what to do."""


@dataclass
class Stamp:
    """Which run a file has, and which state of the run; all copies of a value share it."""

    run: str = field(default_factory=lambda: secrets.token_hex(8))
    state: int = 0


def place_of(file: str | Path) -> Path:
    """Where a file is that somebody named."""
    return Path(os.path.abspath(os.path.expanduser(file)))


def write_signed(file: Path, run: JsonObject, stamp: Stamp) -> None:
    """Put the next state of a run in the place of the file, readable by this user only.

    Raises:
        RunFileError: it cannot be written, or not read again, as it is too large; or somebody else
            wrote a newer state.
    """
    state = stamp.state + 1
    run = {**run, "stamp": [stamp.run, state]}
    run = json.loads(json.dumps(run, default=str))  # as it is read back
    signed = {"version": _VERSION, "signature": _signature(run, _key()), "run": run}
    data = f"{json.dumps(signed, indent=1)}\n".encode()
    if len(data) > _MOST_BYTES:
        raise RunFileError(
            f"The run is too large for {file}: {len(data) >> 20} MB, of {_MOST_BYTES >> 20} at "
            "most. What was done last is not in it. Have tools give less, or keep no file."
        )
    with _states_locked():  # of two processes with copies of a file one goes on
        _refuse_older(file, stamp)
        try:
            replace_private(followed(file), data)
        except OSError as cause:
            raise RunFileError(f"{file} cannot be written: {cause}.") from cause
        # After the file: a process that is killed in between leaves one that can be used.
        _note(stamp.run, state)
    stamp.state = state


def remove_used(file: Path, stamp: Stamp) -> None:
    """Remove the file of a run that has ended; a copy of it does not count any more.

    Raises:
        RunFileError: that cannot be noted.
    """
    if stamp.state:
        with _states_locked():
            _note(stamp.run, stamp.state + 1)
    file.unlink(missing_ok=True)


def read_signed(path: Path) -> tuple[JsonObject, Stamp]:
    """The run in the file, if its signature is ours. All else in it is hostile until then.

    Raises:
        RunFileError: there is none, it is not one that this user's runs wrote, or it is used up.
    """
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
                _refuse_older(path, stamp := Stamp(*run.pop("stamp")))
                return run, stamp
        case _:
            raise RunFileError(f"{path} is no file of a waiting run.")
    raise RunFileError(
        f"{path} is not as a run or command of yours wrote it, so nothing in it counts. Delete it, "
        f"and the run begins anew. A run of another user or machine: set {KEY_VARIABLE} to the "
        "same text for both."
    )


def keyed_digest(value: object) -> str:
    """What tells a value from others, and nobody else what it is."""
    text = json.dumps(value, sort_keys=True, default=str)
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


def _refuse_older(file: Path, stamp: Stamp) -> None:
    """Refuse a state of a run on this machine that is not its newest one.

    Raises:
        RunFileError: so it is, or nobody can know.
    """
    if stamp.state < _newest_states().get(stamp.run, 0):
        raise RunFileError(
            f"{file}: this state of the run is used up. The run has gone on since, or has ended, "
            "and no answer counts twice. Delete the file, and the run begins anew; if a newer file "
            "of the run is elsewhere, put that one here."
        )


def _note(run: str, state: int) -> None:
    """Note the newest state of a run; of very many runs the oldest are forgotten."""
    others = [x for x in _newest_states().items() if x[0] != run]
    states = dict([*others, (run, state)][-_MOST_STATES:])
    replace_private(user_settings_path().parent / _STATES, json.dumps(states).encode())


@contextmanager
def _states_locked() -> Generator[None]:
    file = user_settings_path().parent / _STATES
    try:
        make_private_folder(file.parent)
        with file_lock(file.with_suffix(".lock"), _LOCK_SECONDS):
            yield
    except OSError as cause:
        raise RunFileError(
            f"No run can wait: {file} cannot be written: {cause}. It notes which files of runs are "
            "used up. Make it writable."
        ) from cause


def _newest_states() -> dict[str, int]:
    file = user_settings_path().parent / _STATES
    try:
        return {run: int(state) for run, state in json.loads(file.read_bytes()).items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as cause:
        raise RunFileError(
            f"{file} cannot be read, so it is unknown which run files are used up: {cause}. "
            "Mend it, or delete it together with the files of all runs that wait."
        ) from cause


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
