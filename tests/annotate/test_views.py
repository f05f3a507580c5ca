"""The annotate page and its JSON through the URLs: access, content, and number of queries."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotations.models import AnnotationSet, Assignment, Event, Span, User
from tests import factories as make
from tests.annotate.conftest import alter, create, people, step
from tests.worlds.checks import check_page

pytestmark = pytest.mark.django_db
JSON = "application/json"


def client_of(user: User | None) -> Client:
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


def url(world: SimpleNamespace, name: str, **over: Any) -> str:
    args = {"slug": world.project.slug, "pk": world.note.pk} | over
    return reverse(name, kwargs=args)


def post(client: Client, path: str, data: Any) -> Any:
    """Post like the page's script, as the signed-in person unless `data` names another."""
    if "person" not in data:
        data = data | {"person": int(client.session.get("_auth_user_id", 0))}
    return client.post(path, json.dumps(data), content_type=JSON, headers={"accept": JSON})


# ── The page ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_page_shows_the_note_and_the_persons_own_spans(world: SimpleNamespace) -> None:
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT")])
    make.make_set(world.note, world.ben, [(13, 15, "AGE")])
    page = client_of(world.ann).get(url(world, "annotate"))
    assert page.status_code == 200
    html = page.content.decode()
    assert ">Mario Rossi</span>, 54 anni" in html
    assert 'data-label="PATIENT"' in html
    assert 'data-label="AGE"' not in html
    data = page.context["data"]
    assert [span["start"] for span in data["spans"]] == [0]
    assert data["text"] == world.note.text


def test_opening_is_an_event_and_makes_nothing_else(world: SimpleNamespace) -> None:
    client_of(world.ann).get(url(world, "annotate"))
    event = Event.objects.get()
    assert (event.verb, event.actor, event.document_id, event.data) == ("note.read", world.ann, world.note.pk, {})
    assert not AnnotationSet.objects.exists()


def test_markup_in_note_label_and_name_is_text(db: None) -> None:
    project = make.make_project("x", [("<i>c</i>", [("<b>&label", "1")])])
    ann = make.make_member(project)
    note = make.make_note(project, "a </script><script>alert(1)</script> & b", "<u>n</u>", annotators=[ann])
    make.make_set(note, ann, [(2, 11, "<b>&label")])
    html = client_of(ann).get(reverse("annotate", args=["x", note.pk])).content.decode()
    for raw in ("<script>alert", "<b>&label", "<i>c</i>", "<u>n</u>"):
        assert raw not in html
    assert "&lt;/script&gt;</span>&lt;script&gt;alert(1)" in html


@pytest.mark.parametrize(("who", "blind"), [("ann", True), ("rev", False), ("mia", False)])
def test_annotations_of_people_who_see_those_of_others_are_not_blind(
    world: SimpleNamespace, who: str, blind: bool
) -> None:
    data = create(world.note, world.labels, "Torino", "CITY")
    assert post(client_of(people(world)[who]), url(world, "changes"), data).status_code == 200
    assert AnnotationSet.objects.get().blind == blind


def test_a_refusal_is_json_with_its_code(world: SimpleNamespace) -> None:
    for who, code in (("vic", "forbidden"), ("cas", "not-found")):
        answer = post(client_of(people(world)[who]), url(world, "changes"), {}).json()
        assert answer["error"] == code and answer["message"]


def test_a_released_note_is_not_there_any_more(world: SimpleNamespace) -> None:
    Assignment.objects.filter(user=world.ann).update(state=Assignment.State.RELEASED)
    assert client_of(world.ann).get(url(world, "annotate")).status_code == 404


