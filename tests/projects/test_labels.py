"""Label sets, and labels in use: rename, merge, preview of a merge, and deletion of unused labels."""

import csv

import pytest
from django.core.management import call_command

from annotations.core.services import ServiceError
from annotations.gold.services.making import freeze
from annotations.models import Event, Job, JobState, Label, PersonalKey, Span
from annotations.projects.events import LABEL_DELETED
from annotations.projects.services import labels
from annotations.projects.services.projects import create_project, shipped_label_sets
from tests import factories as make
from tests.factories import label_of
from tests.worlds.checks import check_page
from tests.worlds.commands import failed, told

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(world):
    return world.project


@pytest.fixture
def city(project):
    return label_of(project, "CITY")


def test_every_shipped_set_becomes_a_project():
    assert next(iter(shipped_label_sets())) == "i2b2-2014"
    for key, definition in shipped_label_sets().items():
        project = create_project(name=f"With {key}", label_set_key=key)
        assert project.label_set.labels.count() == len(list(definition.labels()))
    for name, wanted, words in (("x", "nothing", "i2b2-2014"), (f"with-{key}", key, "already exists")):
        with pytest.raises(ServiceError, match=words):
            create_project(name=name, label_set_key=wanted)


def test_merging_moves_spans_drops_duplicates_and_keeps_frozen_gold(world, project):
    make.make_set(world.note, world.ann, [(0, 5, "DOCTOR"), (0, 5, "PATIENT"), (6, 11, "DOCTOR")])
    gold = make.make_author(project, kind="gold", name="gold")
    make.make_set(world.note, gold, [(0, 11, "DOCTOR")], submitted=True)
    version, _ = freeze(project=project, actor=None)
    source, target = label_of(project, "DOCTOR"), label_of(project, "PATIENT")

    preview = labels.merge_preview(source=source, target=target)
    assert (preview["spans"], preview["notes"], preview["already_there"]) == (3, 1, 1)
    assert labels.merge_labels(source=source, target=target, actor=None) == preview

    left = sorted(Span.objects.values_list("start", "end", "label__code"))
    assert left == [(0, 5, "PATIENT"), (0, 11, "PATIENT"), (6, 11, "PATIENT")]
    assert version.notes.get().spans[0][2] == "DOCTOR"
    again, new = freeze(project=project, actor=None)
    assert new and again.number == 2

    # The merged label frees its name and key.
    labels.update_label(label=target, actor=None, name="DOCTOR", hotkey="2")
    for other, words in ((label_of(project, "CITY"), "already merged"), (label_of(world.other, "CITY"), "different")):
        with pytest.raises(ServiceError, match=words):
            labels.merge_labels(source=source if words.startswith("a") else target, target=other, actor=None)


# ── Deletion ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def address(city):
    return f"/projects/covid/labels/{city.pk}/delete/"


def test_an_unused_label_is_deleted_once(world, mia, city, address):
    PersonalKey.objects.create(user=world.ann, label=city, key="c")
    assert address in check_page(mia.get(f"/projects/covid/labels/{city.pk}/"))
    assert "Nothing uses this label" in check_page(mia.get(address))
    for _click in range(2):
        assert mia.post(address).url == "/projects/covid/labels/"
    assert not Label.objects.filter(pk=city.pk).exists() and not PersonalKey.objects.exists()
    assert [event.data for event in Event.objects.filter(verb=LABEL_DELETED)] == [{"label": "CITY", "id": city.pk}]
    assert mia.get(address).status_code == 404


def annotated(world, city):
    make.make_set(world.note, world.ann, [(44, 50, "CITY")])


def with_changes_that_can_be_undone(world, city):
    from annotations.annotate.services.spans import apply_change
    from annotations.core.access import enter
    from annotations.core.changes import read_change

    make.make_set(world.note, world.ann)
    change = {"change_id": "6f0c6d5e-0000-4000-8000-000000000001", "kind": "create", "start": 0, "end": 5}
    change |= {"label": city.pk, "quote": world.note.text[:5]}
    apply_change(access=enter(world.ann, world.project.slug), note=world.note, change=read_change(change))
    Span.objects.all().delete()


def merged_into(world, city):
    labels.merge_labels(source=label_of(world.project, "PATIENT"), target=city, actor=None)


def frozen(world, city):
    gold = make.make_author(world.project, kind="gold", name="gold")
    made = make.make_set(world.note, gold, [(44, 50, "CITY")], submitted=True)
    freeze(project=world.project, actor=world.mia, reason="")
    Span.objects.filter(annotation_set=made).delete()


def during_a_job(world, city):
    Job.objects.create(kind="export", project=world.project, key="k", state=JobState.RUNNING)


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (annotated, "Spans: 1, in notes: 1"), (with_changes_that_can_be_undone, "people can still undo"),
        (merged_into, "1 label that was merged into it"), (frozen, "Gold versions: 1"),
        (during_a_job, "Jobs are running"),
    ],
)  # fmt: skip
def test_a_used_label_is_kept_and_says_where_it_is_used(world, mia, city, address, use, words):
    use(world, city)
    shown, answer = check_page(mia.get(address)), mia.post(address)
    assert answer.status_code == 409 and Label.objects.filter(pk=city.pk).exists()
    assert words in (answer.text if use is during_a_job else shown)
    if use is annotated:
        assert f"/projects/covid/labels/{city.pk}/merge" in shown and "Delete label" not in shown


