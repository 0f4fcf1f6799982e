"""Approvals: whether a call is allowed, needs a person's approval, or is denied.

The most specific word wins; among equally specific ones, the strictest: a tool's name, then a
pattern, then a whole source, then the toolbelt's word for all tools, then the word in the settings.
Without a word, a call needs approval if the source says that the tool may destroy something, or if
it does not say and the tool's name begins with a destructive verb.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, TypeAlias, cast

import anyio
import anyio.to_thread

from ..core.approval import ApprovalAnswer, ApprovalAwaited, ApprovalRequest, AwaitedCall, Ruling
from ..core.calls import NO_APPROVER, NO_RULING, Caller, Host, ToolInvocation
from ..core.errors import LockFailed, NotApproved
from ..core.names import skeleton
from ..core.patterns import fits, guard, is_wild, names_of, sure_names_of
from ..core.shell import tool_command
from ..core.tools import META, STATIC, Tool, ToolKey, digest_of
from ..secrets.redactor import redact_json
from ..settings.approval import (
    EVERY_TOOL,
    METHOD,
    UNLESS_READ_ONLY,
    WORDS,
    ApprovalWord,
    ApprovalWords,
)
from ..settings.models import SECTIONS, Settings
from .lock_document import ALWAYS
from .rules import reason

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..history.recording.recorder import HistoryRecorder
    from .decisions import Decisions

logger = logging.getLogger(__name__)

_BY_SETTINGS = "the settings or the toolbelt say so"
_DESTROYS = "its source says that it may destroy something"
_SOUNDS_DESTRUCTIVE = (
    "its name begins with {!r}, and its source does not say whether it destroys anything"
)
_DENIED = "The tool {!r} was not called: the settings do not allow it. Do without it."
_NOT_APPROVED = (
    "The tool {!r} was not called: a person was asked first, and it was not approved ({}). Do not "
    "repeat the call. Go on without it, or say what you need it for."
)
_NOBODY = (
    "The tool {!r} was not called: it needs the approval of a person, and nobody could be asked. "
    "Do not repeat the call. Go on without it, and say in your answer what was not done."
)
_CHANGED = (
    "The tool {!r} was not called: its definition changed just now, and its calls need approval. "
    "Call it again, and a person is asked."
)
_NOTE = (
    "{}: {!r} was not called. It needs your approval, because {}, and nobody could be asked: {}. "
    "Nothing was sent.\n  Next step: run it where you can answer, in a terminal or the lab. Or "
    "approve it for good with `{}`, or {}."
)
_ALLOW = 'write "approval": {{{}: "allow"}} {} of the settings'
_CHANGE_RULE = "change that rule, which counts more than a word of `approval`"
_YES = ("once", "run", "always")
DESTRUCTIVE_VERBS = (
    "delete", "remove", "drop", "purge", "destroy", "erase", "wipe", "truncate", "revoke",
    "uninstall",
)  # fmt: skip
_VERB_LOOKS = {skeleton(x): x for x in DESTRUCTIVE_VERBS}
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_FIRST_WORD = re.compile("[a-z]*")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a call is allowed, needs approval or is denied, and why a person is asked."""

    word: ApprovalWord
    reason: str = ""


