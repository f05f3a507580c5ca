"""The command judgings: the list, the figures of one, and missing verdicts that are asked for again."""

import pytest

from annotations.models import Event
from models_runtime.models import Judgment
from tests import factories as make
from tests.backends.llm.scripted import Reply
from tests.refining.judging.world import asked, honest, judged_project, ward
from tests.worlds.commands import answered, printed

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def project():
    return judged_project()


def run(*words):
    return answered("judgings", "covid", *words)


def test_missing_verdicts_are_asked_for_again(client, project, settings, no_redis):
    make.make_member(project, "viewer", "vic")
    with ward(settings, lambda body: Reply(status=401) if body["model"] == "two" else honest(body)) as server:
        judging = asked(client)
        (listed,) = run("--by", "vic")["judgings"]
        assert (listed["id"], listed["state"]) == (judging.pk, "done")
        assert listed["judges"] == ["ward/one", "ward/two", "ward/three"]
        shown = run(judging.pk, "--by", "vic")
        assert [bool(judge["stopped"]) for judge in shown["judges"]] == [False, True, False]
        for words, code in (
            ((judging.pk, "--again", "--by", "vic"), "access"),
            ((judging.pk + 1,), "judging"),
            (("--again", "--by", "mia"), "judging"),
        ):
            assert run(*words) == code
        server.script = honest
        before = len(server.requests)
        again = run(judging.pk, "--again", "--by", "mia")
        assert len(server.requests) == before + 1 and not any(judge["stopped"] for judge in again["judges"])
    assert Judgment.objects.exclude(verdicts__isnull=True).count() == 3
    assert Event.objects.filter(actor__username="vic").count() == 0
    line = f"{judging.pk}  run against gold 1, judges ward/one, ward/two, ward/three: done\n"
    assert printed("judgings", "covid") == line
