"""The pages of disagreements and of guideline amendments: access, content and acts."""

import uuid
from types import SimpleNamespace

import pytest
from django.urls import reverse
from django.utils.html import escape

from annotations.agreement.events import GUIDELINES_AMENDED
from annotations.core.access import enter
from annotations.models import Amendment, AnnotationSet, Cause, Comment, Event, Project
from annotations.notes.services.comments import About, add_comment
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.pages import TEXT

NAME, AGE = (0, 11), (13, 15)
PAGE = "/projects/covid/agreement/disagreements/"


@pytest.fixture
def read(world: SimpleNamespace) -> SimpleNamespace:
    """Two annotation sets of the first note: different bounds of the name, and an age that ben missed."""
    world.sets = [
        make.make_set(world.note, world.ann, [(*NAME, "PATIENT"), (*AGE, "AGE")], submitted=True),
        make.make_set(world.note, world.ben, [(6, 11, "PATIENT")], submitted=True),
    ]
    return world


def at(world: SimpleNamespace, name: str, location: tuple[int, int] = NAME) -> str:
    return reverse(name, args=["covid", world.note.pk, *location])


# ── The list ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_locations_in_their_sentence_with_a_row_for_each_annotator(read, sign_in):
    html = check_page(sign_in(read.rev).get(PAGE))
    assert html.count('<li class="card ad-location"') == 2
    assert '<th scope="row">ann</th>' in html and '<th scope="row">ben</th>' in html
    assert '<th scope="col" class="here"><bdi>Mario</bdi></th>' in html
    assert "B-PATIENT</td>" in html and "I-PATIENT</td>" in html and "B-AGE</td>" in html
    assert f'href="/projects/covid/adjudicate/{read.note.pk}/#0"' in html
    assert f'href="/projects/covid/notes/{read.note.pk}/"' in html
    assert "2 disagreements." in html


def test_what_each_role_can_do_there(read, sign_in):
    viewer, manager = (sign_in(person).get(PAGE).content.decode() for person in (read.vic, read.mia))
    assert 'data-cause="AB"' not in viewer and "covid/adjudicate/" not in viewer and "amend/?" not in viewer
    assert f"amend/?note={read.note.pk}&amp;start=0&amp;end=11" in manager


def test_nothing_to_show(world, sign_in):
    html = check_page(sign_in(world.rev).get(PAGE))
    assert "No disagreements" in html
    html = check_page(sign_in(world.rev).get(f"{PAGE}?kind=label"))
    assert "No disagreement here" in html


def test_filters(read, sign_in):
    client = sign_in(read.rev)
    for query, count in (
        ("", 2), ("kind=missed", 1), ("kind=boundary", 1), ("kind=label", 0), ("kind=nonsense", 2), ("cause=none", 2),
        ("cause=AB", 0), ("unit=entity", 2), ("round=1", 2), ("round=2", 0), ("round=x", 2),
        ("label=999999999", 0), ("pair=1-99999999", 0), ("pair=x", 2), ("note=99999999999999999999", 2),
        ("annotation_sets=all", 2), ("after=0-1", 2), ("after=99999999-1", 0), ("before=99999999-1", 2),
    ):  # fmt: skip
        html = client.get(f"{PAGE}?{query}").content.decode()
        assert html.count('<li class="card ad-location"') == count, query


def test_filters_by_pair_label_and_note(read, sign_in):
    client = sign_in(read.rev)
    one, other = (each.author_id for each in read.sets)
    label = read.project.label_set.labels.get(name="AGE").pk
    for query in (f"pair={one}-{other}", f"pair={other}-{one}&kind=missed&label={label}", f"note={read.note.pk}"):
        assert '<li class="card ad-location"' in check_page(client.get(f"{PAGE}?{query}"))


def test_the_page_follows_an_annotation_set(read, sign_in):
    client = sign_in(read.rev)
    assert client.get(PAGE).content.decode().count('<li class="card ad-location"') == 2
    sign_in(read.ben).post(reverse("reopen", args=["covid", read.note.pk]))
    assert "No disagreements" in client.get(PAGE).content.decode()
    read.sets[1].spans.update(start=0)
    sign_in(read.ben).post(reverse("submit", args=["covid", read.note.pk]))
    html = client.get(PAGE).content.decode()
    assert html.count('<li class="card ad-location"') == 1 and "B-AGE" in html


