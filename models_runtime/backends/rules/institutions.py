"""Hospitals, care centres, and other institutions by their kind of name."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.gazetteers import word_set
from models_runtime.backends.rules.kinds import Kind
from models_runtime.backends.rules.reading import LETTER, UP, before, read_phrase
from models_runtime.backends.rules.rule import Finder, Found, Rule, words

_GENERIC: Final = frozenset(
    "hospital hospitalario clínica clinica ospedale centro general comarcal provincial universitario universitaria regional día dia día. "
    "central local militar civile privata privada pública público".split()
)


def _headed(kind: Kind, *, least: int = 1, mark: str = "", low: bool = True) -> Finder:
    """An institution whose first word is the trigger: that word, and the proper phrase that follows.

    `least`: how many words of the phrase must be more than general ("hospital de día" has none); `low`: whether the trigger may
    be written small.
    """
    lead = re.compile(mark) if mark else None

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        if not low and not text[start].isupper():
            return
        at = end
        if lead is not None:
            match = lead.match(text, end)
            if match is None:
                return
            at = match.end()
        stops = word_set("not_institutions")
        stop = read_phrase(text, at, stops)
        if stop == at or _DAY_CARE.match(text, at) or _SPECIALTY.search(text, max(0, start - 16), start):
            return
        said = [word for word in re.findall(rf"{LETTER}+", text[at:stop]) if len(word) > 2]
        named = [word for word in said if word.lower() not in _GENERIC]
        capital = [word for word in said if word[0].isupper()]
        if len(named) >= least or (len(capital) >= 1 and text[start].isupper() and least < 2):
            if set(word.lower() for word in capital) <= {"día", "dia"}:
                return
            yield start, stop, kind

    return find


_DAY_CARE: Final = re.compile(r"(?i)[ ](?:de[ ](?:d[ií]a|salud|referencia|origen)|y|e)(?![a-zà-ÿ]|[ ][A-ZÀ-Ý0-9])")
# "Nutrición Clínica" is a speciality, no clinic.
_SPECIALTY: Final = re.compile(
    rf"(?:Nutrici[oó]n|Historia|Gesti[oó]n|Unidad|Neurofisiolog[ií]a|Bioqu[ií]mica|Farmacolog[ií]a|Psicolog[ií]a)[ ]\Z"
)
_ENGLISH_END: Final = re.compile(rf"(?:(?:[{UP}][A-Za-z'’\-]*|(?:St|Mt|Ft|[{UP}])\.|of|the|and|&)[ ]){{1,6}}\Z")


def _ended(kind: Kind, tail: str = "", *, least: int = 1) -> Finder:
    """An institution whose last word is the trigger ("Mercy Hospital"), read backwards over capitalised words."""
    more = re.compile(tail) if tail else None

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        if not text[start].isupper():
            return
        stop = end
        if more is not None:
            match = more.match(text, end)
            if match is None:
                return
            stop = match.end()
        low = max(0, start - 64)
        low = max(low, text.rfind("\n", low, start) + 1)
        found = _ENGLISH_END.search(text[low:start])
        if found is None:
            return
        at = low + found.start()
        if at > low and (text[at - 1].isalnum() or text[at - 1] in "'’-"):
            return
        parts = [(match.start(), match[0]) for match in re.finditer(r"[^ ]+", found[0])]
        while parts and (
            parts[0][1].lower().rstrip(".") in _NOT_FIRST
            or parts[0][1][0].islower()
            or parts[0][1].endswith(".")
            and parts[0][1] not in ("St.", "Mt.", "Ft.")
        ):
            parts.pop(0)
        if len(parts) >= least:
            yield at + parts[0][0], stop, kind

    return find


_NOT_FIRST: Final = frozenset(
    "the of and at in to from our this that a an my his her their local nearest outside other another any transferred admitted seen "
    "dr mr mrs ms referred dear rtc er ed ct mri".split()
)


def _exact(kind: Kind, expression: str, *, check: str = "") -> Finder:
    compiled = re.compile(expression)
    context = re.compile(check) if check else None

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        match = compiled.match(text, start)
        if match is not None and (context is None or context.search(before(text, start))):
            yield match.start("name"), match.end("name"), kind

    return find


_COMPANY: Final = re.compile(rf"(?:(?:[{UP}][A-Za-zÀ-ÿ&.'’\-]*|de|del|la|di|&|y|e|El|La)[ ]){{1,5}}\Z")


def _company(text: str, start: int, end: int) -> Iterator[Found]:
    """`Latticini Valdorba srl`: capitalised words before a word for a kind of company."""
    word = text[start:end]
    if word not in (
        "srl",
        "Srl",
        "SRL",
        "spa",
        "SpA",
        "SPA",
        "SL",
        "SLU",
        "SAU",
        "Inc",
        "LLC",
        "Ltd",
        "GmbH",
        "GMBH",
        "Corp",
        "Corporation",
        "AG",
        "snc",
        "SNC",
        "SA",
        "sas",
    ):
        if not re.match(r"(?:S\.[ ]?[pP]\.[ ]?A|S\.[ ]?r\.[ ]?l|S\.[ ]?L|S\.[ ]?A)\b", text[start : start + 8]):
            return
    low = max(0, start - 56)
    low = max(low, text.rfind("\n", low, start) + 1)
    found = _COMPANY.search(text[low:start].replace(",", " ", 0))
    if found is None:
        return
    at = low + found.start()
    if at > low and text[at - 1].isalnum():
        return
    parts = [(match.start(), match[0]) for match in re.finditer(r"[^ ]+", found[0])]
    while parts and (parts[0][1][0].islower() or parts[0][1].lower() in _NOT_FIRST):
        parts.pop(0)
    if not parts or all(part[1].islower() or len(part[1]) < 3 for part in parts):
        return
    match = re.compile(r"S\.[ ]?[pP]\.[ ]?A\.?|S\.[ ]?r\.[ ]?l\.?|S\.[ ]?L\.?|S\.[ ]?A\.?").match(text, start)
    yield at + parts[0][0], match.end() if match else end, Kind.ORGANIZATION


RULES: Final = (
    Rule("org.hospital", words("hospital hospitals"), _headed(Kind.HOSPITAL), 0.9, rank=79, strong=True),
    Rule(
        "org.hospital.complex",
        words("complejo complexo consorcio consorci corporació"),
        _headed(
            Kind.HOSPITAL,
            mark=r"[ ](?:(?i:hospitalario|hospitalari|hospitalaria|sanitario|sanitari|asistencial|parc|universitario))",
        ),
        0.93,
        rank=79,
        strong=True,
    ),
    Rule(
        "org.hospital.clinic",
        words("clínica clinica policlínico policlinico policlínica sanatorio"),
        _headed(Kind.HOSPITAL, low=False),
        0.85,
        rank=78,
        strong=True,
    ),
    Rule(
        "org.hospital.it",
        words("ospedale ospedali irccs aou asl ausl ats asst rsa presidio"),
        _headed(
            Kind.HOSPITAL,
            mark=r"(?:[ ](?:militare|civile|maggiore|generale|pediatrico|universitario|infantile|ospedaliero)(?=[ ]))?",
        ),
        0.9,
        rank=79,
        strong=True,
    ),
    Rule(
        "org.hospital.it.ao",
        words("ao po ulss usl asp"),
        _exact(
            Kind.HOSPITAL,
            rf"(?P<name>(?:AO|PO|ULSS|USL|ASP)[ ](?:(?:di|n\.)[ ])?(?:[{UP}]{LETTER}+|[0-9]{{1,2}})(?:[ ](?:(?:di|della|del)[ ])?[{UP}]{LETTER}+){{0,3}})",
        ),
        0.85,
        rank=78,
        languages=frozenset({"it"}),
    ),
    Rule(
        "org.hospital.it.azienda",
        words("azienda"),
        _headed(Kind.HOSPITAL, mark=r"(?i:[ ](?:ospedaliera|ospedaliero|sanitaria|usl|ulss|socio)[a-z\-]*)"),
        0.92,
        rank=79,
        strong=True,
    ),
    Rule(
        "org.hospital.it.casa",
        words("casa"),
        _headed(Kind.HOSPITAL, mark=r"(?i:[ ](?:di cura|di riposo|circondariale di(?=[ ]x)|della salute))"),
        0.9,
        rank=78,
        strong=True,
    ),
    Rule(
        "org.hospital.en",
        words("hospital infirmary clinic hospice rehab rehabilitation"),
        _ended(Kind.HOSPITAL),
        0.88,
        rank=61,
        languages=frozenset({"en"}),
    ),
    Rule(
        "org.hospital.en.center",
        words("medical health cancer heart care surgery family nursing general"),
        _ended(
            Kind.HOSPITAL, r"(?i:[ ](?:center|centre|clinic|system|medicine|practice|home|hospital|associates|group))\b"
        ),
        0.9,
        rank=78,
        languages=frozenset({"en"}),
    ),
    Rule(
        "org.centre.es",
        words("centro ambulatorio consultorio"),
        _headed(
            Kind.CARE_CENTRE,
            mark=r"(?i:[ ]de[ ](?:salud|atenci[oó]n primaria|especialidades)(?:[ ]zona)?|(?<=ambulatorio)|(?<=consultorio))",
        ),
        0.93,
        rank=79,
        strong=True,
    ),
    Rule(
        "org.centre.cs",
        words("cs cap"),
        _exact(
            Kind.CARE_CENTRE,
            rf"(?P<name>(?:CS|CAP)[ ](?:(?:La|El|Los|Las|de)[ ])?[{UP}]{LETTER}{{2,}}+(?:[ ](?:de[ ])?[{UP}]{LETTER}+){{0,2}})",
        ),
        0.8,
        rank=56,
        languages=frozenset({"es"}),
    ),
    Rule(
        "org.university",
        words("universidad universitat università university facultad facultat facoltà escuela"),
        _headed(Kind.ORGANIZATION, low=False),
        0.88,
        rank=58,
        strong=True,
    ),
    Rule(
        "org.institute",
        words(
            "instituto institut istituto institute fundación fundació fondazione foundation colegio residencia hotel albergo residence"
        ),
        _headed(Kind.ORGANIZATION, low=False),
        0.82,
        rank=57,
    ),
    Rule(
        "org.centre.other",
        words("centro centre"),
        _headed(Kind.ORGANIZATION, low=False, least=1, mark=rf"(?=[ ](?:de[ ])?[{UP}])"),
        0.8,
        rank=55,
    ),
    Rule(
        "org.court",
        words("tribunale corte procura comune juzgado ayuntamiento"),
        _headed(Kind.ORGANIZATION, low=False),
        0.7,
        rank=50,
    ),
    Rule(
        "org.university.en",
        words("university college school schools"),
        _ended(Kind.ORGANIZATION),
        0.85,
        rank=54,
        languages=frozenset({"en"}),
    ),
    Rule(
        "org.business.en",
        words("pharmacy rx labs laboratories imaging lodge mutual insurance foods industries church bank"),
        _ended(Kind.ORGANIZATION),
        0.8,
        rank=53,
        languages=frozenset({"en"}),
    ),
    Rule(
        "org.hospital.en.general",
        words("general"),
        _ended(Kind.HOSPITAL, r"(?=[.,;)\n]|[ ](?:on|for|in|with|and|ED|ER)\b)", least=2),
        0.7,
        rank=44,
        languages=frozenset({"en"}),
    ),
    Rule(
        "place.named.en",
        words("park bridge lake beach mall island county"),
        _ended(Kind.PLACE),
        0.75,
        rank=40,
        languages=frozenset({"en"}),
    ),
    Rule(
        "org.company",
        words("srl spa sl slu sau sa inc llc ltd gmbh corp corporation ag snc sas s"),
        _company,
        0.82,
        rank=53,
    ),
    Rule(
        "org.known",
        words("inps inail inpdap insalud sacyl sescam osakidetza sergas medicare medicaid"),
        _exact(
            Kind.ORGANIZATION,
            r"(?P<name>INPS|INAIL|INPDAP|INSALUD|SACYL|SESCAM|Osakidetza|OSAKIDETZA|SERGAS|Medicare|Medicaid)\b",
        ),
        0.75,
        rank=45,
    ),
)
