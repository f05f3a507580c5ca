"""Names of persons: after a field, a title, a relation, before a degree, in a signature, or by a known given name."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.gazetteers import GIVEN_NAMES, places, word_set
from models_runtime.backends.rules.kinds import Kind
from models_runtime.backends.rules.reading import APOSTROPHE, LETTER, UP, after, before, read_name
from models_runtime.backends.rules.rule import Finder, Found, Rule, pattern, words

_TITLE: Final = (
    r"(?i:dott\.?(?:ssa)?|dr\.?(?:ssa|a)?|prof\.?(?:ssa)?|profesora?|professor|doctora?|dottore(?:ssa)?|sig\.?(?:ra|na|r\.ra)?|signora?|sra?|srta|"
    r"don|doña|dña|d|dª|mr|mrs|ms|miss|avv|ing|enf|lic|médico|md)"
)
_TITLES: Final = re.compile(
    rf"(?:{_TITLE}(?:[.:]{{1,2}}[ ]?|[ ]{{1,2}})){{0,3}}+(?=[{UP}]|de |del |della |d['’]|von |van )"
)
_FIELD_GAP: Final = re.compile(
    r"(?: ?\(?(?i:a|s|es|or|del paciente|paziente|responsable|clínico|clinico|radiologo|curante|completo|e nome|y apellidos|e cognome)\)?){0,2} ?:[ \t\xa0]{0,6}"
)
_SIGN_GAP: Final = re.compile(r"(?:[.:]{0,2})[ ]{0,3}")


def _field(kind: Kind, *, gap: re.Pattern[str] = _FIELD_GAP, comma: bool = False, many: bool = False) -> Finder:
    """The name after a field's colon, titles skipped; with `many`, a list of names."""

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        between = gap.match(text, end)
        if between is None:
            return
        at = between.end()
        for _ in range(12 if many else 1):
            titles = _TITLES.match(text, at)
            at = titles.end() if titles else at
            stop = read_name(text, at, most=6, comma=comma)
            if stop == at or (" " not in text[at:stop] and _PROSE.match(text, stop)):
                return
            yield at, stop, kind
            following = _NEXT.match(text, stop) if many else None
            if following is None:
                return
            at = following.end()

    return find


# One capitalised word that a sentence goes on from: "Informe clínico del paciente: Acude a la consulta".
_PROSE: Final = re.compile(rf"[ ][^\W\d_{UP}]")
_NEXT: Final = re.compile(r"(?:[ ]?\([0-9, ]{1,5}\))?(?:[,;]|[ ](?:y|e|and|-))[ ]?")


def _titled(kind: Kind, mark: str, *, lone_initial: bool = False) -> Finder:
    """The name after a title, which the trigger begins."""
    title = re.compile(mark)

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        match = title.match(text, start)
        if match is None:
            return
        more = _TITLES.match(text, match.end())
        at = more.end() if more else match.end()
        stop = read_name(text, at)
        if stop > at:
            yield at, stop, kind
        elif lone_initial and re.match(rf"[{UP}](?![\w’'/])(?!\.[ ]?[{UP}]\.)", text[at : at + 4]):
            yield at, at + 1, kind

    return find


_RELATIONS: Final = (
    "hijo hija hijos hijas madre padre padres hermano hermana marido esposo esposa mujer pareja abuelo abuela tío tía primo prima sobrino sobrina nieto nieta cuñado cuñada suegro suegra yerno nuera "
    "figlio figlia figli mamma papà fratello sorella marito moglie compagno compagna nonno nonna zio zia nipote cugino cugina suocero suocera "
    "wife husband son daughter mother father brother sister partner aunt uncle niece nephew grandson granddaughter grandmother grandfather girlfriend boyfriend mom dad spouse"
)
_RELATION_GAP: Final = re.compile(
    r"(?i:[ ]mayor|[ ]menor|[ ]maggiore|[ ]minore)?(?:,|,?[ ]\(|[ ]\(|:)?[ ]?(?:(?:llamad[oa]|named|di nome|sig\.ra|sig\.|signora?|don|doña|dña\.?|sr\.|sra\.|d\.)[ ]){0,2}",
    re.IGNORECASE,
)


