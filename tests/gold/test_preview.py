"""Before gold is made in bulk, the page says what is skipped, and which notes annotators disagree on."""

import re

from django.urls import reverse

from annotations.gold.services.making import make_gold
from annotations.jobs.runner import run as run_job
from annotations.models import Author, Job
from tests import factories as make
from tests.held import made_once
from tests.worlds.checks import check_page
from tests.worlds.pages import make_world

TEXT = "Mario Rossi vive a Torino."
ROSSI, TORINO = (0, 11, "PATIENT"), (19, 25, "CITY")
GOLD = reverse("gold", args=["covid"])


def make_ward():
    """Ann and ben annotated four notes. They agree on the second only; the third has gold, the fourth is in review."""
    world = make_world()
    world.four = [make.make_note(world.project, TEXT, f"nota-{n}") for n in range(1, 5)]
    world.anns = [make.make_set(note, world.ann, [ROSSI, TORINO], submitted=True) for note in world.four]
    for note in world.four:
        make.make_set(note, world.ben, [ROSSI, TORINO] if note == world.four[1] else [ROSSI], submitted=True)
    make_gold(document=world.four[2], annotation_set=world.anns[2], actor=world.rev)
    make.make_set(world.four[3], Author.objects.get(project=world.project, kind="gold"), [ROSSI])
    world.adjudicated = make.make_author(world.project, kind="adjudicated", name="adjudicated")
    return world


made, world = made_once(make_ward)


def card_of(html: str, author: Author) -> str:
    said = re.search(rf'id="author-{author.pk}-text">(.*?)</p>', html)
    assert said
    return re.sub(r"<[^>]+>", "", said[1])


def test_the_preview_says_what_is_skipped_and_the_job_does_it(world, rev):
    """A draft of a review is not counted as gold."""
    html = check_page(rev.get(GOLD))
    assert "<dt>Gold notes</dt><dd>1</dd>" in html
    assert '<dd id="in-review">1 <small>not gold yet</small></dd>' in html
    ann = Author.objects.get(project=world.project, name=world.ann.username)
    said = card_of(html, ann)
    for words in ("4 submitted, 2 would become gold.", "1 is skipped: its note has gold.",
                  "1 is skipped: a review of its note is open."):  # fmt: skip
        assert words in said
    rev.post(reverse("job_start_gold", args=["covid"]), {"author": ann.pk})
    job = Job.objects.get()
    run_job(job.pk)
    assert (make.reread(job).result["made"], job.result["kept"]) == (2, 2)


def test_unresolved_disagreements_are_counted_and_linked(world, rev):
    make.make_set(world.four[0], world.adjudicated, [ROSSI])  # an adjudication that is not finished resolves nothing
    html = check_page(rev.get(GOLD))
    notice = html.split('id="disputed"')[1].split("</div>")[0]
    assert "2 notes without gold have unresolved disagreements." in notice
    for note, linked in zip(world.four, [True, False, False, True], strict=True):
        assert (reverse("adjudicate", args=["covid", note.pk]) in notice) == linked
    assert reverse("adjudications", args=["covid"]) in notice
    ann = Author.objects.get(project=world.project, name=world.ann.username)
    assert "1 of these has disagreements." in card_of(html, ann)


def test_adjudicated_sets_come_first_and_are_resolved(world, rev):
    for note in (world.four[0], world.four[3]):
        make.make_set(note, world.adjudicated, [ROSSI], submitted=True)
    html = check_page(rev.get(GOLD))
    cards = re.findall(r'name="author" id="author-(\d+)"', html)
    assert int(cards[0]) == world.adjudicated.pk and len(cards) == 3
    assert 'id="disputed"' not in html and "unresolved disagreements" not in html
