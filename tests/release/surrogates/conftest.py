"""Notes with mentions that get surrogates."""

from types import SimpleNamespace

import pytest

from annotations.release.rules.redaction.policy import IdentifierType as Kind
from annotations.release.rules.redaction.released import Mention
from annotations.release.services.surrogates.making import NoteMentions, surrogates_for
from tests import factories as make
from tests.held import fresh


def with_mentions(note, *mentions):
    """The note with mentions, each a text and its kind. Every occurrence of a text is a mention."""
    found = []
    for text, kind in mentions:
        at = note.text.find(text)
        assert at >= 0, text
        while at >= 0:
            if not any(one.start < at + len(text) and at < one.end for one in found):
                found.append(Mention(at, at + len(text), kind.upper(), Kind(kind), text))
            at = note.text.find(text, at + 1)
    return NoteMentions(note.pk, note.patient_id, note.language, note.text, found)


def said(notes, found):
    """What is written in place of each mention, by note id and original text."""
    places = [(note.document, one) for note in notes for one in note.mentions]
    return {(note, one.text): found[note, one.start, one.end] for note, one in places}


def make_ward():
    """Two patients; both are treated by Dr. Emily Carter."""
    project = make.make_project("ward", language="en")
    texts = [
        ("P-1", "Patient: Adam Wilson, of Springfield. Seen by Dr. Emily Carter. Wilson is well."),
        ("P-1", "Wilson came back. Signed: Dr. Carter, MRN 4711-22."),
        ("P-2", "Patient: Betty Wilson. Referred by Dr. Emily Carter. MRN 9918-31."),
    ]
    about = {"project": project, "language": "en"}
    notes = [make.make_note(**about, text=text, patient_id=patient) for patient, text in texts]
    adam = [("Adam Wilson", "name"), ("Springfield", "city"), ("Dr. Emily Carter", "staff"), ("Wilson", "name")]
    again = [("Wilson", "name"), ("Dr. Carter", "staff"), ("4711-22", "medical record")]
    betty = [("Betty Wilson", "name"), ("Dr. Emily Carter", "staff"), ("9918-31", "medical record")]
    mentions = [with_mentions(note, *some) for note, some in zip(notes, (adam, again, betty), strict=True)]
    mia = make.make_member(project, "manager", "mia")
    return SimpleNamespace(project=project, notes=notes, mentions=mentions, mia=mia)


def make_made():
    """The patients of `make_ward`, with surrogates in `found`."""
    ward = making(make_ward())
    ward.found = ward.make()
    return ward


def making(ward):
    """The ward with `make`, which makes surrogates for its mentions."""
    ward.make = lambda **more: said(ward.mentions, surrogates_for(project=ward.project, notes=ward.mentions, **more))
    return ward


@pytest.fixture(scope="module")
def made_ward(once):
    return once(make_ward)


@pytest.fixture
def ward(made_ward, db):
    """The patients of `make_ward`, made once for the module."""
    return making(fresh(made_ward, make_ward))


@pytest.fixture(scope="module")
def made_surrogates(once):
    return once(make_made)


@pytest.fixture
def made(made_surrogates, db):
    """The patients of `make_made`, made once for the module. No test of such a module can have the fixture `ward`."""
    return making(fresh(made_surrogates, make_made))
