"""The annotate page and its JSON through the URLs: access, content, and number of queries."""

import json
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from django.db import connection
from django.db.models.sql.compiler import SQLCompiler
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotations import models
from annotations.projects.services.projects import archive_project
from tests import factories as make
from tests.annotate.conftest import PARTS, alter, at, create, many, step
from tests.worlds.checks import check_page
from tests.worlds.commands import answered, failed, printed
from tests.worlds.pages import signed_in

JSON = "application/json"


def url(world: SimpleNamespace, name: str, **over: Any) -> str:
    args = {"slug": world.project.slug, "pk": world.note.pk} | over
    return reverse(name, kwargs=args)


def post(client: Client, path: str, data: Any) -> Any:
    """Post like the page's script, as the signed-in person unless `data` names another."""
    if "person" not in data:
        data = data | {"person": int(client.session.get("_auth_user_id", 0))}
    return client.post(path, json.dumps(data), content_type=JSON, headers={"accept": JSON})


def test_the_page_shows_the_note_and_the_persons_own_spans(world: SimpleNamespace) -> None:
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT")])
    make.make_set(world.note, world.ben, [(13, 15, "AGE")])
    page = signed_in(world.ann).get(url(world, "annotate"))
    html = page.content.decode()
    assert ">Mario Rossi</span>, 54 anni" in html and 'data-label="PATIENT"' in html and 'data-label="AGE"' not in html
    data = page.context["data"]
    assert ([span["start"] for span in data["spans"]], data["text"]) == ([0], world.note.text)
    event = models.Event.objects.get()
    assert (event.verb, event.actor, event.document_id, event.data) == ("note.read", world.ann, world.note.pk, {})


def test_markup_in_note_label_and_name_is_text(db: None) -> None:
    project = make.make_project("x", [("<i>c</i>", [("<b>&label", "1")])])
    ann = make.make_member(project)
    note = make.make_note(project, "a </script><script>alert(1)</script> & b", "<u>n</u>", annotators=[ann])
    make.make_set(note, ann, [(2, 11, "<b>&label")])
    html = signed_in(ann).get(reverse("annotate", args=["x", note.pk])).content.decode()
    for raw in ("<script>alert", "<b>&label", "<i>c</i>", "<u>n</u>"):
        assert raw not in html
    assert "&lt;/script&gt;</span>&lt;script&gt;alert(1)" in html


def test_annotations_of_people_who_see_those_of_others_are_not_blind(world: SimpleNamespace) -> None:
    for who, blind in ((world.ann, True), (world.rev, False), (world.mia, False)):
        data = create(world.note, world.labels, "Torino", "CITY")
        assert post(signed_in(who), url(world, "changes"), data).status_code == 200
        assert models.AnnotationSet.objects.get(author__user=who).blind == blind


def test_a_change_and_its_answer(world: SimpleNamespace, ann: Client) -> None:
    data = create(world.note, world.labels, "Torino", "CITY", version=0)
    answer = post(ann, url(world, "changes"), data)
    span = models.Span.objects.get()
    shown = {"id": span.pk, "start": span.start, "end": span.end, "label": span.label_id}
    assert answer.json() == {"version": 1, "span": shown, "removed": None, "changed_elsewhere": False}
    again = post(ann, url(world, "changes"), create(world.note, world.labels, "Torino", "CITY", version=1)).json()
    assert (again["already"], again["span"]) == (True, shown)
    stale = post(ann, url(world, "changes"), create(world.note, world.labels, "54", "AGE", version=0)).json()
    assert stale["changed_elsewhere"] and len(stale["spans"]) == 2
    gone = post(ann, url(world, "changes"), alter("delete", shown, version=2)).json()
    assert (gone["removed"], gone["span"], gone["version"]) == (span.pk, None, 3)
    refused = post(ann, url(world, "changes"), alter("relabel", shown, label=world.labels["AGE"]))
    body = refused.json()
    assert (refused.status_code, body["error"], body["version"], body["state"]) == (409, "changed", 3, "draft")
    assert len(body["spans"]) == 1 and body["message"]
    new = post(ann, url(world, "changes"), many(world, PARTS[2:], version=3)).json()
    assert [each["start"] for each in new["made"]] == [at(world.note.text, part)[0] for part, _ in PARTS[2:]]
    assert (new["version"], new["already"], new["changed_elsewhere"]) == (4, 0, False) and "spans" not in new
    back = post(ann, url(world, "changes"), step("undo", version=4)).json()
    assert [span["start"] for span in back["spans"]] == [at(world.note.text, "54")[0]]


def test_a_page_of_one_person_never_saves_as_another(world: SimpleNamespace) -> None:
    data = create(world.note, world.labels, "Torino", "CITY", person=world.ann.pk)
    for path in (url(world, "changes"), url(world, "submit"), url(world, "reopen")):
        answer = post(signed_in(world.ben), path, data)
        assert (answer.status_code, answer.json()["error"]) == (409, "person")
    assert not models.AnnotationSet.objects.exists()


