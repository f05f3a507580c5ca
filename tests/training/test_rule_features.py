"""Models with and without the tags of the rules as features, and ensembles in which the rules vote beside them."""

import io
import json

import pytest
from django.core.management import call_command
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.jobs.runner import run as work
from annotations.models import LabelSet
from models_runtime.core.model_files import load_model
from models_runtime.models import Refinement, Run, TrainedModel
from models_runtime.runs.services.ensembles import MemberChoice, options_of, start_ensemble
from models_runtime.runs.services.runs import start_run
from models_runtime.training.services.trained import upload_model
from tests import factories as make
from tests.training.test_model_pages import content_of
from tests.worlds.checks import check_page
from tests.worlds.programs import Program

pytestmark = pytest.mark.queue
SAID = "The rules vote, and their tags are features of with. An error of the rules can have several votes."


def command(*words):
    out = io.StringIO()
    call_command(*words, stdout=out, stderr=io.StringIO())
    return out.getvalue()


@pytest.fixture
def both(world, trained):
    LabelSet.objects.filter(project=world.project).update(key="meddocan")
    return trained("a", name="with")[0], trained("b", name="without", settings={"rules": "no"})[0]


def test_a_model_can_learn_without_the_rules(world, both, client):
    one, other = both
    assert "-none" not in load_model(one).revision
    assert load_model(other).revision.endswith("-none")
    client.force_login(world.manager)
    html = check_page(client.get(reverse("model", args=["ward", other.pk])))
    assert "Rules as features" in html
    assert "Rules as features" not in client.get(reverse("model", args=["ward", one.pk])).content.decode()
    assert "Rules as features" in check_page(client.get(reverse("models", args=["ward"])))


def test_an_uploaded_model_says_so_too(world, both, client):
    one, other = both
    for row, settings in ((one, {}), (other, {"settings": {"rules": False}})):
        data = content_of(row)
        TrainedModel.objects.filter(pk=row.pk).update(state=TrainedModel.State.RETIRED)
        brought = upload_model(project=world.project, content=io.BytesIO(data), actor=world.manager).model
        assert brought.params == settings


def test_an_ensemble_says_that_errors_of_the_rules_count_twice(world, both, client):
    client.force_login(world.manager)
    html = check_page(client.get(reverse("run_combine", args=["ward"])))
    assert "If the rules vote beside models marked “rules as features”, their errors count more than once." in html
    assert html.count('<span class="mute">rules as features</span>') == 1
    offered = Program(world.manager).get("/projects/ward/ensemble-members").json()
    assert [one["title"] for one in offered if one["rules_as_features"]] == ["with"]

    printed = command("run_model", "ward", "ensemble", "--members", "rules,with,without", "--wait")
    assert SAID in printed
    run = Run.objects.latest("pk")
    assert SAID in check_page(client.get(reverse("run", args=["ward", run.pk])))
    assert Program(world.manager).get(f"/projects/ward/runs/{run.pk}").json()["rules_again"] == ["with"]

    printed = json.loads(
        command("run_model", "ward", "ensemble", "--members", "with,without", "--wait", "--json").splitlines()[-1]
    )
    assert "rules_again" not in printed


def test_finished_runs_are_recognized(world, both):
    for key, backend in (("r", "rules"), ("w", "with"), ("o", "without")):
        run = start_run(project=world.project, backend=backend, actor=world.manager, key=key, name=f"{backend}-run")
        work(run.job_id)
    assert [one.title for one in options_of(world.project) if one.has_rules] == ["with", "with-run"]
    for key, members, again in (
        ("1", ["run:rules-run", "run:with-run", "run:without-run"], ["run:with-run"]),
        ("2", ["run:with-run", "run:without-run"], None),
    ):
        run = start_ensemble(
            project=world.project, members=[MemberChoice(spec) for spec in members], method="majority",
            actor=world.manager, key=key,
        )  # fmt: skip
        assert run.params.get("rules_again") == again


def test_refinements_and_earlier_stages_are_looked_through(world, both, trained):
    """A CRF's earlier stage still reads with the rules; a refined run of the rules is a run of the rules."""
    one, _ = both
    later, _ = trained("later", name="later", base="with", settings={"rules": "no"})
    run = start_run(project=world.project, backend="rules", actor=world.manager, key="r", name="rules-run")
    work(run.job_id)
    refined = make.make_author(world.project, kind="refined", name="refined-1")
    Refinement.objects.create(project=world.project, source=run.author, author=refined, method="offline")
    for note in world.project.documents.all():
        make.make_set(note, refined, [], submitted=True)
    assert [option.title for option in options_of(world.project) if option.has_rules] == ["later", "with"]
    members = [MemberChoice(spec) for spec in ("run:refined-1", "later", "without")]
    ensemble = start_ensemble(project=world.project, members=members, method="majority", actor=None, key="e")
    assert ensemble.params["rules_again"] == ["later"]
    data = content_of(later)
    TrainedModel.objects.filter(pk=later.pk).update(state=TrainedModel.State.RETIRED)
    brought = upload_model(project=world.project, content=io.BytesIO(data), actor=world.manager).model
    assert brought.params == {} and one.params == {"algorithm": "lbfgs", "iterations": 8}


def test_other_kinds_have_no_such_setting(world, trained):
    with pytest.raises(ServiceError, match="has no setting “rules”"):
        trained("s", backend="stacked", settings={"rules": "no"})
