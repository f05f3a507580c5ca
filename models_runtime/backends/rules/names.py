"""Names of persons after a field, a title or a role, and before a degree."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.gazetteers import RuleKind, any_of, either, listed, word_set
from models_runtime.backends.rules.phrases import (
    ALL_GIVEN,
    APOSTROPHE,
    GIVEN_OR_SURNAMES,
    LETTER,
    SMALL_LETTER,
    SPACE,
    UP,
    before,
    is_condition,
    is_service,
    is_status,
    line_before,
    read_name,
)
from models_runtime.backends.rules.rule import Finder, Found, Rule, strong, words

_TITLE: Final = f"(?i:{any_of('names.title')})"
_TITLES: Final = re.compile(
    rf"(?:{_TITLE}(?:[.:]{{1,2}}[ ]?|[ ]{{1,2}})){{0,3}}+(?=[{UP}]|de |del |della |d['’]|von |van )"
)
_FIELD_GAP: Final = re.compile(rf"(?: ?\(?(?i:{any_of('names.field_gap')})\)?){{0,2}} ?:{SPACE}{{0,6}}")
_STAFF_GAP: Final = re.compile(f"(?: (?i:{any_of('names.staff_gap')}))?[ ]?:{SPACE}{{0,6}}")
_CONTACT_GAP: Final = re.compile(
    rf"(?: (?i:legal|de emergencia|principal|d'emergenza|legale))?[ ]?:{SPACE}{{0,6}}"
    rf"(?:(?i:{either('relations')})(?:,|:)?[ ])?"
)
_SIGNED_GAP: Final = re.compile(
    r"(?:(?<=[fF])[.](?:to|TO)|(?<!\b[fF])(?: digitalmente da| da| por| by| electronically by)?)[ ]?[.:]{0,2}[ ]{0,3}"
    rf"(?=[{UP}])"
)
_NEXT: Final = re.compile(r"(?:[ ]?\([0-9, ]{1,5}\))?(?:[,;]|[ ](?:y|e|and|-|/))[ ]?")
# Initials in the place of a name: "Paciente: Y. M., 24 años".
_INITIALS: Final = re.compile(rf"(?:[{UP}]\.[ ]?){{1,3}}[{UP}]\.(?![ ]?{LETTER})")
# One capitalized word that begins a sentence: "Informe clínico del paciente: Acude a la consulta".
PROSE: Final = re.compile(rf"[ ]{SMALL_LETTER}")


def _field(kind: RuleKind, gap: re.Pattern[str], *, comma: bool = False, many: bool = False) -> Finder:
    """The name after a field, without titles. `many`: a list of names."""

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        between = None if text[start - 1 : start].isdigit() else gap.match(text, end)  # "V617F. Philadelphia"
        at = between.end() if between else len(text)
        for _ in range(12 if many else 1):
            titles = _TITLES.match(text, at)
            at = titles.end() if titles else at
            stop = read_name(text, at, most=6, comma=comma, announced=True)
            if kind is RuleKind.PATIENT and (initials := _INITIALS.match(text, at)):
                yield *initials.span(), kind
                return
            if stop == at or (" " not in text[at:stop] and PROSE.match(text, stop)) or is_status(text, at, stop):
                return
            yield at, stop, kind
            following = _NEXT.match(text, stop) if many else None
            if following is None:
                return
            at = following.end()

    return find


_NAMED_CONTACT: Final = _field(RuleKind.RELATIVE, _CONTACT_GAP)


def _contact(text: str, start: int, end: int) -> Iterator[Found]:
    """`Caregiver: Fatima Haddad`. A single word must be a known name, because of `Contact: Emergency`."""
    for at, stop, kind in _NAMED_CONTACT(text, start, end):
        name = text[at:stop]
        if name.lower() in GIVEN_OR_SURNAMES or (" " in name and not is_service(name)):
            yield at, stop, kind


_STAFF_TITLE: Final = re.compile(f"(?i:{any_of('names.staff_title')}):?[ ]{{0,2}}")
_PERSON_TITLE: Final = re.compile(
    r"(?:[Ss]ig\.?[ ]?(?:ra|na|r)?\.?|[Ss]ignor(?:a|ina)?|[Ss]ra?\.?|[Ss]rta\.?|[Dd]on|[Dd]oña|D\.ª?|Dña\.?|Dª\.?|"
    r"Mr\.?|Mrs\.?|Ms\.?|Miss|[Ss]eñora?)[ ]{1,2}"
)
_OUR_LADY: Final = re.compile(r"(?<![^\W\d_])(?:n[ªt]?r?a\.?|nuestra|nª|ntra\.|nuestro|n\.)[ ]\Z")
# "Gold D.", "Medicare Part D.", "B, C and D.", "anti-D.": a grade or a part, and no title.
_GRADE: Final = re.compile(rf"(?:(?<!{LETTER})(?:(?i:{either('graded')})|[A-C](?:,|,?[ ](?i:and|or|y|o|e)))[ ]|-)\Z")
# "Doctor Esquerdo, 46. 28007 Madrid" is a street.
_HOUSE_AFTER: Final = re.compile(r",[ ][0-9]{1,3}[., ]{1,2}[0-9]{5}(?![0-9])")
_LONE_INITIAL: Final = re.compile(rf"[{UP}](?![\w’'/])(?!\.[ ]?[{UP}]\.)")


def _titled(kind: RuleKind, title: re.Pattern[str], *, lone_initial: bool = False, many: bool = False) -> Finder:
    """The name after a title that begins with the trigger word. `lone_initial`: a single letter counts as a name."""

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        match = title.match(text, start)
        if match is None or _OUR_LADY.search(before(text, start, 12)) or _is_grade(text, start):
            return
        more = _TITLES.match(text, match.end())
        at = more.end() if more else match.end()
        stop = read_name(text, at, announced=True)
        if is_status(text, at, stop) or _HOUSE_AFTER.match(text, stop):
            return
        if stop > at:
            yield at, stop, kind
            if many and match[0].lower().startswith("dres") and (following := _NEXT.match(text, stop)):
                stop = read_name(text, following.end())
                if stop > following.end():
                    yield following.end(), stop, kind
        elif lone_initial and _LONE_INITIAL.match(text, at):
            yield at, at + 1, kind

    return find


def _is_grade(text: str, start: int) -> bool:
    """Whether the title `D.` is the letter of a grade or a type."""
    return text[start : start + 2] == "D." and _GRADE.search(text[max(0, start - 24) : start]) is not None


_DEGREE_BEFORE: Final = re.compile(
    rf"(?P<name>(?:(?:-?[{UP}]{SMALL_LETTER}{{0,2}}\.){{2,5}}[ ]?)?"
    rf"(?:[{UP}](?:\.|{LETTER}++(?:[{APOSTROPHE}\-]{LETTER}++)*+)[ ]){{0,3}}"
    rf"(?:(?:de|del|della|van|von|den|der|di|la)[ ]){{0,2}}[{UP}]{LETTER}++(?:[{APOSTROPHE}\-]{LETTER}++)*+),?[ ]\Z"
)
_WORD_START: Final = re.compile(rf"(?<![\w.])[{UP}]")


def _degree(text: str, start: int, end: int) -> Iterator[Found]:
    """`Priya Raghunathan, MD`: capitalized words right before a degree."""
    piece = line_before(text, start, 60)
    low = start - len(piece)
    for match in _WORD_START.finditer(piece):
        found = _DEGREE_BEFORE.match(piece, match.start())
        if (
            found is None
            or " " not in found["name"].replace(". ", ".").replace(".", " ")
            or any(_no_name(part) for part in found["name"].split(" "))
        ):
            continue
        yield low + found.start("name"), low + found.end("name"), RuleKind.STAFF
        return


def _no_name(part: str) -> bool:
    word = part.lower().rstrip(".")
    if part in ("MD", "DO", "RN", "NP", "PA"):
        return True
    return word in listed("staff_words") or (word in word_set("not_names") and len(part) > 2)


_ROLE_GAP: Final = re.compile(rf"(?:\.|[ ]\(a\))?[ ]?(?:\(|:)?[ ]?(?:[Dd]ra?\.[ ])?(?=[{UP}])")
_FIRST_WORD: Final = re.compile(rf"{LETTER}+")


def _role(*, alone: bool) -> Finder:
    """A name after a role: `MIR Nerea Iglesias`. A single word must be a given name, unless `alone` is set."""

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        gap = _ROLE_GAP.match(text, end)
        at = gap.end() if gap else end
        stop = read_name(text, at, most=4)
        first = _FIRST_WORD.match(text, at, stop)
        if first is None:
            return
        if first[0].isupper() and len(first[0]) > 1:  # "Rev CCEE"
            return
        if (alone and len(first[0]) > 3) or first[0].lower() in ALL_GIVEN or " " in text[at:stop]:
            yield at, stop, RuleKind.STAFF

    return find


_PATIENT_GAP: Final = re.compile(
    rf"\.?[ ]?:?[ ]{{1,3}}(?:(?:[Ss]ig\.?(?:ra)?|[Ss]ra?\.?|[Dd]\.|[Dd]ña\.?|Mrs?\.?|Ms\.?)[ ])?(?=[{UP}])"
)
_NOT_PATIENT: Final = frozenset({"maschio", "femmina", "uomo", "donna", "varón", "mujer", "male", "female", "baby"})


def _patient_field(text: str, start: int, end: int) -> Iterator[Found]:
    """`Pt: H. Whitcombe`, where the colon tells that `H.` is not a hospital. Of two words the first may be `Will`."""
    gap = _PATIENT_GAP.match(text, end)
    stop = read_name(text, gap.end(), most=4, comma=True) if gap and ":" in gap[0] else 0
    if gap and " " in text[gap.end() : stop] and not is_condition(text, gap[0], gap.end(), stop):
        yield gap.end(), stop, RuleKind.PATIENT


def _patient(text: str, start: int, end: int) -> Iterator[Found]:
    """`Pz Bellotti`."""
    gap = _PATIENT_GAP.match(text, end)
    if gap is None:
        return
    stop = read_name(text, gap.end(), most=4, comma=True)
    name = text[gap.end() : stop]
    first = name.split()[0].lower() if name else ""
    if (
        not name
        or (name.isupper() and not _is_field(text, gap.end(), stop))
        or first in _NOT_PATIENT
        or first in listed("sentence_starts")
    ):
        return
    if is_condition(text, gap[0], gap.end(), stop) or (first in listed("aids") and _WITH_AID.match(text, stop)):
        return
    known = (first in GIVEN_OR_SURNAMES and first not in listed("everyday_names", "eponym_given")) or _BED.match(
        text, stop
    )
    if " " in name or known or not (PROSE.match(text, stop) or _is_verb(first, text[stop : stop + 12])):
        yield gap.end(), stop, RuleKind.PATIENT


def _is_field(text: str, start: int, end: int) -> bool:
    """Whether one word in capitals is a name: `PAZ.: CONTE, arrivato in barella`."""
    word = text[start:end]
    lower = word.lower()
    known = lower in listed("acronyms", "sentence_starts", "statuses") or lower in word_set("not_names")
    return (
        " " not in word
        and len(word) > 3
        and ":" in text[start - 3 : start]
        and not known
        and bool(_PHRASE_AFTER.match(text, end))
    )


# "Pt Walker for ambulation"
_WITH_AID: Final = re.compile(r"[ ](?:for|in|at|with|to|use|used|per|para|en|con)[ ]")
_PHRASE_AFTER: Final = re.compile(rf",[ ](?:{SMALL_LETTER}|[0-9])")
_BED: Final = re.compile(r"[ ](?:in[ ])?(?:cama|letto|bed|room|hab\.?|stanza|habitaci[oó]n)[ ]?[0-9]")
_VERB_ENDINGS: Final = ("ed", "ing", "mente", "bile", "able", "ible", "issimo", "issima")
_NUMBER_AFTER: Final = re.compile(rf"[ ][0-9](?![0-9]{{0,2}}[ \-]?(?:{any_of('names.number_after')})(?![a-z]))")


def _is_verb(word: str, following: str) -> bool:
    """Whether a single word after `Pt.` is a verb or an adjective before a number other than an age: `Pt. Voided 300`.

    `following`: the text after the word.
    """
    return word not in GIVEN_OR_SURNAMES and word.endswith(_VERB_ENDINGS) and bool(_NUMBER_AFTER.match(following))


_PATIENT: Final = words("pz paz pt pte pac pcte re")
RULES: Final = (
    strong("name.field.patient", _field(RuleKind.PATIENT, _FIELD_GAP, comma=True), 71),
    strong("name.field.staff", _field(RuleKind.STAFF, _STAFF_GAP, many=True), 71),
    strong("name.field.contact", _contact, 68),
    strong("name.title.staff", _titled(RuleKind.STAFF, _STAFF_TITLE, lone_initial=True, many=True), 70),
    strong("name.title.person", _titled(RuleKind.PERSON, _PERSON_TITLE), 69),
    strong("name.degree", _degree, 68, capital=True, language="en"),
    strong("name.signed", _field(RuleKind.STAFF, _SIGNED_GAP, many=True), 68),
    strong("name.role", _role(alone=False), 58),
    Rule("name.role.en", _role(alone=True), 57, words("rn ofc fellow"), language="en"),
    strong("name.patient.field", _patient_field, 79, _PATIENT),
    strong("name.patient", _patient, 57, _PATIENT),
    # "Contact: @jdoe"; e-mail addresses have more before the sign.
)
