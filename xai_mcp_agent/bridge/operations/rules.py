"""Rules: rulings on calls before they are made, and the rules in the store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ...core.calls import Caller
from ...core.json import JsonObject
from ...core.tools import Tool
from ...policy.rules import RuledTool
from ...settings.rules import Rule, rules_of_store
from ..store import folder_of, rules_in
from .history import StoreQueries
from .tools import ToolOperations

if TYPE_CHECKING:
    from ...history.history import History
    from ...policy.stored_rules import StoredRules


class RuleOperations(ToolOperations, StoreQueries):
    """Rules of the settings and of the store."""

    async def rules(self) -> Sequence[Rule]:
        """Return the rules in force, those of the store included."""
        await self.engine.rules.read()
        return self.engine.rules.book.rules

    async def ruled_tools(
        self, caller: Caller, *names: str
    ) -> tuple[list[RuledTool], dict[str, str]]:
        """Return the rulings on a caller's calls of the tools of these servers, or of all.

        The second value says why some servers have none. No call is made.
        """
        await self.engine.rules.read()
        entries, failed = await self.list_entries(self.choice(names) if names else None)
        return [self.verdict_on(x.require(), caller) for x in entries.values()], failed

    async def ruled_call(
        self, caller: Caller, tool: Tool, arguments: JsonObject | None = None
    ) -> RuledTool:
        """Return what rules and approvals say of one call; without arguments, of any call."""
        await self.engine.rules.read()
        return self.verdict_on(tool, caller, arguments)

    async def stored_rules(self) -> StoredRules:
        """Return the rules in the store, whether or not they are in force here.

        Raises:
            StoreFailed, RulesUnknown: it cannot be read.
        """
        return await self.answer(rules_in, from_any_file=True)

    async def put_rules(self, rules: Sequence[JsonObject], *, only: bool = False) -> StoredRules:
        """Put rules into the store, replacing rules of the same names, or all.

        Raises:
            SettingsError: one of them is wrong; nothing was changed.
            StoreFailed, RulesUnknown: the store cannot be used.
        """

        def put(history: History) -> StoredRules:
            from ...policy import stored_rules

            return stored_rules.put_rules(history, rules, self._check_rules, only=only)

        return await self._change_rules(put)

    async def remove_rules(self, *names: str) -> StoredRules:
        """Remove the rules of these names from the store; raises as `put_rules`."""

        def remove(history: History) -> StoredRules:
            from ...policy import stored_rules

            return stored_rules.remove_rules(history, names, self._check_rules)

        return await self._change_rules(remove)

    async def _change_rules(self, change: Callable[[History], StoredRules]) -> StoredRules:
        """Change the rules of the store; the new ones are in force here at once."""
        stored = await self.answer(change)
        await self.engine.rules.renew()
        return stored

    def _check_rules(self, rules: Sequence[JsonObject]) -> None:
        rules_of_store(rules, folder_of(self.engine.settings))
