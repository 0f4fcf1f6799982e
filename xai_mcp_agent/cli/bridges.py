"""Opens a bridge for a command, and asks the person whether its settings file is trusted."""

from __future__ import annotations

from pathlib import Path

from ..bridge.bridge import Bridge
from ..canvas.trust import agreed_settings
from ..core.errors import SettingsError
from ..settings.load import load_settings
from ..settings.models import Settings
from ..settings.trust import trust_command, without_untrusted


def open_bridge(
    settings: Path | None, *, store: str | None = None, as_json: bool = False
) -> Bridge:
    """A bridge for this settings file, or for the one that is found.

    Where not all of it is trusted, a person is asked, and no program that reads JSON.

    Raises:
        SettingsError: it cannot be read, or nothing in it may be used.
    """
    loaded = load_settings(settings)
    usable = without_untrusted(loaded) if as_json else agreed_settings(loaded)
    if loaded.usable and not usable.usable:
        raise _not_trusted(loaded)
    return Bridge(loaded=usable, store=store)


def _not_trusted(settings: Settings) -> SettingsError:
    return SettingsError(
        settings.file, "", "it is not trusted: you have not agreed to what it starts or reaches.",
        f"Read it, then run `{trust_command(settings.file)}`. Nothing was started.",
    )  # fmt: skip
