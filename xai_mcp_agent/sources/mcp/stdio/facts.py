"""What is known of a connection over stdio, from outside."""

from __future__ import annotations

from dataclasses import dataclass

from .process import ServerProcess


@dataclass
class StdioFacts:
    """Of one connection. `process` is there once it was started, which may be before it is used.

    `is_used`: a transport speaks to it, and will end it; `in_a_hurry`: without the grace that a
    server which answers deserves.
    """

    process: ServerProcess | None = None
    is_used: bool = False
    in_a_hurry: bool = False
