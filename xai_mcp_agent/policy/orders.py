"""Words that order a model about: what they look like, in some languages, and why each is marked.

Honest servers give orders too, and whoever knows this list can write around it: what is found is
for a person to judge. The patterns have no open repeats, so that they take time linear in the text;
each is tried only where one of its words stands.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..core.names import skeleton
from ..core.visible import visible

MOST_CHARS = 20_000
"""Of one text; no model reads more of a description."""

_QUOTED_CHARS, _BEFORE = 120, 20

_VERBS = (
    "(?:read|open|load|fetch|include|send|attach|pass|cat|access|upload|copy|print|lies|lese|lis|"
    "lire|lee|leer|leggi|читай|读取|讀取|読)"
)
_KEY_FILES = (
    r"(?:\.ssh\b|\bid_(?:rsa|ed25519|ecdsa|dsa)\b|ssh id rsa|\.aws/credentials|\.cursor/mcp\.json|"
    r"claude_desktop_config|\bmcp_settings\.json|/etc/(?:passwd|shadow)|\.kube/config|\.netrc\b|"
    r"\.git-credentials|\.npmrc\b|\.pgpass|`?\.env\b)"
)


@dataclass(frozen=True, slots=True)
class Phrase:
    """What an order looks like; tried only in texts that have one of these words in them."""

    reason: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]


def _phrases(reason: str, *patterns: tuple[str, str]) -> list[Phrase]:
    return [Phrase(reason, tuple(words.split("|")), re.compile(x)) for words, x in patterns]


PHRASES: Sequence[Phrase] = (
    *_phrases(
        "tells a model to ignore what it was told",
        ("instruction|prompt|rules|guideline|directive",
         r"\b(?:ignor(?:e|ing)|disregard|forget|override)\b[^.!?]{0,30}\b(?:previous|prior|earlier"
         r"|above|preceding|other|system|existing|all|your)\b[^.!?]{0,30}"
         r"\b(?:instructions?|prompts?|rules|guidelines|directives)\b"),
        ("anweisung|instruktion|vorgabe",
         r"\b(?:ignorier|vergiss|missachte)\w{0,5}\b.{0,40}\b(?:anweisung|instruktion|vorgabe)"),
        ("instructions|consignes",
         r"\b(?:ignor|oubli)[ea]\w{0,3}\b.{0,25}\b(?:instructions|consignes)\b.{0,15}"
         r"\b(?:precedente|anterieure|ci-dessus)"),
        ("instrucciones|istruzioni|instrucoes",
         r"\b(?:ignor|olvid|dimentic|esquec)\w{1,5}\b.{0,30}"
         r"\b(?:instrucciones|istruzioni|instrucoes)"),
        ("инструкц|указани", r"(?:игнорируи|забудь)\w{0,3}\b.{0,40}\b(?:инструкц|указани)"),
        ("忽略|无视|無視|忘记",
         r"(?:忽略|无视|無視|忘记)[^。]{0,12}(?:指令|指示|提示词|规则|規則)"),
        ("無視", r"(?:指示|命令|プロンプト)[^。]{0,6}無視"),
        ("무시", r"(?:지시|명령).{0,20}무시"),
    ),
    *_phrases(
        "tells a model to keep something from the user",
        ("user|human|anyone|person",
         r"\b(?:do not|don'?t|never|must not|should not|without)\b[^.!?]{0,20}\b(?:tell|mention"
         r"|inform|reveal|notify|alert|disclos)\w{0,4}\b[^.!?]{0,40}"
         r"\b(?:users?|humans?|anyone|person)\b"),
        ("mention|reveal|disclose",
         r"\b(?:do not|don'?t|never)(?: ever)? (?:mention|reveal|disclose)\b[^.!?]{0,20}"
         r"\b(?:this|these|that you|you)\b"),
        ("secretly|silently|covertly",
         r"\b(?:secretly|silently|covertly) (?:send|forward|copy|read|include|pass|upload|call)\b"),
        ("hide|conceal|keep",
         r"\b(?:hide|conceal|keep)\b[^.!?]{0,30}\bfrom the (?:user|human)\b"),
        ("nutzer|anwender",
         r"\b(?:sag|erzahl|verrat|erwahn|informier|verschweig)\w{0,4}\b.{0,30}"
         r"\b(?:be)?(?:nutzer|anwender)\w{0,3}\b.{0,15}\bnichts?\b"
         r"|\b(?:be)?(?:nutzer|anwender)\w{0,3} nichts?\b.{0,20}\b(?:sag|erzahl|verrat|erwahn)"),
        ("utilisateur",
         r"\bne\b.{0,6}\b(?:dites?|dis|mentionne|informe|revele|parle)\w{0,3}\b.{0,40}"
         r"\butilisateur"),
        ("usuario|utente",
         r"\b(?:no|non|nao)\b.{0,6}\b(?:digas|diga|menciones?|informes?|reveles?|dire"
         r"|menzionare)\b.{0,40}\b(?:usuario|utente)"),
        ("пользовател",
         r"\bне (?:говори|сообщаи|упоминаи|рассказываи)\w{0,3}\b.{0,40}\bпользовател"),
        ("用户|使用者|用戶",
         r"(?:不要|别|別|勿|不得|不能)[^。]{0,8}(?:告诉|告知|告訴|提及|透露|通知)"
         r"[^。]{0,8}(?:用户|使用者|用戶)"),
        ("ユーザー|利用者",
         r"(?:ユーザー|利用者)[^。]{0,12}(?:言わない|伝えない|知らせない|話さない)"),
    ),
    *_phrases(
        "poses as words of the system or of its operator",
        ("important|system|secret|critical|hidden|inst",
         r"<\s?/?\s?(?:important|system|secret|critical|hidden|system[_-]?\w{0,12})\s?>"
         r"|\[\s?/?\s?(?:system|inst)\s?\]|<\|im_start\|>|<<sys>>"),
        ("system|admin|developer|operator",
         r"\b(?:system|admin(?:istrator)?|developer|operator) (?:instruction|override|directive"
         r"|prompt|message)s? ?:"),
        ("you are now|new instructions",
         r"\byou are now (?:a|an|in|no longer|the)\b|\bnew instructions? ?:"),
    ),
    *_phrases(
        "wants to have a say in the use of other tools",
        ("tool",
         r"\b(?:before|prior to|after|when(?:ever)?) (?:using|calling|invoking|executing|running"
         r"|you use|you call|any)\b[^.!?]{0,20}\b(?:any|all|every|each)\b(?: of the)?(?: other)?"
         r"(?: \w{1,20})? ?tools?\b"),
        ("tool|server",
         r"\bwhen(?:ever)? (?:this|the) (?:\w{1,20} )?(?:tool|server)\b[^.!?]{0,20}"
         r"\bis (?:available|present|installed|connected|loaded)\b[^.!?]{0,120}"
         r"\b(?:must|always|should)\b"),
        ("recipient|address",
         r"\b(?:change|replace|set)\b[^.!?]{0,20}\b(?:recipient|destination address"
         r"|e-?mail address)\b[^!?]{0,30}(?:\+?\d{6}|@)"),
        ("werkzeug", r"\bbevor\b.{0,30}\b(?:anderes|irgendein|jedes|alle)\w{0,3} werkzeug"),
        ("工具", r"(?:在)?(?:使用|调用|呼叫)(?:任何|所有|每个)(?:其他|其它)?工具之?前"),
    ),
    *_phrases(
        "asks for files with keys or settings",
        (".ssh|id_|id rsa|credentials|mcp.json|desktop_config|mcp_settings|/etc/|kube|.netrc|.npmrc"
         "|.pgpass|.env",
         rf"{_VERBS}\w{{0,3}}\b.{{0,60}}?{_KEY_FILES}|{_KEY_FILES}.{{0,20}}{_VERBS}"),
    ),
    *_phrases(
        "asks for what a model was told by others",
        ("prompt|conversation|history|messages|keys|environment",
         r"\b(?:send|include|reveal|print|output|pass|put|insert|copy|forward|provide)\b[^.!?]{0,40}"
         r"\b(?:your|the) (?:system prompt|(?:entire|full|whole|complete) (?:conversation|chat"
         r"|context)|conversation history|chat history|previous messages"
         r"|(?:api keys|passwords|credentials|environment variables) of the user)\b"),
    ),
    *_phrases(
        "has data sent elsewhere",
        ("http|@|bcc",
         r"\b(?:send|forward|post|upload|copy|transmit|exfiltrate|e-?mail|bcc|cc)\b[^!?]{0,30}?"
         r"\b(?:all|every|copy|copies|whole|entire|full|contents?|conversations?|history|secrets?|passwords?"
         r"|credentials?|keys?|tokens?)\b[^!?]{0,60}?\bto\b[^!?]{0,20}?"
         r"(?:https?://|[\w.+-]{1,64}@[\w-]|@)"),
        ("bcc", r"\b(?:always|also|must)\b[^.!?]{0,40}\bbcc\b"),
    ),
    *_phrases(
        "tells a model not to ask anybody",
        ("confirm|permission|approval|consent",
         r"\b(?:do not|don'?t|never)\b[^.!?]{0,15}\b(?:ask|request|seek|wait)\b[^.!?]{0,30}"
         r"\b(?:confirmation|permission|approval|consent)\b"),
    ),
)  # fmt: skip
"""The orders that are marked. Texts are compared without accents, in small letters."""

_ACCENTS = re.compile("[\u0300-\u036f]")
_STRANGE_WORDS = re.compile(r"\w*[^\W\x00-\x7f]\w*")


def orders_in(text: str) -> Iterator[tuple[str, str]]:
    """What in a text orders a model about: why each is marked, and the words; each reason once."""
    told = set[str]()
    for seen in _readings(text[:MOST_CHARS]):
        for phrase in PHRASES:
            if phrase.reason in told or not any(x in seen for x in phrase.words):
                continue
            if found := phrase.pattern.search(seen):
                told.add(phrase.reason)
                begin = max(found.start() - _BEFORE, 0)
                yield phrase.reason, seen[begin : begin + _QUOTED_CHARS].strip()


def _readings(text: str) -> Iterator[str]:
    """The text as patterns want it; where it has foreign letters, as they look in Latin, too."""
    seen = " ".join(visible(text).casefold().replace("\u2019", "'").split())
    if seen.isascii():
        yield seen
        return
    without = _ACCENTS.sub("", unicodedata.normalize("NFKD", seen))
    plain = unicodedata.normalize("NFC", without)
    yield plain
    yield _STRANGE_WORDS.sub(lambda word: skeleton(word[0]), plain)
