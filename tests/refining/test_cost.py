"""The cost table: calls, seconds, tokens and dollars of two refinements are what the scripted server counted."""

import time
from dataclasses import replace
from itertools import count

import pytest
from django.test import Client

from models_runtime.models import Refinement
from tests.backends.llm.scripted import Reply
from tests.refining.asking import asked
from tests.refining.test_agent import reviewer
from tests.refining.test_commands import command
from tests.refining.test_pages import compared
from tests.refining.test_single import NOTES, PER_NOTE, few, honest
from tests.worlds.programs import Program

__all__ = ["few"]
pytestmark = [pytest.mark.queue]
PAUSE = 0.02


class Counted:
    """A script whose answers have different numbers of tokens, which it adds up. One request in `fails` is refused."""

    def __init__(self, script, fails=0):
        self.script, self.fails = script, fails
        self.calls = self.tokens_in = self.tokens_out = self.refused = 0
        self._numbers = count(1)

    def __call__(self, body):
        self.calls += 1
        number = next(self._numbers)
        if self.fails and number == self.fails:
            self.refused += 1
            return Reply(status=503, headers={"Retry-After": "0"})
        said = self.script(body)
        said = Reply(said) if isinstance(said, str) else said
        usage = {"prompt_tokens": 1000 + 37 * number, "completion_tokens": 11 * number}
        self.tokens_in += usage["prompt_tokens"]
        self.tokens_out += usage["completion_tokens"]
        time.sleep(PAUSE)
        whole = said.body or {
            "id": "x", "object": "chat.completion", "created": 0, "model": body["model"],
            "choices": [
                {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said.text}}
            ],
        }  # fmt: skip
        return replace(said, body=whole | {"usage": usage})


def test_two_refinements_stand_side_by_side_with_what_the_server_counted(few, settings):
    price = {"DEIDREVIEW_LLM_WARD_PRICE": "USD 2.50/10"}
    servers = {"single": Counted(honest, fails=5), "agent": Counted(reviewer)}
    said = {}
    for method, server in servers.items():
        with asked(settings, server, **price):
            said[method] = command("refine", "ward", "few", "--method", method, "--server", "ward", "--wait")
    single, agent = servers.values()
    assert (single.calls, agent.calls) == (PER_NOTE * NOTES + 1, 2 * NOTES) and single.refused == 1

    # The command.
    for method, server in servers.items():
        found = said[method]
        assert (found["calls"], found["tokens_in"], found["tokens_out"]) == (
            server.calls, server.tokens_in, server.tokens_out,
        )  # fmt: skip
        assert found["seconds"] >= PAUSE * (server.calls - server.refused)

    # The API.
    ids = dict(Refinement.objects.values_list("method", "pk"))
    program, efforts = Program(few.mia), {}
    for method, server in servers.items():
        effort = efforts[method] = program.get(f"/projects/ward/refinements/{ids[method]}").json()["effort"]
        assert (effort["calls"], effort["tokens_in"], effort["tokens_out"]) == (
            server.calls, server.tokens_in, server.tokens_out,
        )  # fmt: skip
        assert effort["cost"] == pytest.approx((2.5 * server.tokens_in + 10 * server.tokens_out) / 1_000_000, abs=1e-9)
        assert effort["currency"] == "USD"
        # With one question at a time, the job takes at least as long as the answers.
        assert effort["seconds"] >= effort["answering"] - 0.01
        assert effort["answering"] == pytest.approx(said[method]["seconds"], abs=0.001)
        for name in ("kept", "updated", "removed"):
            assert effort[name] == said[method][name]

    # The page, in either order.
    client = Client()
    client.force_login(few.mia)
    for first, second in (("single", "agent"), ("agent", "single")):
        rows, _shown = compared(client, ids[first], ids[second])
        pair = [efforts[first], efforts[second]]
        assert rows["Calls of the language model"] == [str(one["calls"]) for one in pair]
        assert rows["Input tokens"] == [f"{one['tokens_in']:,}" for one in pair]
        assert rows["Output tokens"] == [f"{one['tokens_out']:,}" for one in pair]
        assert rows["Cost"] == [f"{one['cost']:.4f} USD" for one in pair]
        # A time just between two tenths may be rounded either way.
        for name, key in (("Duration, seconds", "seconds"), ("Answer time, seconds", "answering")):
            assert [float(cell) for cell in rows[name]] == pytest.approx([one[key] for one in pair], abs=0.0501)
        for name, row in (("kept", "Kept"), ("updated", "Changed"), ("removed", "Removed")):
            assert rows[row] == [str(one[name]) for one in pair]
    assert efforts["single"]["updated"] == NOTES and efforts["agent"]["updated"] == 0


def test_a_server_without_a_price_or_without_usage_shows_none(few, settings):
    """Nothing is estimated: without a price there is no cost, and tokens that the server doesn't tell count as zero."""

    def silent(body):
        said = Counted(honest)(body)
        return replace(said, body={name: value for name, value in said.body.items() if name != "usage"})

    with asked(settings, silent):
        found = command("refine", "ward", "few", "--method", "single", "--server", "ward", "--wait")
        assert (found["calls"], found["tokens_in"], found["tokens_out"]) == (PER_NOTE * NOTES, 0, 0)
        effort = Program(few.mia).get(f"/projects/ward/refinements/{Refinement.objects.get().pk}").json()["effort"]
        assert (effort["cost"], effort["currency"]) == (None, "")
        command("refine", "ward", "wide", "--method", "offline", "--wait")
        client = Client()
        client.force_login(few.mia)
        first, second = Refinement.objects.order_by("pk").values_list("pk", flat=True)
        rows, _shown = compared(client, first, second)
    assert "no price" in rows["Cost"][0] and rows["Cost"][1] == "–"
    assert rows["Calls of the language model"] == [str(PER_NOTE * NOTES), "0"]