class Approvals:
    """A step of the call pipeline, after the arguments were checked. Used on the bridge's loop.

    The caller's own host comes first, then the `hosts` in turn until one asks a person; at first
    there is only `host`.
    """

    def __init__(
        self,
        settings: Settings,
        host: Host,
        decisions: Decisions,
        catalog: Catalog,
        recorder: HistoryRecorder,
    ) -> None:
        self._settings = settings
        self.hosts = [host]
        self._decisions = decisions
        self._catalog = catalog
        self._recorder = recorder

    async def step(self, invocation: ToolInvocation) -> ToolInvocation:
        """Pass a call that is allowed or approved, and check again that the tool has not changed.

        Raises:
            NotApproved: the call is not allowed; nothing was sent.
        """
        caller, tool = invocation.caller, invocation.tool
        if not caller.is_governed or tool.key.kind == META.name:
            return invocation
        verdict = self.verdict(tool, caller, invocation.ruling)
        if verdict.word == "allow":
            return replace(invocation, check=partial(self._check, invocation))
        if verdict.word == "deny":
            raise NotApproved(tool.source, tool.name, _DENIED.format(invocation.name))
        digest = self._catalog.digest(tool)
        async with caller.approvals.asking:
            if not await self._is_approved(caller, tool.key, digest):
                await self._ask(invocation, verdict, digest)
        return replace(invocation, check=partial(self._check, invocation, digest))

    def verdict(self, tool: Tool, caller: Caller, ruling: Ruling = NO_RULING) -> Verdict:
        """Return the verdict of the settings, the toolbelt and the tool's source, in this order.

        A rule that asks makes a word stricter; a rule that allows counts only without a word.
        """
        own = self._settings.sources.get(tool.source)
        belt = cast(ApprovalWords, caller.approval)
        ranked = [
            *_ranked(tool, belt, (0, 1)),
            *_ranked(tool, self._settings.approval, (0, 0)),
        ]
        if own is not None:
            auto: ApprovalWords = dict.fromkeys(own.auto_approve, "allow")
            for words in (own.approval, auto):
                ranked += _ranked(tool, words, (1, 0), is_of_source=True)
        if ranked:
            word = WORDS[max(ranked)[1]]
            if word != "allow" or ruling.word != "ask":
                return Verdict(word, _BY_SETTINGS)
        if ruling.word == "ask":
            return Verdict("ask", reason(ruling))
        if ruling.word == "allow":
            return Verdict("allow", reason(ruling))
        if tool.annotations.destructive:
            return Verdict("ask", _DESTROYS)
        if verb := _destructive_verb(tool):
            return Verdict("ask", _SOUNDS_DESTRUCTIVE.format(verb))
        return Verdict("allow")

    async def _is_approved(self, caller: Caller, key: ToolKey, digest: str) -> bool:
        if (key, digest) in caller.approvals.granted:
            return True
        await self._decisions.read()
        return self._decisions.approved(key) in (digest, ALWAYS)

    async def _ask(self, invocation: ToolInvocation, verdict: Verdict, digest: str) -> None:
        tool, approvals = invocation.tool, invocation.caller.approvals
        call = await self._awaited_call(invocation, verdict, digest)
        answer = approvals.take(call)
        if answer is None and approvals.asks_nobody:
            raise ApprovalAwaited(call)
        answer = answer or await self._answer(call.request, invocation.caller)
        if approvals.waits and not answer.was_asked:
            raise ApprovalAwaited(call)
        if answer.was_asked:
            agent, call_id = invocation.caller.name, invocation.call_id
            self._recorder.record_answer(tool.key, answer, digest, agent, call_id)
        if answer.scope not in _YES:
            raise self._refusal(invocation, answer, verdict)
        if answer.scope != "once":
            approvals.granted.add((tool.key, digest))
        if answer.scope == "always":
            await self._approve_for_good(tool.key, digest)

    async def _awaited_call(
        self, invocation: ToolInvocation, verdict: Verdict, digest: str
    ) -> AwaitedCall:
        tool, arguments = invocation.tool, invocation.arguments
        text, mask = json.dumps(arguments), self._recorder.mask
        masked = await anyio.to_thread.run_sync(redact_json, text, mask)
        request = ApprovalRequest(
            tool.source,
            tool.name,
            json.loads(masked),
            tool.description,
            tool.annotations,
            invocation.caller.name,
            verdict.reason,
        )
        return AwaitedCall(
            request, tool.key, digest, digest_of(json.dumps(arguments, sort_keys=True))
        )

    async def _answer(self, request: ApprovalRequest, caller: Caller) -> ApprovalAnswer:
        """Return the answer of the first host that asks a person. An error is never an approval."""
        answer = ApprovalAnswer.nobody(NO_APPROVER)
        for host in (x for x in (caller.host, *self.hosts) if x is not None):
            try:
                answer = await host.approve(request)
            except Exception as fault:
                logger.exception("Asking for an approval failed")
                return ApprovalAnswer.no(f"asking failed: {type(fault).__name__}")
            if answer.was_asked:
                break
        return answer

    async def _approve_for_good(self, key: ToolKey, digest: str) -> None:
        try:
            await self._decisions.approve(key, digest)
        except LockFailed as reason:
            logger.warning("%s", reason)

    def _refusal(
        self, invocation: ToolInvocation, answer: ApprovalAnswer, verdict: Verdict
    ) -> NotApproved:
        tool, name = invocation.tool, invocation.name
        if answer.was_asked:
            refusal = _NOT_APPROVED.format(name, answer.reason or "no")
            return NotApproved(tool.source, tool.name, refusal, is_answer=True)
        entry = self._settings.of_file.get(tool.source)
        sections = [x for x, kind in SECTIONS.items() if isinstance(entry, kind)]
        where = f"under {sections[0]}.{tool.source}" if sections else "at the top"
        tool_name = tool.name if sections or not tool.source else f"{tool.source}/{tool.name}"
        allow = _ALLOW.format(json.dumps(tool_name), where)
        note = _NOTE.format(
            tool.source or "drawn", tool.name, verdict.reason, answer.reason,
            tool_command("approve", tool.source or "canvas", tool.name),
            _CHANGE_RULE if invocation.ruling.word == "ask" else allow,
        )  # fmt: skip
        return NotApproved(tool.source, tool.name, _NOBODY.format(name), note)

    def _check(self, invocation: ToolInvocation, approved_digest: str = "") -> None:
        """Check at the moment of sending that the tool is as approved, or needs no approval."""
        if invocation.check is not None:
            invocation.check()
        tool = invocation.tool
        now = self._catalog.get(tool.key) or tool
        if approved_digest:
            is_allowed = self._catalog.digest(now) == approved_digest
        else:
            is_allowed = self.verdict(now, invocation.caller, invocation.ruling).word == "allow"
        if not is_allowed:
            raise NotApproved(tool.source, tool.name, _CHANGED.format(invocation.name))


