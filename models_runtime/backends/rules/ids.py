"""Numbers that point to a person: by the word before them, or by their own check digit."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from models_runtime.backends.rules import checks
from models_runtime.backends.rules.kinds import Kind
from models_runtime.backends.rules.reading import before
from models_runtime.backends.rules.rule import DIGITS, Finder, Found, Rule, words

# What may stand between the word and its number.
_GAP: Final = re.compile(
    r"(?i)[ \xa0]{0,3}(?:(?:n[ºo°ª.]{0,3}|nº\.?|num(?:ero)?\.?|núm(?:ero)?\.?|nr\.?|no\.?|number|code|cod(?:ice)?\.?|"
    r"id|#|is|del paciente|paziente|cl[ií]nica|colegiado|sanitari[oa]|cl\.)(?![a-z])[ \xa0]?)?+[.:#=\-]{0,2}[ \xa0]{0,3}"
    r"(?:(?:n[ºo°.]{1,3}|nr\.?|#)[ ]{0,2})?(?:nhc-(?=[0-9]))?"
)
_CODE: Final = r"(?:[A-Z]{0,4}[\-/ ]?)?[0-9][0-9A-Z]*(?:[\-/.][0-9A-Z]+)*"
_GROUPED: Final = r"[0-9][0-9A-Z]*(?:[ ]?[\-/. ][ ]?[0-9]{1,10}(?![0-9]*[a-zµ%°])){0,4}+"


def _named(
    kind: Kind, expression: str = _CODE, *, least: int = 3, gap: re.Pattern[str] = _GAP, far: bool = False
) -> Finder:
    """A code right after the trigger word, with at least `least` digits; with `far`, only after a mark or blank."""
    code = re.compile(expression)

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        between = gap.match(text, end)
        at = between.end() if between else end
        if far and at == end:
            return
        match = code.match(text, at)
        if match is None:
            return
        stop = match.end()
        while text[stop - 1] in " .-/":
            stop -= 1
        if sum(ch.isdigit() for ch in text[at:stop]) >= least and not text[stop : stop + 1].isalpha():
            yield at, stop, kind

    return find


def _needs(wanted: str, finder: Finder, length: int = 30) -> Finder:
    """The finder's finds where the text before the trigger ends with `wanted`."""
    context = re.compile(wanted)

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        if context.search(before(text, start, length)):
            yield from finder(text, start, end)

    return find


def _valid(kind: Kind, expression: str, check: Callable[[str], bool]) -> Finder:
    """A code at the trigger that stands free and passes its check."""
    code = re.compile(rf"(?<![0-9A-Za-z.\-/])(?:{expression})(?![0-9A-Za-z])")

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        match = code.match(text, start)
        if match is not None and check(match[0]):
            yield match.start(), match.end(), kind

    return find


def _codice_fiscale(text: str, start: int, end: int) -> Iterator[Found]:
    match = _CF.match(text, start)
    if match is not None and checks.looks_like_codice_fiscale(match[0]):
        yield match.start(), match.end(), Kind.NATIONAL


_CF: Final = re.compile(
    r"(?<![0-9A-Za-z])[A-Za-z]{6}[ ]?[0-9LMNPQRSTUVlmnpqrstuv]{2}[A-Za-z][0-9LMNPQRSTUVlmnpqrstuv]{2}[ ]?[A-Za-z]"
    r"[0-9LMNPQRSTUVlmnpqrstuv]{3}[A-Za-z](?![0-9A-Za-z])"
)
_CASE_GAP: Final = re.compile(
    r"(?i)(?:[ ]?(?:n[ºo°.]{0,2}|nr\.?|num(?:ero)?\.?|#|number))?[ ]?[.:]?[ ]{0,2}(?=[0-9A-Z])"
)
_NUMBERED_GAP: Final = re.compile(r"(?i)[ ]?\(?(?:n[ºo°.]{1,2}|nr\.?|#|number|núm\.?|num\.?|no\.)[ ]?(?=[0-9A-Z])")
_DEVICE: Final = r"[0-9A-Z]{2,}(?:[\-/][0-9A-Z]+)*"
_HUGE: Final = frozenset(DIGITS[1:])

