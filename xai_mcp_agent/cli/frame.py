"""Frame of all commands: settings, history, servers, and how a report is printed.

A command is a function of a `Frame`; its report is printed as text, or as JSON with `--json`.
"""

from __future__ import annotations

import inspect
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import typer
from typer.core import TyperArgument, TyperCommand, TyperOption

from ..bridge.faces import Bridge
from ..canvas.at_node import on_stage
from ..canvas.person import agreed_settings
from ..console.console import Console
from ..console.screen import Screen
from ..console.surface import surface_of
from ..console.terminal_questions import why_not_here
from ..core.errors import SettingsError, StoreFailed, XaiMcpError
from ..history.place import SWITCHED_OFF, Place, find_place, project_of
from ..settings.load import load_settings
from ..settings.models import Settings
from ..settings.trust import trust_command, without_untrusted
from .options import AsJson, SettingsFile, Store
from .output import echo_json, say
from .typed import name_of_server, server_of_word, typed_server

if TYPE_CHECKING:
    from ..history.history import History

LOOK = 3
"""Exit status for "done, but look at it"."""


@dataclass(frozen=True)
class Report:
    """Report of a command. With `errors` the exit status is 1 unless `status` says otherwise."""

    json: object
    text: str = ""
    errors: Iterable[str] = ()
    notes: Iterable[str] = ()
    status: int = 0


class NothingYet(Exception):
    """There is no history; the report says so."""

    def __init__(self, report: Report) -> None:
        super().__init__(report.text)
        self.report = report


@dataclass(frozen=True)
class ReportFrame:
    """Frame of commands that need no settings: how a report is printed."""

    as_json: bool = False

    @property
    def can_ask(self) -> bool:
        """Whether a person can be asked: there is a terminal, and the output is not JSON."""
        return not self.as_json and not why_not_here()

    def print_lines(self, lines: Iterable[str]) -> None:
        """Print lines before the report, unless the output is JSON."""
        if not self.as_json:
            say("\n".join(lines))

    def show(self, report: Report) -> None:
        """Print a report and exit with its status.

        Raises:
            Exit: the status is not 0.
        """
        errors = list(report.errors)
        if self.as_json:
            echo_json(report.json)
        else:
            if report.text:
                say(report.text)
            lines = [*(f"note: {x}" for x in report.notes), *(f"error: {x}" for x in errors)]
            for line in lines:
                say(line, to_stderr=True)
        if status := report.status or int(bool(errors)):
            raise typer.Exit(status)


@dataclass(frozen=True)
class Frame(ReportFrame):
    """Frame of commands that use the settings."""

    settings: Path | None = None
    store: str | None = None

    @contextmanager
    def bridge(
        self, *servers: str | None, needs_server: bool = True
    ) -> Generator[tuple[Bridge, list[str]]]:
        """Open a bridge and yield it with the names of these servers.

        A server may be given as a URL or a command. Trust in the settings file is asked for, unless
        all servers are given in that way and the file is not used. A command that `needs_server`
        and not only its history needs settings, and refuses a name that only the history has.

        Raises:
            SettingsError: the file cannot be read, or nothing in it may be used.
            BadParameter: one of `servers` is an empty name.
        """
        require_names(servers)
        with self.open(*servers) as bridge:
            words = [x for x in servers if x is not None]
            names = [server_of_word(bridge, x, needs_server=needs_server) for x in words]
            if needs_server and not bridge.settings.file and not bridge.settings.added:
                raise no_settings(bridge.settings)
            yield bridge, list(dict.fromkeys(names))

    def open(self, *servers: str | None) -> Bridge:
        """Open a bridge with the trusted part of the settings.

        Raises:
            SettingsError: the file cannot be read, or nothing in it may be used.
        """
        loaded = load_settings(self.settings)
        are_typed = bool(servers) and all(
            x is not None and typed_server(x, loaded) for x in servers
        )
        asks = self.can_ask and not are_typed
        usable = agreed_settings(loaded) if asks else without_untrusted(loaded)
        if loaded.usable and not usable.usable and not are_typed:
            raise _not_trusted(loaded)
        return Bridge(usable, store=self.store)


