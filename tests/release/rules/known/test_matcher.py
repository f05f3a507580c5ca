"""Known identifiers are found in every spelling, and other people's are not. All names are invented."""

import os
import subprocess
import sys

import pytest

from annotations.release.rules.known.matcher import DenyList, Profile, find
from annotations.release.rules.known.person import How, MasterPerson, Mention, apart, full_names, identifiers
from annotations.release.rules.redaction.policy import IdentifierType as Kind

MARIO = MasterPerson(
    given=("Mario Giuseppe",), family=("Brambillaschi",), birth_dates=("1970-01-12",), phones=("+39 333 1234567",),
    emails=("Mario.Brambi@mail.it",), streets=("Viale Giuseppe Garibaldi 12",), zips=("00187",),
    cities=("Montefosco",), national_ids=("BRMMRA70A12H501X",), records=("0012345",), insurance=("HK123456789",),
    relatives=("Lucrezia Pontevecchio",),
)  # fmt: skip
ANA = MasterPerson(
    given=("Ana María",), family=("de la Fuentecilla",), second_family=("Ordóñez",), birth_dates=("1931-11-04",),
    streets=("Calle Mayor 5, 3º B",), phones=("600 111 222",),
)  # fmt: skip
WHITE = MasterPerson(
    given=("Joan",), family=("White",), streets=("123 Kingfisher Street Apt 4",), phones=("515-982-3233x598",)
)


def found(text, person, *, denied=(), allowed=()):
    return [text[each.start : each.end] for each in find(text, Profile(person), DenyList(denied), frozenset(allowed))]


