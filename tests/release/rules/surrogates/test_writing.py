"""A surrogate in the form of each mention."""

import random
from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.release.rules.redaction.policy import IdentifierType as Kind
from annotations.release.rules.surrogates.folding import folded
from annotations.release.rules.surrogates.gazetteers import names_of
from annotations.release.rules.surrogates.generating import generate
from annotations.release.rules.surrogates.identifiers import unreserved
from annotations.release.rules.surrogates.measures import ReplacedMention, measure, preserves
from annotations.release.rules.surrogates.pipeline import Around, MentionInNote, Surrogate
from annotations.release.rules.surrogates.writing import Writer
from tests.release.rules.surrogates.worlds import form, one, person, replaced

CHANG = person("Kevin", "Chang", gender="m")
GIL = person("Jaime", "Gómez", family2="Vega", gender="m")

FORMS = [
    ("en", CHANG, "Wilson", "Chang"),
    ("en", CHANG, "Dr. Adam Wilson", "Dr. Kevin Chang"),  # the title stays
    ("en", CHANG, "WILSON", "CHANG"),
    ("en", CHANG, "adam wilson", "kevin chang"),
    ("en", CHANG, "A.W.", "K.C."),
    ("en", CHANG, "A. Wilson", "K. Chang"),
    ("en", CHANG, "Wilson, Adam", "Chang, Kevin"),  # order and comma
    ("en", CHANG, "Wilson's", "Chang's"),
    ("en", CHANG, "Adam\n  Wilson", "Kevin\n  Chang"),  # a line break inside
    ("en", CHANG, "Mr. and Mrs. Wilson", "Mr. and Mrs. Chang"),
    ("en", CHANG, "W I L S O N", "C H A N G"),  # blanks between letters stay
    ("en", CHANG, "Adam Wils on", "Kevin Chang"),  # a blank inside a word goes
    ("en", CHANG, "Adam Wilson, MD", "Kevin Chang, MD"),  # a title behind
    ("es", GIL, "Dr. Adán Pérez de la Cruz", "Dr. Jaime Gómez de la Vega"),  # particles stay
    ("es", GIL, "Adán Pérez-Ruiz", "Jaime Gómez-Vega"),  # the hyphen stays
    ("es", GIL, "Adan Perez Ruiz", "Jaime Gomez Vega"),  # without accents where the mention leaves them out
    ("es", GIL, "PÉREZ RUIZ", "GÓMEZ VEGA"),
    ("it", person("Carlo", "Greco", gender="m"), "Rossi Mario", "Greco Carlo"),  # reversed order
    ("it", person("Anna", "Greco", gender="f"), "Dott.ssa Lucia Bianchi", "Dott.ssa Anna Greco"),
]


@pytest.mark.parametrize(("language", "surrogate", "mention", "new"), FORMS)
def test_form(language: str, surrogate: Surrogate, mention: str, new: str) -> None:
    others = {"en": ["Adam Wilson"], "es": ["Adán Pérez Ruiz"], "it": ["Mario Rossi"]}[language]
    if "Cruz" in mention or "Bianchi" in mention:
        others = []
    assert form(surrogate, mention, *others, language=language) == new


def test_a_part_that_the_surrogate_lacks_is_always_the_same() -> None:
    first = form(CHANG, "Adam Wilson Baker", language="en")
    assert first.startswith("Kevin Chang ") and len(first.split()) == 3
    assert form(CHANG, "Adam Wilson Baker", language="en") == first
    # A second surname alone gets the second surname.
    assert form(GIL, "Ruiz", "Adán Pérez Ruiz", language="es") == "Vega"


def test_numbers_take_the_separators_of_the_mention() -> None:
    # The code of the country stays; with fewer digits than the surrogate has: the last ones.
    mentions = ["917 27 00 83", "917270083", "+34 917270083", "27 00 83"]
    surrogate = Surrogate(Kind.PHONE, {"value": "995123456"})
    new = [form(surrogate, mention, language="es") for mention in mentions]
    assert new == ["995 12 34 56", "995123456", "+34 995123456", "12 34 56"]
    record = Surrogate(Kind.RECORD, {"value": "9981776"})
    new = [form(record, text, "MRN 4471203") for text in ("MRN 4471203", "447-1203", "mrn:4471203")]
    assert new == ["MRN 9981776", "998-1776", "mrn:9981776"]


