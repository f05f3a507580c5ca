"""The command that withdraws a release."""

import io
import json

from django.core.management import CommandError, call_command

from annotations.models import Event, Release


def withdraw(*words):
    out = io.StringIO()
    try:
        call_command("withdraw_release", "covid", *words, "--json", stdout=out)
    except CommandError:
        return json.loads(out.getvalue())["code"]
    return json.loads(out.getvalue())


def test_a_release_is_withdrawn(clinic):
    assert withdraw("7", "--yes") == "release"
    assert withdraw("1", "--by", "mia") == "yes"
    assert withdraw("1", "--yes", "--by", "rev") == "access"
    assert Release.objects.get().state == "prepared"
    assert withdraw("1", "--yes", "--by", "mia") == {"release": 1, "state": "withdrawn"}
    assert withdraw("1", "--yes", "--by", "mia")["state"] == "withdrawn"
    assert Event.objects.get(verb="release.withdrawn").actor == clinic.mia