class StoreFrame(Frame):
    """Frame of commands that read or write a history."""

    @contextmanager
    def history(self, nothing: object = (), *, follow: bool = False) -> Generator[History]:
        """Open the history for reading. Starts no server.

        A history named by `--store` is not written to, and no file is created beside it, except to
        `follow` a file: SQLite needs files beside it then.

        Raises:
            NothingYet: there is none; a command that leaves it alone reports `nothing` as JSON.
            StoreFailed: it cannot be used, or the named one does not exist.
        """
        place = find_place(without_untrusted(load_settings(self.settings)), self.store)
        if self.store and place.file:
            # Somebody who names a file wants to see its content, whichever project wrote it.
            place = replace(place, any_project=True, is_still=not follow)
        with _without_shm(place) as place:
            history = _open_history(place, nothing, must_exist=bool(self.store))
            try:
                yield history
            finally:
                history.close()

    def name_in_history(self, server: str | None) -> str | None:
        """Return the history's name of a server, also of a URL or a command. Starts nothing."""
        require_names([server])
        return server and name_of_server(server, self.settings)


def require_names(words: Iterable[str | None]) -> None:
    """Refuse an empty name, which an unset variable of the shell gives."""
    if any(x is not None and not x.strip() for x in words):
        raise typer.BadParameter(
            "The name of a server is empty. Give its name in the settings, its URL, or its command."
        )


def console_beside(name: str, show: str | None = None) -> Console:
    """Return a console on stderr, beside the answer; it is quiet unless `show` says otherwise."""

    def write(text: str) -> None:
        typer.echo(text, err=True, nl=False)

    return Console(name, show or "quiet", screen=Screen(write, surface_of(sys.stderr)))


def say_env_notes(settings: Settings) -> None:
    """Say on stderr which values of the `.env` beside the settings no model can use, and why."""
    for note in settings.env_notes:
        say(f"note: {note}", to_stderr=True)


def connect(bridge: Bridge, names: Sequence[str]) -> None:
    """Connect servers; a line at the terminal shows which are awaited."""
    is_at_terminal = surface_of(sys.stderr).kind == "terminal"
    console = console_beside("servers", "normal" if is_at_terminal else None)
    with on_stage(bridge, console) as stage:
        stage.console.wait_for_servers(names)
        stage.perform(lambda operations: operations.connect(*names, wait=True))


def no_settings(settings: Settings) -> XaiMcpError:
    """Return an error with the places that were searched, and what to do without settings."""
    looked = "".join(f"\n  {place}" for place in settings.searched)
    return XaiMcpError(
        f"No mcp_settings.json was found. Looked for:{looked}\n"
        "Run `xai-mcp-agent init` to write one, or name yours with --settings. Without one, "
        "give the URL of a server, or the command that starts it, in place of a name."
    )


def _not_trusted(settings: Settings) -> SettingsError:
    return SettingsError(
        settings.file, "", "it is not trusted: you have not agreed to what it starts or reaches.",
        f"Read it, then run `{trust_command(settings.file)}`. Nothing was started.",
    )  # fmt: skip


@contextmanager
def _without_shm(place: Place) -> Generator[Place]:
    """Yield the place, or a private copy of its file if SQLite would leave a `-shm` file behind.

    SQLite does that for a copied `-wal` file that no process has open, so without a `-shm` file.
    """
    file = place.file if place.is_still else None
    there = [os.path.exists(f"{file}{end}") for end in ("", "-wal", "-shm")]
    if file is None or there != [True, True, False]:
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="xai-history-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder, file.name)
        try:
            for end in ("", "-wal"):
                shutil.copyfile(f"{file}{end}", f"{copy}{end}")
        except OSError as cause:
            raise StoreFailed(place.label, f"it cannot be copied: {cause}.") from cause
        yield replace(place, file=copy)


