"""The adjudication pages and their JSON: errors and content."""

import re
import uuid
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.urls import reverse

from annotations import models
from annotations.core.access import Can, enter
from annotations.core.services import NOTE_READ
from annotations.notes.services.talk import ThreadSubject, add_comment, raise_flag
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.pages import made_world, world
from tests.worlds.reviewing import send

__all__ = ["made_world", "world"]
NAME, DATE, CITY = (0, 11), (31, 41), (44, 50)
LIST = "/projects/covid/adjudicate/"


@pytest.fixture
def read(world: SimpleNamespace) -> SimpleNamespace:
    world.sets = [
        make.make_set(world.note, world.ann, [(*NAME, "PATIENT"), (*DATE, "DATE")], submitted=True),
        make.make_set(world.note, world.ben, [(*DATE, "DATE"), (*CITY, "CITY")], submitted=True),
    ]
    world.label = {label.name: label.pk for label in world.project.label_set.labels.all()}
    return world


def url(world: SimpleNamespace, name: str = "adjudicate") -> str:
    return reverse(name, args=["covid", world.note.pk])


@pytest.fixture
def decide(read: SimpleNamespace, sign_in: type):
    client = sign_in(read.rev)

    def act(name: str, bounds: tuple[int, int] = (-1, -1), /, **changes: object) -> SimpleNamespace:
        locations = client.get(url(read, "adjudicate_state")).json()["locations"]
        seen = [[each["start"], each["end"], each["key"]] for each in locations if each["start"] == bounds[0]]
        body = {"act": name, "change_id": str(uuid.uuid4()), "person": read.rev.pk, "seen": seen}
        return send(client, url(read, "adjudicate_decide"), body | changes)

    act.client = client
    return act


def decide_all(decide, world):
    decide("annotator", NAME, annotator=1)
    decide("nothing", CITY)
    decide("majority", DATE)


def finish(decide, world):
    return send(decide.client, url(world, "adjudicate_finish"), {"person": world.rev.pk})


# ── The page ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_page_and_what_it_gives_its_script(read, decide):
    response = decide.client.get(url(read))
    check_page(response)
    data = response.context["data"]
    assert [each["name"] for each in data["annotators"]] == ["ann", "ben"]
    assert [(p["start"], p["consensus"], p["state"]) for p in data["locations"]] == [
        (0, "one", "open"), (31, "all", "agreed"), (44, "one", "open")
    ]  # fmt: skip
    assert models.Event.objects.filter(verb=NOTE_READ, actor=read.rev).count() == 1
    # Fewer than two people have submitted the note.
    read.sets[1].delete()
    assert 'id="finish" disabled' in check_page(decide.client.get(url(read)))


# ── Deciding ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_decisions_answer_with_the_note_as_it_stands(read, decide):
    answer = decide("annotator", NAME, annotator=1)
    assert (answer.status, answer.json["open"], answer.json["version"]) == (200, 2, 1)
    first = answer.json["locations"][0]
    assert (first["state"], first["outcome"], first["by"]) == ("decided", [[*NAME, read.label["PATIENT"]]], "rev")
    span = {"start": 44, "end": 50, "label": read.label["HOSPITAL"]}
    answer = decide("own", CITY, **span, quote="Torino")
    assert answer.json["locations"][2]["outcome"] == [[*CITY, read.label["HOSPITAL"]]]
    assert decide("drop", CITY, **span).json["locations"][2]["choice"] == "nothing"
    for _ in range(3):
        answer = decide("undo")
    assert answer.json["open"] == 3 and decide("undo").json["error"] == "nothing"
    answer = decide("nothing", seen=[[0, 11, "0" * 16]])
    assert (answer.status, answer.json["error"], len(answer.json["locations"])) == (409, "moved", 3)


def test_somebody_else_s_page(read, decide):
    answer = decide("nothing", NAME, person=read.ann.pk)
    assert (answer.status, answer.json["error"]) == (409, "person")
    answer = send(decide.client, url(read, "adjudicate_finish"), {"person": read.ann.pk})
    assert answer.json["error"] == "person"


