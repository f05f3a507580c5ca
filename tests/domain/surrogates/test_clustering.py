"""Which mentions are of one entity."""

import pytest

from annotations.domain.redaction.kinds import Kind
from tests.domain.surrogates.worlds import clusters, texts

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
    # places by folded text
    ("es", ["[city:Ávila]", "[city:AVILA]"]),
]


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


def test_a_person_with_two_labels_is_staff() -> None:
    (found,) = clusters("[name:Lucia Bianchi] [staff:Lucia Bianchi]", language="it")
    assert found.kind == Kind.STAFF
