"""Models with and without the tags of the rules as features, and ensembles in which the rules vote beside them."""

import io

from annotations.models import LabelSet
from models_runtime.core.model_files import load_model
from models_runtime.models import Refinement, Run, TrainedModel, TrainedModelState
from models_runtime.runs.services.ensembles import MemberChoice, options_of, start_ensemble
from models_runtime.training.services.trained import upload_model
from tests import factories as make
from tests.held import made_once
from tests.training.conftest import build_world, content_of, page, refused, run_of, train
from tests.worlds.checks import check_page
from tests.worlds.commands import printed, told
from tests.worlds.programs import Program

SAID = "The rules vote, and their tags are features of with. An error of the rules can have several votes."


def build_both():
    world = build_world()
    LabelSet.objects.filter(project=world.project).update(key="meddocan")
    world.one, _ = train(world, "a", name="with")
    world.other, _ = train(world, "b", name="without", settings={"rules": "no"})
    return world


made_gold, world = made_once(build_both, "long_lease", name="made_gold")


def voting(world, key, *members, method="majority"):
    members = [MemberChoice(spec) for spec in members]
    return start_ensemble(project=world.project, members=members, method=method, actor=None, key=key)


def with_rules(world):
    return [one.title for one in options_of(world.project) if one.has_rules]


def uploaded(world, model):
    data = content_of(model)
    TrainedModel.objects.filter(pk=model.pk).update(state=TrainedModelState.RETIRED)
    return upload_model(project=world.project, content=io.BytesIO(data), actor=world.manager).model


def test_a_model_can_learn_without_the_rules_and_its_file_says_so_too(world, manager):
    assert "-none" not in load_model(world.one).revision and load_model(world.other).revision.endswith("-none")
    assert "Rules as features" in check_page(manager.get(page("model", world.other.pk)))
    assert "Rules as features" not in manager.get(page("model", world.one.pk)).content.decode()
    assert "Rules as features" in check_page(manager.get(page("models"))) and uploaded(world, world.one).params == {}
    assert uploaded(world, world.other).params == {"settings": {"rules": False}}
    refused(world, "has no setting “rules”", backend="stacked", settings={"rules": "no"})


def test_an_ensemble_says_that_errors_of_the_rules_count_twice(world, manager):
    words = ("run_model", "ward", "ensemble", "--wait", "--members")
    assert check_page(manager.get(page("run_combine"))).count('<span class="mute">rules as features</span>') == 1
    offered = Program(world.manager).get("/projects/ward/ensemble-members").json()
    assert [one["title"] for one in offered if one["rules_as_features"]] == ["with"]
    assert SAID in printed(*words, "rules,with,without")
    run = Run.objects.latest("pk")
    assert SAID in check_page(manager.get(page("run", run.pk)))
    assert Program(world.manager).get(f"/projects/ward/runs/{run.pk}").json()["rules_again"] == ["with"]
    assert "rules_again" not in told(*words, "with,without")


def test_finished_runs_are_recognized(world):
    for backend in ("rules", "with", "without"):
        run_of(world.project, backend, key=backend, name=f"{backend}-run")
    assert with_rules(world) == ["with", "with-run"]
    run = voting(world, "1", "run:rules-run", "run:with-run", "run:without-run")
    assert run.params["rules_again"] == ["run:with-run"]
    assert voting(world, "2", "run:with-run", "run:without-run").params.get("rules_again") is None


def test_refinements_and_earlier_stages_are_looked_through(world):
    """A CRF's earlier stage still reads with the rules; a refined run of the rules is a run of the rules."""
    later, _ = train(world, "later", name="later", base="with", settings={"rules": "no"})
    run = run_of(world.project, "rules", name="rules-run")
    refined = make.make_author(world.project, kind="refined", name="refined-1")
    Refinement.objects.create(project=world.project, source=run.author, author=refined, method="offline")
    for note in world.project.documents.all():
        make.make_set(note, refined, [], submitted=True)
    assert with_rules(world) == ["later", "with"]
    assert voting(world, "e", "run:refined-1", "later", "without").params["rules_again"] == ["later"]
    assert uploaded(world, later).params == {} and world.one.params == {"algorithm": "lbfgs", "iterations": 8}
