"""Pairing as a job: piles, candidates, what settles them, killed workers, repeated jobs, erasure."""

import pytest
from django.urls import reverse

from annotations import models
from annotations.jobs.runner import run as work
from annotations.models import (
    AnnotationSet,
    Author,
    Document,
    Event,
    Import,
    ImportState,
    JobState,
    PairCandidate,
    PublishedDecision,
    PublishedState,
    Span,
    StoredFile,
)
from annotations.ops.services.erasing import delete_note, erase_patient
from annotations.pairs.events import DECISIONS_PAIRED, PAIR_SETTLED
from annotations.pairs.rules.alignment import align
from annotations.pairs.services import pairing
from annotations.pairs.services.pile import Pile, opened_pile
from annotations.pairs.services.settling import settle
from annotations.pairs.services.starting import PairingOrder, start_pairing
from tests.factories import make_member, make_note, make_project, reread
from tests.pairs.decisions import invented
from tests.pairs.piles import court, pair, parquet, pile_of, start
from tests.worlds.checks import check_page, refused
from tests.worlds.pages import signed_in
from tests.worlds.queue import worked

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(db):
    return court()


def spans_of(author="published-1"):
    rows = Span.objects.filter(annotation_set__author__name=author).order_by("annotation_set__document__name", "start")
    return [
        (name, start, end) for name, start, end in rows.values_list("annotation_set__document__name", "start", "end")
    ]


def wanted(made):
    return sorted([(f"clear-{number}", *bounds) for number, one in enumerate(made, 1) for bounds in one.hidden])


def test_a_pile_becomes_notes_published_decisions_and_an_annotation_set(project):
    made, texts = pile_of(3)
    mia = make_member(project, "manager")
    job = pair(project, texts | {"alone": invented(50).clear, "lost": "Tutto diverso: OMISSIS, 9/X"}, mia)
    assert (job.state, job.error) == (JobState.DONE, "")
    assert job.result == {
        "documents": 8, "published": 4, "candidates": 3, "pairs": 3, "spans": 24, "author": "published-1",
        "ambiguous": 0, "flagged": 0, "refused": 0, "problems": [],
    }  # fmt: skip
    assert sorted(spans_of()) == wanted(made)
    assert set(Document.objects.values_list("name", flat=True)) == {"clear-1", "clear-2", "clear-3", "alone"}
    paired = PublishedDecision.objects.get(name="published-2")
    assert (paired.state, paired.document.name, paired.number) == ("paired", "clear-2", paired.number)
    assert paired.number and paired.office.startswith("sezione giurisdizionale")
    assert (paired.method, paired.settled_by, paired.text) == ("diff", None, made[1].published)
    assert paired.parameters == {"window": 10, "threshold": 0.95, "shingle": 1, "permutations": 128, "seed": 41}
    found = align(made[1].clear, made[1].published)
    assert (paired.aligned, paired.outside, paired.begin) == (found.aligned, found.outside, 8)
    assert PublishedDecision.objects.get(name="lost").state == PublishedState.NONE
    span = Span.objects.select_related("annotation_set__author", "label").first()
    assert (span.annotation_set.author.kind, span.label.code, span.source) == ("run", "OMISSIS", "diff")
    assert span.confidence > 0 and span.string_key
    assert models.SuggestedNote.objects.count() == 3 and models.SuggestedString.objects.exists()
    event = Event.objects.get(verb=DECISIONS_PAIRED)
    assert (event.actor, event.data["pairs"], event.data["spans"]) == (mia, 3, 24)
    assert not StoredFile.objects.exists() and Import.objects.get().state == ImportState.DONE


def test_parquet_with_id_file_name_and_text(project):
    made, texts = pile_of(2)
    content = parquet(texts, file_name="File Name")
    job = start_pairing(project=project, name="p.parquet", content=content, order=PairingOrder(), actor=None)
    work(job.pk)
    assert sorted(spans_of()) == wanted(made)
    for columns in ({"text": "body"}, {"file_name": "a", "id": "b"}):
        job = start_pairing(
            project=project, name="p", content=parquet(texts, **columns), order=PairingOrder(), actor=None
        )
        worked(job)
        assert job.state == JobState.FAILED and "columns" in job.error
        assert Document.objects.count() == 2


