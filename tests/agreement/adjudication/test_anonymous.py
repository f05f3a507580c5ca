"""In anonymous adjudication no page shows people who may adjudicate which annotator marked what."""

import re
from uuid import uuid4

import pytest
from django.urls import reverse

from annotations.core.access import Can, enter
from annotations.models import Author, AuthorKind, Comment, Flag, Job, Project, StoredFile, StoredFileKind
from annotations.notes.services.talk import ThreadSubject, add_comment, raise_flag
from tests import factories as make
from tests.worlds.pages import made_world, world

__all__ = ["made_world", "world"]

NAMES = re.compile(r"(?<!\.)\b(?:ann|ben)\b")


@pytest.fixture
def told(world):
    """Both have annotated, commented and flagged the note; ann's set is gold, and a manager has exported it."""
    for person, spans in ((world.ann, [(0, 11, "PATIENT")]), (world.ben, [(0, 5, "PATIENT")])):
        world.annotation_set = make.make_set(world.note, person, spans, submitted=True)
        access = enter(person, world.project.slug, Can.ANNOTATE)
        about = ThreadSubject(annotator=person.pk, start=0, end=5)
        add_comment(access=access, document=world.note, about=about, text="why?", change_id=uuid4())
        raise_flag(access=access, document=world.note, reason=Flag.Reason.values[0], text="")
    gold = Author.objects.create(project=world.project, kind=AuthorKind.GOLD, name="gold")
    make.make_set(world.note, gold, [(0, 11, "PATIENT")], submitted=True)
    world.author = world.annotation_set.author
    world.file = StoredFile.objects.create(
        project=world.project, kind=StoredFileKind.EXPORT, name="covid-annotator-ben-brat.zip", size=0
    )
    jobs = {"export": {"set": "annotator:ben"}, "score": {"author_id": world.author.pk}}
    for kind, params in jobs.items():
        setattr(world, kind, Job.objects.create(project=world.project, kind=kind, key=kind, params=params))
    Project.objects.filter(pk=world.project.pk).update(anonymous_adjudication=True)
    return world


def pages(told):
    note, author = told.note.pk, told.author.pk
    places = {
        (): ("notes", "gold", "scores", "export", "agreement", "disagreements", "adjudications"),
        (note,): ("note", "talk", "adjudicate", "adjudicate_state"),
        (note, 0, 5): ("disagreement_talk",),
        (0, author): ("score", "score_errors"),
    }
    return {
        **{name: reverse(name, args=["covid", *args]) for args, names in places.items() for name in names},
        "reading": reverse("note", args=["covid", note]) + f"?set={told.annotation_set.pk}",
        "export job": reverse("job", args=["covid", told.export.number]),
        "score job": reverse("job", args=["covid", told.score.number]),
        "file": reverse("file_download", args=["covid", told.file.pk]),
    }


def test_no_act_takes_one_annotators_spans(told, sign_in):
    client = sign_in(told.rev)
    acts = {
        "job_start_export": {"set": "annotator:ben", "format": "brat"},
        "job_start_score": {"version": "0", "author": str(told.author.pk)},
        "job_start_gold": {"author": str(told.author.pk)},
    }
    before = set(Job.objects.values_list("pk", flat=True))
    for name, data in acts.items():
        # A score is refused with the message for an unknown author.
        assert client.post(reverse(name, args=["covid"]), data).status_code in (302, 403), name
    assert set(Job.objects.values_list("pk", flat=True)) == before
    # The error message names no annotator among the choices.
    wrong = {"set": "run:nobody", "format": "brat"}
    refused = client.post(reverse("job_start_export", args=["covid"]), wrong, follow=True).content.decode()
    assert "no such annotation sets" in refused and not NAMES.search(refused)
    compared = client.get(reverse("runs_compare", args=["covid"]), {"a": ["999998", "999999"]}).content.decode()
    assert "author has no annotations" in compared and not NAMES.search(compared)
    data = {"set": str(told.annotation_set.pk), "version": "0", "replace": "1"}
    assert client.post(reverse("note_gold", args=["covid", told.note.pk]), data).status_code == 404


def test_a_comment_of_an_adjudicator_is_tied_to_no_annotator(told, sign_in):
    data = {"act": "add", "text": "Look at line 1.", "set": str(told.annotation_set.pk)}
    assert sign_in(told.rev).post(reverse("comments", args=["covid", told.note.pk]), data).status_code == 302
    assert not Comment.objects.filter(text=data["text"], annotator__isnull=False).exists()
    sign_in(told.mia).post(reverse("comments", args=["covid", told.note.pk]), data)
    assert Comment.objects.filter(text=data["text"], annotator=told.ben).exists(), "a manager may name whom it is about"
