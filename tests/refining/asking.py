"""A scripted model server for refinements with a language model."""

import json

from tests.backends.llm.scripted import note_of, offered
from tests.refining.conftest import WRONG


def shown(body):
    """What a question shows of a note."""
    return json.loads(note_of(body))


def answer(action, text="", label="", reason="as told"):
    return json.dumps({"answer": action, "text": text, "type": label, "reason": reason}, ensure_ascii=False)


def honest(body):
    """Remove what is wrong, widen ages, and keep the rest."""
    one = shown(body)
    if one["annotated"] in WRONG:
        return answer("remove", reason="No identifier.")
    if one["type"] == "AGE":
        return answer("update", one["annotated"] + " anni", "AGE", "With its unit.")
    return answer("correct")


def asked(settings, script, **more):
    """The server `ward` on this machine, with one question at a time, and the server `cloud` elsewhere."""
    servers = {"SERVERS": "ward={url} cloud=http://llm.example.org/v1", "WARD_AT_ONCE": "1", "CLOUD_MODELS": "large"}
    return offered(settings, script, **servers | more)
