"""Where adjudication is anonymous, no page tells those who may adjudicate which annotator said what."""

import re
from uuid import uuid4

import pytest
from django.urls import reverse

from annotations.core.access import Can, enter
from annotations.models import Author, Flag, Job, Project, StoredFile
from annotations.notes.services.comments import About, add_comment
from annotations.notes.services.flags import raise_flag
from tests import factories as make

NAMES = re.compile(r"(?<!\.)\b(?:ann|ben)\b")


@pytest.fixture
def told(world):
    """Both have read the note, commented on their reading and flagged it; ann's is gold, and exported by a manager."""
    for person, spans in ((world.ann, [(0, 11, "PATIENT")]), (world.ben, [(0, 5, "PATIENT")])):
        world.reading = make.make_set(world.note, person, spans, submitted=True)
        access = enter(person, world.project.slug, Can.ANNOTATE)
        about = About(reader=person.pk, start=0, end=5)
        add_comment(access=access, document=world.note, about=about, text="why?", change_id=uuid4())
        raise_flag(access=access, document=world.note, reason=Flag.Reason.values[0], text="")
    gold = Author.objects.create(project=world.project, kind=Author.Kind.GOLD, name="gold")
    make.make_set(world.note, gold, [(0, 11, "PATIENT")], submitted=True)
    world.author = world.reading.author
    world.file = StoredFile.objects.create(
        project=world.project, kind=StoredFile.Kind.EXPORT, name="covid-annotator-ben-brat.zip", size=0
    )
    jobs = {"export": {"set": "annotator:ben"}, "score": {"author_id": world.author.pk}}
    for kind, params in jobs.items():
        setattr(world, kind, Job.objects.create(project=world.project, kind=kind, key=kind, params=params))
    Project.objects.filter(pk=world.project.pk).update(anonymous_adjudication=True)
    return world


def _pages(told):
    note, author = told.note.pk, told.author.pk
    return {
        **{name: reverse(name, args=["covid"]) for name in ("notes", "gold", "scores", "export", "agreement")},
        **{name: reverse(name, args=["covid"]) for name in ("disagreements", "adjudications")},
        **{name: reverse(name, args=["covid", note]) for name in ("note", "talk", "adjudicate", "adjudicate_state")},
        "talk of a place": reverse("disagreement_talk", args=["covid", note, 0, 5]),
        "score": reverse("score", args=["covid", 0, author]),
        "places": reverse("score_places", args=["covid", 0, author]),
        "reading": reverse("note", args=["covid", note]) + f"?set={told.reading.pk}",
        "export job": reverse("job", args=["covid", told.export.pk]),
        "score job": reverse("job", args=["covid", told.score.pk]),
        "file": reverse("file_download", args=["covid", told.file.pk]),
    }


def test_no_page_names_an_annotator_to_an_adjudicator(told, sign_in):
    hidden = {"score", "places", "reading", "file", "export job", "score job"}
    client, manager = sign_in(told.rev), sign_in(told.mia)
    named = set()
    for name, url in _pages(told).items():
        answer = client.get(url)
        assert answer.status_code == (404 if name in hidden else 200), name
        assert not NAMES.search(answer.content.decode()), name
        if name != "file" and NAMES.search(manager.get(url).content.decode()):
            named.add(name)
    assert named >= {"notes", "gold", "scores", "export", "note", "score", "reading"}


def test_no_act_takes_one_annotators_readings(told, sign_in):
    client = sign_in(told.rev)
    acts = {
        "job_start_export": {"set": "annotator:ben", "format": "brat"},
        "job_start_score": {"version": "0", "author": str(told.author.pk)},
        "job_start_gold": {"author": str(told.author.pk)},
    }
    for name, data in acts.items():
        assert client.post(reverse(name, args=["covid"]), data).status_code == 403, name
    # What is refused names no annotator among the choices.
    wrong = {"set": "run:nobody", "format": "brat"}
    refused = client.post(reverse("job_start_export", args=["covid"]), wrong, follow=True).content.decode()
    assert "no such annotation sets" in refused and not NAMES.search(refused)
    compared = client.get(reverse("runs_compare", args=["covid"]), {"a": ["999998", "999999"]}).content.decode()
    assert "no such author" in compared and not NAMES.search(compared)
    data = {"set": str(told.reading.pk), "version": "0", "replace": "1"}
    assert client.post(reverse("note_gold", args=["covid", told.note.pk]), data).status_code == 404
