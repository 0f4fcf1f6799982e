"""Small helpers: certificates, installed files, Python code, URI templates, tokens."""

from __future__ import annotations

import ast
import math
import os
import re
import threading
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import InvalidArguments

if TYPE_CHECKING:
    import ssl


def installed_version() -> str:
    """Return the version of this library, or `unknown` if it runs from a folder, not installed."""
    from importlib.metadata import PackageNotFoundError, version  # here because it is rarely needed

    try:
        return version("xai-mcp-agent")
    except PackageNotFoundError:
        return "unknown"


def trusted_certificates() -> ssl.SSLContext:
    """Return the machine's certificates, or those in `SSL_CERT_FILE` and `SSL_CERT_DIR`.

    Raises:
        OSError: the file or folder that the environment names cannot be read.
    """
    return _load_certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _load_certificates(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """Return a shared context, because loading it takes a twentieth of a second."""
    import httpx2  # here because most runs use no HTTP

    return httpx2.create_ssl_context()


LIBRARY = "xai_mcp_agent"
COMPONENTS = "xai_components"
COMPONENT_FILES = "*_components.py"
INSTALL_LAB = 'pip install "xai-mcp-agent[lab]"'
"""Installs JupyterLab and Xircuits; scripts, commands and servers need neither."""

_ENGINE_FOLDER = Path(__file__).resolve().parents[1]


def installed_components_folder() -> Path:
    """Return the folder with the component files that belong to this engine.

    In a checkout they are beside the inner packages. A wheel puts them where Xircuits looks for
    libraries, in `xai_components` beside the engine.
    """
    if any(_ENGINE_FOLDER.glob(COMPONENT_FILES)):
        return _ENGINE_FOLDER
    return _ENGINE_FOLDER.parent / COMPONENTS / LIBRARY


def starter_folder() -> Path:
    """Return the folder of the starter files: the engine's own in a wheel, else the root."""
    packaged = _ENGINE_FOLDER / "starter"
    return packaged if packaged.is_dir() else _ENGINE_FOLDER.parent


# Python 3.11 counts the depth of all threads together: two that parse at once get a SystemError.
_alone = threading.Lock()


def module_of(source: str | bytes, name: str = "<unknown>") -> ast.Module:
    """Parse a file with `ast.parse`.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: it is not Python.
    """
    with _alone:
        return ast.parse(source, name)


def expression_of(source: str) -> ast.expr:
    """Parse one expression. Raises as `module_of`."""
    with _alone:
        return ast.parse(source, mode="eval").body


def literal_in(source: str) -> Any:
    """Return the value of a literal such as `{'a': (1, 2)}`, without running anything.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError, TypeError: it is not a literal.
    """
    return ast.literal_eval(expression_of(source.lstrip(" \t")))


# Values after these signs (a query, a fragment) are optional; a gap in a path would name another
# resource.
_OPTIONAL_AFTER = ("?", "&", ";", "#")


def fill_template(template: str, values: Mapping[str, Any]) -> str:
    """Return the URI of a template with these values, each encoded for its place.

    A value is text, a number, a boolean, or a list of these. Parameters of a query are optional.

    Raises:
        InvalidArguments: a value is missing, or there is no place for it.
    """
    # Imported here because most runs never fill in a template.
    import uritemplate

    parsed = uritemplate.URITemplate(template)
    needed: dict[str, bool] = {}
    for expression in parsed.variables:
        is_needed = expression.operator.value not in _OPTIONAL_AFTER
        needed |= {name: is_needed for name, _ in expression.variables}
    texts = {name: _as_text(x) for name, x in values.items() if x not in (None, "")}
    problems = [f"{x} is missing" for x in needed if needed[x] and x not in texts]
    problems += [f"there is no parameter {x}" for x in values if x not in needed]
    if problems:
        raise InvalidArguments(template, problems, ", ".join(needed) or "no parameters")
    return parsed.expand(texts)


def _as_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return [_as_text(x) for x in value]  # pyright: ignore[reportUnknownVariableType]
    return str(value)


# UTF-8 bytes per token of prose. Schemas have fewer, because they have more signs than words.
BYTES_PER_TOKEN = 3.5

# Tokenizers rarely divide these pieces: words of usual length, two capitals, three digits, three
# signs; in other scripts one character, or two if their words have letters.
_WORDS_OF_LETTERS = r"\u0370-\u0fff\u10a0-\u10ff"
_PIECE = re.compile(
    r"[A-Z]?[a-z]{1,8}|[A-Z]{1,2}|[0-9]{1,3}|[^\w\s\\\x80-\U0010ffff]{1,3}|[\\_]|\s{2,}|\n"
    rf"|[{_WORDS_OF_LETTERS}]{{1,2}}|[^\x00-\x7f]"
)
# Pictures, and scripts that tokenizers hardly know: two or more tokens per character.
_RARE = re.compile(r"[\u1200-\u1fff\u2600-\u27bf\ua000-\uabff\U00010000-\U0010ffff]")


def tokens_in(text: str) -> int:
    """Estimate the tokens in this text, quickly, for conversations of any length."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return math.ceil(size / BYTES_PER_TOKEN)


def tokens_at_most(text: str) -> int:
    """Estimate the tokens for a budget, high enough for schemas too; takes fifty times as long."""
    rare = 0 if text.isascii() else len(_RARE.findall(text))
    return len(_PIECE.findall(text)) + rare
