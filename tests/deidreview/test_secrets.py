"""What nobody may be told by any page, file or answer: every URL is asked as every persona, before and after.

The addresses come from the URLs themselves, with every object of the project, and from the links of the pages: a new
URL is walked without being named here.
"""

from collections.abc import Iterable, Iterator

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from annotations.core.stored_files import read_chunks
from annotations.models import AnnotationSet, Assignment, Job, PlantedLeak, Project, Review, StoredFile
from tests.deidreview import secret_world as secret
from tests.deidreview.access_table import EVERYONE_405, OPEN_405, TABLE
from tests.deidreview.access_world import ROUTES, World, answer_of
from tests.deidreview.test_access_matrix import models_of_others, undone  # noqa: F401

pytestmark = pytest.mark.django_db
MOST_LINKS = 400


@pytest.fixture
def world() -> Iterator[World]:
    with secret.large_ids():
        yield secret.build_secrets()


class Walk:
    """Every answer that a persona gets, searched for tokens; `found` says where each one was."""

    def __init__(self, world: World, persona: str) -> None:
        self.world, self.client = world, secret.client_of(world, persona)
        self.pattern = secret.token_pattern(secret.NAMES | secret.BENNO | secret.CARLA | secret.OUTCOME | secret.HIDDEN)
        self.found: dict[str, list[str]] = {}
        self.asked: set[str] = set()

    def all(self) -> dict[str, list[str]]:
        waiting = secret.urls(self.world)
        followed = 0
        while waiting:
            url = waiting.pop(0)
            if url in self.asked:
                continue
            self.asked.add(url)
            more = self.get(url)
            followed += len(more)
            waiting += more if followed < MOST_LINKS else []
        for name, methods in TABLE.items():
            if methods["POST"] not in (EVERYONE_405, OPEN_405) and not name.startswith("admin"):
                self.post(name)
        self.exports()
        return self.found

    def get(self, url: str) -> list[str]:
        leads: list[str] = []

        def act() -> int:
            answer = self.client.get(url)
            self.take(url, answer)
            leads.extend(secret.links(answer))
            return answer.status_code

        undone(act)
        return leads

    def post(self, name: str) -> None:
        for ids in secret.variants(name, self.world):
            chosen = World(
                self.world.ours, self.world.theirs, self.world.people,
                self.world.objects | {"ours": self.world.objects["ours"] | ids},
            )  # fmt: skip

            def act(chosen: World = chosen) -> int:
                return self.follow(f"POST {name}", answer_of(self.client, "POST", name, chosen))

            undone(act)

    def follow(self, where: str, answer: HttpResponse) -> int:
        """The answer, and the page that it leads to: what is told there may be about what was done."""
        self.take(where, answer)
        if (to := answer.headers.get("Location", "")).startswith("/projects/"):
            self.take(f"{where} to {to}", self.client.get(to))
        return answer.status_code

    def exports(self) -> None:
        """Ask for every annotation set that there is, and read what a worker then writes."""
        for spec in [*secret.with_notes(self.world.ours), "run:nobody"]:
            undone(lambda spec=spec: self._export(spec))

    def _export(self, spec: str) -> int:
        before = set(Job.objects.values_list("pk", flat=True))
        url = reverse("job_start_export", args=["ours"])
        answer = self.client.post(url, {"set": spec, "format": "conll", "token": "t"})
        self.follow(f"export {spec}", answer)
        for _ in Job.objects.exclude(pk__in=before):
            pk = secret.exported(self.world.ours, spec, self.world.people["manager"].pk, "conll")
            content = b"".join(read_chunks(StoredFile.objects.get(pk=pk)))
            self.note(f"export {spec}", secret.unpacked(content))
        return answer.status_code

    def take(self, where: str, answer: HttpResponse) -> None:
        assert answer.status_code < 500, f"{where}: {answer.status_code}"
        self.note(where, secret.said(answer))

    def note(self, where: str, text: str) -> None:
        for token in set(self.pattern.findall(text)):
            self.found.setdefault(token, []).append(where)


def told(found: dict[str, list[str]], tokens: Iterable[str], besides: Iterable[str] = ()) -> dict[str, list[str]]:
    """Where tokens were that must not be anywhere."""
    return {
        token: ways for token in sorted(tokens) if (ways := [one for one in found.get(token, []) if one not in besides])
    }


def client_url(client: Client, world: World, name: str) -> str:
    return reverse(name, args=["ours", world.objects["ours"]["case"]])


def test_every_url_is_walked(world):
    asked = set(secret.urls(world))
    left = {name for name in ROUTES if "admin" not in name and "logout" not in name}
    assert {name for name in left if not any(True for _ in secret.variants(name, world))} == set()
    assert len(asked) > len(left)


def test_a_manager_is_told_everything(world):
    """So the walk finds what there is to find."""
    found = Walk(world, "manager").all()
    everything = secret.NAMES | secret.BENNO | secret.CARLA | secret.OUTCOME | {str(secret.LEAK)}
    assert everything - set(found) == set()


@pytest.mark.parametrize("persona", ["annotator", "zqfinn"])
def test_before_submitting_nothing_of_others_is_told(world, persona):
    """An annotator with a draft; a former viewer who has not begun."""
    found = Walk(world, persona).all()
    assert told(found, secret.BENNO | secret.CARLA | secret.OUTCOME | secret.HIDDEN) == {}


def test_after_submitting_the_outcome_is_told_and_nobodys_reading(world):
    case = world.objects["ours"]["case"]
    AnnotationSet.objects.filter(document=case, author__user=world.people["annotator"]).update(state="submitted")
    Assignment.objects.filter(document=case, user=world.people["annotator"]).update(state="done")
    found = Walk(world, "annotator").all()
    assert told(found, secret.BENNO | secret.CARLA | secret.HIDDEN) == {}
    assert {"zqverdict", "5101", "77000041"} <= set(found)


def test_annotators_who_submitted_are_told_nothing_of_each_other(world):
    found = Walk(world, "zqbenno").all()
    assert told(found, secret.CARLA | secret.HIDDEN) == {}
    assert set(found) >= secret.BENNO


@pytest.mark.parametrize("persona", ["reviewer", "viewer"])
def test_where_adjudication_is_anonymous_no_annotator_is_named(world, persona):
    Project.objects.filter(pk=world.ours.pk).update(anonymous_adjudication=True)
    # Who takes part, and how many notes each has submitted, is no secret: the project's page says so.
    found = Walk(world, persona).all()
    assert told(found, secret.NAMES, besides=["/projects/ours/"]) == {}


@pytest.mark.parametrize("share", [20, 0])
def test_a_planted_leak_is_told_once_its_note_is_closed(world, share):
    """Whether the option is still on or was switched off meanwhile."""
    Project.objects.filter(pk=world.ours.pk).update(planted_share=share)
    found = Walk(world, "reviewer").all()
    assert told(found, secret.HIDDEN) == {}
    PlantedLeak.objects.update(result="missed", reader=world.people["reviewer"])
    Review.objects.filter(pk=world.objects["ours"]["leaky_review"]).update(
        closed_at="2026-01-01T00:00Z", closed_by=world.people["reviewer"]
    )
    Project.objects.filter(pk=world.ours.pk).update(planted_share=0)
    assert str(secret.LEAK) in Walk(world, "reviewer").all()


def test_strangers_are_told_nothing(world):
    found = Walk(world, "stranger").all()
    assert told(found, secret.NAMES | secret.BENNO | secret.CARLA | secret.OUTCOME | secret.HIDDEN) == {}
