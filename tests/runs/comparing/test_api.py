"""Comparisons and the loop by the API, and what they keep to themselves."""

from annotations.models import Review
from tests import factories as make
from tests.worlds.pages import made_world, world
from tests.worlds.programs import Program

__all__ = ["made_world", "world"]
COMPARE = "/projects/covid/comparisons"


def compared(world):
    gold = make.make_author(world.project, kind="gold", name="gold")
    make.make_set(world.note, gold, [(0, 11, "PATIENT"), (44, 50, "CITY"), (31, 41, "DATE")], submitted=True)
    runs = [make.make_author(world.project, kind="run", name=f"run-{n}") for n in (1, 2)]
    make.make_set(world.note, runs[0], [(0, 11, "PATIENT"), (44, 50, "CITY")], submitted=True)
    make.make_set(world.note, runs[1], [(0, 11, "PATIENT"), (31, 40, "DATE")], submitted=True)
    return runs


def test_two_runs_side_by_side(world):
    first, second = compared(world)
    viewer = Program(world.vic)
    query = f"authors={first.pk}&authors={second.pk}"
    figures = viewer.get(f"{COMPARE}?{query}").json()["figures"]
    assert [run["run"] for run in figures["runs"]] == ["run-1", "run-2"]
    assert (figures["missed_by_all"], figures["best"]["strict_f1"]) == (1, ["run-1"])
    (only,) = viewer.get(f"{COMPARE}/spans?{query}&kind=only&only={first.pk}").json()["items"]
    assert (only["start"], only["end"], only["label"], only["marked"]) == (44, 50, "CITY", "Torino")
    assert viewer.post(f"{COMPARE}/jobs", {"authors": [first.pk, second.pk]}).status_code == 202
    too_few = viewer.get(f"{COMPARE}?authors={first.pk}")
    assert [one["field"] for one in too_few.json()["errors"]] == ["authors"]


def test_runs_are_hidden_while_planted_leaks_are(world):
    first, second = compared(world)
    Review.objects.create(document=world.note, author=first, planted_share=100)
    assert Program(world.rev).get(f"{COMPARE}?authors={first.pk}&authors={second.pk}").status_code == 404


def test_a_round_of_the_loop_begins(world):
    compared(world)
    reviewer, rounds = Program(world.rev), "/projects/covid/loop/rounds"
    assert reviewer.get("/projects/covid/loop").json()["gold_notes"] == 1
    assert reviewer.post(rounds, {"share": 20}).json() == {"version": 1, "made": True}
    assert reviewer.post(rounds, {"share": 20}).json() == {"version": 1, "made": False}
    assert [one["field"] for one in reviewer.post(rounds, {"share": 0}).json()["errors"]] == ["share"]
