"""Numbers that are recognized by their form and check digit."""

import re
from collections.abc import Callable, Iterable
from typing import Final

from models_runtime.backends.rules import checks
from models_runtime.backends.rules.kinds import RuleKind
from models_runtime.backends.rules.phrases import before
from models_runtime.backends.rules.rule import CODE_TRIGGER, DIGITS, Finder, Found, Rule, words


def _valid(kind: RuleKind, expression: str, check: Callable[[str], bool], *, after: str = "") -> Finder:
    """A code at the trigger, a whole token that passes its check. `after` must match the end of the text before it."""
    code = re.compile(rf"(?<![0-9A-Za-z.\-/])(?:{expression})(?![0-9A-Za-z])")
    context = re.compile(after) if after else None

    def find(text: str, start: int, end: int) -> Iterable[Found]:
        match = code.match(text, start)
        if match is None or (context and not context.search(before(text, start, 30))):
            return ()
        return [(*match.span(), kind)] if check(match[0]) else ()

    return find


_TAX_LETTER: Final = "[0-9LMNPQRSTUVlmnpqrstuv]"
_TAX_CODE: Final = (
    rf"[A-Za-z]{{6}}[ ]?{_TAX_LETTER}{{2}}[A-Za-z]{_TAX_LETTER}{{2}}[ ]?[A-Za-z]{_TAX_LETTER}{{3}}[A-Za-z]"
)

RULES: Final = (
    # A wrong check letter is accepted: notes have misread and invented codes, and no word has this form.
    Rule(
        "id.national.cf",
        frozenset({CODE_TRIGGER}),
        _valid(RuleKind.NATIONAL, _TAX_CODE, checks.looks_like_codice_fiscale),
        0.98,
        rank=85,
        strong=True,
    ),
    Rule(
        "id.national.dni",
        frozenset((*DIGITS[1:3], DIGITS[8], *words("x y z"))),
        _valid(
            RuleKind.NATIONAL,
            r"(?:[0-9]{8}|[XYZxyz][\- ]?[0-9]{7}|[0-9]{1,2}\.[0-9]{3}\.[0-9]{3})[\- ]?[A-Za-z]",
            checks.dni,
        ),
        0.97,
        rank=82,
        strong=True,
    ),
    Rule(
        "id.national.cif",
        words("a b c d e f g h j n p q r s u v w"),
        _valid(RuleKind.NATIONAL, r"[A-Z][\- ]?[0-9]{7}[0-9A-J]", checks.cif),
        0.9,
        rank=70,
        strong=True,
        capital=True,
    ),
    Rule(
        "id.social.ssn.form",
        frozenset({DIGITS[3]}),
        _valid(RuleKind.SOCIAL_SECURITY, r"[0-9]{3}-[0-9]{2}-[0-9]{4}", checks.ssn),
        0.9,
        rank=70,
        strong=True,
    ),
    Rule(
        "id.social.nass.checked",
        frozenset({DIGITS[2], DIGITS[9]}),
        _valid(RuleKind.SOCIAL_SECURITY, r"[0-9]{2}[ /\-]?[0-9]{8}[ /\-]?[0-9]{2}", checks.nass),
        0.9,
        rank=68,
        strong=True,
    ),
    Rule(
        "id.nhs",
        frozenset({DIGITS[3], DIGITS[9]}),
        _valid(RuleKind.RECORD, r"[0-9]{3}[ \-]?[0-9]{3}[ \-]?[0-9]{4}", checks.nhs, after=r"nhs[^0-9]{0,12}\Z"),
        0.98,
        rank=81,
        strong=True,
    ),
    Rule(
        "id.card.italy",
        frozenset({DIGITS[9]}),
        _valid(RuleKind.HEALTH_CARD, r"[0-9]{20}", checks.tessera_sanitaria),
        0.97,
        rank=80,
        strong=True,
    ),
    Rule(
        "id.national.piva.checked",
        frozenset({DIGITS[9]}),
        _valid(
            RuleKind.NATIONAL, r"[0-9]{11}", checks.partita_iva, after=r"(?:p\.? ?iva|partita iva|vat)[^0-9]{0,8}\Z"
        ),
        0.97,
        rank=80,
        strong=True,
    ),
    Rule(
        "id.account.iban",
        words("it es de fr gb pt ch be nl at ie ro"),
        _valid(RuleKind.ACCOUNT, r"[A-Z]{2}[0-9]{2}(?:[ ]?[0-9A-Z]{1,4}){3,8}+", checks.iban),
        0.98,
        rank=85,
        strong=True,
        capital=True,
    ),
    Rule(
        "id.account.card",
        frozenset({DIGITS[4], DIGITS[9]}),
        _valid(
            RuleKind.ACCOUNT,
            r"[3-6][0-9]{3}[ \-]?(?:[0-9]{4}[ \-]?[0-9]{4}[ \-]?[0-9]{4}|[0-9]{6}[ \-]?[0-9]{4,5})",
            checks.luhn,
        ),
        0.9,
        rank=82,
        strong=True,
    ),
)