# ── Changes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_change_and_its_answer(world: SimpleNamespace) -> None:
    client = client_of(world.ann)
    data = create(world.note, world.labels, "Torino", "CITY", version=0)
    answer = post(client, url(world, "changes"), data)
    span = Span.objects.get()
    shown = {"id": span.pk, "start": span.start, "end": span.end, "label": span.label_id}
    assert answer.json() == {"version": 1, "span": shown, "removed": None, "changed_elsewhere": False}
    again = post(client, url(world, "changes"), create(world.note, world.labels, "Torino", "CITY", version=1)).json()
    assert (again["already"], again["span"]) == (True, shown)
    stale = post(client, url(world, "changes"), create(world.note, world.labels, "54", "AGE", version=0)).json()
    assert stale["changed_elsewhere"]
    assert len(stale["spans"]) == 2
    gone = post(client, url(world, "changes"), alter("delete", shown, version=2)).json()
    assert (gone["removed"], gone["span"], gone["version"]) == (span.pk, None, 3)


def test_many_at_once_and_their_answer(world: SimpleNamespace) -> None:
    client = client_of(world.ann)
    one = create(world.note, world.labels, "Torino", "CITY")
    two = create(world.note, world.labels, "54", "AGE")
    data = step("create_many", spans=[one, two], version=0)
    answer = post(client, url(world, "changes"), data).json()
    assert [(span["start"], span["label"]) for span in answer["made"]] == [
        (each["start"], each["label"]) for each in (one, two)
    ]
    assert (answer["version"], answer["already"], answer["changed_elsewhere"]) == (1, 0, False)
    assert "spans" not in answer
    assert post(client, url(world, "changes"), step("undo", version=1)).json()["spans"] == []
    back = post(client, url(world, "changes"), step("redo", version=2)).json()
    assert {span["id"] for span in back["spans"]} == {span["id"] for span in answer["made"]}


def test_a_conflict_brings_the_annotations_along(world: SimpleNamespace) -> None:
    client = client_of(world.ann)
    shown = post(client, url(world, "changes"), create(world.note, world.labels, "Torino", "CITY")).json()["span"]
    post(client, url(world, "changes"), alter("delete", shown))
    answer = post(client, url(world, "changes"), alter("relabel", shown, label=world.labels["AGE"]))
    assert answer.status_code == 409
    body = answer.json()
    assert (body["error"], body["version"], body["state"], body["spans"]) == ("changed", 2, "draft", [])
    assert "Your change was not saved" in body["message"]


def test_a_body_that_makes_no_sense(world: SimpleNamespace) -> None:
    client = client_of(world.ann)
    for body in (b" ", b"{", b"[]", b"[" * 100_000, b'{"kind": "create"}', b"\xff"):
        answer = client.post(url(world, "changes"), body, content_type=JSON)
        assert (answer.status_code, answer.json()["error"]) == (400, "malformed"), body[:20]


def test_the_error_never_quotes_the_note(world: SimpleNamespace) -> None:
    data = create(world.note, world.labels, "Torino", "CITY", quote="Mario Rossi")
    answer = post(client_of(world.ann), url(world, "changes"), data)
    assert (answer.status_code, answer.json()["error"]) == (400, "quote")
    assert not any(part in answer.content.decode() for part in ("Torino", "Mario", "Rossi"))


def test_a_page_of_one_person_never_saves_as_another(world: SimpleNamespace) -> None:
    data = create(world.note, world.labels, "Torino", "CITY", person=world.ann.pk)
    for path in (url(world, "changes"), url(world, "submit"), url(world, "reopen")):
        answer = post(client_of(world.ben), path, data)
        assert (answer.status_code, answer.json()["error"]) == (409, "person")
    assert not AnnotationSet.objects.exists()


def test_a_change_id_is_its_persons(world: SimpleNamespace) -> None:
    """The same id from another person makes their own change, and tells nothing about the first."""
    data = create(world.note, world.labels, "Torino", "CITY")
    mine, others = (post(client_of(who), url(world, "changes"), data).json() for who in (world.ann, world.ben))
    assert mine["span"]["id"] != others["span"]["id"]
    again = post(client_of(world.ben), url(world, "changes"), data).json()
    assert again["span"] == others["span"]
    assert Span.objects.count() == 2


def test_the_form_token_is_asked_for(world: SimpleNamespace) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.ann)
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