def test_the_last_label_stays(project, city):
    Label.objects.filter(label_set__project=project).exclude(pk=city.pk).delete()
    with pytest.raises(ServiceError, match="only label"):
        labels.delete_label(label=city, actor=None)


# ── The commands that list, add, change and delete labels and their categories ──


def run(name, *words):
    return told(name, "covid", *words)


def refused(name, *words):
    found = failed(name, "covid", *words)
    return found["code"], found["error"]


@pytest.fixture
def table(tmp_path):
    def write(columns, *rows):
        path = tmp_path / "labels.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([columns, *rows])
        return path

    return write


# ── Labels ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_labels_are_listed_and_written_to_a_file_that_changes_nothing_when_it_is_read(project, tmp_path, capsys):
    make.make_set(make.make_note(project), make.make_member(project), [(0, 5, "PATIENT")])
    rows = {row["code"]: row for row in run("labels")["labels"]}
    assert len(rows) == 6 and rows["PATIENT"]["used"] and not rows["CITY"]["used"]
    assert (rows["CITY"]["hotkey"], rows["CITY"]["merged_into"], rows["CITY"]["attributes"]) == ("c", None, [])
    call_command("labels", "covid")
    assert "key c" in capsys.readouterr().out
    call_command("rename_label", "covid", "AGE", "--attributes", "Family", "Status: a | b", "--description", "=years")
    about = {row["code"]: row["attributes"] for row in run("labels")["labels"]}["AGE"]
    assert about == [{"name": "Family"}, {"name": "Status", "values": ["a", "b"]}]
    events, file = Event.objects.count(), tmp_path / "labels.csv"
    assert run("labels", "--write", file)["written"] == 6 and refused("labels", "--write", file)[0] == "path"
    found = run("labels", "--from", file, "--by", "mia")
    assert (found["added"], found["changed"], found["unchanged"], Event.objects.count()) == ([], [], 6, events)


def test_a_file_adds_and_changes_labels(project, table):
    file = table(
        ("code", "name", "category", "hotkey", "description", "attributes"),
        ("CITY", "Town", "", "t", "Towns and cities", "Family\nStatus: now | then"),
        ("", "Street", "C1", "s", "", ""),
    )
    preview = run("labels", "--from", file, "--preview", "--by", "mia")
    assert (preview["preview"], preview["added"], preview["changed"]) == (True, ["Street"], ["CITY"])
    assert not Label.objects.filter(name__in=["Town", "Street"]).exists()

    assert run("labels", "--from", file, "--by", "mia")["added"] == ["Street"]
    city, street = (Label.objects.get(label_set__project=project, code=code) for code in ("CITY", "Street"))
    assert (city.name, city.hotkey, city.description, city.placeholder) == ("Town", "t", "Towns and cities", "[CITY]")
    assert [each["name"] for each in city.attributes] == ["Family", "Status"]
    assert (street.name, street.category.code, street.hotkey, street.placeholder) == ("Street", "C1", "s", "[Street]")
    by = {event.verb: event.actor.username for event in Event.objects.all()}
    assert by == {"label.changed": "mia", "label.added": "mia"}
    again = run("labels", "--from", file, "--by", "mia")
    assert (again["added"], again["changed"], again["unchanged"]) == ([], [], 2)


def test_a_wrong_row_changes_nothing(project, table):
    for row, code, said in (
        (("NONE", "None", "C0", ""), "label", "Line 3: There is no label “NONE”."),
        (("", "Street", "C9", ""), "category", "There is no category “C9”. Categories: C0, C1"),
        (("", "patient", "C0", ""), "name", "The label “PATIENT” already exists."),
    ):
        file = table(("code", "name", "category", "hotkey"), ("DATE", "Day", "", "d"), row)
        found = refused("labels", "--from", file)
        assert found[0] == code and said in found[1] and found[1].endswith("Nothing was changed.")
        assert not Label.objects.filter(name="Day").exists() and not Event.objects.exists()


def test_files_that_are_no_table_of_labels(project, table, tmp_path):
    assert refused("labels", "--from", tmp_path / "none.csv")[0] == "path"
    assert refused("labels", "--from", table(("name",), ("Street",)))[0] == "columns"
    (tmp_path / "latin.csv").write_bytes(b"code,name\nCITY,caf\xe9\n")
    assert refused("labels", "--from", tmp_path / "latin.csv")[0] == "utf8"
    assert refused("labels", "--preview")[0] == "preview"


def test_only_unused_labels_are_deleted(project):
    make.make_set(make.make_note(project), make.make_member(project), [(0, 5, "PATIENT")])
    assert refused("labels", "--delete", "PATIENT")[0] == "used"
    assert refused("labels", "--delete", "NONE")[0] == "label"
    found = run("labels", "--delete", "CITY", "--by", "mia")
    assert found["deleted"] == "CITY" and len(found["labels"]) == 5
    assert Event.objects.get(verb="label.deleted").actor.username == "mia"
