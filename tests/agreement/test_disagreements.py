"""The pages of disagreements and of guideline amendments: access, content and acts."""

import uuid
from types import SimpleNamespace

import pytest
from django.urls import reverse

from annotations.agreement.events import GUIDELINES_AMENDED
from annotations.core.access import enter
from annotations.jobs.services.worker import perform
from annotations.models import Amendment, AnnotationSet, Cause, Comment, Comparison, Event, Job, Project
from annotations.notes.services.talk import ThreadSubject, add_comment
from tests import factories as make
from tests.worlds.checks import batch, check_page
from tests.worlds.pages import TEXT

NAME, AGE = (0, 11), (13, 15)
HTMX = {"HTTP_HX_REQUEST": "true"}
PAGE = "/projects/covid/agreement/disagreements/"


@pytest.fixture
def client(world, sign_in):
    return sign_in(world.rev)


def shown(answer) -> int:
    """The number of disagreements on the page."""
    return answer.content.decode().count('<details class="ad-location"')


def at(world: SimpleNamespace, name: str, location: tuple[int, int] = NAME) -> str:
    return reverse(name, args=["covid", world.note.pk, *location])


# ── The list ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_locations_in_their_sentence_with_a_row_for_each_annotator(read, client, sign_in):
    answer = client.get(PAGE)
    html = check_page(answer)
    assert shown(answer) == 2
    for words in (
        '<th scope="row">ann</th>', '<th scope="row">ben</th>', '<th scope="col" class="here"><bdi>Mario</bdi></th>',
        "B-PATIENT</td>", "I-PATIENT</td>", "B-AGE</td>", f'href="/projects/covid/adjudicate/{read.note.pk}/#0"',
        f'href="/projects/covid/notes/{read.note.pk}/"',
    ):  # fmt: skip
        assert words in html
    viewer, manager = (sign_in(person).get(PAGE).content.decode() for person in (read.vic, read.mia))
    assert 'data-cause="AB"' not in viewer and "covid/adjudicate/" not in viewer and "amend/?" not in viewer
    assert f"amend/?note={read.note.pk}&amp;start=0&amp;end=11" in manager
    AnnotationSet.objects.filter(pk=read.sets[0].pk).update(state="withdrawn")
    assert "No disagreements" in check_page(client.get(PAGE))
    assert "No disagreement here" in check_page(client.get(f"{PAGE}?kind=label"))


def test_filters(read, client):
    one, other = (each.author_id for each in read.sets)
    label = read.project.label_set.labels.get(name="AGE").pk
    for query, count in (
        ("", 2), ("kind=missed", 1), ("kind=boundary", 1), ("kind=label", 0), ("kind=nonsense", 2), ("cause=none", 2),
        ("cause=AB", 0), ("unit=entity", 2), ("round=1", 2), ("round=2", 0), ("round=x", 2),
        ("label=999999999", 0), ("pair=1-99999999", 0), ("pair=x", 2), ("note=99999999999999999999", 2),
        ("annotation_sets=all", 2), ("after=0-1", 2), ("after=99999999-1", 0), ("before=99999999-1", 2),
        (f"pair={one}-{other}", 2), (f"pair={other}-{one}&kind=missed&label={label}", 1), (f"note={read.note.pk}", 2),
    ):  # fmt: skip
        assert shown(client.get(f"{PAGE}?{query}")) == count, query


@pytest.mark.queue
def test_a_job_compares_many_notes_and_the_page_shows_its_progress(read, client, monkeypatch, no_redis):
    monkeypatch.setattr("annotations.agreement.services.comparing.AT_ONCE", 0)
    for page in (PAGE, reverse("disagreement_sentences", args=["covid"])):
        answer = client.get(page)
        assert 'id="comparing"' in check_page(answer) and shown(answer) == 0
    assert not Comparison.objects.exists(), "a page compares nothing"
    start = reverse("agreement_start", args=["covid"])
    html = check_page(client.post(start, **HTMX), fragment=True)
    assert client.post(start).url == reverse("job", args=["covid", Job.objects.get().number]), "the same job"
    job = Job.objects.get()
    progress = reverse("agreement_progress", args=["covid", job.number])
    assert f'hx-get="{progress}"' in html
    perform(job.pk)
    assert client.get(progress, **HTMX)["HX-Refresh"] == "true"
    assert (make.reread(job).state, job.result, job.done) == ("done", {"notes": 1}, 1) and shown(client.get(PAGE)) == 2
    assert PAGE in check_page(client.get(reverse("job", args=["covid", job.number])))
    AnnotationSet.objects.filter(pk=read.sets[0].pk).update(state="withdrawn")
    assert 'id="comparing"' in check_page(client.get(PAGE))
    client.post(start)
    assert Job.objects.filter(kind="comparison").count() == 2