def test_what_a_change_costs(world: SimpleNamespace) -> None:
    """Session, person, membership, note; annotation set, span, version, whether the project is archived, event.

    No more, however many spans there are. A new span asks once more: how many lie there already.
    """
    client = client_of(world.ann)
    client.get(url(world, "spans"))  # the session's first touch
    post(client, url(world, "changes"), create(world.note, world.labels, "Mario Rossi", "PATIENT"))
    asked = queries(world, client, create(world.note, world.labels, "Torino", "CITY", version=1))
    assert len(asked) == 10, asked
    span = Span.objects.latest("pk")
    shown = {"id": span.pk, "start": span.start, "end": span.end, "label": span.label_id}
    assert len(queries(world, client, alter("relabel", shown, label=world.labels["AGE"], version=2))) == 9
    assert len(queries(world, client, alter("delete", shown | {"label": world.labels["AGE"]}, version=3))) == 9


def test_what_opening_a_note_costs(world: SimpleNamespace) -> None:
    for _ in range(40):
        make.make_note(world.project, annotators=[world.ann])
    make.make_set(world.note, world.ann, [(at, at + 1, "AGE") for at in range(0, 40, 2) if world.note.text[at] != " "])
    client = client_of(world.ann)
    client.get(url(world, "annotate"))
    with CaptureQueriesContext(connection) as captured:
        client.get(url(world, "annotate"))
    assert len(captured) <= 15, [each["sql"] for each in captured.captured_queries]


# ── Hearing of changes elsewhere ─────────────────────────────────────────────────────────────────────────────────────


def test_spans_come_only_if_there_is_something_new(world: SimpleNamespace) -> None:
    client = client_of(world.ann)
    post(client, url(world, "changes"), create(world.note, world.labels, "Torino", "CITY"))
    answer = client.get(url(world, "spans")).json()
    assert (answer["version"], answer["state"], answer["person"]) == (1, "draft", world.ann.pk)
    assert len(answer["spans"]) == 1
    assert "spans" not in client.get(url(world, "spans") + "?version=1").json()
    assert client.get(url(world, "spans") + "?version=x").json()["spans"]
    assert client_of(world.ben).get(url(world, "spans")).json()["spans"] == []


# ── Submitting ───────────────────────────────────────────────────────────────────────────────────────────────────────


def state(world: SimpleNamespace) -> tuple[str, str]:
    return AnnotationSet.objects.get().state, Assignment.objects.get(user=world.ann).state


def test_submit_and_reopen_change_set_and_assignment_together(world: SimpleNamespace) -> None:
    client = client_of(world.ann)
    answer = post(client, url(world, "submit"), {"version": 0}).json()
    assert (answer["state"], answer["version"]) == ("submitted", 1)
    assert answer["next"] == f"/projects/covid/notes/next/?after={world.note.pk}&submitted={world.note.pk}"
    assert state(world) == ("submitted", "done")
    assert AnnotationSet.objects.get().submitted_at
    answer = post(client, url(world, "reopen"), {}).json()
    assert (answer["state"], answer["version"]) == ("draft", 2)
    assert state(world) == ("draft", "open")
    assert AnnotationSet.objects.get().submitted_at is None
    assert [event.verb for event in Event.objects.all()] == ["set.submitted", "set.reopened"]


def test_an_empty_set_may_be_submitted_and_twice_is_once(world: SimpleNamespace) -> None:
    client = client_of(world.ann)
    for _ in range(2):
        assert post(client, url(world, "submit"), {}).json()["version"] == 1
    assert state(world) == ("submitted", "done")
    assert Event.objects.count() == 1
    for _ in range(2):
        assert post(client, url(world, "reopen"), {}).json()["version"] == 2
    assert Event.objects.count() == 2


def test_reopening_what_was_never_begun_changes_nothing(world: SimpleNamespace) -> None:
    assert post(client_of(world.ann), url(world, "reopen"), {}).json()["state"] == "draft"
    assert not AnnotationSet.objects.exists()


