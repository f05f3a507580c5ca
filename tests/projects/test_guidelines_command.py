"""The command that prints and replaces a project's guidelines."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from tests.factories import make_member, make_project

pytestmark = pytest.mark.django_db


def guidelines(*words):
    out = io.StringIO()
    call_command("guidelines", "p", *map(str, words), "--json", stdout=out)
    return json.loads(out.getvalue())


def test_guidelines_are_replaced_by_a_manager_and_printed(tmp_path):
    project = make_project("p")
    make_member(project, "manager", "mia")
    make_member(project, "annotator", "anna")
    file = tmp_path / "rules.md"
    file.write_text("# Età\n")
    with pytest.raises(CommandError, match="permission to manage"):
        guidelines("--from", file, "--by", "anna")
    before = guidelines()["version"]
    guidelines("--from", file, "--by", "mia")
    assert guidelines() == {"version": before + 1, "guidelines": "# Età\n"}
    file.write_bytes(b"caf\xe9")
    with pytest.raises(CommandError, match="Nothing was changed"):
        guidelines("--from", file)
