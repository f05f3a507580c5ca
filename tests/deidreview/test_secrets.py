"""No page, file or response reveals a secret: every URL is requested as every persona, before and after an action.

The URLs come from the URL patterns with every object of the project, and from the links of the pages, so a new
URL is included automatically. What the table of access refuses to a role is asked for the first object only.
By day an annotator and a reviewer walk, from whom most is kept.
"""

import re
from collections.abc import Iterable, Iterator

import pytest
from django.http import HttpResponse
from django.urls import resolve, reverse

from annotations.core.stored_files import read_chunks
from annotations.models import AnnotationSet, Assignment, Job, PlantedLeak, Project, Review, StoredFile
from tests.deidreview import secret_world as secret
from tests.deidreview.access_table import EVERYONE_405, OPEN_405, PERSONAS, TABLE, status_in
from tests.deidreview.access_world import ROUTES, World, answer_of, undone

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("fast_requests", "small_models")]
MOST_LINKS = 200
# The project's page shows the names of members, and how many notes each has submitted, which are no secret.
MEMBERS = "/projects/ours/"


@pytest.fixture
def world() -> Iterator[World]:
    with secret.large_ids():
        yield secret.build_secrets()


class Walk:
    """Searches all responses to a persona for tokens; `found` says where each token was."""

    def __init__(self, world: World, persona: str, more: Iterable[str] = (), first: Iterable[str] = ()) -> None:
        """`more` are further tokens, and `first` the pages with which the walk begins."""
        self.world, self.client, self.first = world, secret.client_of(world, persona), first
        tokens = secret.NAMES | secret.BENNO | secret.CARLA | secret.OUTCOME | secret.HIDDEN
        tokens |= secret.RELEASED | secret.CERTIFIED
        self.pattern = secret.token_pattern(tokens | set(more))
        self.found: dict[str, list[str]] = {}
        self.asked: set[str] = set()
        self.role = persona if persona in PERSONAS else "annotator"
        self.refused: set[tuple[str, str]] = set()

    def all(self) -> dict[str, list[str]]:
        for _ in self.steps():
            pass
        return self.found

    def shows(self, tokens: set[str]) -> bool:
        """Whether all tokens are shown somewhere. The walk ends at the last of them."""
        return any(tokens <= set(self.found) for _ in self.steps())

    def steps(self) -> Iterator[None]:
        """Request every page, act once at every URL that takes a POST, and export: one step each."""
        yield from self.pages()
        for name, methods in TABLE.items():
            if methods["POST"] not in (EVERYONE_405, OPEN_405) and not name.startswith("admin"):
                self.post(name)
                yield
        self.exports()
        yield

    def pages(self) -> Iterator[None]:
        """Request every page, and yield after each."""
        waiting = [*self.first, *secret.urls(self.world)]
        followed = 0
        while waiting:
            url = waiting.pop(0)
            if url in self.asked or self.knows("GET", resolve(url.partition("?")[0]).view_name):
                continue
            self.asked.add(url)
            more = self.get(url)
            followed += len(more)
            waiting += more if followed < MOST_LINKS else []
            yield

    def knows(self, method: str, name: str) -> bool:
        """Whether a route refuses this role a method, and has been asked once if that depends on the role."""
        status = status_in(TABLE[name][method], self.role)
        asked = (method, name) in self.refused
        self.refused |= {(method, name)} if status == "403" else set()
        return status == "405" or asked

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
            if self.knows("POST", name):
                continue
            chosen = World(
                self.world.ours, self.world.theirs, self.world.people,
                self.world.objects | {"ours": self.world.objects["ours"] | ids},
            )  # fmt: skip

            def act(chosen: World = chosen) -> int:
                return self.follow(f"POST {name}", answer_of(self.client, "POST", name, chosen))

            undone(act, self.client)  # signing out must not end the walk

    def follow(self, where: str, answer: HttpResponse) -> int:
        """Search the response and the page to which it redirects, which may describe the action."""
        self.take(where, answer)
        if (to := answer.headers.get("Location", "")).startswith("/projects/"):
            self.take(f"{where} to {to}", self.client.get(to))
        return answer.status_code

    def exports(self) -> None:
        """Export every annotation set, and search the files."""
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
        # Without Redis, the instance says that it is not ready.
        assert answer.status_code < 500 or where == "/readyz", f"{where}: {answer.status_code}"
        text = secret.content_of(answer)
        # A sample's value, such as a count of collected objects, can equal any offset; names and labels can't.
        self.note(where, re.sub(r"(?m) \S+$", "", text) if where == "/metrics" else text)

    def note(self, where: str, text: str) -> None:
        for token in set(self.pattern.findall(secret.UUID.sub("", text))):
            self.found.setdefault(token, []).append(where)


def told(found: dict[str, list[str]], tokens: Iterable[str], besides: Iterable[str] = ()) -> dict[str, list[str]]:
    """Return where forbidden tokens were found."""
    return {
        token: ways for token in sorted(tokens) if (ways := [one for one in found.get(token, []) if one not in besides])
    }


def test_every_url_is_requested(world):
    asked = set(secret.urls(world))
    left = {name for name in ROUTES if "admin" not in name and "logout" not in name}
    assert {name for name in left if not any(True for _ in secret.variants(name, world))} == set()
    assert len(asked) > len(left)