def test_a_stale_page_looks_again_before_it_submits(world: SimpleNamespace) -> None:
    client = client_of(world.ann)
    post(client, url(world, "changes"), create(world.note, world.labels, "Torino", "CITY"))
    answer = post(client, url(world, "submit"), {"version": 0})
    assert (answer.status_code, answer.json()["error"], len(answer.json()["spans"])) == (409, "stale", 1)
    assert state(world) == ("draft", "open")


def test_a_withdrawn_set_is_neither_submitted_nor_reopened(world: SimpleNamespace) -> None:
    make.make_set(world.note, world.ann)
    AnnotationSet.objects.update(state=AnnotationSet.State.WITHDRAWN)
    for name in ("submit", "reopen"):
        assert post(client_of(world.ann), url(world, name), {}).status_code == 409
    assert AnnotationSet.objects.get().state == "withdrawn"


def test_without_the_script_forms_lead_on(world: SimpleNamespace) -> None:
    client = client_of(world.ann)
    answer = client.post(url(world, "submit"))
    following = f"/projects/covid/notes/next/?after={world.note.pk}&submitted={world.note.pk}"
    assert (answer.status_code, answer.url) == (302, following)
    assert f"{world.note.name} submitted" in client.get(following).content.decode()
    second = make.make_note(world.project, annotators=[world.ann])
    there = client.get(following).url
    assert there == f"{url(world, 'annotate', pk=second.pk)}?submitted={world.note.pk}"
    assert f"{world.note.name} submitted" in client.get(there).content.decode()
    answer = client.post(url(world, "reopen"))
    assert (answer.status_code, answer.url) == (302, url(world, "annotate"))
    # Only the person's own submitted note is named.
    for other in (there, there.replace(f"={world.note.pk}", f"={second.pk}"), there.replace("=", "=x")):
        assert " submitted</span>" not in client.get(other).content.decode()


def test_next_note(world: SimpleNamespace) -> None:
    second, third = (make.make_note(world.project, annotators=[world.ann]) for _ in range(2))
    client = client_of(world.ann)
    path = reverse("next_note", args=["covid"])

    def after(pk: object) -> str:
        return client.get(f"{path}?after={pk}").url

    assert after(world.note.pk) == url(world, "annotate", pk=second.pk)
    assert after(third.pk) == url(world, "annotate")
    assert after("x") == after("²") == after(-1) == after("9" * 40) == client.get(path).url == url(world, "annotate")
    Assignment.objects.filter(user=world.ann).exclude(document=third).update(state=Assignment.State.DONE)
    assert after(third.pk) == url(world, "annotate", pk=third.pk)
    Assignment.objects.filter(user=world.ann).update(state=Assignment.State.DONE)
    page = client.get(path)
    assert page.status_code == 200
    html = check_page(page)
    assert "<h1>You have finished all your notes</h1>" in html and "You have submitted 3 of 3 notes" in html


# ── The list of notes ────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_list_shows_the_persons_notes_around_this_one(world: SimpleNamespace) -> None:
    notes = [world.note, *(make.make_note(world.project, annotators=[world.ann]) for _ in range(80))]
    make.make_note(world.project, name="not for ann", annotators=[world.ben])
    Assignment.objects.filter(user=world.ann, document__in=notes[:30]).update(state=Assignment.State.DONE)
    work = client_of(world.ann).get(url(world, "annotate", pk=notes[40].pk)).context["work"]
    assert [item.pk for item in work.notes] == [note.pk for note in notes[25:56]]
    assert [item.state for item in work.notes[:6]] == ["done"] * 5 + ["open"]
    assert (work.done, work.total, work.left) == (30, 81, 51)
    assert (work.previous, work.next) == (notes[39].pk, notes[41].pk)
    first = client_of(world.ann).get(url(world, "annotate")).context["work"]
    assert (first.previous, first.next) == (None, notes[1].pk)


def test_who_has_no_notes_of_their_own_sees_the_projects(world: SimpleNamespace) -> None:
    other = make.make_note(world.project)
    work = client_of(world.rev).get(url(world, "annotate")).context["work"]
    assert [(item.pk, item.state) for item in work.notes] == [(world.note.pk, ""), (other.pk, "")]
    assert (work.done, work.total) == (0, 0)