def test_a_plural_of_a_family_stays_a_plural() -> None:
    assert form(CHANG, "Bakers", "Adam Baker") == "Changs"


WHOLE = [
    "[medical record:MRN 4471203], [medical record:4471203]; tel. [phone:+1 555 201 8834] or [phone:555-201-8834]",
    "[zip:94301-1234] and [zip:94301]",
    "[street:12 Oak Street] and [street:12 Oak St]",
]


@pytest.mark.parametrize("note", WHOLE)
def test_another_spelling_has_the_same_surrogate(note: str) -> None:
    (_, first), (_, other), *phones = replaced(note)
    assert first.removeprefix("MRN ").startswith(other) or first.replace(" Street", " St") == other
    if phones:
        (_, abroad), (_, short) = phones
        assert abroad.startswith("+1 ") and abroad.removeprefix("+1 ").replace(" ", "-") == short


def test_hospitals_keep_the_words_of_their_type() -> None:
    surrogate = Surrogate(Kind.HOSPITAL, {"s0": "Luis", "s1": "Vega", "value": "Hospital Universitario Luis Vega"})
    full = "Hospital Universitario Miguel Servet"
    assert form(surrogate, full, language="es") == "Hospital Universitario Luis Vega"
    assert form(surrogate, "Hospital Miguel Servet", full, language="es") == "Hospital Luis Vega"
    assert form(surrogate, "Servet", full, language="es") == "Vega"
    assert form(surrogate, "HUMS", full, language="es") == "HULV"


# ── No form of a name leaves a part of it, whatever the name ─────────────────────────────────────────────────────────


MANNERS = ("{given} {family}", "{family}, {given}", "Dr. {given} {family}", "Dra. {family}", "{given}", "{family}'s",
           "{given} de la {family}", "{given} {family}-{family}")  # fmt: skip


@st.composite
def names(draw: st.DrawFn) -> tuple[str, list[str], list[str]]:
    """A language, forms of one name, and its parts."""
    language = draw(st.sampled_from(["en", "es", "it"]))
    lists = names_of(language)
    first = draw(st.sampled_from(sorted(known.text for known in lists.given.values())) | st.just("Yrsa"))
    last = draw(st.sampled_from(sorted(known.text for known in lists.surnames.values())) | st.just("Quetzalli"))
    forms = [manner.format(given=first, family=last) for manner in draw(st.lists(st.sampled_from(MANNERS), min_size=1))]
    case = draw(st.sampled_from([str, str.upper, str.lower]))
    return language, [case(form) for form in forms], [first, last]


@given(names(), st.integers(0, 5))
def test_no_part_of_a_name_stays(name: tuple[str, list[str], list[str]], attempt: int) -> None:
    language, forms, parts = name
    cluster = one(Kind.NAME, *forms, language=language)
    surrogate = generate(random.Random(3), cluster, Around(), frozenset(), attempt)
    writer = Writer(surrogate, cluster)
    for mention in cluster.mentions:
        new = writer.write(mention)
        assert not {folded(part) for part in parts} & set(folded(new).split()), (mention.text, new)
        assert new.isupper() == mention.text.isupper()


# ── Addresses that can't be surrogates ───────────────────────────────────────────────────────────────────────────────


TEXTS = [
    ("write to kevin.chang@example.org or k@mail.example.com", []),
    ("see https://www.example.net/a and www.example.org", []),
    ("write to ann.lee@gmail.com.", ["ann.lee@gmail.com"]),
    ("ann@notexample.org, x@example.org.uk", ["ann@notexample.org", "x@example.org.uk"]),  # only look reserved
    ("http://www.unizar.es/x and WWW.NHS.UK", ["http://www.unizar.es", "WWW.NHS.UK"]),
    ("a dose of 3 mg @ 10:00", []),
]