def test_the_window_joins_neighbors_and_gets_an_author_of_its_own(project):
    _made, texts = pile_of(2)
    first = pair(project, texts)
    assert pair(project, texts).result == first.result and AnnotationSet.objects.count() == 2
    other = pair(project, texts, method="window", window=5)
    assert other.result["author"] == "published-2" and AnnotationSet.objects.count() == 4
    assert set(PublishedDecision.objects.values_list("method", flat=True)) == {"window"}
    assert len(spans_of("published-1")) == 16
    assert pair(project, texts, method="window", window=5).result == other.result
    assert Document.objects.count() == 2 and PublishedDecision.objects.count() == 2


def test_several_or_none_that_fit_wait_for_a_person(project):
    """Two clear versions of one decision fit; a decision with another number in its heading is similar only."""
    mia = make_member(project, "manager")
    made = invented(1, tokens=300)
    twin = made.clear.replace("servito", "prestato servizio")
    other = invented(2, tokens=300)
    changed = other.published.replace("10002/", "77/")
    texts = {"a": made.clear, "b": twin, "p": made.published, "c": other.clear, "q": changed}
    job = pair(project, texts, mia)
    assert (job.result["pairs"], job.result["ambiguous"], job.result["candidates"]) == (0, 2, 3)
    several, none = PublishedDecision.objects.order_by("name")
    assert [one.fits for one in several.candidates.all()] == [True, True]
    assert [one.fits for one in none.candidates.all()] == [False]
    assert not AnnotationSet.objects.exists()
    with refused("candidate"):
        settle(published=several, note=none.candidates.get().document_id, actor=mia)
    note = Document.objects.get(name="b")
    settle(published=several, note=note.pk, actor=mia)
    assert (reread(several).state, several.document, several.settled_by, several.begin) == ("paired", note, mia, 8)
    assert spans_of()[0][0] == "b" and len(spans_of()) == 8
    with refused("settled"):
        settle(published=several, note=None, actor=mia)
    settle(published=none, note=None, actor=mia)
    assert PublishedDecision.objects.get(pk=none.pk).state == PublishedState.NONE
    assert [event.data["note"] for event in Event.objects.filter(verb=PAIR_SETTLED).order_by("pk")] == [note.pk, None]
    # What a person settled stays settled.
    again = pair(project, texts, mia, method="window")
    assert (again.result["pairs"], again.result["ambiguous"]) == (1, 0)


def test_two_published_versions_of_one_note_wait_for_a_person_who_can_choose_one(project):
    made, texts = pile_of(1)
    job = pair(project, texts | {"published-x": made[0].published + " Bozza."})
    assert (job.result["pairs"], job.result["ambiguous"]) == (0, 2)
    one, other = PublishedDecision.objects.all()
    note = Document.objects.get()
    settle(published=one, note=note.pk, actor=None)
    with refused("taken"):
        settle(published=other, note=note.pk, actor=None)


def test_the_candidates_that_fit_are_kept_and_of_others_the_most_similar():
    kept = []
    for note in range(100):
        pairing._keep(kept, pairing.ScoredNote(note, note / 100, note == 3))
    assert pairing.CANDIDATES <= len(kept) <= 2 * pairing.CANDIDATES
    assert {3, 99, 98} <= {one.note for one in kept}


class Killed(BaseException):
    pass


STEPS = ["_store_published", "_renew", "_settle", "_align", "_result"]


