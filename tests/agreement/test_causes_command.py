"""The commands that name causes of disagreements and amend the guidelines."""

from annotations.models import Amendment, Cause, Event, Project
from tests import factories as make
from tests.held import made_once
from tests.worlds.commands import answered, printed


def run(name, *words):
    return answered(name, "covid", *words)


def build_project():
    found = make.make_project("covid")
    for role, name in (("manager", "mia"), ("reviewer", "rev"), ("viewer", "vic")):
        make.make_member(found, role, name)
    make.make_note(found, name="caso-1")
    return found


made, project = made_once(build_project)


def test_causes_are_added_and_removed(project):
    assert run("disagreement_cause", "caso-1", 0, 11, "AM", "--by", "rev")["causes"] == ["AM"]
    assert run("disagreement_cause", "caso-1", 0, 11, "D", "--by", "rev")["causes"] == ["AM", "D"]
    assert Event.objects.filter(verb="cause.set", actor__username="rev").count() == 2
    said = printed("disagreement_cause", "covid", "caso-1", 0, 11, "AM", "--remove", "--by", "rev")
    assert said == "caso-1 0-11: D.\n"
    for words, code in (
        (("none", 0, 11, "AM", "--by", "rev"), "note"),
        (("caso-1", 11, 0, "AM", "--by", "rev"), "location"),
        (("caso-1", 0, 11, "AM"), "by"),
        (("caso-1", 0, 11, "AM", "--by", "vic"), "access"),
    ):
        assert run("disagreement_cause", *words) == code
    assert Cause.objects.get().kind == "D"


def test_guidelines_are_amended(project, tmp_path):
    (tmp_path / "rule.md").write_text("Titles belong to the name.")
    file = tmp_path / "rule.md"
    made = run("amend_guidelines", "--from", file, "--at", "caso-1", 0, 11, "--by", "mia")["amendments"]
    assert [(each["number"], each["text"], each["by"]) for each in made] == [(1, "Titles belong to the name.", "mia")]
    row = Amendment.objects.get()
    assert (row.document.name, row.start, row.end) == ("caso-1", 0, 11)
    assert "Titles belong to the name." in Project.objects.get().guidelines
    assert run("amend_guidelines", "--by", "vic")["amendments"] == made
    for words, code in (
        (("--from", file), "by"),
        (("--from", file, "--by", "rev"), "access"),
        (("--from", tmp_path / "none", "--by", "mia"), "path"),
        (("--at", "caso-1", 0, 11, "--by", "mia"), "at"),
        (("--from", file, "--at", "caso-1", 5, "x", "--by", "mia"), "location"),
        (("--from", file, "--at", "caso-1", 0, 10**9, "--by", "mia"), "location"),
    ):
        assert run("amend_guidelines", *words) == code
    assert Amendment.objects.count() == 1
