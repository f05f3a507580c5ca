"""A scripted model server for refinements with a language model."""

import json

from tests.backends.llm.scripted import note_of, offered


def shown(body):
    """What a question shows of a note."""
    return json.loads(note_of(body))


def answer(action, text="", label="", reason="as told"):
    return json.dumps({"answer": action, "text": text, "type": label, "reason": reason}, ensure_ascii=False)


def asked(settings, script, **more):
    """The server `ward` on this machine, with one question at a time, and the server `cloud` elsewhere."""
    servers = {"SERVERS": "ward={url} cloud=http://llm.example.org/v1", "WARD_AT_ONCE": "1", "CLOUD_MODELS": "large"}
    return offered(settings, script, **servers | more)
