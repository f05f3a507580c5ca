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
        settings.LLM_SERVERS = read_servers(
            {
                "DEIDREVIEW_LLM_SERVERS": f"ward={running.url} cloud=http://llm.example.org/v1",
                "DEIDREVIEW_LLM_WARD_MODELS": "small",
                "DEIDREVIEW_LLM_WARD_AT_ONCE": "1",
                "DEIDREVIEW_LLM_CLOUD_MODELS": "large",
                **more,
            }
        )
        yield running