@pytest.mark.queue
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("late", [False, True])
def test_a_killed_worker_loses_nothing_and_doubles_nothing(project, monkeypatch, step, late):
    made, texts = pile_of(5)
    monkeypatch.setattr(pairing, "BATCH", 2)
    job = start(project, texts)
    real = getattr(pairing.Pairing, step)
    left = {"unerased": 1}

    def die(self, *given):
        if late:
            real(self, *given)
            raise Killed
        # In the middle: behind the first transaction of the step.
        fence = self._fence

        def once():
            if not left["unerased"]:
                raise Killed
            left["unerased"] -= 1
            fence()

        self._fence = once
        real(self, *given)
        raise Killed

    monkeypatch.setattr(pairing.Pairing, step, die)
    with pytest.raises(Killed):
        work(job.pk)
    monkeypatch.setattr(pairing.Pairing, step, real)
    models.Job.objects.filter(pk=job.pk).update(state=JobState.QUEUED)
    worked(job)
    assert (job.state, job.result["pairs"], job.result["spans"]) == (JobState.DONE, 5, 40)
    assert sorted(spans_of()) == wanted(made)
    assert (Document.objects.count(), PublishedDecision.objects.count()) == (5, 5)
    assert (Author.objects.count(), Event.objects.filter(verb=DECISIONS_PAIRED).count()) == (1, 1)
    assert sum(models.SuggestedString.objects.values_list("count", flat=True)) == 40


def test_a_canceled_job_removes_what_is_half_done(project):
    from annotations.jobs.services.queue import cancel

    _made, texts = pile_of(2)
    cancel(start(project, texts))
    assert Import.objects.get().state == ImportState.CANCELED
    assert not StoredFile.objects.exists() and not Document.objects.exists()
    assert pair(project, texts).result["pairs"] == 2


def test_what_is_refused_before_anything_is_stored(project):
    _made, texts = pile_of(1)
    with refused("label"):
        start(make_project("hospital"), texts)
    for order, code in (({"method": "x"}, "method"), ({"window": 0}, "window"), ({"threshold": 0.1}, "threshold")):
        with refused(code):
            start(project, texts, **order)
    with refused("zip"):
        start_pairing(project=project, name="x", content=parquet({}).__class__(b"x"), order=PairingOrder(), actor=None)
    assert not StoredFile.objects.exists() and not Author.objects.exists()
    start(project, texts)
    with refused("running"):
        start(project, texts)


def test_erasing_a_note_or_a_patient_erases_the_published_decisions_that_belong_or_may_belong_to_it(project):
    made, texts = pile_of(3)
    twin = made[2].clear.replace("servito", "prestato servizio")
    pair(project, texts | {"clear-4": twin})
    first, other = (Document.objects.get(name=name) for name in ("clear-1", "clear-4"))
    PublishedDecision.objects.create(project=project, name="new", sha256="0", text="OMISSIS")
    delete_note(project=project, note=first.pk, actor=None)
    assert set(PublishedDecision.objects.values_list("name", flat=True)) == {"published-2", "published-3"}
    Document.objects.filter(pk=other.pk).update(patient_id="P-1")
    erase_patient(project=project, patient_id="P-1", actor=None)
    assert set(PublishedDecision.objects.values_list("name", flat=True)) == {"published-2"}
    assert PairCandidate.objects.count() == 1


def test_notes_erased_during_the_work_stop_it(project, monkeypatch):
    _made, texts = pile_of(2)
    extra = make_note(project, "Altro testo", patient_id="P-1")
    real = pairing.Pairing._align

    def erasing(self):
        delete_note(project=project, note=extra.pk, actor=None)
        real(self)

    monkeypatch.setattr(pairing.Pairing, "_align", erasing)
    assert pair(project, texts).state == JobState.FAILED and not AnnotationSet.objects.exists()
    monkeypatch.setattr(pairing.Pairing, "_align", real)
    assert pair(project, texts).result["pairs"] == 2


def test_files_that_are_no_texts_are_named_until_something_is_erased(project):
    _made, texts = pile_of(1)
    job = start(project, texts | {"x": "\x00"})
    with opened_pile(StoredFile.objects.get()) as pile:
        assert isinstance(pile, Pile) and (pile.clear, pile.published) == (["clear-1.txt"], ["published-1.txt"])
    work(job.pk)
    job.refresh_from_db()
    ((name, reason),) = [one.values() for one in job.result["problems"]]
    assert (job.result["refused"], name) == (1, "x.txt") and "NUL" in reason
    page = signed_in(make_member(project, "manager")).get(reverse("job", args=["court", job.number]))
    assert "x.txt: The text contains NUL" in check_page(page)
    delete_note(project=project, note=Document.objects.get().pk, actor=None)
    assert reread(job).result["refused"] == 1 and "x.txt" not in str(job.result)