def test_causes_from_the_page(read, decide):
    def cause(**changes):
        body = {"person": read.rev.pk, "start": 0, "end": 11, "kind": "S", "present": True}
        return send(decide.client, url(read, "adjudicate_cause"), body | changes)

    cause()
    answer = cause(kind="AB")
    assert (answer.status, answer.json["locations"][0]["causes"]) == (200, ["AB", "S"])
    assert cause(present=False).json["locations"][0]["causes"] == ["AB"]
    assert [each.kind for each in models.Cause.objects.all()] == ["AB"]
    for wrong in ({"kind": "X"}, {"kind": ""}, {"kind": 3}, {"start": -1}, {"end": "11"}, {"present": "yes"}):
        assert cause(**wrong).status == 400
    assert cause(end=9_999).status == 409


# ── Closing, gold ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_note_is_finished_and_made_gold_in_one_click(read, decide):
    answer = finish(decide, read)
    assert (answer.status, answer.json["error"]) == (409, "open")
    decide_all(decide, read)
    assert finish(decide, read).json["next"] == url(read)
    make_gold = reverse("note_gold", args=["covid", read.note.pk])
    html = check_page(decide.client.get(url(read)))
    assert make_gold in html and url(read, "adjudicate_reopen") in html
    own = models.AnnotationSet.objects.get(author__kind="adjudicated")
    assert decide.client.post(make_gold, {"set": own.pk, "version": own.version}).status_code == 302
    gold = models.Span.objects.filter(annotation_set__author__kind="gold")
    assert [(span.start, span.label.name) for span in gold] == [(0, "PATIENT"), (31, "DATE")]
    assert "This is the gold standard" in decide.client.get(url(read)).content.decode()
    gold.filter(start=0).delete()
    models.AnnotationSet.objects.filter(author__kind="gold").update(version=9)
    assert "Replace gold" in check_page(decide.client.get(url(read)))


def test_finishing_makes_gold_and_goes_on_unless_the_note_has_other_gold(read, decide):
    def onward():
        data = {"person": read.rev.pk, "gold": True}
        return send(decide.client, url(read, "adjudicate_finish"), data).json["next"]

    decide_all(decide, read)
    assert onward() == f"{LIST}next/?after={read.note.pk}"
    gold = models.Span.objects.filter(annotation_set__author__kind="gold")
    assert [(span.start, span.label.name) for span in gold] == [(0, "PATIENT"), (31, "DATE")]
    gold.filter(start=0).delete()
    assert onward() == url(read)
    assert gold.all().count() == 1


def test_close_and_reopen_without_the_script(read, decide):
    assert decide.client.post(url(read, "adjudicate_finish")).status_code == 302
    assert not models.Adjudication.objects.exists(), "nothing was decided"
    decide_all(decide, read)
    decide.client.post(url(read, "adjudicate_finish"))
    assert models.Adjudication.objects.get().finished_by == read.rev
    answer = decide("nothing", NAME)
    assert (answer.status, answer.json["error"], answer.json["finished"]) == (409, "finished", True)
    decide.client.post(url(read, "adjudicate_reopen"))
    assert not models.Adjudication.objects.exists()
    assert decide("nothing", NAME).status == 200


# ── The list ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_list(read, decide):
    html = check_page(decide.client.get(LIST))
    assert "caso-001" in html and "caso-002" not in html
    assert '<td class="num" data-label="Disagreements">2</td>' in html
    assert decide.client.get(f"{LIST}next/").headers["Location"] == url(read)
    decide_all(decide, read)
    assert "begun" in decide.client.get(f"{LIST}?show=begun").content.decode()
    decide.client.post(url(read, "adjudicate_finish"))
    html = check_page(decide.client.get(f"{LIST}?show=finished"))
    assert "1 finished note is not gold yet." in html
    assert f'name="author" value="{models.Author.objects.get(kind="adjudicated").pk}"' in html
    assert "No notes" in check_page(decide.client.get(LIST))
    assert decide.client.get(f"{LIST}next/").headers["Location"] == f"{LIST}?show=finished"
    for query in ("show=nonsense", "page=99999999999999999999", "show=all&page=7"):
        assert decide.client.get(f"{LIST}?{query}").status_code == 200
    models.AnnotationSet.objects.all().delete()
    assert "Nothing to adjudicate yet" in check_page(decide.client.get(LIST))


