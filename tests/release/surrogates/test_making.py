"""Surrogates for mentions from the project's index: consistent, unique, sealed, and never an original."""

from types import SimpleNamespace

import pytest

from annotations.core.sealing import project_key
from annotations.models import Document, SurrogateEntity, SurrogateKey, SurrogateMention
from annotations.release.rules.surrogates.pipeline import Surrogate
from annotations.release.rules.surrogates.writing import parts_of
from annotations.release.selectors.surrogates import opened
from annotations.release.services.surrogates import makers
from annotations.release.services.surrogates.making import surrogates_for
from annotations.release.services.surrogates.patients import Originals
from tests import factories as make
from tests.release.surrogates.conftest import said, with_mentions


def test_a_second_call_and_a_later_note_get_the_same_surrogates(ward):
    def rows():
        return [model.objects.count() for model in (SurrogateEntity, SurrogateKey, SurrogateMention)]

    first, before = ward.make(), rows()
    assert ward.make() == first and rows() == before
    later = make.make_note(ward.project, "Adam Wilson called.", "later", language="en", patient_id="P-1")
    mentions = [with_mentions(later, ("Adam Wilson", "name"))]
    found = surrogates_for(project=ward.project, notes=[*ward.mentions[:2], *mentions])
    assert said(mentions, found)[later.pk, "Adam Wilson"] == first[ward.notes[0].pk, "Adam Wilson"]
    alone = surrogates_for(project=ward.project, notes=mentions)
    assert set(alone.values()) == {first[ward.notes[0].pk, "Adam Wilson"]}


@pytest.mark.both_databases
def test_the_index_holds_no_readable_text(ward):
    found = ward.make()
    words = {word.casefold() for text in [*found.values(), "Adam Wilson", "Emily Carter"] for word in text.split()}
    words = {word for word in words if len(word) > 3} - {"city", "medical", "record"}
    key = project_key(ward.project)
    for model in (SurrogateEntity, SurrogateKey, SurrogateMention):
        for row in model.objects.values():
            stored = " ".join(str(value) for value in row.values() if not isinstance(value, bytes | memoryview))
            raw = b" ".join(bytes(value) for value in row.values() if isinstance(value, bytes | memoryview))
            assert not [word for word in words if word in stored.casefold() or word.encode() in raw.lower()]
    entity = SurrogateEntity.objects.get(kind="staff")
    assert "Dr. Emily Carter" in opened(key, entity).forms
    other = make.make_project("elsewhere")
    with pytest.raises(Exception, match="can't be read"):
        opened(project_key(other), entity)


def test_a_call_needs_few_queries(ward, django_assert_max_num_queries):
    with django_assert_max_num_queries(60):
        ward.make()
    with django_assert_max_num_queries(16):
        ward.make()


class Repeating(makers.RulesMaker):
    """First makes the same name for everybody."""

    tries = 0

    def make(self, draft, around):
        self.tries += 1
        if draft.cluster.kind in ("name", "staff") and draft.attempt == 0:
            return Surrogate(draft.cluster.kind, {"given": "Gregory", "family": "Fletcher"})
        return super().make(draft, around)


@pytest.mark.both_databases
def test_two_entities_never_have_one_surrogate(ward, monkeypatch):
    maker = Repeating(project_key(ward.project))
    monkeypatch.setattr(makers, "RulesMaker", lambda key: maker)
    found = ward.make()
    one, _two, three = (note.pk for note in ward.notes)
    assert found[one, "Adam Wilson"] != found[three, "Betty Wilson"]
    digests = list(SurrogateEntity.objects.exclude(surrogate_digest=None).values_list("surrogate_digest", flat=True))
    assert len(digests) == len(set(digests)) == SurrogateEntity.objects.count() and maker.tries > len(digests)


class Copying(makers.RulesMaker):
    """First makes surrogates of physicians that are originals."""

    def __init__(self, key, *originals):
        super().__init__(key)
        self._originals = originals

    def make(self, draft, around):
        if draft.cluster.kind == "staff" and draft.attempt < len(self._originals):
            return Surrogate("staff", parts_of(draft.cluster, self._originals[draft.attempt]))
        return super().make(draft, around)


