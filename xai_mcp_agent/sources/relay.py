"""Relay: attaches a client of stdio to the socket of the process that keeps servers.

    python -IS relay.py SOCKET
    python -IS relay.py SOCKET UNTIL FIRST COMMAND [ARGUMENT...]

The second form waits for the socket UNTIL this time of the clock: the process may be starting. A
later attempt, after the process was lost, does not wait. It sends the line FIRST, and passes
nothing on before it is accepted; if the socket cannot be used, it becomes the COMMAND. This file
imports next to nothing, so that it starts as quickly as Python does.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from _thread import start_new_thread
from contextlib import suppress

ACCEPTED = b'{"ok"'
"""The beginning of an answer that accepts the first line."""

_CHUNK_BYTES = 64 * 1024
_POLL_SECONDS = 0.02
_MAX_REASON_BYTES = 500


def peer_uid(connection: socket.socket) -> int:
    """Return the user id at the other end, according to the system."""
    if sys.platform == "darwin":
        level, option, size = 0, 1, 76  # SOL_LOCAL, LOCAL_PEERCRED, the size of its `xucred`
    else:
        level, option, size = socket.SOL_SOCKET, socket.SO_PEERCRED, 12
    # On both systems the user id follows four other bytes.
    return int.from_bytes(connection.getsockopt(level, option, size)[4:8], sys.byteorder)


def connect(path: str, until: float = 0.0) -> socket.socket:
    """Connect to a socket of this user, which may not exist yet.

    Raises:
        OSError: nothing listens there by `until`, a time of the clock, or it is another user's.
    """
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
            if peer_uid(connection) != os.getuid():
                raise PermissionError(f"{path} belongs to another user")
        except (FileNotFoundError, ConnectionRefusedError):
            connection.close()
            if time.time() >= until:
                raise
            time.sleep(_POLL_SECONDS)
        except BaseException:
            connection.close()
            raise
        else:
            return connection


def answer_to(connection: socket.socket, line: str) -> bytes:
    """Send a first line and read the answering line; shorter if the other side hangs up."""
    connection.sendall(line.encode() + b"\n")
    answer = b""
    # Byte by byte: everything after the line is for the client.
    while not answer.endswith(b"\n") and (byte := connection.recv(1)):
        answer += byte
    return answer


def copy(connection: socket.socket) -> None:
    """Copy both ways until the other side ends; the end of stdin is passed on."""
    start_new_thread(_send_stdin, (connection,))
    while data := connection.recv(_CHUNK_BYTES):
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(1, rest) :]


def _send_stdin(connection: socket.socket) -> None:
    with suppress(OSError):  # the other side has ended; `copy` notices
        while data := os.read(0, _CHUNK_BYTES):
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)


def main(path: str, until: str = "0", first: str = "", *command: str) -> None:
    """Run the relay."""
    try:
        connection = connect(path, float(until))
        answer = answer_to(connection, first) if first else ACCEPTED
        if not answer.startswith(ACCEPTED):
            raise ConnectionError(
                answer[:_MAX_REASON_BYTES].decode("utf-8", "replace") or "it hung up"
            )
    except OSError as reason:
        print(f"xai-mcp-agent: {path} cannot be used: {reason}", file=sys.stderr, flush=True)
        if not command:
            os._exit(1)
        # Python ignores it, and the new program would inherit that
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        try:
            os.execvp(command[0], command)
        except OSError as cause:
            print(f"xai-mcp-agent: {command[0]}: {cause}", file=sys.stderr, flush=True)
            os._exit(127)
    with suppress(OSError):  # the client has gone
        copy(connection)
    os._exit(0)  # the other thread may still be reading


if __name__ == "__main__":
    main(*sys.argv[1:])