def _relative(text: str, start: int, end: int) -> Iterator[Found]:
    gap = _RELATION_GAP.match(text, end)
    if gap is None or gap.end() == end:
        return
    at = gap.end()
    stop = read_name(text, at, most=4)
    if stop == at:
        return
    first = re.match(rf"{LETTER}+", text[at:stop])
    if first is None or first[0].lower() in _NOT_RELATIVE or first[0].isupper() or len(first[0]) < 3:
        return
    yield at, stop, Kind.RELATIVE


_NOT_RELATIVE: Final = frozenset(
    "diabetes hta dm alzheimer parkinson crohn down graves hodgkin had has was is died deceased called who also denies reports states alive tuvo murió sano sana vive "
    "fallecido fallecida diagnosticado vivo ha è refiere acude niega".split()
)
_DEGREE_BEFORE: Final = re.compile(
    rf"(?P<name>(?:[{UP}](?:\.|{LETTER}++(?:[{APOSTROPHE}\-]{LETTER}++)*+)[ ]){{1,3}}(?:(?:de|del|della|van|von|di|la)[ ]){{0,2}}[{UP}]{LETTER}++(?:[{APOSTROPHE}\-]{LETTER}++)*+),?[ ]\Z"
)


def _degree(text: str, start: int, end: int) -> Iterator[Found]:
    """`Priya Raghunathan, MD`: capitalised words right before a degree."""
    low = max(0, start - 60)
    low = max(low, text.rfind("\n", low, start) + 1)
    piece = text[low:start]
    for match in re.finditer(rf"(?<![\w.])[{UP}]", piece):
        found = _DEGREE_BEFORE.match(piece, match.start())
        if found is None:
            continue
        parts = found["name"].split(" ")
        if any(
            part.lower().rstrip(".") in _STAFF_WORDS or (part.lower() in word_set("not_names") and len(part) > 2)
            for part in parts
        ):
            continue
        yield low + found.start("name"), low + found.end("name"), Kind.STAFF
        return


_STAFF_WORDS: Final = frozenset(
    "dr attending discussed with seen by per the resident nurse signed provider pcp electronically reviewed".split()
)
_LINE_INITIAL: Final = re.compile(
    rf"[{UP}]\.[ ]?(?:[{UP}]\.[ ]?)?(?:(?:De|Di|De la|Lo|La|Del)[ ])?[{UP}]{LETTER}+(?:[{APOSTROPHE}\-][{UP}]{LETTER}+)*(?:[ ][{UP}]{LETTER}+)?(?=[ ]*(?:$|,?[ ](?:MD|RN|DO|NP|PA)\b))",
    re.MULTILINE,
)


def _signature(text: str, start: int, end: int) -> Iterator[Found]:
    """A line that is nothing but an initial and a surname."""
    if text[max(0, start - 1) : start].strip(" \t\n\r\ufeff"):
        return
    line = text.rfind("\n", 0, start) + 1
    if text[line:start].strip():
        return
    match = _LINE_INITIAL.match(text, start)
    if match is not None and not any(part.lower() in word_set("not_names") for part in match[0].split()[1:]):
        yield match.start(), match.end(), Kind.STAFF


_LIST_LINE: Final = re.compile(
    rf"(?P<list>[{UP}]{LETTER}+(?:[ ](?:[{UP}]\.|(?:De|Lo|La|Di|Del|D['’])[ ]?[{UP}]?{LETTER}*|[{UP}]{LETTER}+)){{1,3}}(?:[ ]\([0-9]\))?(?:[,;][ ][{UP}]{LETTER}+(?:[ ](?:[{UP}]\.|[{UP}]{LETTER}+)){{1,3}}(?:[ ]\([0-9]\))?){{1,8}})[ ]*(?:\n|\Z)"
)