def test_a_change_id_is_its_persons(world: SimpleNamespace) -> None:
    """The same id from another person makes their own change, and tells nothing about the first."""
    data = create(world.note, world.labels, "Torino", "CITY")
    mine, others = (post(signed_in(who), url(world, "changes"), data).json() for who in (world.ann, world.ben))
    assert mine["span"]["id"] != others["span"]["id"]
    assert post(signed_in(world.ben), url(world, "changes"), data).json()["span"] == others["span"]
    assert models.Span.objects.count() == 2


def test_the_form_token_is_asked_for(world: SimpleNamespace) -> None:
    client = signed_in(world.ann, enforce_csrf_checks=True)
    data = create(world.note, world.labels, "Torino", "CITY", person=world.ann.pk)
    assert post(client, url(world, "changes"), data).status_code == 403
    token = client.get(url(world, "spans"), headers={"accept": JSON}).json()["csrf"]
    path = url(world, "changes")
    answer = client.post(path, json.dumps(data), content_type=JSON, headers={"accept": JSON, "x-csrftoken": token})
    assert answer.status_code == 200


def queries(world: SimpleNamespace, client: Client, data: dict[str, Any]) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        assert post(client, url(world, "changes"), data | {"person": world.ann.pk}).status_code == 200
    begin = ("SAVEPOINT", "RELEASE", "BEGIN", "COMMIT", "SELECT pg_advisory")
    return [each["sql"] for each in captured.captured_queries if not each["sql"].startswith(begin)]


def test_what_a_change_costs(world: SimpleNamespace, ann: Client) -> None:
    """Session; person, membership and note; annotation set, span, version, whether the project is archived, event.

    No more, however many spans there are. A new span asks once more: how many lie there already.
    """
    ann.get(url(world, "spans"))  # the session's first touch
    post(ann, url(world, "changes"), create(world.note, world.labels, "Mario Rossi", "PATIENT"))
    asked = queries(world, ann, create(world.note, world.labels, "Torino", "CITY", version=1))
    assert len(asked) == 8, asked
    span = models.Span.objects.latest("pk")
    shown = {"id": span.pk, "start": span.start, "end": span.end, "label": span.label_id}
    assert len(queries(world, ann, alter("relabel", shown, label=world.labels["AGE"], version=2))) == 7
    assert len(queries(world, ann, alter("delete", shown | {"label": world.labels["AGE"]}, version=3))) == 7


def test_what_opening_a_note_costs(world: SimpleNamespace, ann: Client) -> None:
    for _ in range(40):
        make.make_note(world.project, annotators=[world.ann])
    make.make_set(world.note, world.ann, [(start, start + 1, "AGE") for start in range(12)])
    ann.get(url(world, "annotate"))
    anew = patch.object(SQLCompiler, "as_sql", side_effect=AssertionError("This costs more than the query itself."))
    with CaptureQueriesContext(connection) as captured, anew:
        ann.get(url(world, "annotate"))
    assert len(captured) <= 15, [each["sql"] for each in captured.captured_queries]


def test_spans_come_only_if_there_is_something_new(world: SimpleNamespace, ann: Client) -> None:
    post(ann, url(world, "changes"), create(world.note, world.labels, "Torino", "CITY"))
    answer = ann.get(url(world, "spans")).json()
    assert (answer["version"], answer["state"], answer["person"]) == (1, "draft", world.ann.pk)
    assert len(answer["spans"]) == 1
    assert "spans" not in ann.get(url(world, "spans") + "?version=1").json()
    assert ann.get(url(world, "spans") + "?version=x").json()["spans"]
    assert signed_in(world.ben).get(url(world, "spans")).json()["spans"] == []


def state(world: SimpleNamespace) -> tuple[str, str]:
    return models.AnnotationSet.objects.get().state, models.Assignment.objects.get(user=world.ann).state


def test_submit_and_reopen_change_set_and_assignment_together(world: SimpleNamespace, ann: Client) -> None:
    assert post(ann, url(world, "reopen"), {}).json()["state"] == "draft"
    assert not models.AnnotationSet.objects.exists()
    for _ in range(2):  # an empty set, and a double click
        answer = post(ann, url(world, "submit"), {}).json()
        assert (answer["state"], answer["version"]) == ("submitted", 1)
        assert answer["next"] == f"/projects/covid/notes/next/?after={world.note.pk}&submitted={world.note.pk}"
    assert state(world) == ("submitted", "done") and models.AnnotationSet.objects.get().submitted_at
    for _ in range(2):
        answer = post(ann, url(world, "reopen"), {}).json()
        assert (answer["state"], answer["version"]) == ("draft", 2)
    assert state(world) == ("draft", "open") and models.AnnotationSet.objects.get().submitted_at is None
    assert [event.verb for event in models.Event.objects.all()] == ["set.submitted", "set.reopened"]
    post(ann, url(world, "changes"), create(world.note, world.labels, "Torino", "CITY"))
    stale = post(ann, url(world, "submit"), {"version": 0})
    assert (stale.status_code, stale.json()["error"], len(stale.json()["spans"])) == (409, "stale", 1)
    assert state(world) == ("draft", "open")


