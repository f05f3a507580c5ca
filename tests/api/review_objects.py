"""Objects to which addresses of review and of models lead, made only for the routes that need them."""

from annotations.models import BulkAct, SuggestedString
from tests.api.conftest import ApiWorld
from tests.factories import make_author, make_set


def review_objects(world: ApiWorld, path: str) -> dict[str, object]:
    """What the address `path` names, by the name of the parameter."""
    if not any(word in path for word in ("/reviews", "/bulk-acts", "/suggested-strings")):
        return {}
    run = make_author(world.project, kind="run", name="rules-1")
    make_set(world.note, run, [(0, 11, "PATIENT"), (44, 50, "CITY")], submitted=True)
    rule = {"kind": "threshold", "runs": [run.pk], "least": 0.0}
    bulk = BulkAct.objects.create(project=world.project, user=world.manager, act="accept", rule=rule)
    string = SuggestedString.objects.filter(author=run).order_by("pk").first()
    return {"run_author": run.pk, "bulk": str(bulk.pk), "string": string.pk if string else 0}