def test_a_surrogate_is_never_an_original(ward, monkeypatch):
    originals = "Emily Carter", "Emily Carter", "Gregory Housing"
    monkeypatch.setattr(makers, "RulesMaker", lambda key: Copying(key, *originals))
    elsewhere = make.make_note(ward.project, "Gregory Housing", "x", language="en")
    avoid = Originals(project_key(ward.project))
    avoid.add([with_mentions(elsewhere, ("Gregory Housing", "staff"))])
    written = ward.make(avoid=avoid)[ward.notes[0].pk, "Dr. Emily Carter"]
    assert "Carter" not in written and "Housing" not in written


@pytest.mark.both_databases
def test_notes_that_were_erased_meanwhile_are_left_out(ward, monkeypatch):
    generate = makers.RulesMaker.generate

    def erasing(self, wanted):
        Document.objects.filter(pk=ward.notes[2].pk).delete()
        return generate(self, wanted)

    monkeypatch.setattr(makers.RulesMaker, "generate", erasing)
    found = surrogates_for(project=ward.project, notes=ward.mentions)
    assert {note for note, _start, _end in found} == {note.pk for note in ward.notes[:2]}
    assert not SurrogateMention.objects.filter(document_id=ward.notes[2].pk).exists()
    assert SurrogateEntity.objects.filter(kind="name").count() == 1


def test_a_mention_with_another_label_gets_another_entity(ward):
    ward.make()
    relabeled = with_mentions(ward.notes[0], ("Springfield", "hospital"))
    surrogates_for(project=ward.project, notes=[relabeled])
    mention = SurrogateMention.objects.get(document=ward.notes[0], start=relabeled.mentions[0].start)
    assert mention.entity.kind == "hospital"


def test_surrogates_of_a_patient_agree_with_all_before_and_shared_ones_with_shared_ones():
    cluster, seen = SimpleNamespace(kind="name", forms=("A",)), []
    drafts = [SimpleNamespace(scope=scope, cluster=cluster) for scope in ("P-1", "", "P-1", "")]
    patient = SimpleNamespace(own=[], shared=[], drafts=drafts, days=3)
    makers.in_turn(patient, lambda _draft, around: seen.append((len(around.related), around.days)))
    assert seen == [(0, 3), (0, 3), (2, 3), (1, 3)]


def test_an_entity_has_one_surrogate_in_all_notes_of_a_patient_and_patients_share_physicians(ward):
    one, two, three = (note.pk for note in ward.notes)
    found = ward.make()
    full, short = found[one, "Adam Wilson"], found[one, "Wilson"]
    assert full.split()[-1] == short == found[two, "Wilson"] and "wilson" not in " ".join(found.values()).casefold()
    assert found[three, "Betty Wilson"] != full, "the other patient is somebody else"
    assert found[two, "4711-22"] != found[three, "9918-31"]
    doctor = found[one, "Dr. Emily Carter"]
    assert doctor == found[three, "Dr. Emily Carter"] and doctor.startswith("Dr. ")
    assert found[two, "Dr. Carter"].split()[-1] == doctor.split()[-1]
    assert SurrogateEntity.objects.filter(kind="staff").count() == 1


def test_full_names_and_whole_texts_are_originals_but_no_parts_and_no_cities(ward):
    text = "Dr. Gregory Housing, General Hospital Ebbvale, 12 Elm Street, Springfield, MRN 55-201."
    note = make.make_note(ward.project, text, "elsewhere", language="en")
    kinds = ("staff", "hospital", "street", "city", "medical record")
    forms = ("Gregory Housing", "General Hospital Ebbvale", "12 Elm Street", "Springfield", "55-201")
    found = Originals(project_key(ward.project))
    found.add([with_mentions(note, *zip(forms, kinds, strict=True))])
    assert all(name in found for name in ("gregory housing", "general hospital ebbvale", "12 elm street", "55201"))
    assert not any(name in found for name in ("housing", "gregory", "springfield", "ebbvale"))


def test_the_fields_of_a_form_are_one_name(ward):
    note = make.make_note(ward.project, "Nombre: Julia. Apellidos: Molina Bravo.", "form", language="es")
    found = Originals(project_key(ward.project))
    found.add([with_mentions(note, ("Julia", "name"), ("Molina Bravo", "name"))])
    assert "julia molina bravo" in found and "molina bravo" not in found