def test_a_withdrawn_set_is_neither_submitted_nor_reopened(world: SimpleNamespace) -> None:
    make.make_set(world.note, world.ann)
    models.AnnotationSet.objects.update(state=models.AnnotationSetState.WITHDRAWN)
    for name in ("submit", "reopen"):
        assert post(signed_in(world.ann), url(world, name), {}).status_code == 409
    assert models.AnnotationSet.objects.get().state == "withdrawn"


def test_without_the_script_forms_lead_on(world: SimpleNamespace, ann: Client) -> None:
    answer = ann.post(url(world, "submit"))
    following = f"/projects/covid/notes/next/?after={world.note.pk}&submitted={world.note.pk}"
    assert (answer.status_code, answer.url) == (302, following)
    assert f"{world.note.name} submitted" in ann.get(following).content.decode()
    second = make.make_note(world.project, annotators=[world.ann])
    there = ann.get(following).url
    assert there == f"{url(world, 'annotate', pk=second.pk)}?submitted={world.note.pk}"
    assert f"{world.note.name} submitted" in ann.get(there).content.decode()
    answer = ann.post(url(world, "reopen"))
    assert (answer.status_code, answer.url) == (302, url(world, "annotate"))
    # Only the person's own submitted note is named.
    for other in (there, there.replace(f"={world.note.pk}", f"={second.pk}"), there.replace("=", "=x")):
        assert " submitted</span>" not in ann.get(other).content.decode()


def test_next_note(world: SimpleNamespace, ann: Client) -> None:
    second, third = (make.make_note(world.project, annotators=[world.ann]) for _ in range(2))
    path = reverse("next_note", args=["covid"])

    def after(pk: object) -> str:
        return ann.get(f"{path}?after={pk}").url

    assert after(world.note.pk) == url(world, "annotate", pk=second.pk)
    assert after(third.pk) == url(world, "annotate")
    assert after("x") == after("²") == after(-1) == after("9" * 40) == ann.get(path).url == url(world, "annotate")
    models.Assignment.objects.filter(user=world.ann).exclude(document=third).update(state=models.AssignmentState.DONE)
    assert after(third.pk) == url(world, "annotate", pk=third.pk)
    models.Assignment.objects.filter(user=world.ann).update(state=models.AssignmentState.DONE)
    assert "3 of 3 notes" in check_page(ann.get(path))


# ── The command that submits and reopens annotations ──


CASE = ("submit", "covid", "caso-001")


def states(world):
    sets = models.AnnotationSet.objects.filter(document=world.note, author__user=world.ann)
    return [*sets.values_list("state", flat=True), models.Assignment.objects.get(user=world.ann).state]


def test_annotations_are_submitted_and_reopened_by_a_command(world):
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT")])
    found = answered(*CASE, "--by", "ann")
    assert found["notes"] == [{"note": "caso-001", "version": found["notes"][0]["version"], "state": "submitted"}]
    assert (states(world), found["annotator"]) == (["submitted", models.AssignmentState.DONE], "ann")
    assert models.Event.objects.get(verb="set.submitted").actor == world.ann
    assert answered(*CASE, "--reopen", "--by", "ann")["notes"][0]["state"] == "draft"
    assert states(world) == ["draft", models.AssignmentState.OPEN]
    assert models.Event.objects.get(verb="set.reopened").actor == world.ann


def test_a_note_that_the_command_refuses_leaves_the_others(world):
    assert answered(*CASE) == "by"
    # This annotator has no such note assigned, so not even its name is confirmed.
    assert failed(*CASE, "--by", "cas")["refused"][0]["code"] == "note"
    assert not models.AnnotationSet.objects.exists()
    found = failed(*CASE, "nowhere", "--by", "ann")
    assert [each["note"] for each in found["notes"]] == ["caso-001"] and states(world)[0] == "submitted"
    assert [(each["note"], each["code"]) for each in found["refused"]] == [("nowhere", "note")]
    assert printed(*CASE, "--by", "ann").startswith("caso-001: ")
    run = make.make_author(world.project, kind="run", name="rules-1")
    make.make_set(world.note, run, [(0, 11, "PATIENT")], submitted=True)
    models.Project.objects.update(seed_from=run)
    assert failed(*CASE, "--by", "ben")["refused"][0]["code"] == "unseen"
    assert models.AnnotationSet.objects.get(author__user=world.ben).state == "draft"
    archive_project(project=world.project, actor=world.mia)
    assert answered(*CASE, "--by", "ann") == "archived"