def test_many_notes_are_compared_behind_a_progress_bar(read, sign_in, monkeypatch):
    for number in range(3):
        note = make.make_note(read.project, TEXT, f"more-{number}")
        make.make_set(note, read.ann, [], submitted=True)
    monkeypatch.setattr("annotations.agreement.services.comparing.BATCH", 1)
    monkeypatch.setattr("annotations.agreement.views.disagreements.AT_ONCE", 0)
    monkeypatch.setattr("annotations.agreement.views.disagreements.IN_STEPS", 0)
    client = sign_in(read.rev)
    html = check_page(client.get(PAGE))
    assert 'id="comparing"' in html and '<li class="card ad-location"' not in html
    headers = {"HTTP_HX_REQUEST": "true"}
    assert 'id="comparing"' in check_page(client.get(PAGE, **headers), fragment=True)
    assert 'id="comparing"' in client.get(PAGE, **headers).content.decode()
    assert client.get(PAGE, **headers).headers["HX-Refresh"] == "true"
    assert client.get(PAGE).content.decode().count('<li class="card ad-location"') == 2


def test_markup_in_a_note_is_text(world, sign_in):
    text = "<script>alert(1)</script> & <b>Rossi</b>"
    note = make.make_note(world.project, text, "<i>odd</i>")
    make.make_set(note, world.ann, [(0, 8, "PATIENT")], submitted=True)
    make.make_set(note, world.ben, [(0, 8, "DOCTOR")], submitted=True)
    html = check_page(sign_in(world.rev).get(PAGE))
    assert "<script>alert" not in html and "<i>odd" not in html
    assert escape("<") in html


def test_a_long_right_to_left_note(world, sign_in):
    text = "مريض اسمه محمد " * 500
    note = make.make_note(world.project, text, "long")
    make.make_set(note, world.ann, [(3000, 3004, "PATIENT")], submitted=True)
    make.make_set(note, world.ben, [], submitted=True)
    html = check_page(sign_in(world.rev).get(PAGE))
    assert html.count("<td") < 500, "only the sentence around it, cut"


def test_anonymous_adjudication_hides_names_and_pairs(read, sign_in):
    Project.objects.filter(pk=read.project.pk).update(anonymous_adjudication=True)
    one, other = (each.author_id for each in read.sets)
    for person in (read.rev, read.vic):
        html = check_page(sign_in(person).get(f"{PAGE}?pair={one}-{other}"))
        assert "Annotator 1" in html and ">ann<" not in html and ">ben<" not in html
        assert "cannot be filtered by pair" in html
    assert ">ann<" in sign_in(read.mia).get(PAGE).content.decode()


# ── Causes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_causes_are_added_on_the_page_and_removed(read, sign_in):
    client = sign_in(read.rev)
    htmx = {"HTTP_HX_REQUEST": "true"}
    check_page(client.post(at(read, "disagreement_cause"), {"added": "AM"}, **htmx), fragment=True)
    html = check_page(client.post(at(read, "disagreement_cause"), {"added": "S"}, **htmx), fragment=True)
    for kind in ("AM", "S"):
        pressed = f'name="removed" value="{kind}" data-cause="{kind}" aria-pressed="true"'
        assert pressed in html, "the same button removes it"
    assert 'name="added" value="AB" data-cause="AB" aria-pressed="false"' in html
    assert ">Ambiguity</button>" in html and ">AM<" not in html
    page = check_page(sign_in(read.vic).get(PAGE))
    assert '<span class="tag">Ambiguity</span><span class="tag">Scarcity</span>' in page
    assert "cause: Ambiguity" in check_page(sign_in(read.mia).get(reverse("audit", args=["covid"])))
    assert [cause.kind for cause in Cause.objects.all()] == ["AM", "S"]
    answer = client.post(at(read, "disagreement_cause"), {"removed": "AM"})
    assert answer.status_code == 302 and Cause.objects.get().kind == "S"
    html = client.post(at(read, "disagreement_cause"), {"added": "<b>"}, **htmx).content.decode()
    assert "is not a cause" in html and "<b>" not in html


@pytest.mark.parametrize("location", [(0, 0), (5, 2), (0, 9_999), (0, 99_999_999_999_999_999)])
def test_locations_outside_the_note(read, sign_in, location):
    client = sign_in(read.rev)
    for name in ("disagreement_cause", "disagreement_talk"):
        assert client.post(at(read, name, location), {"added": "D", "text": "x"}).status_code == 404


# ── Discussion ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_location_is_discussed(read, sign_in):
    client = sign_in(read.rev)
    htmx = {"HTTP_HX_REQUEST": "true"}
    url = at(read, "disagreement_talk")
    assert "No comments on this location yet" in check_page(client.get(url, **htmx), fragment=True)
    data = {"text": "With <b>title</b>?", "change_id": str(uuid.uuid4())}
    for _ in range(2):
        html = check_page(client.post(url, data, **htmx), fragment=True)
    assert html.count("With &lt;b&gt;title&lt;/b&gt;?") == 1, "a replay says it once"
    comment = Comment.objects.get()
    assert (comment.annotator, comment.start, comment.end) == (None, 0, 11)
    html = client.post(url, {"text": "No.", "answers": comment.pk}, **htmx).content.decode()
    assert "No." in html and Comment.objects.get(answers=comment).text == "No."
    assert "1 comment" in client.get(PAGE).content.decode()
    assert "With" in check_page(client.get(url)), "a page of its own without the script"
    html = client.post(url, {"text": "  "}, **htmx).content.decode()
    assert 'role="alert"' in html
    assert "title" not in str(list(Event.objects.values_list("data", flat=True)))