@pytest.mark.nightly
def test_a_manager_sees_everything(world):
    """This proves that the walk finds the tokens."""
    everything = secret.NAMES | secret.BENNO | secret.CARLA | secret.OUTCOME | {str(secret.LEAK)}
    everything |= secret.RELEASED | secret.CERTIFIED
    walk = Walk(world, "manager")
    assert walk.shows(everything), everything - set(walk.found)


@pytest.mark.parametrize("persona", ["annotator", pytest.param("zqfinn", marks=pytest.mark.nightly)])
def test_before_submitting_nothing_of_others_is_shown(world, persona):
    """Check an annotator with a draft, and a former viewer who has not begun."""
    found = Walk(world, persona).all()
    assert told(found, secret.BENNO | secret.CARLA | secret.OUTCOME | secret.HIDDEN) == {}
    assert told(found, secret.RELEASED | secret.CERTIFIED) == {}
    assert secret.NAMES & set(found)


@pytest.mark.nightly
def test_after_submitting_the_outcome_is_shown_but_no_annotation_set(world):
    case = world.objects["ours"]["case"]
    AnnotationSet.objects.filter(document=case, author__user=world.people["annotator"]).update(state="submitted")
    Assignment.objects.filter(document=case, user=world.people["annotator"]).update(state="done")
    found = Walk(world, "annotator").all()
    assert told(found, secret.BENNO | secret.CARLA | secret.HIDDEN) == {}
    assert {"zqverdict", "910101", "77000041"} <= set(found)


@pytest.mark.nightly
def test_annotators_who_submitted_see_nothing_of_each_other(world):
    found = Walk(world, "zqbenno").all()
    assert told(found, secret.CARLA | secret.HIDDEN) == {}
    assert set(found) >= secret.BENNO


@pytest.mark.nightly
def test_where_adjudication_is_anonymous_no_annotator_is_named_to_a_viewer(world):
    Project.objects.filter(pk=world.ours.pk).update(anonymous_adjudication=True)
    found = Walk(world, "viewer").all()
    assert told(found, secret.NAMES, besides=[MEMBERS]) == {}
    assert told(found, secret.RELEASED | secret.CERTIFIED) == {}


@pytest.mark.parametrize(("share", "anonymous"), [(20, True), pytest.param(0, False, marks=pytest.mark.nightly)])
def test_a_planted_leak_is_shown_once_its_review_is_finished(world, share, anonymous):
    """With the option still on, and with the option switched off meanwhile. In the first, adjudication is anonymous."""
    Project.objects.filter(pk=world.ours.pk).update(planted_share=share, anonymous_adjudication=anonymous)
    found = Walk(world, "reviewer").all()
    assert told(found, secret.HIDDEN) == {}
    # Reviewers read released notes one at a time, as the audit gives them, and certificates.
    assert told(found, secret.RELEASED) == {}
    assert "zqcertified" in found
    assert bool(told(found, secret.NAMES, besides=[MEMBERS])) is not anonymous
    PlantedLeak.objects.update(result="missed", reviewer=world.people["reviewer"])
    Review.objects.filter(pk=world.objects["ours"]["leaky_review"]).update(
        finished_at="2026-01-01T00:00Z", finished_by=world.people["reviewer"]
    )
    Project.objects.filter(pk=world.ours.pk).update(planted_share=0)
    ours = world.objects["ours"]
    page = reverse("review", args=["ours", ours["leaky"], ours["leaky_note"]])
    assert Walk(world, "reviewer", first=[page]).shows({str(secret.LEAK)})


@pytest.mark.nightly
def test_opening_a_note_changes_nothing_in_what_is_shown_of_its_suggestions(world, monkeypatch):
    """Comparing pages from before and after does not reveal the planted leak. No response of a walk is cached."""
    monkeypatch.setattr("annotations.review.rules.planting.chance", lambda *about: 0.0)
    names = secret.draw_anew(world)
    before = Walk(world, "reviewer", names).all()
    ours = world.objects["ours"]
    page = reverse("review", args=["ours", ours["leaky"], ours["leaky_note"]])
    assert secret.client_of(world, "reviewer").get(page).status_code == 200
    (hidden,) = PlantedLeak.objects.values_list("suggestion_id", flat=True)
    after = Walk(world, "reviewer", names).all()
    lists = {name for name, ways in before.items() if name in names and any("/strings/" in way for way in ways)}
    assert lists == {name for name, pk in names.items() if pk != hidden}
    assert {name: where(before, name) for name in names} == {name: where(after, name) for name in names}
    secrets = [name for name, pk in names.items() if pk == hidden]
    assert told(before, secrets) == told(after, secrets) == {}


def where(found: dict[str, list[str]], token: str) -> set[str]:
    """Return the URLs whose responses had the token, without the numbers of jobs, which differ each time."""
    return {re.sub(r" to /.*", "", way) for way in found.get(token, [])}


@pytest.mark.nightly
@pytest.mark.parametrize("persona", ["stranger", "other_manager"])
def test_strangers_see_nothing(world, persona):
    found = Walk(world, persona).all()
    assert told(found, secret.RELEASED | secret.CERTIFIED) == {}
    assert told(found, secret.NAMES | secret.BENNO | secret.CARLA | secret.OUTCOME | secret.HIDDEN) == {}