RULES: Final = (
    Rule("id.record.nhc", words("nhc nhcl hcn"), _named(Kind.RECORD, least=3), 0.97, rank=80, strong=True),
    Rule("id.record.mrn", words("mrn medrec mr"), _named(Kind.RECORD, least=4), 0.97, rank=80, strong=True),
    Rule(
        "id.record.history",
        words("historia historial hc"),
        _named(Kind.RECORD, r"[A-Z]{0,3}-?[0-9]{4,}(?:[\-/][0-9]+)?", least=4),
        0.9,
        rank=80,
        strong=True,
    ),
    Rule(
        "id.record.chart",
        words("cartella chart record"),
        _named(Kind.RECORD, r"[A-Z]{0,3}-?[0-9]{4,}(?:[\-/][0-9]+)*", least=4),
        0.9,
        rank=80,
        strong=True,
    ),
    Rule(
        "id.record.patient",
        words("id"),
        _named(
            Kind.RECORD,
            r"[A-Z]{0,3}-?[0-9]{4,}(?:[\-/][0-9]+)*",
            gap=re.compile(r"(?i)[ ](?:paziente|paciente|patient|pz)[ ]?[.:#]?[ ]{0,2}"),
            least=4,
        ),
        0.9,
        rank=80,
        strong=True,
    ),
    Rule("id.card.cip", words("cipa cip cipe sip"), _named(Kind.HEALTH_CARD, least=4), 0.95, rank=80, strong=True),
    Rule(
        "id.social.nass", words("nass nss"), _named(Kind.SOCIAL_SECURITY, _GROUPED, least=4), 0.97, rank=80, strong=True
    ),
    Rule(
        "id.social.ssn.word",
        words("ssn ss"),
        _named(Kind.SOCIAL_SECURITY, r"(?:[0-9X*]{3}-[0-9X*]{2}-)?[0-9]{4}(?:[0-9]{5})?(?![0-9])", least=4),
        0.9,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.social.ssn.form",
        frozenset({DIGITS[3]}),
        _valid(Kind.SOCIAL_SECURITY, r"[0-9]{3}-[0-9]{2}-[0-9]{4}", checks.ssn),
        0.9,
        rank=70,
        strong=True,
    ),
    Rule(
        "id.social.nass.checked",
        frozenset({DIGITS[2], DIGITS[9]}),
        _valid(Kind.SOCIAL_SECURITY, r"[0-9]{2}[ /\-]?[0-9]{8}[ /\-]?[0-9]{2}", checks.nass),
        0.9,
        rank=68,
        strong=True,
    ),
    Rule(
        "id.nhs",
        frozenset({DIGITS[3]}),
        _needs(r"nhs[^0-9]{0,12}\Z", _valid(Kind.RECORD, r"[0-9]{3}[ \-]?[0-9]{3}[ \-]?[0-9]{4}", checks.nhs)),
        0.95,
        rank=80,
        strong=True,
    ),
    Rule(
        "id.national.dni",
        frozenset((*DIGITS[1:3], DIGITS[8], *words("x y z"))),
        _valid(
            Kind.NATIONAL,
            r"(?:[0-9]{8}|[XYZxyz][\- ]?[0-9]{7}|[0-9]{1,2}\.[0-9]{3}\.[0-9]{3})[\- ]?[A-Za-z]",
            checks.dni,
        ),
        0.97,
        rank=82,
        strong=True,
    ),
    Rule(
        "id.national.dni.word",
        words("dni nie nif passport pasaporte passaporto"),
        _named(Kind.NATIONAL, r"[A-Z]{0,2}[0-9][0-9.]{4,9}[\- ]?[A-Z]?", least=5),
        0.93,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.national.cif",
        words("a b c d e f g h j n p q r s u v w"),
        _valid(Kind.NATIONAL, r"[A-Z][\- ]?[0-9]{7}[0-9A-J]", checks.cif),
        0.9,
        rank=70,
        strong=True,
    ),
    Rule("id.national.cf", frozenset({"?cf"}), _codice_fiscale, 0.98, rank=85, strong=True),
    Rule(
        "id.national.piva",
        words("iva piva"),
        _named(Kind.NATIONAL, r"(?:IT)?[0-9]{11}(?![0-9])", least=11),
        0.95,
        rank=80,
        strong=True,
    ),
    Rule(
        "id.card.italy",
        frozenset({DIGITS[9]}),
        _valid(Kind.HEALTH_CARD, r"[0-9]{20}", checks.tessera_sanitaria),
        0.97,
        rank=80,
        strong=True,
    ),
    Rule(
        "id.account.iban",
        words("iban it es de fr gb pt"),
        _valid(Kind.ACCOUNT, r"[A-Z]{2}[0-9]{2}(?:[ ]?[0-9A-Z]{1,4}){3,8}+", checks.iban),
        0.98,
        rank=85,
        strong=True,
    ),
    Rule(
        "id.account.card",
        frozenset({DIGITS[4], DIGITS[9]}),
        _valid(Kind.ACCOUNT, r"[3-6][0-9]{3}[ \-]?[0-9]{4}[ \-]?[0-9]{4}[ \-]?[0-9]{4}", checks.luhn),
        0.9,
        rank=66,
        strong=True,
    ),
    Rule(
        "id.account.word",
        words("acct account conto cuenta"),
        _named(Kind.ACCOUNT, r"[A-Z]{0,2}[0-9]{5,}(?:[\-/][0-9]+)*", least=5),
        0.85,
        rank=70,
        strong=True,
    ),
    Rule(
        "id.licence.col",
        words("nºcol nºcolegiado nºcoleg colegiado colegiada col coleg ncol nocol"),
        _named(Kind.LICENCE, _GROUPED, least=4),
        0.96,
        rank=80,
        strong=True,
    ),
    Rule(
        "id.licence.word",
        words("npi dea license licence lic licencia albo omceo dl"),
        _named(Kind.LICENCE, r"[A-Z]{0,3}[\- ]?[0-9]{3,}(?:[\-/][0-9]+)*", least=4),
        0.9,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.episode",
        words("episodio episode encounter fin nosologico nosológico accettazione ricovero admission"),
        _named(Kind.EPISODE, r"[A-Z]{0,3}-?[0-9]{3,}(?:[\-/][0-9]+)*", least=4),
        0.95,
        rank=79,
        strong=True,
    ),
    Rule(
        "id.plan",
        words("member policy póliza poliza mutua subscriber insurance afiliado"),
        _named(Kind.HEALTH_PLAN, r"[A-Z]{0,4}[\- ]?[0-9]{2,}(?:[\-/][0-9A-Z]+)*", least=4),
        0.92,
        rank=78,
        strong=True,
    ),
    Rule(
        "id.device",
        words("serial serie seriale sn s/n matricola"),
        _named(Kind.DEVICE, _DEVICE, least=4, far=True),
        0.9,
        rank=76,
        strong=True,
    ),
    Rule(
        "id.vehicle",
        words("targa plate matrícula matricula targata"),
        _named(Kind.VEHICLE, r"[A-Z]{0,3}[\- ]?[0-9]{3,4}[\- ]?[A-Z]{0,3}", least=3),
        0.85,
        rank=74,
        strong=True,
    ),
    Rule(
        "id.case",
        words("caso case"),
        _named(
            Kind.CASE, r"[0-9]{1,6}(?![0-9]|[.,%:/][0-9]|%|[ ](?:litros|ml|mg|cm))", gap=_CASE_GAP, least=1, far=True
        ),
        0.7,
        rank=60,
    ),
    Rule(
        "id.case.number",
        words(
            "campione sample accession acc number muestra ap lotto lot lote sentenza decreto ordinanza ricorso fascicolo "
            "matricolare protocollo prot referto report informe biopsia biopsy pratica verbale rg iscritto al rif ref "
            "inclusión sinistro claim"
        ),
        _named(Kind.CASE, r"(?:[A-Z]{1,3}-?)?[0-9]{1,}[A-Z]{0,3}(?:[\-/][0-9A-Z]+)*", gap=_NUMBERED_GAP, least=2),
        0.85,
        rank=65,
        strong=True,
    ),
    Rule(
        "id.case.code",
        words("campione sample accession acc lot lote lotto number muestra"),
        _named(
            Kind.CASE,
            r"[A-Z]{1,3}[0-9][0-9A-Z]*(?:-[0-9]+)*|[0-9]{2,}-[0-9]{3,}",
            gap=re.compile(r"[ ]?[.:]?[ ]?"),
            least=4,
            far=True,
        ),
        0.85,
        rank=64,
        strong=True,
    ),
)