def test_only_comments_on_the_location_itself(read, sign_in):
    access = enter(read.rev, "covid")
    add_comment(
        access=access, document=read.note, about=About(annotator=read.ann.pk, start=0, end=5), text="About ann."
    )
    add_comment(access=access, document=read.note, about=About(annotator=None, start=31, end=41), text="Elsewhere.")
    html = sign_in(read.rev).get(at(read, "disagreement_talk"), HTTP_HX_REQUEST="true").content.decode()
    assert "About ann" not in html and "Elsewhere" not in html
    viewer = sign_in(read.vic)
    assert "<textarea" not in viewer.get(at(read, "disagreement_talk")).content.decode()
    assert viewer.post(at(read, "disagreement_talk"), {"text": "x"}).status_code == 403


# ── Amendments ───────────────────────────────────────────────────────────────────────────────────────────────────────

AMEND = "/projects/covid/guidelines/amend/"


def test_a_disagreement_becomes_a_rule(read, sign_in):
    client = sign_in(read.mia)
    url = f"{AMEND}?note={read.note.pk}&start=0&end=11"
    assert "Amendment 1" in check_page(client.get(url))
    html = check_page(client.post(url, {"text": "Titles are **no** names.", "seen_version": 0, "do": "preview"}))
    assert "<strong>no</strong>" in html and not Amendment.objects.exists()
    assert client.post(url, {"text": "Titles are **no** names.", "seen_version": 0}).status_code == 302
    made = Amendment.objects.get()
    assert (made.document, made.start, made.end, made.by) == (read.note, 0, 11, read.mia)
    project = Project.objects.get(slug="covid")
    assert project.guidelines_version == 1 and "## Amendment 1" in project.guidelines
    html = check_page(client.get("/projects/covid/guidelines/amendments/"))
    assert "<strong>no</strong>" in html and f"?note={read.note.pk}" in html
    theirs = sign_in(read.ann).get("/projects/covid/guidelines/amendments/").content.decode()
    assert f"?note={read.note.pk}" not in theirs
    assert Event.objects.filter(verb=GUIDELINES_AMENDED).count() == 1
    assert 'name="round"' in sign_in(read.rev).get(PAGE).content.decode()


def test_an_amendment_does_not_overwrite_somebody_s_guidelines(read, sign_in):
    client = sign_in(read.mia)
    Project.objects.filter(slug="covid").update(guidelines="# New", guidelines_version=5)
    answer = client.post(AMEND, {"text": "A rule.", "seen_version": 0})
    html = check_page(answer)
    assert answer.status_code == 422 and "Someone changed the guidelines" in html and "A rule." in html
    assert 'name="seen_version" value="5"' in html
    assert client.post(AMEND, {"text": "A rule.", "seen_version": 5}).status_code == 302


@pytest.mark.parametrize("text", ["", "   ", "x" * 4001])
def test_texts_that_are_no_rule(world, sign_in, text):
    client = sign_in(world.mia)
    answer = client.post(AMEND, {"text": text, "seen_version": 0})
    assert answer.status_code == 422 and not Amendment.objects.exists()
    # The preview shows the error itself, so its status is 200.
    asked = {"text": text, "seen_version": 0, "do": "preview"}
    seen = client.post(AMEND, asked, headers={"HX-Request": "true"})
    assert seen.status_code == 200 and "errorlist" in seen.content.decode().partition('id="preview"')[2]


def test_a_location_of_another_project_is_not_found(read, sign_in):
    theirs = make.make_note(read.other, TEXT)
    client = sign_in(read.mia)
    assert client.get(f"{AMEND}?note={theirs.pk}&start=0&end=4").status_code == 404
    for query in ("note=x", f"note={read.note.pk}&start=5&end=1", f"note={read.note.pk}&start=0&end=9999"):
        assert "From caso" not in check_page(client.get(f"{AMEND}?{query}"))


def test_withdrawn_sets_do_not_count(read, sign_in):
    AnnotationSet.objects.filter(pk=read.sets[0].pk).update(state="withdrawn")
    assert "No disagreements" in sign_in(read.rev).get(PAGE).content.decode()
