"""Numbers that are identifiers by the word before them: records, cards, licenses, cases, devices."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from models_runtime.backends.rules.kinds import RuleKind
from models_runtime.backends.rules.phrases import before
from models_runtime.backends.rules.rule import Finder, Found, Rule, words

# What may come between the word and its number.
_GAP: Final = re.compile(
    r"(?i)[ \xa0]{0,3}(?:(?:n[ºo°ª.]{0,3}|nº\.?|num(?:ero)?\.?|núm(?:ero)?\.?|nr\.?|no\.?|number|code|cod(?:ice)?\.?|"
    r"id|#|is|"
    r"del paciente|paziente|cl[ií]nica|colegiado|sanitari[oa]|cl\.|iban)(?![a-z])[ \xa0]?)?+[.:#=\-]{0,2}[ \xa0]{0,3}"
    r"(?:(?:n[ºo°.]{1,3}|nr\.?|#)[ ]{0,2})?(?:nhc-(?=[0-9]))?"
)
# "MR-5023060" may be any code.
_UNJOINED: Final = re.compile(r"(?i)[ ]{0,2}(?:no\.?|number|n[º.])?[ ]?[.:#=]{0,2}[ ]{0,2}")
_OF_PATIENT: Final = re.compile(r"(?i)[ ](?:paziente|paciente|patient|pz)[ ]?[.:#]?[ ]{0,2}")
_PATIENT_ID: Final = re.compile(r"(?i)[ ](?:id|number|no\.?)[ ]?[.:#]{1,2}[ ]{0,2}")
_HOSPITAL_NO: Final = re.compile(r"(?i)[ ](?:no\.?|number|#)[ ]?:?[ ]{0,2}(?=[A-Z0-9])")
_LAST_FOUR: Final = re.compile(r"(?i)[ ]4(?: of ssn)?[ ]?[:#]?[ ]{1,2}")
_ENDING: Final = re.compile(
    r"(?i)(?:[ ](?:security|number|no\.?|#)){0,2}[ ](?:ending|ends)(?:[ ](?:in|with))?[ :]{1,2}"
)
_CASE_GAP: Final = re.compile(
    r"(?i)(?:[ ]?(?:n[ºo°.]{0,2}|nr\.?|num(?:ero)?\.?|#|number))?[ ]?[.:]?[ ]{0,2}(?=[0-9A-Z])"
)
_NUMBERED: Final = re.compile(r"(?i)[ ]?\(?(?:n[ºo°.]{1,2}|nr\.?|#|number|núm\.?|num\.?|no\.)[ ]?(?=[0-9A-Z])")
_GOES_ON: Final = re.compile(r"[^\W\d_]|[\-/][0-9]")
_MAYBE: Final = re.compile(r"[ ]?[.:]?[ ]?")
_CODE: Final = r"(?:[A-Z]{0,4}[\-/ ]?)?[0-9][0-9A-Z]*(?:[\-/.][0-9A-Z]+)*"
_GROUPED: Final = r"[0-9][0-9A-Z]*(?:[ ]?[\-/. ][ ]?[0-9]{1,10}(?![0-9]*[a-zµ%°])){0,4}+"
_PLAIN: Final = r"[A-Z]{0,3}-?[0-9]{4,}(?:[\-/][0-9]+)*"


def _named(
    kind: RuleKind, code: str = _CODE, *, least: int = 4, gap: re.Pattern[str] = _GAP, apart: bool = False
) -> Finder:
    """A code after the trigger word and a gap, with at least `least` digits. `apart`: the gap must not be empty."""
    number = re.compile(code)

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        between = gap.match(text, end)
        if between is None or (apart and between.end() == end):
            return
        match = number.match(text, between.end())
        if match is None:
            return
        at, stop = match.span()
        while text[stop - 1] in " .-/":
            stop -= 1
        if sum(ch.isdigit() for ch in text[at:stop]) >= least and not _GOES_ON.match(text, stop):
            yield at, stop, kind

    return find


_CASE_NUMBER: Final = _named(
    RuleKind.CASE,
    r"[0-9]{1,6}(?:-[0-9]{2,6})?(?![0-9]|[.,%:/][0-9]|[ ]?(?:%|€|\$|euros?|dollars?|d[ei][ ][0-9]|of[ ][0-9]))",
    gap=_CASE_GAP,
    least=1,
    apart=True,
)
# "in questo caso 15 litri", "en cada caso 3"
_ANY_CASE: Final = re.compile(r"(?:questo|nel|ogni|este|cada|el|su|per|por|this|each|any|in)[ ]\Z")


def _case(text: str, start: int, end: int) -> Iterable[Found]:
    return () if _ANY_CASE.search(before(text, start)) else _CASE_NUMBER(text, start, end)


_PLAN: Final = _named(
    RuleKind.HEALTH_PLAN,
    r"[0-9]{4}(?:[ ][0-9]{4}){1,4}(?![0-9A-Za-z.,/\-])|[A-Z]{0,4}[\- ]?[0-9]{2,}(?:[\-/][0-9A-Z]+)*",
)
# "Hospital policy 2019 applies": a year, and no number of an insurance.
_POLICY_YEAR: Final = re.compile(r"[ ](?:19|20)[0-9]{2}(?![0-9A-Za-z/\-]|[ ][0-9])")


def _policy(text: str, start: int, end: int) -> Iterable[Found]:
    return () if _POLICY_YEAR.match(text, end) else _PLAN(text, start, end)


def _rule(name: str, triggers: str, find: Finder, confidence: float, rank: int) -> Rule:
    return Rule(name, words(triggers), find, confidence, rank, strong=True)


RULES: Final = (
    _rule("id.record.nhc", "nhc nhcl hcn", _named(RuleKind.RECORD, least=3), 0.97, 80),
    _rule("id.record.mrn", "mrn medrec", _named(RuleKind.RECORD), 0.97, 80),
    _rule("id.record.mr", "mr", _named(RuleKind.RECORD, _CODE.replace(r"[\-/ ]?)?", ")?", 1), gap=_UNJOINED), 0.97, 80),
    _rule("id.record.nhs", "nhs", _named(RuleKind.RECORD, _GROUPED, least=10), 0.9, 80),
    _rule("id.record.history", "historia historial hc", _named(RuleKind.RECORD, _PLAIN), 0.9, 80),
    _rule("id.record.chart", "cartella chart record", _named(RuleKind.RECORD, _PLAIN), 0.9, 80),
    _rule("id.record.of", "id", _named(RuleKind.RECORD, _PLAIN, gap=_OF_PATIENT), 0.9, 80),
    _rule("id.record.patient", "patient", _named(RuleKind.RECORD, _PLAIN, gap=_PATIENT_ID), 0.9, 80),
    _rule("id.record.hospital", "hospital", _named(RuleKind.RECORD, _PLAIN, gap=_HOSPITAL_NO), 0.9, 81),
    _rule("id.card", "cipa cip cipe sip", _named(RuleKind.HEALTH_CARD), 0.95, 80),
    _rule("id.social.nass", "nass nss", _named(RuleKind.SOCIAL_SECURITY, _GROUPED), 0.97, 80),
    _rule(
        "id.social.ssn",
        "ssn ss",
        _named(RuleKind.SOCIAL_SECURITY, r"(?:[0-9X*]{3}[\- ][0-9X*]{2}[\- ])?[0-9]{4}(?:[0-9]{5})?(?![0-9])"),
        0.9,
        78,
    ),
    _rule("id.social.last", "last", _named(RuleKind.SOCIAL_SECURITY, r"[0-9]{4}(?![0-9])", gap=_LAST_FOUR), 0.85, 78),
    _rule(
        "id.social.ending", "ssn social", _named(RuleKind.SOCIAL_SECURITY, r"[0-9]{4}(?![0-9])", gap=_ENDING), 0.85, 78
    ),
    _rule(
        "id.national.word",
        "dni nie nif passport pasaporte passaporto",
        _named(RuleKind.NATIONAL, r"(?:[A-Z]{1,2}[ ]?)?[0-9][0-9.]{4,9}[\- ]?[A-Z]?", least=5),
        0.93,
        78,
    ),
    _rule("id.national.piva", "iva piva", _named(RuleKind.NATIONAL, r"(?:IT)?[0-9]{11}(?![0-9])", least=11), 0.95, 79),
    _rule(
        "id.account",
        "acct account conto cuenta iban",
        _named(RuleKind.ACCOUNT, r"(?:[A-Z]{2}[0-9]{2}[0-9A-Z]{11,30}|[A-Z]{0,2}[0-9]{5,}(?:[\-/][0-9]+)*)", least=5),
        0.85,
        70,
    ),
    _rule(
        "id.license.col",
        "nºcol nºcolegiado nºcoleg colegiado colegiada col coleg ncol nocol",
        _named(RuleKind.LICENSE, _GROUPED),
        0.96,
        80,
    ),
    _rule(
        "id.license",
        "npi dea license licence lic licencia albo omceo dl",
        _named(RuleKind.LICENSE, r"[A-Z]{0,3}[\- ]?[0-9]{3,}(?:[\-/][0-9]+)*"),
        0.9,
        78,
    ),
    _rule(
        "id.episode",
        "episodio episode encounter fin nosologico nosológico accettazione ricovero admission",
        _named(RuleKind.EPISODE, r"[A-Z]{0,3}-?[0-9]{3,}(?:[\-/][0-9]+)*"),
        0.95,
        79,
    ),
    _rule("id.plan", "member póliza poliza mutua subscriber insurance afiliado", _PLAN, 0.92, 78),
    _rule("id.plan.policy", "policy", _policy, 0.92, 78),
    _rule(
        "id.device",
        "serial serie seriale sn matricola",
        _named(RuleKind.DEVICE, r"[0-9A-Z]{2,}(?:[\-/][0-9A-Z]+)*", apart=True),
        0.9,
        76,
    ),
    _rule(
        "id.vehicle",
        "targa plate matrícula matricula targata furgoneta",
        _named(RuleKind.VEHICLE, r"[A-Z]{0,3}[\- ]?[0-9]{3,4}[\- ]?[A-Z]{0,3}", least=3),
        0.85,
        74,
    ),
    _rule("id.case", "caso case", _case, 0.7, 60),
    _rule(
        "id.case.number",
        "campione sample accession acc number muestra ap lotto lot lote sentenza decreto ordinanza ricorso fascicolo "
        "matricolare protocollo prot referto report informe biopsia biopsy pratica verbale rg iscritto al rif ref "
        "inclusión sinistro claim judicial responsabilità giudizio causa procedimento túria lab apparecchio "
        "concentrador",
        _named(RuleKind.CASE, r"(?:[A-Z]{1,3}-?)?[0-9]+[A-Z]{0,3}(?:[\-/][0-9A-Z]+)*", gap=_NUMBERED, least=2),
        0.85,
        65,
    ),
    _rule(
        "id.case.code",
        "campione sample accession acc lot lote lotto number muestra subject spec claim file expte sec",
        _named(
            RuleKind.CASE,
            r"[A-Z]{1,4}-?[0-9][0-9A-Z]*(?:-[0-9]+)*|[A-Z]{2}-(?:[A-Z]{2}-)?[0-9]{2}-[0-9]+|[0-9]{2,}-[0-9]{3,}",
            gap=re.compile(r"[ ]?#?[.:]?[ ]?"),
            apart=True,
        ),
        0.85,
        64,
    ),
    _rule(
        "id.case.word",
        "prot protocollo badge busca teaching",
        _named(RuleKind.CASE, r"[0-9]{3,}(?:/[A-Z0-9]+)?(?![0-9]|[.,/][0-9])", gap=_MAYBE, least=3, apart=True),
        0.8,
        63,
    ),
)
