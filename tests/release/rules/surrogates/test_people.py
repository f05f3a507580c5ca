"""Names in their parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.release.rules.redaction.policy import IdentifierType as Kind
from annotations.release.rules.surrogates.clustering import identities, same_entity, surrogate_key
from annotations.release.rules.surrogates.people import FAMILY, GIVEN, field_of, read_person, title_before
from annotations.release.rules.surrogates.pipeline import IndexedEntity, Surrogate
from annotations.release.rules.surrogates.templates import slots
from tests.release.rules.surrogates.worlds import clusters, one, person, texts

NAMES = [
    ("en", "Dr. Adam Wilson", ["adam"], ["wilson"], "m"),  # a title stays outside
    ("en", "Wilson, Adam J.", ["adam", "j"], ["wilson"], "m"),  # surname first
    ("en", "A.W.", ["a"], ["w"], ""),  # initials
    ("en", "MRG", ["m", "r"], ["g"], ""),  # initials without periods
    ("en", "Wilson's", [], ["wilson"], ""),  # possessive
    ("en", "Nguyễn Văn Ánh", ["nguyen"], ["van", "anh"], ""),  # with an accent it is no particle
    ("en", "Tran Van Duc", ["tran"], ["van", "duc"], ""),  # nor beside a Vietnamese surname
    ("en", "Md Rahman", ["md"], ["rahman"], ""),  # no title without a period or capitals
    ("en", "Capt. Wilson", [], ["wilson"], ""),
    ("en", "Sean O'Brien", ["sean"], ["o brien"], "m"),  # an apostrophe inside
    ("en", "Mrs. Wilson", [], ["wilson"], "f"),  # gender of the title
    ("es", "María José García", ["maria", "jose"], ["garcia"], "f"),
    ("es", "José María García", ["jose", "maria"], ["garcia"], "m"),
    ("es", "María de los Ángeles López Ruiz", ["maria", "angeles"], ["lopez", "ruiz"], "f"),  # a devotion is given
    ("es", "Juan José de la Torre", ["juan", "jose"], ["torre"], "m"),  # particles stay outside
    ("es", "Ramos Lopez", [], ["ramos", "lopez"], ""),  # two surnames
    ("es", "Patricia Hidalgo-Collazos", ["patricia"], ["hidalgo", "collazos"], "f"),  # joined surnames
    ("es", "Don Antonio", ["antonio"], [], "m"),  # Don stands before a given name
    ("es", "M.ª José Tapia", ["jose"], ["tapia"], "f"),  # short for María
    ("en", "VAN DYKE", ["van"], ["dyke"], ""),  # the first of two words in capitals is no particle
    ("it", "Anna E Rossi", ["anna", "e"], ["rossi"], "f"),  # nor is a capital letter
    ("it", "Rossi Mario", ["mario"], ["rossi"], "m"),  # reversed order
    ("it", "Dott.ssa Lucia Di Stefano", ["lucia"], ["stefano"], "f"),
]


@pytest.mark.parametrize(("language", "text", "first", "last", "gender"), NAMES)
def test_parts(language: str, text: str, first: list[str], last: list[str], gender: str) -> None:
    found = read_person(text, language)
    last = [word.replace(" ", "") for word in last]
    assert (list(found.given), list(found.family), found.gender) == (first, last, gender)


@pytest.mark.parametrize("piece", ["A. ", "Dr. ", "de ", "Wilson ", "é", "a@a."])
def test_a_text_of_many_thousand_words_is_no_name(piece: str) -> None:
    """Reading it as one would take minutes."""
    text = (piece * 100_000)[:100_000]
    assert read_person(text, "es").parts == ()
    for kind in (Kind.HOSPITAL, Kind.STREET, Kind.CITY):
        assert [(slot.start, slot.end) for slot in slots(text, kind, "es")] == [(0, len(text))]


@given(st.text(max_size=60), st.sampled_from(["en", "es", "it", ""]))
def test_parts_lie_in_the_text_in_order(text: str, language: str) -> None:
    end = 0
    for part in read_person(text, language).parts:
        assert end <= part.start < part.end <= len(text) and text[part.start : part.end] == part.text
        end = part.end


def test_fields_and_titles_before_a_mention() -> None:
    fields = {"Apellidos: ": FAMILY, "Nombre: ": GIVEN, "Cognome ": FAMILY, "First name: ": GIVEN}
    fields |= {"Nombre y apellidos: ": "", "paciente ": ""}
    assert {before: field_of(before) for before in fields} == fields
    assert [title_before(text) for text in ("vista por la Dra. ", "by Dr. ", "paciente ")] == ["f", "", None]


# ── Which mentions are of one entity ─────────────────────────────────────────────────────────────────────────────────


SAME = [
    # a surname joins the only person who has it
    ("en", ["Seen by [staff:Dr. Adam Wilson]. Later [staff:Wilson] called."]),
    # over notes of the patient
    ("en", ["[staff:Dr. Adam Wilson] saw her.", "[staff:Dr. Wilson] saw her again."]),
    # the full name comes later
    ("en", ["[staff:Dr. Wilson] signed.", "[staff:Adam Wilson]"]),
    # initials, and a middle initial that the other form lacks
    ("en", ["[name:Adam J. Wilson] came.", "[name:A. Wilson] left.", "[name:A.W.] called."]),
    # the surname first, with a comma
    ("en", ["[name:Wilson, Adam] (DOB unknown)", "[name:Adam Wilson]"]),
    # possessive and capitals
    ("en", ["[name:Adam Wilson] came.", "[name:Wilson's] pain", "[name:WILSON]"]),
    # a listed short form
    ("en", ["[name:Robert Miller]", "[name:Bob Miller]"]),
    # a title right before the mention, with the gender of the person
    ("en", ["[name:Mary Wilson] came. Mrs. [name:Wilson] left."]),
    # one word is one part of a name, whether or not a title stands before it
    ("en", ["Mr [name:Robert] came. Then [name:Robert] left.", "[name:Robert's] wife"]),
    ("en", ["[name:Robert Miller] came. Mr [name:Robert] left."]),
    # a form's fields hold the parts of one name
    ("es", ["Nombre: [name:Ernesto David]. Apellidos: [name:Barrantes Lopez]."]),
    # the second surname is left out; accents differ
    ("es", ["[staff:María Pérez Gómez]", "[staff:Dra. Maria Perez]"]),
    # particles belong to the surname
    ("es", ["[staff:Juan de la Torre Ruiz]", "Dr. [staff:de la Torre]"]),
    # reversed order without a comma
    ("it", ["[name:Rossi Mario]", "[name:Mario Rossi]", "Sig. [name:Rossi]"]),
    # one full name under two labels is one person
    ("it", ["[name:Lucia Bianchi]", "[staff:Dott.ssa Lucia Bianchi]"]),
    # numbers by their digits, addresses without case
    ("es", ["Tel. [phone:917 27 00 83]", "Tel. [phone:917270083]"]),
    ("en", ["[email:A.Wilson@clinic.org]", "[email:a.wilson@clinic.org]"]),
    # hospitals without the words of their type, and acronyms
    ("es", ["[hospital:Hospital Universitario Miguel Servet]", "[hospital:Hospital Miguel Servet]"]),
    ("es", ["[hospital:Hospital Universitario La Paz]", "[hospital:HUP]"]),
    # letters with blanks between them, a blank that a conversion left, the plural of a family
    ("en", ["[name:Petrie]", "[name:P E T R I E]", "[name:Petr ie]", "[name:Petries]"]),
    ("en", ["[name:Rose Baker] came.", "[name:Bakers] live there."]),
    # numbers without the words that say what they are, or with the code of their country
    ("en", ["[medical record:MRN 4471203]", "[medical record:4471203]", "[medical record:MRN: 447-1203]"]),
    ("en", ["[medical record:MRN 4471203]", "[medical record:No. 4471203]"]),
    ("es", ["[medical record:N.º H.C. 4471203]", "[medical record:NHC4471203]", "[medical record:447 1203]"]),
    ("en", ["[phone:+1 555 201 8834]", "[phone:555-201-8834]", "[phone:1-555-201-8834]", "[phone:Tel. 5552018834]"]),
    ("en", ["[phone:+44 20 7946 0123]", "[phone:020 7946 0123]"]),
    ("it", ["[phone:0039 06 123456]", "[phone:06123456]"]),
    ("en", ["[zip:94301]", "[zip:94301-1234]"]),
    # streets without their type
    ("es", ["[street:Calle Mayor 15]", "[street:C/ Mayor, 15]", "[street:Mayor 15]", "[street:calle Mayor n.º 15]"]),
    # places by folded text
    ("es", ["[city:Ávila]", "[city:AVILA]"]),
]  # fmt: skip


@pytest.mark.parametrize(("language", "notes"), SAME)
def test_one_entity(language: str, notes: list[str]) -> None:
    assert len(clusters(*notes, language=language)) == 1


APART = [
    # relatives with one surname
    ("en", ["[name:Adam Wilson] came with his wife [name:Mary Wilson]."]),
    # titles of different gender
    ("en", ["[name:Mr. Wilson]", "[name:Mrs. Wilson]"]),
    # a title that contradicts the given name
    ("en", ["[name:Adam Wilson]", "[name:Mrs. Wilson]"]),
    # a second surname that differs
    ("es", ["[name:María García López]", "[name:María García Pérez]"]),
    # a patient and a doctor with the same surname only
    ("en", ["[name:Adam Wilson]", "[staff:Dr. Wilson]"]),
    # an initial that contradicts the given name
    ("en", ["[staff:Adam Wilson]", "[staff:B. Wilson]"]),
    # hospitals of one type
    ("es", ["[hospital:Hospital La Paz]", "[hospital:Hospital La Fe]"]),
    ("en", ["[phone:555-123-4567]", "[phone:555-123-4568]"]),
    ("en", ["[phone:555-123-4567 ext. 12]", "[phone:555-123-4567 ext. 14]"]),
    ("en", ["[phone:+44 20 7946 0123]", "[phone:+34 20 7946 0124]"]),
    ("en", ["[zip:94301]", "[zip:94302-1234]"]),
    # words of a code that are no captions
    ("en", ["[medical record:AB 4471203]", "[medical record:4471203]"]),
    # a surname of the lists with an s
    ("en", ["[name:Adam Robert]", "[name:Adam Roberts]"]),
    ("es", ["[street:Calle 5]", "[street:Avenida 5]"]),
]


@pytest.mark.parametrize(("language", "notes"), APART)
def test_two_entities(language: str, notes: list[str]) -> None:
    assert len(clusters(*notes, language=language)) == 2


def test_an_ambiguous_surname_joins_the_person_mentioned_last_before_it() -> None:
    found = clusters("[name:Adam Wilson] and [name:Mary Wilson]: [name:Wilson] speaks. [name:Adam Wilson] too.")
    assert texts(found) == [["Adam Wilson", "Adam Wilson"], ["Mary Wilson", "Wilson"]]


def test_every_mention_is_in_one_cluster_in_order() -> None:
    found = clusters("[date:1/2/2020] [name:Ann Lee] [zip:02115] [name:Lee] [date:1/2/2020] [age:7]")
    assert sum(len(cluster.mentions) for cluster in found) == 6
    assert [cluster.mentions[0].start for cluster in found] == sorted(cluster.mentions[0].start for cluster in found)
    (both,) = clusters("[name:Lucia Bianchi] [staff:Lucia Bianchi]", language="it")
    assert both.kind == Kind.STAFF


# ── Which entity of the index a cluster is, and the keys by which it is found ────────────────────────────────────────


STAFF = Surrogate(Kind.STAFF, {"given": "Kevin", "family": "Chang", "gender": "m"})

DECISIONS = [
    # a full name is the same person for all patients
    (Kind.STAFF, ["Dr. Adam Wilson"], ["Adam Wilson"], False, True),
    (Kind.STAFF, ["Wilson, Adam"], ["Adam J. Wilson"], False, True),
    # a surname or initials only among one patient's notes
    (Kind.STAFF, ["Dr. Wilson"], ["Adam Wilson"], False, False),
    (Kind.STAFF, ["Dr. Wilson"], ["Adam Wilson"], True, True),
    (Kind.STAFF, ["A. Wilson"], ["Adam Wilson"], False, False),
    (Kind.STAFF, ["Adam Wilson"], ["Wilson"], False, False),
    # names or gender that contradict
    (Kind.STAFF, ["Mary Wilson"], ["Adam Wilson"], True, False),
    (Kind.STAFF, ["Mrs. Wilson"], ["Adam Wilson"], True, False),
    (Kind.STAFF, ["Adam Wilson"], ["Adam Miller"], True, False),
    # a patient who is staff
    (Kind.NAME, ["Adam Wilson"], ["Adam Wilson"], False, True),
    (Kind.NAME, ["Wilson"], ["Adam Wilson"], True, False),
]


@pytest.mark.parametrize(("kind", "forms", "known", "own", "same"), DECISIONS)
def test_people(kind: Kind, forms: list[str], known: list[str], own: bool, same: bool) -> None:
    entity = IndexedEntity(1, Kind.STAFF, known, STAFF, own=own)
    assert (same_entity(one(kind, *forms), [entity]) is entity) is same


def test_other_kinds_need_an_equal_form() -> None:
    city = IndexedEntity(1, Kind.CITY, ["Ávila"], Surrogate(Kind.CITY, {"value": "Soria"}))
    fe = Surrogate(Kind.HOSPITAL, {"value": "Hospital La Fe"})
    hospital = IndexedEntity(2, Kind.HOSPITAL, ["Hospital La Paz"], fe)
    assert same_entity(one(Kind.CITY, "AVILA", language="es"), [hospital, city]) is city
    assert same_entity(one(Kind.CITY, "Soria", language="es"), [hospital, city]) is None
    assert same_entity(one(Kind.HOSPITAL, "Hospital Universitario La Paz", language="es"), [city, hospital]) is hospital
    assert same_entity(one(Kind.REGION, "Ávila", language="es"), [city]) is None
    # A name in fields of a form is found again.
    (found,) = clusters("Nombre: [name:Ernesto]. Apellidos: [name:Barrantes Quezada].", language="es")
    entity = IndexedEntity(1, Kind.NAME, found.forms, Surrogate(Kind.NAME, {"given": "Ana", "family": "Gil"}), own=True)
    assert same_entity(found, [entity]) is entity


def test_identities_are_the_full_name_and_the_surnames() -> None:
    assert identities(one(Kind.STAFF, "Dr. Adam J. Wilson", "Wilson")) == ["adam j wilson", "adam wilson", "wilson"]
    assert identities(one(Kind.NAME, "María", language="es")) == ["maria"]
    assert identities(one(Kind.PHONE, "917 27 00 83", "917270083", language="es")) == ["917270083"]
    assert identities(one(Kind.HOSPITAL, "Hospital La Paz", language="es")) == ["hospital la paz", "paz"]


def test_people_with_one_full_name_share_a_key() -> None:
    assert surrogate_key(person("Kévin", "Chang", gender="m")) == surrogate_key(STAFF)
    assert surrogate_key(person("Kevin", "Chang", family2="Lee", given2="J.")) == "kevin j chang lee"
    one, other = (surrogate_key(Surrogate(Kind.PHONE, {"value": value})) for value in ("99 1", "991"))
    assert one == other