def _nothing_yet(place: Place, json: object, projects: Sequence[str] = ()) -> NothingYet:
    """Return the report of a missing history; the place has those of other `projects`."""
    if place.is_off:
        return NothingYet(Report(json, f"The history is off: {' '.join(SWITCHED_OFF)}"))
    project = project_of(place.folder, place.project).name
    others = f"It has: {', '.join(projects)}. Name one in XAI_MCP_PROJECT. " if projects else ""
    text = f"There is no history yet of the project {project!r} in {place.label}. {others}"
    begins = "It begins when a workflow or a command uses a server."
    return NothingYet(Report(json, f"{text}{begins}"))


def _open_history(place: Place, nothing: object, *, must_exist: bool) -> History:
    if place.file is not None and not place.file.exists():
        if must_exist:
            raise StoreFailed(place.label, "there is no such file.", "Name another one.")
        raise _nothing_yet(place, nothing)
    # Imported here, so that other commands do not wait for SQLAlchemy.
    from ..history.history import open_history
    from ..history.store import NoHistory

    try:
        return open_history(place, is_to_read=True)
    except NoHistory as reason:
        if must_exist:
            raise
        raise _nothing_yet(place, nothing, reason.projects) from reason


_OPTIONS: dict[type[ReportFrame], dict[str, Any]] = {
    ReportFrame: {"as_json": AsJson},
    Frame: {"settings": SettingsFile, "as_json": AsJson},
    StoreFrame: {"store": Store, "settings": SettingsFile, "as_json": AsJson},
}


def framed(function: Callable[..., Report | None]) -> Callable[..., None]:
    """Make a command of a function: its parameters plus the options of its frame."""
    signature = inspect.signature(function, eval_str=True)
    first, *own = signature.parameters.values()
    frame_class: type[ReportFrame] = first.annotation
    options = [
        inspect.Parameter(name, first.kind, default=getattr(frame_class, name), annotation=option)
        for name, option in _OPTIONS[frame_class].items()
    ]

    @wraps(function)
    def command(**words: Any) -> None:
        frame = frame_class(**{x.name: words.pop(x.name) for x in options})
        try:
            report = function(frame, **words)
        except NothingYet as nothing:
            report = nothing.report
        if report:
            frame.show(report)

    del command.__wrapped__
    parameters = [_with_flag(x) for x in (*own, *options)]
    command.__annotations__ = {x.name: x.annotation for x in parameters}
    vars(command)["__signature__"] = signature.replace(
        parameters=parameters, return_annotation=None
    )
    return command


def _with_flag(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return the parameter; a truth value is a flag without a `--no-` form."""
    kind, option = get_args(parameter.annotation)
    if kind is bool and option.default is ...:  # typer takes the first name for a default
        option.param_decls = (f"--{parameter.name.replace('_', '-')}",)
    return parameter


class Command(TyperCommand):
    """Command whose help names values in plain words: `SERVER`, `[TOOL]`, `--limit NUMBER`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for param in self.params:
            if isinstance(param, TyperArgument):
                param.metavar = param.metavar or str(param.name).upper()
                param.display_type = lambda ctx: ""
            elif isinstance(param, TyperOption) and param.metavar is None:
                param.metavar = _word_of(param)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the usage line; required words have no brackets."""
        return [x.replace("{", "").replace("}", "") for x in super().collect_usage_pieces(ctx)]


def _word_of(option: TyperOption) -> str:
    """Return the placeholder for the value of an option."""
    described = option.type_descriptor
    if described.is_choice:
        return "|".join(map(str, described.choices or ()))
    if described.is_path:
        return "FILE"
    return "TEXT" if described.annotation in (str, list[str]) else "NUMBER"