SPELLINGS = [
    # Order and case.
    ("Visto MARIO GIUSEPPE BRAMBILLASCHI oggi", MARIO, "MARIO GIUSEPPE BRAMBILLASCHI"),
    ("visto mario brambillaschi oggi", MARIO, "mario brambillaschi"),
    ("Brambillaschi Mario, 54 anni", MARIO, "Brambillaschi Mario"),
    ("BRAMBILLASCHI, Mario Giuseppe", MARIO, "BRAMBILLASCHI, Mario Giuseppe"),
    ("Ana Maria de la Fuentecilla Ordonez", ANA, "Ana Maria de la Fuentecilla Ordonez"),
    ("Fuentecilla Ordóñez, Ana", ANA, "Fuentecilla Ordóñez, Ana"), ("Fuentecilla-Ordóñez", ANA, "Fuentecilla-Ordóñez"),
    # Combining marks.
    ("Ordo\u0301n\u0303ez", ANA, "Ordo\u0301n\u0303ez"),
    # Parts, alone.
    ("Il sig. Brambillaschi sta bene", MARIO, "Brambillaschi"), ("Oggi Mario sta bene", MARIO, "Mario"),
    # Initials.
    ("M. Brambillaschi sta bene", MARIO, "M. Brambillaschi"),
    ("Brambillaschi M.G. dimesso", MARIO, "Brambillaschi M.G."),
    ("Mario K. Brambillaschi", MARIO, "Mario K. Brambillaschi"), ("paziente M.B. dimesso", MARIO, "M.B."),
    ("Dimessa A.F.O. ieri", ANA, "A.F.O."), ("Mª Fuentecilla", ANA, "Mª Fuentecilla"),
    # Line breaks and hyphenation.
    ("Mario\n  Brambillaschi", MARIO, "Mario\n  Brambillaschi"),
    ("il sig. Brambil-\nlaschi", MARIO, "Brambil-\nlaschi"),
    # One typo: replaced, missing, additional, exchanged.
    ("Mario Brambillasghi", MARIO, "Mario Brambillasghi"), ("il sig. Brambillschi", MARIO, "Brambillschi"),
    ("Mario Brambilllaschi", MARIO, "Mario Brambilllaschi"), ("Mairo Brambillaschi", MARIO, "Mairo Brambillaschi"),
    # Relatives.
    ("la moglie Lucrezia Pontevecchio", MARIO, "Lucrezia Pontevecchio"),
    # A surname that is a common word.
    ("Seen with Mr. White today", WHITE, "White"), ("We called White today", WHITE, "White"),
    # Dates.
    ("nato il 12/01/1970 a", MARIO, "12/01/1970"), ("nato il 12.1.70 a", MARIO, "12.1.70"),
    ("born 1970-01-12.", MARIO, "1970-01-12"), ("born 01/12/1970.", MARIO, "01/12/1970"),
    ("DOB 19700112", MARIO, "19700112"), ("nato il 12 gennaio 1970", MARIO, "12 gennaio 1970"),
    ("born January 12th, 1970", MARIO, "January 12th, 1970"), ("born 12 Jan '70", MARIO, "12 Jan '70"),
    ("nacida el 4 de noviembre de 1931", ANA, "4 de noviembre de 1931"), ("nacida el 04-nov-1931", ANA, "04-nov-1931"),
    ("Peso 98. 12/01/1970", MARIO, "12/01/1970"),
    # Telephone numbers.
    ("tel. 333-12.34.567", MARIO, "333-12.34.567"), ("tel. 00393331234567", MARIO, "00393331234567"),
    ("tel. (+39) 333 1234567", MARIO, "(+39) 333 1234567"), ("tel. +34 600111222", ANA, "+34 600111222"),
    ("call (515) 982-3233 x598", WHITE, "(515) 982-3233 x598"),
    # Numbers.
    ("CF brm mra 70a12 h501x", MARIO, "brm mra 70a12 h501x"), ("MRN12345 dimesso", MARIO, "12345"),
    ("cartella 0012345", MARIO, "0012345"), ("tessera HK 123-456-789", MARIO, "HK 123-456-789"),
    # E-mail addresses.
    ("scrivere a MARIO.BRAMBI@MAIL.IT", MARIO, "MARIO.BRAMBI@MAIL.IT"),
    ("scrivere a mario.brambi (at) mail.it", MARIO, "mario.brambi (at) mail.it"),
    # Addresses.
    ("abita in V.le G. Garibaldi n. 12", MARIO, "V.le G. Garibaldi n. 12"),
    ("abita in viale Garibaldi, 12", MARIO, "viale Garibaldi, 12"), ("vive en C/ Mayor 5", ANA, "C/ Mayor 5"),
    ("lives at 123 KINGFISHER ST. Apt 4", WHITE, "123 KINGFISHER ST. Apt 4"), ("00187 Roma", MARIO, "00187"),
    ("residente a MONTEFOSCO", MARIO, "MONTEFOSCO"), ("residente a Montefosko", MARIO, "Montefosko"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "person", "mention"), SPELLINGS)
def test_a_mention_in_another_spelling_is_found_whole(text, person, mention):
    assert found(text, person) == [mention]


OTHER_PEOPLE = [
    # Other people.
    ("Il dott. Mario Bianchi", MARIO), ("Bianchi, Mario", MARIO), ("Il dott. Luigi Verdi", MARIO),
    ("Dra. Ana Torres", ANA),
    # Common words.
    ("white blood cells and a white count", WHITE), ("White blood cells are normal", WHITE),
    ("MB elevated, M.B. 12", MARIO),
    # Names of diseases and signs.
    ("morbo di Brambillaschi", MARIO), ("Brambillaschi's disease", MARIO),
    # Other dates and figures.
    ("visto il 12/02/1970 e il 13 gennaio 1970", MARIO), ("creatinina 12345.6 e 1.12345", MARIO),
    ("tel. 333 1234568", MARIO), ("tel. 3331234567890", MARIO),
    # Another street of this name, and a word of the street alone.
    ("abita in Piazza Garibaldi", MARIO), ("la calle mayor de la ciudad", ANA),
    # Another address of the same domain.
    ("luigi@mail.it", MARIO),
]  # fmt: skip


