"""Erasing a patient or a note takes what only they said from the index."""

import pytest

from annotations.core.sealing import project_key
from annotations.models import SurrogateEntity, SurrogateKey, SurrogateMention
from annotations.ops.services.erasing import delete_note, erase_patient
from annotations.release.selectors.surrogates import opened
from annotations.release.services.surrogates.making import surrogates_for
from tests import factories as make
from tests.release.surrogates.conftest import said, with_mentions

pytestmark = pytest.mark.both_databases


def forms(ward):
    key = project_key(ward.project)
    return {form for row in SurrogateEntity.objects.filter(project=ward.project) for form in opened(key, row).forms}


def test_words_whose_label_changed_are_erased_too(made):
    """The entity that had them first is shared by all patients, and no mention leads from the note to it."""
    SurrogateEntity.objects.all().delete()
    texts = (("P-1", "Seen by Dr. Zelda Quux."), ("P-2", "Dr. Zelda Quux"), ("P-1", "Quux again, of Zwolle."))
    about = {"project": made.project, "language": "en"}
    notes = [make.make_note(**about, text=text, patient_id=patient) for patient, text in texts]

    def release(*labeled):
        mentions = [with_mentions(note, *some) for note, some in zip(notes, labeled, strict=True)]
        surrogates_for(project=made.project, notes=mentions)

    doctor = ("Dr. Zelda Quux", "staff")
    release([doctor], [doctor], [("Quux", "staff"), ("Zwolle", "hospital")])
    release([doctor], [doctor], [("Quux", "name"), ("Zwolle", "city")])
    assert {"Quux", "Zwolle"} <= forms(made)
    erase_patient(project=made.project, patient_id="P-1", actor=made.mia)
    assert forms(made) == {"Dr. Zelda Quux"}


def test_deleting_one_note_of_a_patient(made):
    delete_note(project=made.project, note=made.notes[0].pk, actor=made.mia)
    assert forms(made) == {"Wilson", "Dr. Carter", "4711-22", "Betty Wilson", "Dr. Emily Carter", "9918-31"}


def test_erasing_patients(made):
    other = make.make_project("other")
    note = make.make_note(other, "Adam Wilson", "n", patient_id="P-1")
    surrogates_for(project=other, notes=[with_mentions(note, ("Adam Wilson", "name"))])
    keys = SurrogateKey.objects.count()
    erase_patient(project=made.project, patient_id="P-1", actor=made.mia)
    own = SurrogateEntity.objects.filter(project=made.project)
    assert forms(made) == {"Betty Wilson", "Dr. Emily Carter", "9918-31"}, "“Dr. Carter” was only P-1's"
    mentions = SurrogateMention.objects.filter(entity__project=made.project)
    assert set(mentions.values_list("document_id", flat=True)) == {made.notes[2].pk}
    assert SurrogateKey.objects.count() < keys and not own.filter(mentions=None).exists()
    # What others say keeps its surrogate.
    rest, last = made.mentions[2:], made.notes[2].pk
    kept = {key: text for key, text in made.found.items() if key[0] == last}
    assert said(rest, surrogates_for(project=made.project, notes=rest)) == kept
    erase_patient(project=made.project, patient_id="P-2", actor=made.mia)
    assert not own.exists() and SurrogateEntity.objects.filter(project=other).count() == 1
