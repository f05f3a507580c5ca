"""Objects to which addresses of review and of models lead, made only for the routes that need them."""

from django.utils import timezone

from annotations.models import BulkAct, Delivery, GoldVersion, StoredFile, SuggestedString, Webhook
from models_runtime.models import InjectedRun, Judging, Refinement, Run, SystemicError, TrainedModel
from tests.api.conftest import ApiWorld
from tests.factories import make_author, make_calibration, make_set


def review_objects(world: ApiWorld, path: str) -> dict[str, object]:
    """What the address `path` names, by the name of the parameter."""
    found: dict[str, object] = {}
    if any(word in path for word in ("/reviews", "/bulk-acts", "/suggested-strings")):
        found |= _reviewed(world)
    if "/runs/" in path:
        rewriting = "{int:rewriting}" in path
        author = make_author(world.project, kind="run", name="rules-2")
        params = {"strategy": "rewrite", "prompt": "Rewrite"} if rewriting else {}
        run = Run.objects.create(project=world.project, author=author, backend="rules", params=params)
        found["rewriting" if rewriting else "run"] = run.pk
    if "/scores/" in path:
        gold = make_author(world.project, kind="gold", name="gold")
        make_set(world.note, gold, [(0, 11, "PATIENT"), (44, 50, "CITY")], submitted=True)
        author = make_author(world.project, kind="run", name="rules-3")
        make_set(world.note, author, [(0, 11, "PATIENT")], submitted=True)
        found |= {"version": 0, "author": author.pk}
    if "/models/" in path:
        found["model"] = _model(world).pk
    if "{int:calibration}" in path or "{int:judging}" in path:
        found |= _measured(world)
    if "{int:injection}" in path or "{int:refinement}" in path:
        found |= _refined(world)
    if "{int:systemic}" in path:
        found["systemic"] = SystemicError.objects.create(project=world.project, name="clubs", label="CITY").pk
    if "/skills/" in path:
        found["skill"] = "locations"
    if "/webhooks/" in path:
        webhook = Webhook.objects.create(
            project=world.project, url="https://hooks.example.org/", sealed=b"", kinds=["job.done"]
        )
        delivery = Delivery.objects.create(webhook=webhook, kind="test", due_at=timezone.now(), state="failed")
        found |= {"webhook": webhook.pk, "delivery": delivery.pk}
    return found


def _measured(world: ApiWorld) -> dict[str, object]:
    author = make_author(world.project, kind="run", name="rules-4")
    make_set(world.note, author, [(0, 11, "PATIENT")], submitted=True)
    run = Run.objects.create(project=world.project, author=author, backend="rules", revision="1")
    version = GoldVersion.objects.create(
        project=world.project, number=1, content_hash="0" * 64, note_count=0, span_count=0
    )
    judging = Judging.objects.create(
        project=world.project, author=author, gold_version=version, threshold=0.5, language="en", prompt_version="1"
    )
    return {"calibration": make_calibration(run, version).pk, "judging": judging.pk}


def _refined(world: ApiWorld) -> dict[str, object]:
    version = GoldVersion.objects.create(
        project=world.project, number=1, content_hash="0" * 64, note_count=0, span_count=0
    )
    bench, refiner = (make_author(world.project, kind="bench", name=name) for name in ("injected-1", "refined-1"))
    run = InjectedRun.objects.create(
        project=world.project, author=bench, gold_version=version, rules=["cities"], rate=0.1, seed=7
    )
    row = Refinement.objects.create(project=world.project, source=bench, author=refiner, method="offline")
    return {"injection": run.pk, "refinement": row.pk, "author": refiner.pk}


def _reviewed(world: ApiWorld) -> dict[str, object]:
    run = make_author(world.project, kind="run", name="rules-1")
    make_set(world.note, run, [(0, 11, "PATIENT"), (44, 50, "CITY")], submitted=True)
    rule = {"kind": "threshold", "runs": [run.pk], "least": 0.0}
    bulk = BulkAct.objects.create(project=world.project, user=world.manager, act="accept", rule=rule)
    string = SuggestedString.objects.filter(author=run).order_by("pk").first()
    return {"run_author": run.pk, "bulk": str(bulk.pk), "string": string.pk if string else 0}


def _model(world: ApiWorld) -> TrainedModel:
    weights = StoredFile.objects.create(project=world.project, kind=StoredFile.Kind.MODEL, name="crf-1.zip")
    return TrainedModel.objects.create(
        project=world.project, name="crf-1", backend="crf", state=TrainedModel.State.READY, stored_file=weights
    )
