"""The way of a file: taken, imported, read, reviewed, released; then certified, and withdrawn where it must be."""

from datetime import date, timedelta

import pytest

from annotations.core.services import ServiceError
from annotations.models import Certificate, Document, LeakFinding, Release
from annotations.ops.services.erasing import delete_note, erase_patient
from annotations.release.services.deciding import answer_chosen
from annotations.release.services.exporting import withdraw
from annotations.release.services.sources import source_of
from models_runtime.models import FeedDelta, FeedFile, FeedNote
from tests.factories import make_author, make_set
from tests.feeds.feed_world import LETTERS, FeedWorld, on, states
from tests.release.conftest import add_note

DAY = date(2026, 3, 2)


def released(world: FeedWorld, letters: dict[str, str], *, run_only: bool = False) -> None:
    for name, text in letters.items():
        world.put(name, text)
    world.run()
    if not run_only:
        world.review()
        world.run()


@pytest.mark.both_databases
def test_deltas_by_day_with_one_certificate_each(feed_world: FeedWorld):
    feed = feed_world.add()
    feed_world.put("patients.csv", "name,patient_id\na,P-1\nb,P-1\nd,P-1\n")
    with on(DAY):
        feed_world.put_letters()
        feed_world.run()
        assert states(feed) == {"read": 3}
        assert feed_world.incoming() == ["patients.csv"]
        feed_world.review("a", "c")
        feed_world.run()
        assert states(feed) == {"read": 1, "released": 2}
        feed_world.review()
        feed_world.run()
    first = feed_world.delivered()
    assert sorted(first.values()) == [
        "No identifiers at all.\n", "Patient [PATIENT] called from [PHONE] on [DATE].\n",
        "[PATIENT] came back, mail [EMAIL], and felt well.\n",
    ]  # fmt: skip
    assert not (feed_world.target / "2026-03-02" / "certificate.json").exists()
    with on(DAY + timedelta(days=1)):
        released(feed_world, {"d.txt": "Adam Wilson died on 04/14/2019.\n"})
    assert feed_world.verified("2026-03-02")
    assert {path: text for path, text in feed_world.delivered().items() if path in first} == first
    assert len(feed_world.delivered()) == 4
    assert Certificate.objects.count() == 1
    parts = list(FeedDelta.objects.values_list("folder", "certified", "closed", "release__note_count"))
    assert parts == [("2026-03-02", 1, True, 3), ("2026-03-03", 0, False, 1)]
    assert Release.objects.get(number=2).continues == Release.objects.get(number=1)
    assert {path.name for path in feed_world.target.iterdir()} == {"2026-03-02", "2026-03-03"}


def test_surrogates_and_shifts_are_the_same_in_all_parts(feed_world: FeedWorld):
    feed_world.add("--policy", "surrogate", "--read-percent", "0", "--period", "week")
    feed_world.put("patients.csv", "name,patient_id\na,P-1\nz,P-1\n")
    with on(DAY):
        released(feed_world, {"a.txt": "Mr. Adam Wilson was seen on 03/14/2019.\n"}, run_only=True)
    with on(DAY + timedelta(days=8)):
        released(feed_world, {"z.txt": "Mr. Adam Wilson was seen on 03/14/2019. He is well.\n"}, run_only=True)
    one, other = feed_world.delivered().values()
    assert "Wilson" not in one and "03/14/2019" not in one
    assert other.startswith(one.strip())
    assert feed_world.verified("2026-03-02")
    assert [path[:10] for path in feed_world.delivered()] == ["2026-03-02", "2026-03-09"]


def test_an_erased_patient_leaves_all_folders(feed_world: FeedWorld):
    feed = feed_world.add()
    feed_world.put("patients.csv", "name,patient_id\na,P-1\nq,P-1\n")
    feed_world.put("q.pdf", b"%PDF-1.4 nothing of a PDF")
    with on(DAY):
        released(feed_world, LETTERS)
    with on(DAY + timedelta(days=1)):
        feed_world.run()
    assert [name.rpartition("/")[0] for name in feed_world.incoming()] == ["", "quarantine", "quarantine"]
    assert feed_world.verified("2026-03-02")
    gone = FeedNote.objects.get(document__name="letters/a").path
    before = len(feed_world.delivered())
    erase_patient(project=feed_world.project, patient_id="P-1", actor=feed_world.mia)
    feed_world.run()
    assert len(feed_world.delivered()) == before - 1 and gone not in feed_world.delivered()
    (stone,) = feed_world.tombstones()
    assert (stone["file"], stone["reason"]) == (gone, "erased") and stone["delivered"] < stone["withdrawn"]
    assert feed_world.incoming() == ["patients.csv"]
    assert not FeedFile.objects.filter(patient="P-1").exists() and not FeedFile.objects.filter(name="a.txt").exists()
    assert Certificate.objects.count() == 2
    assert feed_world.verified("2026-03-02")
    feed_world.put("again.txt", LETTERS["a.txt"])
    feed_world.run()
    assert feed_world.incoming() == ["patients.csv"], "an erased file is not taken again"
    assert states(feed) == {"released": 2}