_allows, _guards = lru_cache(maxsize=1_000)(fits), lru_cache(maxsize=1_000)(guard)

_Rank: TypeAlias = tuple[int, int]
"""How specific a word is: 3 a tool's name, 2 a pattern and its length, 1 a source, 0 all tools."""


def _ranked(
    tool: Tool, words: ApprovalWords, all_tools: _Rank, *, is_of_source: bool = False
) -> Iterator[tuple[_Rank, int]]:
    """Yield how specific and how strict each word about a tool is; `*` has rank `all_tools`.

    Patterns of a source are only about its own tools.
    """
    for pattern, value in words.items():
        word = _word_for(tool, value)
        if _is_for(pattern, word, tool, is_of_source=is_of_source):
            if pattern == EVERY_TOOL:
                rank = all_tools
            elif pattern == tool.source and not is_of_source:
                rank = (1, 0)
            elif is_wild(pattern) or pattern.startswith(METHOD):
                rank = (2, len(pattern))
            else:
                rank = (3, 0)
            yield rank, WORDS.index(word)


def _word_for(tool: Tool, value: ApprovalWord) -> ApprovalWord:
    """Resolve `ask_unless_read_only` by what the source says of the tool."""
    if value != UNLESS_READ_ONLY:
        return value
    only_reads = tool.annotations.read_only and not tool.annotations.destructive
    return "allow" if only_reads else "ask"


def _is_for(pattern: str, word: ApprovalWord, tool: Tool, *, is_of_source: bool) -> bool:
    """Return whether a word is about this tool.

    `allow` needs an exact name that no other source shares; other words also catch look-alikes.
    """
    if pattern.startswith(METHOD):
        method = tool.operation.method.upper() if tool.operation else ""
        return method == pattern.removeprefix(METHOD).upper()
    matches, names_in = (_allows, sure_names_of) if word == "allow" else (_guards, names_of)
    names = (tool.name,) if is_of_source else names_in(tool.key)
    return any(map(matches(pattern), names))


def _destructive_verb(tool: Tool) -> str:
    """Return the destructive verb that a name begins with, if the source states no effects.

    A drawn tool is the person's own, and has none.
    """
    claims = tool.annotations
    if claims.read_only or claims.destructive is not None or tool.key.kind == STATIC.name:
        return ""
    first = _FIRST_WORD.match(skeleton(_CAPITAL.sub("_", tool.name)))
    return _VERB_LOOKS.get(first[0], "") if first else ""
