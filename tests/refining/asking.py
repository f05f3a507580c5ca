"""A scripted model server for refinements with a language model."""

import json
from contextlib import contextmanager

from models_runtime.backends.llm.servers import read_servers
from tests.backends.llm.scripted import note_of, serving


def shown(body):
    """What a question shows of a note."""
    return json.loads(note_of(body))


def answer(action, text="", label="", reason="as told"):
    return json.dumps({"answer": action, "text": text, "type": label, "reason": reason}, ensure_ascii=False)


@contextmanager
def asked(settings, script, **more):
    """The server `ward` on this machine, with one question at a time, and the server `cloud` elsewhere.

    `more`: further variables of the environment.
    """
    with serving(script) as running:
        listed = {
            "SERVERS": f"ward={running.url} cloud=http://llm.example.org/v1", "WARD_MODELS": "small",
            "WARD_AT_ONCE": "1", "CLOUD_MODELS": "large",
        }  # fmt: skip
        settings.LLM_SERVERS = read_servers({f"DEIDREVIEW_LLM_{name}": value for name, value in listed.items()} | more)
        yield running
