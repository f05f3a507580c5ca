"""The commands that finish unanimous notes and reopen adjudications."""

import io
import json

from django.core.management import CommandError, call_command

from annotations.models import Adjudication, AnnotationSet, Event
from tests import factories as make
from tests.adjudicate.test_majority import CITY, NAME, made_votes, submitted, votes

__all__ = ["made_votes", "votes"]


def run(name, *words):
    """Return the result of the command, or the code of its error."""
    out = io.StringIO()
    try:
        call_command(name, "covid", *words, "--json", stdout=out)
    except CommandError:
        return json.loads(out.getvalue())["code"]
    return json.loads(out.getvalue())


def test_unanimous_notes_are_finished_and_reopened(votes):
    submitted(votes, "alike", [[NAME, CITY]] * 3)
    assert run("finish_unanimous", "--by", "rita") == "rule"
    votes.project.unanimous_passes = True
    votes.project.save()
    assert run("finish_unanimous", "--by", "rita") == {"finished": 1, "left": 0}
    assert Adjudication.objects.get().document.name == "alike"
    assert run("reopen_adjudication", "alike", "--by", "rita") == {"open": ["alike"]}
    assert not Adjudication.objects.exists()
    assert Event.objects.get(verb="adjudication.reopened").actor == votes.rita


def test_who_may_reopen_what(votes):
    make.make_note(votes.project, name="bare")
    assert run("reopen_adjudication", "bare", "--by", "rita") == "none"
    assert run("reopen_adjudication", "none", "--by", "rita") == "note"
    for name, *notes in (("reopen_adjudication", "whole"), ("finish_unanimous",)):
        assert run(name, *notes) == "by"
        assert run(name, *notes, "--by", "vera") == "access"
    assert not AnnotationSet.objects.filter(author__kind="adjudicated").exists()
