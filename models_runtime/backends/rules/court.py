"""Decisions of courts: what stays readable when a decision is published (Salierno et al. 2024, section 3).

Lawyers act in public, so their names stay, and so do their own tax codes and addresses in the parentheses after the
name. The number of a decision, or of its proceedings, tells which decision it is.
"""

import re
from collections.abc import Sequence
from typing import Final

from annotations.text.search import Covered
from models_runtime.backends.rules.kinds import NAMES, RuleKind
from models_runtime.backends.rules.phrases import before, words_of
from models_runtime.backends.rules.rule import Hit

LABEL_SET: Final = "omissis"
_TITLE: Final = r"(?i:\bavv(?:ocat(?:[oaie]|essa)|[. ]?t[ioa])?\.?[ ]{0,2}(?:prof\.?[ ]?(?:ssa\.?)?[ ]?)?)"
_LAWYER: Final = re.compile(rf"{_TITLE}\Z")
_SEVERAL: Final = re.compile(r"(?i:gli[ ]avv\S*|\bavvocat[ie]|\bavv[. ]?ti)\.?[ ]{0,2}\Z")
_NEXT: Final = re.compile(r"[ ]?(?:,|;|e|ed)[ ]")
# A lawyer who is a party is a private person.
_PARTY: Final = re.compile(rf"(?i:\b(?:promoss|propost|presentat)[oaie][ ]d(?:a|al|alla|all[’'])[ ]?){_TITLE}\Z")
_OF_LAWYER: Final = re.compile(r"(?:,?[ ]del[ ](?i:foro)[ ]di(?:[ ][A-ZÀ-Ý][\w'’]{1,30}){1,3})?,?[ ]?\([^()]{0,300}\)")
_NUMBER: Final = re.compile(
    r"(?i)\b(?:sentenz[ae]|ordinanz[ae]|decret[oi]|decision[ei]|deliber[ae]|deliberazion[ei]|giudizio?|ricors[oi]|"
    r"procediment[oi]|caus[ae]|registro|ruolo|r\.?[ ]?g\.?|legge|parere)(?:[ ][a-zà-ù]{1,15}){0,3}[ ]?"
    r"(?:nn?[.°r]?|num\.|numero)?[ ]?\Z"
)


def private(text: str, hits: Sequence[Hit]) -> list[Hit]:
    """The hits without those of lawyers and of decisions, in order."""
    ordered = sorted(hits, key=lambda hit: hit.start)
    lawyers: list[Hit] = []
    several = False
    for hit in ordered:
        title = before(text, hit.start, 60)
        if hit.kind in NAMES and _LAWYER.search(title) and not _PARTY.search(title):
            lawyers.append(hit)
            several = _SEVERAL.search(title) is not None
        elif hit.kind in NAMES and several and _NEXT.fullmatch(text, lawyers[-1].end, hit.start):
            lawyers.append(hit)
    own = Covered(match.span() for hit in lawyers if (match := _OF_LAWYER.match(text, hit.end)))
    known = _words(text, lawyers)
    public = set(lawyers)
    names = [hit for hit in ordered if hit.kind in NAMES and hit not in public]
    # A word that a private person's name has, too, doesn't tell who is meant.
    known -= _words(text, [hit for hit in names if not _words(text, [hit]) <= known])
    public |= {hit for hit in names if _words(text, [hit]) <= known}
    return [
        hit
        for hit in ordered
        if hit not in public
        and not own.wholly(hit.start, hit.end)
        and not (
            hit.kind in (RuleKind.CASE, RuleKind.EPISODE, RuleKind.RECORD)
            and _NUMBER.search(before(text, hit.start, 60))
        )
    ]


def _words(text: str, hits: Sequence[Hit]) -> set[str]:
    return {word.lower() for hit in hits for word in words_of(text[hit.start : hit.end])}