def _given(text: str, start: int, end: int) -> Iterator[Found]:
    """A known given name with a surname after it (or a surname before it, on a line of its own)."""
    if (
        not text[start].isupper()
        or text[start - 1 : start] in ("-", "_", "@", ".")
        or text[end : end + 1] in ("@", "_", "'", "’")
    ):
        return
    if _NOT_BEFORE.search(before(text, start, 32)):
        return
    stop = read_name(text, start, most=5)
    name = text[start:stop]
    parts = name.split()
    if len(parts) < 2 or name.lower() in places() or any(part.lower() in word_set("eponyms") for part in parts):
        return
    if parts[0].isupper() and (
        parts[0].lower() in _ACRONYMS or not all(part.isupper() and len(part) > 2 for part in parts)
    ):
        return
    given = [part for part in parts if part.lower() in _ALL_GIVEN]
    rest = [part for part in parts if part.lower() not in _ALL_GIVEN and part[0].isupper()]
    if not rest and len(given) < 2:
        return
    if any(part.lower() in _COMMON for part in rest):
        return
    yield start, stop, Kind.PERSON


_NOT_BEFORE: Final = re.compile(
    r"(?:calle|c/|avda\.?|avenida|plaza|paseo|via|viale|piazza|corso|largo|hospital|ospedale|cl[ií]nica|policlinico|san|santa|santo|st\.?|instituto|istituto|colegio|fundaci[oó]n|virgen de|"
    r"s[ií]ndrome(?: de)?|enfermedad de|morbo di|malattia di|test (?:de|di)|signo de|segno di|escala de|scala di|[ée]ndice de|m[eé]todo de|t[eé]cnica de|maniobra de|manovra di)[ ]\Z"
)
_COMMON: Final = frozenset(
    "cruz santo rica bengala park center hospital clinic disease syndrome test sign score scale street lane road avenue drive health care family general memorial".split()
)
_ACRONYMS: Final = frozenset("ana elisa aida eva mar luz paz sol eloy ester".split())
_ALL_GIVEN: Final = frozenset().union(*(word_set(name) for name in GIVEN_NAMES.values()))
_LABELLED: Final = re.compile(r"[ ]?(?:\(|:|,)?[ ]?(?:(?:[Ss]ra?|[Dd]ra?|[Dd]ott)\.[ ])?")


def _after_role(text: str, start: int, end: int) -> Iterator[Found]:
    """A name right after a word for a member of the staff: `Enf. Begoña`, `MIR Nerea Iglesias`, `fisioterapeuta (Marisa)`."""
    match = _ROLE_GAP.match(text, end)
    if match is None:
        return
    stop = read_name(text, match.end(), most=4)
    first = re.match(rf"{LETTER}+", text[match.end() : stop])
    if stop > match.end() and first and (first[0].lower() in _ALL_GIVEN or len(text[match.end() : stop].split()) > 1):
        yield match.end(), stop, Kind.STAFF


_ROLE_GAP: Final = re.compile(rf"(?:\.|[ ]\(a\))?[ ]?(?:\(|:)?[ ]?(?:[Dd]ra?\.[ ])?(?=[{UP}])")
_BIRTH: Final = re.compile(
    rf"[ ,]{{1,2}}(?:nat[oa] (?:a|il|nel)|nacid[oa] (?:en|el)|born|classe|di anni|de [0-9]{{1,3}} años)"
)


def _pt(text: str, start: int, end: int) -> Iterator[Found]:
    """`Pz Bellotti`, `Pt: H. Whitcombe`: a capitalised word that is not one of every day right after the patient."""
    match = _PT_GAP.match(text, end)
    if match is None:
        return
    stop = read_name(text, match.end(), most=4, comma=True)
    name = text[match.end() : stop]
    if name and not name.isupper() and name.split()[0].lower() not in _NOT_PATIENT:
        yield match.end(), stop, Kind.PATIENT


_PT_GAP: Final = re.compile(
    rf"\.?[ ]?:?[ ]{{1,3}}(?:(?:[Ss]ig\.?(?:ra)?|[Ss]ra?\.?|[Dd]\.|[Dd]ña\.?|Mrs?\.?|Ms\.?)[ ])?(?=[{UP}])"
)
_NOT_PATIENT: Final = frozenset("maschio femmina uomo donna varón mujer male female con in di de a e è".split())

