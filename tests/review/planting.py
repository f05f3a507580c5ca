"""A project with hidden leaks: two runs with the same suggestions, and the draw of leaks under control."""

import pytest

from annotations.models import Role, Span
from annotations.review.services.log import Act
from annotations.review.services.planting import draw_leaks
from tests.factories import change, label_of, make_author, make_member, make_note, make_project, make_set
from tests.held import made_once
from tests.worlds.reviewing import Reviews, gold_of

TEXT = "Mario Rossi, 54 anni, a Torino dal dott. Bianchi."
SUGGESTED = [(0, 11, "PATIENT"), (24, 30, "CITY"), (41, 48, "DOCTOR")]
NAME, CITY, DOCTOR = (start for start, _, _ in SUGGESTED)


class World(Reviews):
    """Two runs with the same suggestions in each note. The draw picks the first candidate of each note in `drawn`."""

    drawn: set[int] = set()

    def __init__(self):
        self.project = make_project("covid", planted_share=10)
        self.rita, self.rosa = (make_member(self.project, Role.REVIEWER, name) for name in ("rita", "rosa"))
        self.run, self.other = (make_author(self.project, kind="run", name=n) for n in ("rules-1", "crf-1"))
        self.notes = [make_note(self.project, TEXT, patient_id=f"p{n}") for n in range(3)]
        for note in self.notes:
            for run in (self.run, self.other):
                make_set(note, run, SUGGESTED, submitted=True)
        Span.objects.update(confidence=0.9)
        self.note = self.notes[0]
        self.plant_in(self.note)

    def plant_in(self, *notes):
        World.drawn = {note.pk for note in notes}

    def store(self, *notes):
        """Act as if the run had just stored its suggestions for these notes; without notes, for the first one."""
        draw_leaks(self.run, [note.pk for note in notes or [self.note]])
        return self

    def share(self, share):
        change(self.project, planted_share=share)

    def mark(self, user, start, end, label, note=None):
        bounds = start, end, label_of(self.project, label).pk
        return self.decide(user, Act.ADD, note=note, bounds=bounds, quote=TEXT[start:end])

    def shown(self, user=None, note=None):
        return {p["start"]: (p["state"], p.get("planted")) for p in self.state(user, note)["suggestions"]}

    def rest(self, note=None):
        return [p["id"] for p in self.state(note=note)["suggestions"] if p["state"] == "open"]

    def review(self, user, *, marks=(), note=None):
        """Store the run's suggestions for the note, add `marks`, accept what is shown, and finish."""
        self.store(note or self.note)
        for mark in marks:
            self.mark(user, *mark, note=note)
        return self.finish(user, note, rest=self.rest(note))

    @property
    def gold(self):
        return gold_of(self.note)


@pytest.fixture
def first_drawn(db, monkeypatch):
    monkeypatch.setattr(
        "annotations.review.rules.planting.chance",
        lambda key, what, run, note, *place: 0.99 if what == "note" and note not in World.drawn else 0.0,
    )


made, planted = made_once(World)


@pytest.fixture
def world(planted, first_drawn):
    planted.plant_in(planted.note)
    return planted
