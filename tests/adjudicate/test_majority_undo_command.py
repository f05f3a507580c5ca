"""The command that lists majority votes and undoes one."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotations.gold.services.making import withdraw_gold
from annotations.models import AnnotationSet, Event, Job, MajorityAct
from tests.adjudicate.test_majority import made_votes, vote, votes
from tests.worlds.queue import no_redis

__all__ = ["made_votes", "no_redis", "votes"]


def run(*words):
    out = io.StringIO()
    try:
        call_command("majority_gold", "covid", *words, "--json", stdout=out)
    except CommandError:
        return json.loads(out.getvalue())["code"]
    return json.loads(out.getvalue())


def test_a_vote_is_listed_and_undone(votes, no_redis, capsys):
    call_command("majority_gold", "covid", "--by", "rita")
    act = MajorityAct.objects.get()
    assert f"Undo with --undo {act.pk}." in capsys.readouterr().out
    listed = run("--list", "--by", "rita")["votes"]
    assert [(row["vote"], row["state"], row["gold"]) for row in listed] == [(str(act.pk), "done", 1)]
    found = run("--undo", str(act.pk), "--by", "rita")
    assert (found["state"], found["undone"], found["kept"]) == ("undone", 2, 0)
    assert not AnnotationSet.objects.filter(author__kind="gold").exists()
    assert Event.objects.get(verb="majority.undone").actor == votes.rita
    assert Job.objects.get().kind == "majority_undo"
    call_command("majority_gold", "covid", "--list")
    assert "undone in 2 notes" in capsys.readouterr().out


def test_what_somebody_changed_since_is_kept(votes, no_redis):
    act = vote(votes)
    withdraw_gold(document=votes.whole, actor=votes.rita)
    assert run("--undo", str(act.pk), "--by", "rita")["kept"] == 1


@pytest.mark.parametrize("name", ["nothing", "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"])
def test_an_unknown_vote(votes, name):
    assert run("--undo", name, "--by", "rita") == "vote"


def test_who_may_undo(votes):
    act = vote(votes)
    assert run("--undo", str(act.pk)) == "by"
    assert run("--undo", str(act.pk), "--by", "vera") == "access"
    assert run("--list", "--by", "vera") == "access"
    act.refresh_from_db()
    assert act.state == "done"
