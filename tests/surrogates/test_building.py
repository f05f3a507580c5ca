"""The command that fills the index for an annotation set and measures it."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotations.models import LabelSet, SurrogateMention
from tests import factories as make


@pytest.fixture
def gold(ward):
    LabelSet.objects.filter(project=ward.project).update(key="i2b2-2014")
    author = make.make_author(ward.project, kind="gold", name="gold")
    labels = {"name": "PATIENT", "staff": "DOCTOR", "city": "CITY"}
    for note, mentions in zip(ward.notes, ward.mentions, strict=True):
        spans = [(one.start, one.end, labels[one.kind]) for one in mentions.mentions if one.kind in labels]
        make.make_set(note, author, spans, submitted=True)
    return ward


def surrogates(*words):
    out = io.StringIO()
    call_command("surrogates", "ward", *words, stdout=out)
    return out.getvalue()


def test_measures_of_an_annotation_set(gold):
    found = json.loads(surrogates("--json"))
    assert found == {
        "notes": 3, "mentions": 8, "entities": 4, "preserved": 1.0, "consistent": 1.0, "collisions": 0,
        "originals_left": 0,
    }  # fmt: skip
    assert SurrogateMention.objects.count() == 8
    assert json.loads(surrogates("--json", "--set", "gold")) == found
    assert "Consistent: 100.0%. Collisions: 0." in surrogates()


def test_what_can_not_be_built(gold):
    with pytest.raises(CommandError, match="nobody"):
        surrogates("--set", "run:nobody")
    with pytest.raises(CommandError, match="can't make surrogates here"):
        surrogates("--model", "ward/small")