def test_the_last_note_of_a_part_is_deleted(feed_world: FeedWorld):
    feed_world.add()
    with on(DAY):
        released(feed_world, {"c.txt": LETTERS["c.txt"]})
    with on(DAY + timedelta(days=1)):
        feed_world.run()
    assert feed_world.verified("2026-03-02")
    delete_note(project=feed_world.project, note=Document.objects.get().pk, actor=feed_world.mia)
    feed_world.run()
    assert [path.name for path in feed_world.target.rglob("*") if path.is_file()] == ["tombstones.jsonl"]
    assert Release.objects.get().state == "withdrawn"


def test_a_finding_holds_a_note_back_until_a_person_decides(feed_world: FeedWorld):
    feed = feed_world.add()
    feed_world.put("patients.csv", "name,patient_id\na,P-1\nw,P-1\n")
    with on(DAY):
        released(feed_world, {"a.txt": LETTERS["a.txt"]})
        assert states(feed) == {"released": 1}
        feed_world.put("w.txt", "The wilson of Adam.\n")
        feed_world.run()
        feed_world.review()
        feed_world.run()
        finding = LeakFinding.objects.get(decision="")
        assert states(feed) == {"gate": 1, "released": 1}
    with on(DAY + timedelta(days=1)):
        feed_world.run()
        assert feed_world.verified("2026-03-02")
        assert states(feed) == {"gate": 1, "released": 1}
        finding = LeakFinding.objects.get(decision="")
        release = finding.note.release
        assert release.number == 2, "the held note is in the next part"
        answer_chosen(release=release, answer="allow", actor=feed_world.mia)
        feed_world.run()
        assert states(feed) == {"released": 2}
        answer_chosen(release=release, answer="undo", actor=feed_world.mia)
        feed_world.run()
        assert states(feed) == {"gate": 1, "released": 1}
        assert [stone["reason"] for stone in feed_world.tombstones()] == ["held"]
    assert len(feed_world.delivered()) == 1


def test_a_withdrawn_release_leaves_the_outgoing_folder(feed_world: FeedWorld):
    feed = feed_world.add()
    with on(DAY):
        released(feed_world, LETTERS)
    with on(DAY + timedelta(days=1)):
        feed_world.run()
        withdraw(release=Release.objects.get(), actor=feed_world.mia)
        feed_world.run()
    assert states(feed) == {"withdrawn": 3}
    assert [path.name for path in feed_world.target.rglob("*") if path.is_file()] == ["tombstones.jsonl"]
    assert [stone["reason"] for stone in feed_world.tombstones()] == ["withdrawn"] * 3


def test_a_share_is_read_and_the_rest_released_as_the_run_says(feed_world: FeedWorld):
    feed = feed_world.add("--read-percent", "50")
    for number in range(20):
        feed_world.put(f"{number}.txt", f"Visit {number} on 03/14/2019.\n")
    feed_world.run()
    found = states(feed)
    assert found["read"] + found["released"] == 20 and found["read"] > 2 and found["released"] > 2
    drawn = set(FeedNote.objects.filter(state="read").values_list("document", flat=True))
    assert drawn == set(FeedNote.objects.filter(reviewed=True).values_list("document", flat=True))
    feed_world.review()
    feed_world.run()
    assert states(feed) == {"released": 20}
    assert all("[DATE]" in text for text in feed_world.delivered().values())
    assert Release.objects.get().set_spec == "first:gold+run:letters-1"


def test_gold_decides_about_a_note_that_has_some_and_the_run_about_others(feed_world: FeedWorld):
    run = make_author(feed_world.project, kind="run", name="a+b")
    first = add_note(feed_world.project, "first", "«Adam|PATIENT» came.", author=run)
    add_note(feed_world.project, "other", "«Berta|PATIENT» came.", author=run)
    make_set(first, "gold")
    source = source_of(feed_world.project, 'first:gold+"run:a+b"')
    spans = source.spans(list(Document.objects.order_by("name").values_list("pk", flat=True)))
    assert [len(found) for found in spans.values()] == [0, 1]
    with pytest.raises(ServiceError):
        source_of(feed_world.project, "first:gold+gold")


def test_a_later_note_that_shows_a_leak_withdraws_what_a_signed_part_delivered(feed_world: FeedWorld):
    feed = feed_world.add()
    feed_world.put("patients.csv", "name,patient_id\na,P-1\nmore,P-1\nw,P-1\nz,P-2\n")
    with on(DAY):
        released(feed_world, {"w.txt": "The wilson of today is well.\n", "z.txt": "Nothing here.\n"})
    with on(DAY + timedelta(days=1)):
        feed_world.run()
        assert feed_world.verified("2026-03-02") and states(feed) == {"released": 2}
        gone = FeedNote.objects.get(document__name="letters/w").path
        released(feed_world, {"a.txt": LETTERS["a.txt"]})
        assert states(feed) == {"gate": 1, "released": 2} and gone not in feed_world.delivered()
        assert [(stone["file"], stone["reason"]) for stone in feed_world.tombstones()] == [(gone, "leak")]
        assert feed_world.verified("2026-03-02"), "the part has a new certificate, without the note"
        assert feed_world.command("status", "letters")["leaks"] == 1
        answer_chosen(release=Release.objects.get(number=2), answer="allow", actor=feed_world.mia)
        feed_world.run()
    with on(DAY + timedelta(days=2)):
        feed_world.run()
        assert states(feed) == {"released": 3} and feed_world.verified("2026-03-03")
        released(feed_world, {"more.txt": "Adam Wilson is back.\n"})
    assert states(feed) == {"released": 4} and len(feed_world.tombstones()) == 1, "what a person allowed stays"