@pytest.mark.parametrize(("text", "person"), OTHER_PEOPLE)
def test_what_is_not_the_patients_is_not_found(text, person):
    assert found(text, person) == []


def test_a_mention_says_how_it_is_written():
    text = "Mario Giuseppe Brambillaschi; M. Brambillaschi; Mario Brambillasghi; oggi Mario; mario.brambi@mail.it"
    mentions = find(text, Profile(MARIO), DenyList([]))
    assert [each.how for each in mentions] == [How.EXACT, How.INITIALS, How.TYPO, How.PART, How.FORM]
    assert [each.kind for each in mentions] == [Kind.NAME] * 4 + [Kind.EMAIL]
    amanda = MasterPerson(given=("Amanda",), cities=("Comina (La)",))
    city = find("Chiamato Comina (La) ieri.", Profile(amanda), DenyList([]))
    assert [(each.start, each.end, each.kind) for each in city] == [(9, 19, Kind.CITY)]
    assert found("Mario Rossi 12/01/1970", MasterPerson()) == found("", MARIO) == []


def test_denied_terms_are_found_without_case_and_accents_as_whole_words():
    denied = [("Villa Azúl", "HOSPITAL"), ("Torre", "CITY")]
    text = "Alla VILLA\nAZUL, non alla Torretta; villa-azul e torre."
    mentions = find(text, None, DenyList(denied))
    assert [(text[each.start : each.end], each.label) for each in mentions] == [
        ("VILLA\nAZUL", "HOSPITAL"), ("villa-azul", "HOSPITAL"), ("torre", "CITY")
    ]  # fmt: skip


def test_an_allowed_term_is_no_part_of_a_name_but_the_whole_name_is_still_found():
    assert found("Oggi Mario; Mario Brambillaschi", MARIO, allowed=["mario"]) == ["Mario Brambillaschi"]


def test_of_overlapping_mentions_the_longer_one_wins_and_the_rest_of_the_other_is_kept():
    city, name = Mention(0, 5, Kind.CITY, How.EXACT), Mention(3, 12, Kind.NAME, How.EXACT)
    inside, zipped = Mention(4, 8, Kind.STREET, How.EXACT), Mention(12, 14, Kind.ZIP, How.EXACT)
    assert apart("ab cdefghijk12", [city, name, inside, zipped]) == [Mention(0, 2, Kind.CITY, How.EXACT), name, zipped]


def test_identifiers_are_the_full_names_and_the_values_without_the_sex():
    names = {"given": ("Ana",), "family": ("Gil", "Sanz"), "second_family": ("Mur",)}
    person = MasterPerson(**names, sex=("female",), zips=("28001",))
    assert full_names(person) == ["Ana Gil Mur", "Ana Sanz Mur"]
    assert identifiers(person) == [(name, Kind.NAME) for name in full_names(person)] + [("28001", Kind.ZIP)]


SAME = """
from annotations.release.rules.known.matcher import DenyList, Profile, find
from annotations.release.rules.known.person import MasterPerson as Person
person = Person(given=("Maria Rosa", "Rosa"), family=("Rossi", "De Rossi"), phones=("0883232339", "+390883232339"),
                cities=("Rosa", "Rossa"), streets=("Via Rossi 3", "Viale Rossi, 5"), birth_dates=("1970-03-03",),
                relatives=("Rosa Russi",))
text = "Maria Rosa De Rossi, M.R.R., Russi Rosa, Rosi, Rosas, Via Rossi 3, 5 Rosa, +39 0883 232339, 3/3/70. "
print(find(text * 3, Profile(person), DenyList([("rosa", "A"), ("Rosa Rossi", "B")])))
"""


def test_mentions_do_not_depend_on_the_order_of_sets() -> None:
    printed = set()
    for seed in "01":
        environ = os.environ | {"PYTHONHASHSEED": seed}
        printed.add(subprocess.run([sys.executable, "-c", SAME], env=environ, capture_output=True, check=True).stdout)
    assert len(printed) == 1
