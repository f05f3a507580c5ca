"""Universities, institutes, authorities, companies and named places other than hospitals."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.gazetteers import either, listed
from models_runtime.backends.rules.institutions import ended, exact, headed
from models_runtime.backends.rules.kinds import RuleKind
from models_runtime.backends.rules.phrases import LETTER, UP
from models_runtime.backends.rules.rule import Found, Rule, words

_LEGAL_FORM: Final = re.compile(
    r"(?:srl|Srl|SRL|spa|SpA|SPA|SLU?|SAU?|Inc|LLC|Ltd|GmbH|GMBH|Corp|Corporation|AG|snc|SNC|sas)(?!\w)|"
    r"S\.[ ]?[pP]\.[ ]?A\.?|S\.[ ]?r\.[ ]?l\.?|S\.[ ]?L\.?|S\.[ ]?A\.?(?![A-Za-z.])"
)
_COMPANY: Final = re.compile(rf"(?:(?:[{UP}][A-Za-zÀ-ÿ&'’\-]*|de|del|la|di|&|y|e|El|La)[ ]){{1,5}}\Z")
_PIECES: Final = re.compile(r"[^ ]+")
_ARTICLES: Final = frozenset({"la", "il", "lo", "the", "presso", "ditta", "società", "empresa", "from"})


def _company(text: str, start: int, end: int) -> Iterator[Found]:
    """`Latticini Valdorba srl`: capitalized words before a company's legal form."""
    form = _LEGAL_FORM.match(text, start)
    if form is None:
        return
    low = max(0, start - 56)
    low = max(low, text.rfind("\n", low, start) + 1)
    found = _COMPANY.search(text[low:start])
    if found is None or (found.start() and text[low + found.start() - 1].isalnum()):
        return
    pieces = [(low + found.start() + piece.start(), piece[0]) for piece in _PIECES.finditer(found[0])]
    while pieces and (pieces[0][1][0].islower() or pieces[0][1].lower() in _ARTICLES):
        pieces.pop(0)
    if any(piece[0].isupper() and len(piece) > 2 for _, piece in pieces):
        yield pieces[0][0], form.end(), RuleKind.ORGANIZATION


_EN: Final = frozenset({"en"})
_KNOWN: Final = "INPS|INAIL|INPDAP|INSALUD|SACYL|SESCAM|Osakidetza|OSAKIDETZA|SERGAS"

RULES: Final = (
    Rule(
        "org.university",
        words("universidad universitat università university facultad facultat facoltà escuela"),
        headed(RuleKind.ORGANIZATION, low=False),
        0.88,
        rank=58,
        strong=True,
        capital=True,
    ),
    Rule(
        "org.institute",
        words(
            "instituto institut istituto institute fundación fundació fondazione foundation colegio residencia hotel "
            "albergo residence mutua"
        ),
        headed(RuleKind.ORGANIZATION, low=False),
        0.82,
        rank=57,
        capital=True,
    ),
    Rule(
        "org.center.other",
        words("centro centre"),
        headed(RuleKind.ORGANIZATION, low=False, suffix=rf"(?=[ ](?:de[ ])?[{UP}])(?![ ]de[ ]Salud)"),
        0.8,
        rank=55,
        capital=True,
    ),
    Rule(
        "org.court",
        words("tribunale corte procura comune juzgado ayuntamiento"),
        headed(RuleKind.ORGANIZATION, low=False),
        0.7,
        rank=50,
        capital=True,
    ),
    Rule(
        "org.university.en",
        words("university college school schools"),
        ended(RuleKind.ORGANIZATION),
        0.85,
        54,
        languages=_EN,
        capital=True,
    ),
    Rule(
        "org.business.en",
        words("pharmacy rx labs lab laboratories imaging lodge mutual insurance foods industries church bank steel"),
        ended(RuleKind.ORGANIZATION, general=frozenset(listed("general_en", "technique_words"))),
        0.8,
        rank=53,
        languages=_EN,
        capital=True,
    ),
    Rule(
        "place.named.en",
        words("park bridge lake beach mall island"),
        ended(
            RuleKind.PLACE,
            lead=r"(?:^|[ (])(?:at|in|near|on|off|over|under|from|to|the|of|by|outside|around|across|along|past|"
            r"through|for)[ ]\Z",
        ),
        0.75,
        40,
        languages=_EN,
        capital=True,
    ),
    Rule("place.county.en", words("county"), ended(RuleKind.PLACE), 0.75, 40, languages=_EN, capital=True),
    Rule(
        "org.company", words("srl spa sl slu sau sa inc llc ltd gmbh corp corporation ag snc sas s"), _company, 0.82, 53
    ),
    Rule(
        "org.known",
        words("inps inail inpdap insalud sacyl sescam osakidetza sergas"),
        exact(RuleKind.ORGANIZATION, rf"(?P<name>{_KNOWN})(?!{LETTER})"),
        0.75,
        rank=45,
    ),
    Rule(
        "org.maker",
        frozenset(re.split(r"[ -]", maker)[0].lower() for maker in listed("makers")),
        exact(RuleKind.MAKER, rf"(?P<name>{either('makers')})(?!{LETTER}|-)"),
        0.75,
        rank=44,
        capital=True,
    ),
)
