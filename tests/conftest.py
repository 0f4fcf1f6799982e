"""Fixtures shared by all tests, and which of them stay together when they run in parallel."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from xai_mcp_agent.history.place import IN_MEMORY, Place

from .support import databases
from .support.environments import (
    Environment,
    build_package,
    clone_checkout,
    make_environment,
    refresh_component_copies,
)
from .support.warm_python import warm_interpreter

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# The settings of the person who runs the tests do not count.
for _name in [x for x in os.environ if x.startswith(("XAI_MCP_", "OPENAI_"))]:
    del os.environ[_name]
# Tests write their own settings files; the questions about foreign ones have their own tests.
os.environ["XAI_MCP_TRUST"] = "1"

# Servers that are imported here configure logging if nobody has: that would hide other logs.
logging.getLogger().addHandler(logging.NullHandler())

_GARBAGE = 20_000, 50, 100  # with Python's own thresholds collecting takes fourteen times as long

# Files with these names begin first, because they take long: so the processes end at about the same
# time. Files of one group share something costly, such as the lab, in one process.
_LONGEST_FIRST = {
    "test_lab": "lab", "test_packaging": "wheel", "test_commands": "wheel", "test_faults": None,
    "test_stores": "stores", "test_kernel": "kernel", "test_tables": None,
    "test_ending": None, "test_family": None, "test_closing": None, "test_loss": None,
    "test_other_clients": None, "test_compiled": None, "test_loop": None,
}  # fmt: skip


# The machine may be busy; the limit of the whole test finds slow examples.
hypothesis.settings.register_profile("tests", deadline=None)
hypothesis.settings.load_profile("tests")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The engine runs on asyncio: JupyterLab and the MCP SDK's subprocess support need it."""
    return "asyncio"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the wheel and the sdist of this checkout: `python -m hatchling build`."""
    folder = tmp_path_factory.mktemp("built")
    build_package(Path(__file__).parents[1], folder)
    return folder


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    """The wheel of this checkout."""
    return next(built.glob("*.whl"))


@pytest.fixture(scope="session")
def initialised_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that Xircuits initialised before the package was `installed`."""
    return tmp_path_factory.mktemp("before")


@pytest.fixture(scope="session")
def installed(
    built: Path, initialised_before: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Environment]:
    """An environment with the wheel, by the command of the README; shared, so add nothing to it."""
    environment = make_environment(tmp_path_factory.mktemp("installed"))
    environment.run_python(initialised_before, "-m", "xircuits.start_xircuits", "init")
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_COMPILE": "1", "PIP_FIND_LINKS": str(built)}
    environment.run(built, "pip", "install", "xai-mcp-agent[lab]", **offline)
    with environment.with_warm_commands(tmp_path_factory.mktemp("warm")) as warm:
        yield warm


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment in the `.venv` of a clone of this checkout, installed from it as editable."""
    return clone_checkout(Path(__file__).parents[1], tmp_path_factory.mktemp("newcomer") / "clone")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[databases.Server]:
    """A PostgreSQL that all tests of this process share; for tests in files `test_stores*`."""
    with databases.postgresql() as server:
        if server is None:
            pytest.skip(databases.NO_SERVER)
        yield server


@pytest.fixture(scope="module")
def running() -> Iterator[Browser]:
    """A browser of this machine."""
    from .support.lab import browser, chromium

    if chromium() is None:
        pytest.skip("needs a Chromium")
    with browser() as running:
        yield running


@pytest.fixture(params=[databases.MEMORY, databases.POSTGRESQL])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A new place for a history, in each kind of database; memory stands for files, too."""
    return _new_place(request, tmp_path)


@pytest.fixture(params=[databases.FILE, databases.POSTGRESQL])
def lasting_place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """The same, for histories that are there for others, too."""
    return _new_place(request, tmp_path)


def _new_place(request: pytest.FixtureRequest, folder: Path) -> Place:
    if request.param == databases.POSTGRESQL:
        server: databases.Server = request.getfixturevalue("postgresql")
        return databases.place_of(server.new_database(), folder)
    return databases.place_of(IN_MEMORY if request.param == databases.MEMORY else "", folder)


@pytest.fixture(autouse=True)
def _usual_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The output of runs does not depend on the screen of the person who runs the tests."""
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


class _ByFile(LoadScopeScheduling):
    """Gives whole files to a process, and those that share something to the same."""

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return _LONGEST_FIRST.get(_beginning(file.rpartition("/")[2])) or file


def pytest_collection_finish() -> None:
    """Everything loaded by now stays, so garbage collection need not visit it."""
    gc.freeze()
    gc.set_threshold(*_GARBAGE)


def pytest_configure(config: pytest.Config) -> None:
    """Set up the processes that tests start, also in a parallel run."""
    _listen_to_signals()
    # Some machines forbid it: then each of a thousand processes would compile the package anew.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # The same for the tests themselves, which pytest would rewrite in each process of each run.
    sys.dont_write_bytecode = False
    if not hasattr(config, "workerinput"):  # once, before the processes of a parallel run start
        refresh_component_copies()
    warm = warm_interpreter()
    warm.__enter__()
    config.add_cleanup(lambda: warm.__exit__(None, None, None))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect tests without garbage collection, which took a third of the time and found little."""
    gc.disable()
    try:
        _compile_other_files_first(session)
        return (yield)
    finally:
        gc.enable()


def _compile_other_files_first(session: pytest.Session) -> None:
    """Let each process of a whole parallel run compile other files first.

    All collect the same files at the same time: the files of the others are ready then.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None or session.config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    root = Path(__file__).parents[1]
    for file in sorted(root.glob("tests/**/test_*.py"))[number::count]:
        with suppress(Exception, pytest.skip.Exception):  # collecting it reports more
            import_module(".".join(file.relative_to(root).with_suffix("").parts))


def _listen_to_signals() -> None:
    """Listen to signals that a shell turns off for background processes.

    Processes that the tests start and interrupt would ignore them, too.
    """
    for name in ("SIGINT", "SIGHUP", "SIGQUIT"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_IGN:
            usual = signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL
            signal.signal(number, usual)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """One more than there are cores: most tests wait for a process that they have started."""
    return (os.cpu_count() or 1) + 1


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """How tests are distributed to the processes of a parallel run."""
    return _ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A stable sort: the order within a file stays."""
    ranks = {name: rank for rank, name in enumerate(_LONGEST_FIRST)}
    items.sort(key=lambda item: ranks.get(_beginning(item.path.name), len(ranks)))


@cache
def _beginning(file: str) -> str:
    """The entry of `_LONGEST_FIRST` for a file's name, or an empty text."""
    return next((x for x in _LONGEST_FIRST if file.startswith(x)), "")