@pytest.mark.parametrize(("text", "found"), TEXTS)
def test_addresses(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in unreserved(text)] == found


def test_surrogates_of_addresses_are_reserved() -> None:
    note = "[email:ann.lee@gmail.com] [email:X@hospital.madrid.org] [url:http://www.unizar.es/a/b] [url:nhs.uk]"
    assert unreserved(" ".join(new for _old, new in replaced(note))) == []


@given(st.text(max_size=200))
def test_any_text_is_checked(text: str) -> None:
    assert all(0 <= start < end <= len(text) for start, end in unreserved(text))


# ── The measures of Singh et al ──────────────────────────────────────────────────────────────────────────────────────


def row(entity: int, old: str, new: str, surrogate: Surrogate = CHANG, kind: Kind = Kind.NAME) -> ReplacedMention:
    return ReplacedMention(entity, MentionInNote(1, 0, len(old), kind, old), new, surrogate, "en")


def test_counts() -> None:
    lee = person("Amy", "Lee")
    rows = [
        row(1, "Dr. Adam Wilson", "Dr. Kevin Chang"), row(1, "Wilson", "Chang"), row(2, "Mary Ross", "Amy Lee", lee),
    ]  # fmt: skip
    rows.append(row(2, "Ross", "Chang"))  # another surrogate elsewhere
    # The original, and a collision with 1 and 2.
    rows.append(row(3, "John Carr", "John Carr", person("Kevin", "Chang")))
    counts = {"mentions": 5, "entities": 3, "collisions": 1, "originals_left": 1}
    assert asdict(measure(rows)) == counts | {"preserved": 1.0, "consistent": pytest.approx(2 / 3)}
    found = measure([])
    assert (found.preserved, found.consistent, found.mentions) == (None, None, 0)
    # Professions may repeat.
    clerk = Surrogate(Kind.PROFESSION, {"value": "clerk"})
    rows = [row(at, old, "clerk", clerk, Kind.PROFESSION) for at, old in enumerate(("baker", "farmer"))]
    assert measure(rows).collisions == 0


HOSPITAL = Surrogate(Kind.HOSPITAL, {"s0": "Lima", "value": "Lima Medical Center"})
KEPT = [
    (row(1, "Dr. Adam Wilson", "Dr. Kevin Chang"), True),
    (row(1, "Dr. Adam Wilson", "Kevin Chang"), False),  # the title is gone
    (row(1, "WILSON", "Chang"), False),  # the case
    (row(1, "Wilson, Adam", "Kevin Chang"), False),  # the order
    (row(1, "Mrs. Wilson", "Mrs. Chang"), False),  # the gender of the surrogate
    (row(1, "Lincoln Medical Center", "Lima Medical Center", HOSPITAL, Kind.HOSPITAL), True),
    (row(1, "Lincoln Medical Center", "Lima School", HOSPITAL, Kind.HOSPITAL), False),  # the type
    (row(1, "Lincoln Medical Center", "Lima", HOSPITAL, Kind.ORGANIZATION), False),  # the kind
    (row(1, "baker", "cook", Surrogate(Kind.PROFESSION, {}), Kind.PROFESSION), True),
    (row(1, "truck driver", "nurse", Surrogate(Kind.PROFESSION, {}), Kind.PROFESSION), False),  # another field
    (row(1, "flautist", "baker", Surrogate(Kind.PROFESSION, {}), Kind.PROFESSION), False),  # of no known field
    (row(1, "a@b.org", "c@example.org", Surrogate(Kind.EMAIL, {"value": "c@example.org"}), Kind.EMAIL), True),
    (row(1, "a@b.org", "c", Surrogate(Kind.EMAIL, {"value": "c"}), Kind.EMAIL), False),
]


@pytest.mark.parametrize(("replaced", "kept"), KEPT)
def test_what_is_kept(replaced: ReplacedMention, kept: bool) -> None:
    assert preserves(replaced) is kept
