"""The command that lists, writes and saves policies."""

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotations.models import Event, ReleasePolicy
from annotations.release.rules.redaction.policy import SHIPPED


def run(*words):
    """Return the result of the command, or the code of its error."""
    out = io.StringIO()
    try:
        call_command("release_policies", "covid", *map(str, words), "--json", stdout=out)
    except CommandError:
        return json.loads(out.getvalue())["code"]
    return json.loads(out.getvalue())


@pytest.fixture
def table(tmp_path):
    def write(*rows, columns=("label", "kind", "action", "numbered")):
        path = tmp_path / "rules.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([columns, *rows])
        return path

    return write


def test_a_version_is_saved_from_a_file(clinic, table):
    saved = run("mask", "--from", table(("CITY", "", "keep", ""), ("PATIENT", "", "", "yes")), "--by", "mia")
    [policy] = saved["policies"]
    assert (policy["version"], policy["actions"]["CITY"], policy["actions"]["DATE"]) == (2, "keep", "mask")
    row = ReleasePolicy.objects.get(version=2)
    assert row.created_by == clinic.mia and row.rules["PATIENT"]["numbered"] and not row.rules["CITY"]["numbered"]
    assert Event.objects.filter(verb="policy.saved", actor=clinic.mia).exists()
    # A file without the column leaves it as it is; the same rules give the same version.
    assert run("mask", "--from", table(("PATIENT", "mask"), columns=("label", "action")))["policies"] == [policy]


def test_a_new_policy_begins_with_the_written_rules_of_another(clinic, tmp_path):
    file = tmp_path / "rules.csv"
    assert run("safe-harbor", "--write", file)["written"] == len(clinic.labels)
    assert run("ours", "--from", file) == "name"
    [policy] = run("ours", "--from", file, "--name", "Our rules", "--by", "mia")["policies"]
    [shipped] = run("safe-harbor")["policies"]
    assert (policy["version"], policy["name"], policy["actions"]) == (1, "Our rules", shipped["actions"])
    assert run("safe-harbor", "--write", file) == "path"


def test_what_is_refused_saves_nothing(clinic, table):
    before = ReleasePolicy.objects.count()
    assert [policy["policy"] for policy in run()["policies"]] == list(SHIPPED)
    for row in (("NONE", "", "keep", ""), ("CITY", "", "keep", "perhaps")):
        assert run("mask", "--from", table(row)) == "row"
    for row in (("CITY", "", "shift", ""), ("CITY", "none", "keep", ""), ("CITY", "", "burn", "")):
        assert run("mask", "--from", table(row)) == "invalid"
    file = table(("CITY", "city", "keep", ""))
    assert run("ours", "--from", file, "--name", "Ours") == "invalid", "a new policy needs a rule for every label"
    assert run("not a name", "--from", file, "--name", "Ours") == "invalid"
    assert run("none") == run("--write", file) == "policy"
    assert run("mask", "--name", "x") == "name"
    assert run("mask", "--from", file, "--by", "rev") == run("--by", "vic") == "access"
    assert ReleasePolicy.objects.count() == before
