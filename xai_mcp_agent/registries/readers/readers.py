"""Which reader a registry of the settings has."""

from __future__ import annotations

from ...settings.sections import RegistrySettings
from .api import ApiReader
from .base import Reader
from .files import GithubReader, ListReader
from .npm import NpmReader, npm_address


def reader_of(registry: RegistrySettings) -> Reader:
    """What reads this registry.

    Raises:
        RegistryError: nobody says where it is.
    """
    match registry.type:
        case "api":
            return ApiReader(registry.url)
        case "list":
            return ListReader(registry.path, registry.url)
        case "github":
            return GithubReader(
                registry.repository, registry.ref, registry.path or "servers", registry.url
            )
        case "npm":
            return NpmReader(registry.url or npm_address(), registry.keywords)