# ── Causes ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_causes_are_added_on_the_page_and_removed(read, client, sign_in):
    where, name = reverse("disagreement_cause", args=["covid"]), f"{read.note.pk}-0-11"
    html = batch(client, where, *({"at": name, "added": kind} for kind in ("AM", "S")))["parts"][f"causes-{name}"]
    for kind in ("AM", "S"):
        pressed = f'name="removed" value="{kind}" data-cause="{kind}" aria-pressed="true"'
        assert pressed in html, "the same button removes it"
    assert 'name="added" value="AB" data-cause="AB" aria-pressed="false"' in html
    page = check_page(sign_in(read.vic).get(PAGE))
    assert '<span class="tag">Ambiguity</span>' in page and '<span class="tag">Scarcity</span>' in page
    assert "cause: Ambiguity" in check_page(sign_in(read.mia).get(reverse("audit", args=["covid"])))
    answer = client.post(where, {"at": name, "removed": "AM"})
    assert answer.url == f"{PAGE}?note={read.note.pk}" and Cause.objects.get().kind == "S"
    assert batch(client, where, {"at": name, "added": "<b>"})["outcomes"][0]["error"] == "kind"
    for location in ((0, 0), (5, 2), (0, 9_999), (0, 99_999_999_999_999_999)):  # outside the note
        assert client.post(at(read, "disagreement_talk", location), {"text": "x"}).status_code == 404
        place = "-".join(map(str, (read.note.pk, *location)))
        assert client.post(where, {"at": place, "added": "D"}).status_code == 404
    assert client.post(where, {"at": "x", "added": "D"}).status_code == 404


# ── Discussion ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_location_is_discussed(read, client, vic):
    """The page shows only comments on the location itself."""
    url, access = at(read, "disagreement_talk"), enter(read.rev, "covid")
    for about, text in (
        (ThreadSubject(annotator=read.ann.pk, start=0, end=5), "About ann."),
        (ThreadSubject(annotator=None, start=31, end=41), "Elsewhere."),
    ):
        add_comment(access=access, document=read.note, about=about, text=text)
    elsewhere = Comment.objects.count()
    assert "No comments on this location yet" in check_page(client.get(url, **HTMX), fragment=True)
    data = {"text": "With <b>title</b>?", "change_id": str(uuid.uuid4())}
    for _ in range(2):
        html = check_page(client.post(url, data, **HTMX), fragment=True)
    assert html.count("With &lt;b&gt;title&lt;/b&gt;?") == 1, "a replay says it once"
    comment = Comment.objects.get(text=data["text"])
    assert (comment.annotator, comment.start, comment.end) == (None, 0, 11)
    html = client.post(url, {"text": "No.", "answers": comment.pk}, **HTMX).content.decode()
    assert "No." in html and "About ann" not in html and Comment.objects.get(answers=comment).text == "No."
    assert "1 comment" in client.get(PAGE).content.decode()
    assert "With" in check_page(client.get(url)), "a page of its own without the script"
    assert 'role="alert"' in client.post(url, {"text": "  "}, **HTMX).content.decode()
    assert "title" not in str(list(Event.objects.values_list("data", flat=True)))
    assert "<textarea" not in vic.get(url).content.decode()
    assert vic.post(url, {"text": "x"}).status_code == 403 and Comment.objects.count() == elsewhere + 2


# ── Amendments ───────────────────────────────────────────────────────────────────────────────────────────────────────

AMEND = "/projects/covid/guidelines/amend/"


def test_a_disagreement_becomes_a_rule(read, mia, sign_in):
    url = f"{AMEND}?note={read.note.pk}&start=0&end=11"
    assert "Amendment 1" in check_page(mia.get(url))
    html = check_page(mia.post(url, {"text": "Titles are **no** names.", "seen_version": 0, "do": "preview"}))
    assert "<strong>no</strong>" in html and not Amendment.objects.exists()
    assert mia.post(url, {"text": "Titles are **no** names.", "seen_version": 0}).status_code == 302
    made = Amendment.objects.get()
    assert (made.document, made.start, made.end, made.by) == (read.note, 0, 11, read.mia)
    project = Project.objects.get(slug="covid")
    assert project.guidelines_version == 1 and "## Amendment 1" in project.guidelines
    html = check_page(mia.get("/projects/covid/guidelines/amendments/"))
    assert "<strong>no</strong>" in html and f"?note={read.note.pk}" in html
    theirs = sign_in(read.ann).get("/projects/covid/guidelines/amendments/").content.decode()
    assert f"?note={read.note.pk}" not in theirs
    assert Event.objects.filter(verb=GUIDELINES_AMENDED).count() == 1
    assert 'name="round"' in sign_in(read.rev).get(PAGE).content.decode()


def test_an_amendment_does_not_overwrite_somebody_s_guidelines(read, mia):
    Project.objects.filter(slug="covid").update(guidelines="# New", guidelines_version=5)
    answer = mia.post(AMEND, {"text": "A rule.", "seen_version": 0})
    html = check_page(answer)
    assert answer.status_code == 422 and "A rule." in html and 'name="seen_version" value="5"' in html
    for text in ("", "   ", "x" * 4001):
        asked = {"text": text, "seen_version": 5}
        assert mia.post(AMEND, asked).status_code == 422 and not Amendment.objects.exists()
        # The preview shows the error itself, so its status is 200.
        seen = mia.post(AMEND, asked | {"do": "preview"}, **HTMX)
        assert seen.status_code == 200 and "errorlist" in seen.content.decode().partition('id="preview"')[2]
    theirs = make.make_note(read.other, TEXT)
    assert mia.get(f"{AMEND}?note={theirs.pk}&start=0&end=4").status_code == 404
    for query in ("note=x", f"note={read.note.pk}&start=5&end=1", f"note={read.note.pk}&start=0&end=9999"):
        assert "From caso" not in check_page(mia.get(f"{AMEND}?{query}"))
    assert mia.post(AMEND, {"text": "A rule.", "seen_version": 5}).status_code == 302