# ── In anonymous adjudication no page shows people who may adjudicate which annotator marked what ──


NAMES = re.compile(r"(?<!\.)\b(?:ann|ben)\b")


@pytest.fixture
def told(world):
    """Both have annotated, commented and flagged the note; ann's set is gold, and a manager has exported it."""
    for person, spans in ((world.ann, [(0, 11, "PATIENT")]), (world.ben, [(0, 5, "PATIENT")])):
        world.annotation_set = make.make_set(world.note, person, spans, submitted=True)
        access = enter(person, world.project.slug, Can.ANNOTATE)
        about = ThreadSubject(annotator=person.pk, start=0, end=5)
        add_comment(access=access, document=world.note, about=about, text="why?", change_id=uuid4())
        raise_flag(access=access, document=world.note, reason=models.Flag.Reason.values[0], text="")
    gold = models.Author.objects.create(project=world.project, kind=models.AuthorKind.GOLD, name="gold")
    make.make_set(world.note, gold, [(0, 11, "PATIENT")], submitted=True)
    world.author = world.annotation_set.author
    world.file = models.StoredFile.objects.create(
        project=world.project, kind=models.StoredFileKind.EXPORT, name="covid-annotator-ben-brat.zip", size=0
    )
    jobs = {"export": {"set": "annotator:ben"}, "score": {"author_id": world.author.pk}}
    for kind, params in jobs.items():
        setattr(world, kind, models.Job.objects.create(project=world.project, kind=kind, key=kind, params=params))
    models.Project.objects.filter(pk=world.project.pk).update(anonymous_adjudication=True)
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


def test_no_act_takes_one_annotators_spans(told, rev):
    acts = {
        "job_start_export": {"set": "annotator:ben", "format": "brat"},
        "job_start_score": {"version": "0", "author": str(told.author.pk)},
        "job_start_gold": {"author": str(told.author.pk)},
    }
    before = set(models.Job.objects.values_list("pk", flat=True))
    for name, data in acts.items():
        # A score is refused with the message for an unknown author.
        assert rev.post(reverse(name, args=["covid"]), data).status_code in (302, 403), name
    assert set(models.Job.objects.values_list("pk", flat=True)) == before
    # The error message names no annotator among the choices.
    wrong = {"set": "run:nobody", "format": "brat"}
    refused = rev.post(reverse("job_start_export", args=["covid"]), wrong, follow=True).content.decode()
    assert "no such annotation sets" in refused and not NAMES.search(refused)
    compared = rev.get(reverse("runs_compare", args=["covid"]), {"a": ["999998", "999999"]}).content.decode()
    assert "author has no annotations" in compared and not NAMES.search(compared)
    data = {"set": str(told.annotation_set.pk), "version": "0", "replace": "1"}
    assert rev.post(reverse("note_gold", args=["covid", told.note.pk]), data).status_code == 404


def test_a_comment_of_an_adjudicator_is_tied_to_no_annotator(told, sign_in):
    data = {"act": "add", "text": "Look at line 1.", "set": str(told.annotation_set.pk)}
    assert sign_in(told.rev).post(reverse("comments", args=["covid", told.note.pk]), data).status_code == 302
    assert not models.Comment.objects.filter(text=data["text"], annotator__isnull=False).exists()
    sign_in(told.mia).post(reverse("comments", args=["covid", told.note.pk]), data)
    assert models.Comment.objects.filter(text=data["text"], annotator=told.ben).exists(), "a manager may name people"