RULES: Final = (
    Rule(
        "name.field.patient",
        words("nombre apellidos apellido paziente paciente patient name nome cognome nominativo"),
        _field(Kind.PATIENT, comma=True),
        0.96,
        rank=71,
        strong=True,
    ),
    Rule(
        "name.field.staff",
        words(
            "médico medico remitido responsable medica médica attending pcp provider physician surgeon cirujano anestesista autor autores autora autori authors author richiedente referente radiologo ref "
            "referring dictated cosigner resident nurse infermiere enfermera facultativo facultativa especialista direttore director presidente relatore giudice funzionario segretario estensore cancelliere jefe"
        ),
        _field(
            Kind.STAFF,
            gap=re.compile(
                r"(?: (?i:por|clínico|clinico|responsable|radiologo|curante|richiedente|physician|by|provider|estensore|del servicio|tutor|de guardia|inviante))?[ ]?:[ \t\xa0]{0,6}"
            ),
            many=True,
        ),
        0.96,
        rank=71,
        strong=True,
    ),
    Rule(
        "name.title.staff",
        words(
            "dr dra dott dottssa dottor dottoressa dottore doctor doctora drssa prof profesor profesora professoressa avv avvocato lic consigliere magistrato"
        ),
        _titled(
            Kind.STAFF,
            r"(?i:dott\.?[ ]?ssa\.?|dott\.?(?:ri)?|dr\.?[ ]?ssa\.?|dra\.?|dr\.?ª?|prof\.?[ ]?ssa|prof(?:esora?|essor(?:essa)?|\.)?|doctora?|dottor(?:e|essa)?|avv(?:ocato|\.)|lic\.|consigliere|magistrato)[:]?[ ]{0,2}",
            lone_initial=True,
        ),
        0.95,
        rank=70,
        strong=True,
    ),
    Rule(
        "name.title.person",
        words("sig signor signora signorina sr sra srta don doña d dña dª mr mrs ms miss señor señora"),
        _titled(
            Kind.PERSON,
            r"(?:[Ss]ig\.?[ ]?(?:ra|na|r)?\.?|[Ss]ignor(?:a|ina)?|[Ss]ra?\.?|[Ss]rta\.?|Don|Doña|don|doña|D\.ª?|Dña\.?|Dª\.?|Mr\.?|Mrs\.?|Ms\.?|Miss|[Ss]eñora?)[ ]{1,2}",
        ),
        0.92,
        rank=69,
        strong=True,
    ),
    Rule("name.relative", words(_RELATIONS), _relative, 0.85, rank=56, strong=True),
    Rule(
        "name.degree",
        words("md do rn np pa phd lpn fnp dpm facp aprn crnp msw lcsw pharmd"),
        _degree,
        0.92,
        rank=68,
        strong=True,
        languages=frozenset({"en"}),
    ),
    Rule("name.signature", frozenset("abcdefghijklmnopqrstuvwxyz"), _signature, 0.85, rank=55, strong=True),
    Rule(
        "name.signed",
        words("fdo firmado firma firmato signed signature f"),
        _field(
            Kind.STAFF,
            gap=re.compile(
                r"(?:(?<=[fF])[.]to|(?<!\b[fF])(?: digitalmente da| da| por| by| electronically by)?)[ ]?[.:]{0,2}[ ]{0,3}(?=[A-ZÀ-Ý])"
            ),
            many=True,
        ),
        0.93,
        rank=68,
        strong=True,
    ),
    Rule(
        "name.role",
        words(
            "enf enfermero enfermera infermiera infermiere mir tsrm fisioterapeuta ayudante cirujano auxiliar celador matrona nurse fisioterapista ostetrica logopeda psicóloga psicólogo trabajadora caposala"
        ),
        _after_role,
        0.85,
        rank=58,
        strong=True,
    ),
    Rule("name.patient", words("pz pt pte pac pcte re"), _pt, 0.85, rank=57, strong=True),
    Rule(
        "name.user",
        words("user username utente usuario login cod transcribed typed"),
        pattern(
            r"(?i)(?:user(?:name)?|utente|usuario|login|cod|(?:transcribed|typed)(?:[ ]by|[ ][0-9/]{4,10})?)[.:]?[ ]{0,2}/?(?P<user>[a-z]{2,12}[0-9]{1,5})(?![a-z0-9])",
            user=Kind.USER,
        ),
        0.85,
        rank=59,
        strong=True,
    ),
    Rule("name.given", _ALL_GIVEN, _given, 0.85, rank=43),
)
