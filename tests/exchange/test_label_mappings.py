"""Label mappings: pages to add, change and delete them; two editors; merged labels; exports with other labels."""

import json
import uuid

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.core.services import ServiceError
from annotations.exchange.events import LABEL_MAPPING_CHANGED, LABEL_MAPPING_DELETED, NOTES_EXPORTED
from annotations.exchange.selectors import open_labels, seen_of, suggested_codes
from annotations.exchange.services.exporting import export_to_path
from annotations.exchange.services.label_mappings import change_mapping, labels_of_mapping
from annotations.gold.services.making import freeze
from annotations.jobs.runner import run as work
from annotations.models import Event, Job, JobState, Label, LabelMapping, LabelSet, MappedLabel, StoredFile
from annotations.projects.services.labels import add_label, merge_labels, update_label
from tests import factories as make
from tests.exchange.brat_files import CODES, SPANS, files_of, make_mapping
from tests.worlds.checks import check_page
from tests.worlds.queue import worked

LIST = reverse("label_mappings", args=["covid"])


@pytest.fixture
def mapping(world):
    make.make_set(world.note, "gold", SPANS)
    make.make_set(world.note, world.ann, [(0, 5, "PATIENT")], submitted=True)
    return make_mapping(world.project)


def page_of(mapping):
    return reverse("label_mapping", args=["covid", mapping.pk])


def words_of(mapping):
    """The written codes by the name of the label."""
    return {one.label.name: one.code for one in MappedLabel.objects.filter(mapping=mapping).select_related("label")}


def form_of(mapping, codes, **fields):
    """What the page sends; `codes` by label, empty for left out."""
    body = {"name": mapping.name, "seen": seen_of(mapping)}
    for name, code in codes.items():
        pk = make.label_of(mapping.project, name).pk
        body |= {f"code-{pk}": code} if code else {f"out-{pk}": "on"}
    return body | fields


def test_a_new_mapping_preselects_suggestions_but_saves_none(world, mia):
    check_page(mia.get(LIST))
    response = mia.post(LIST, {"name": " To i2b2 ", "target": "i2b2-2014"})
    mapping = LabelMapping.objects.get()
    assert response.url == page_of(mapping)
    assert (mapping.name, mapping.target, mapping.created_by) == ("To i2b2", "i2b2-2014", world.mia)
    html = check_page(mia.get(page_of(mapping)))
    assert html.count(">suggested<") == 6 and '<option value="PATIENT" selected>' in html
    assert not mapping.rows.exists() and len(open_labels(mapping)) == 6


def test_suggestions(world):
    labels = {label.name: label for label in Label.objects.filter(label_set__project=world.project)}
    for key, target, label, code in (
        ("meddocan", "i2b2-2014", "HOSPITAL", "HOSPITAL"),  # the shipped mapping
        ("test", "i2b2-2014", "DOCTOR", "DOCTOR"),  # the same code
        ("test", "hipaa-18", "DATE", "DATES"),  # a similar code
        ("test", "", "CITY", "CITY"),  # any codes: the own one
        ("test", "gone", "CITY", None),
    ):
        LabelSet.objects.filter(project=world.project).update(key=key)
        world.project.refresh_from_db()
        assert suggested_codes(world.project, list(labels.values()), target).get(labels[label].pk) == code


def test_saving_changes_all_rows_and_records_counts_only(world, mia, mapping):
    new = CODES | {"DATE": "", "AGE": "YEARS"}
    assert mia.post(page_of(mapping), form_of(mapping, new, name="Renamed")).status_code == 302
    mapping.refresh_from_db()
    assert words_of(mapping) == new and mapping.name == "Renamed"
    event = Event.objects.get(verb=LABEL_MAPPING_CHANGED)
    assert event.data == {"mapping": mapping.pk, "mapped": 5, "left_out": 1} and event.actor == world.mia
    # A double click saves nothing twice.
    mia.post(page_of(mapping), form_of(mapping, new, name="Renamed", seen="old"))
    assert Event.objects.filter(verb=LABEL_MAPPING_CHANGED).count() == 1
    # Leaving out wins over a code, and a label can stay without a choice.
    date = make.label_of(mapping.project, "DATE").pk
    part = {label: code for label, code in CODES.items() if label != "CITY"}
    assert mia.post(page_of(mapping), form_of(mapping, part) | {f"out-{date}": "on"}).status_code == 302
    assert words_of(mapping)["DATE"] == "" and [label.name for label in open_labels(mapping)] == ["CITY"]


def test_two_editors_the_older_form_is_refused_and_shows_both(world, mia, mapping):
    older = form_of(mapping, CODES | {"DATE": "MINE"})
    mia.post(page_of(mapping), form_of(mapping, CODES | {"DATE": "THEIRS"}))
    response = mia.post(page_of(mapping), older)
    html = check_page(response)
    assert response.status_code == 422
    assert ">THEIRS<" in html and 'value="MINE"' in html and words_of(mapping)["DATE"] == "THEIRS"
    # The page now knows the other version, so that saving again replaces it.
    assert mia.post(page_of(mapping), form_of(mapping, CODES | {"DATE": "MINE"})).status_code == 302
    assert words_of(mapping)["DATE"] == "MINE"
    older = form_of(mapping, CODES)
    category = make.label_of(world.project, "AGE").category
    add_label(label_set=world.project.label_set, category=category, name="Phone", actor=None)
    assert mia.post(page_of(mapping), older).status_code == 422
    assert [label.name for label in open_labels(mapping)] == ["Phone"]


def test_deleting(world, mia, mapping):
    url = reverse("label_mapping_delete", args=["covid", mapping.pk])
    older = form_of(mapping, CODES | {"DATE": "MINE"})
    for _ in range(2):  # a double click
        assert mia.post(url).url == LIST
    assert not LabelMapping.objects.exists() and not MappedLabel.objects.exists()
    assert Event.objects.filter(verb=LABEL_MAPPING_DELETED).count() == 1
    assert mia.post(page_of(mapping), older).status_code == 404
    with pytest.raises(ServiceError, match="deleted this mapping"):
        change_mapping(mapping=mapping, name="x", codes={}, seen=None, actor=None)


def test_reviewers_see_the_codes_without_a_form(world, sign_in, mapping):
    html = check_page(sign_in(world.rev).get(page_of(mapping)))
    assert ">NAME<" in html and "<input" not in html.split("<main")[1].split("</main")[0]


def test_a_save_is_refused_whole(world, mia, mapping):
    second = make_mapping(world.project, "Second")
    fixed = make_mapping(world.project, "Fixed", {}, target="i2b2-2014")
    for which, codes, name in (
        (mapping, {"DATE": "ein Tag"}, "New"),
        (mapping, {"DATE": "---"}, "New"),
        (mapping, {"DATE": "Ä"}, "New"),
        (mapping, {"DATE": "Name"}, "New"),  # differs only in case from another code
        (mapping, {"DATE": "X" * 61}, "New"),
        (fixed, {"DATE": "NOT_THERE"}, "New"),  # no label of the target
        (second, {}, "Partner"),
    ):
        response = mia.post(page_of(which), form_of(which, (CODES if which != fixed else {}) | codes, name=name))
        assert response.status_code == 422 and f'value="{name}"' in check_page(response), (codes, name)
    assert words_of(mapping) == CODES and not fixed.rows.exists()
    for body in ({"name": "Partner"}, {"name": "a\u202eb"}, {"name": "x", "target": "nowhere"}):
        assert mia.post(LIST, {"target": ""} | body).status_code == 422
    assert LabelMapping.objects.count() == 3
    for which, label, code in (
        (mapping, make.label_of(world.other, "DATE"), "X"),
        (fixed, make.label_of(world.project, "DATE"), "NOT_THERE"),
    ):
        with pytest.raises(ServiceError):
            change_mapping(mapping=which, name=which.name, codes={label.pk: code}, seen=None, actor=None)


@pytest.mark.parametrize(
    ("codes", "after"),
    [
        (CODES, "PLACE"),  # both have a code: that of the target stays
        ({"CITY": "TOWN"}, "TOWN"),  # only the source has one
        ({"CITY": ""}, ""),
        ({"HOSPITAL": "CLINIC"}, "CLINIC"),
    ],
)
def test_rows_follow_merged_and_renamed_labels(world, codes, after):
    mapping = make_mapping(world.project, codes=codes)
    city, hospital = (make.label_of(world.project, name) for name in ("CITY", "HOSPITAL"))
    merge_labels(source=city, target=hospital, actor=None)
    assert words_of(mapping)["HOSPITAL"] == after and "CITY" not in words_of(mapping)
    update_label(label=hospital, actor=None, name="Clinic")
    assert words_of(mapping)["Clinic"] == after


# Exports with other labels: preview, job, command, and mappings that lack labels or were changed


START = reverse("job_start_export", args=["covid"])
PREVIEW = reverse("export_preview", args=["covid"])
WRITTEN = {"NAME": 1, "WHEN": 1, "PLACE": 1}


@pytest.fixture
def gold(world):
    """A mapping, and gold of two notes: one with all labels, one without spans."""
    make.make_set(world.notes[0], "gold", SPANS)
    make.make_set(world.notes[1], "gold", [])
    world.mapping = make_mapping(world.project)
    return world


@pytest.fixture
def rev(gold, sign_in):
    return sign_in(gold.rev)


@pytest.fixture
def export(tmp_path):
    """A function that exports the gold standard by the command."""
    words = ["covid", str(tmp_path / "out"), "--format", "brat", "--set", "gold"]
    return lambda *more: call_command("export_documents", *words, *more)


def body(world, **fields):
    return {"set": "gold", "format": "brat", "token": uuid.uuid4().hex, "labels": str(world.mapping.pk)} | fields


def add_phone(gold):
    category = make.label_of(gold.project, "AGE").category
    add_label(label_set=gold.project.label_set, category=category, name="Phone", actor=None)


def test_the_preview_counts_spans_by_written_label(gold, rev):
    response = rev.post(PREVIEW, body(gold))
    check_page(response)
    lines = {line.code: line.labels for line in response.context["lines"]}
    names = {"DOCTOR": 1, "PATIENT": 1}
    assert lines == {"NAME": names, "PLACE": {"CITY": 1}, "WHEN": {"DATE": 1}, "": {"AGE": 1}}
    assert response.context["total"] == 4 and not Job.objects.exists()
    # As in the project
    lines = rev.post(PREVIEW, body(gold, labels="")).context["lines"]
    assert [line.code for line in lines] == ["AGE", "CITY", "DATE", "DOCTOR", "PATIENT"]
    # The page sends what was chosen.
    sent = dict(response.context["sent"])
    assert sent["set"] == "gold" and sent["labels"] == str(gold.mapping.pk)


def test_a_job_writes_the_codes_and_reports_them(gold, rev):
    rev.post(START, body(gold))
    job = Job.objects.get(kind="export")
    work(job.pk)
    files = files_of(job)
    lines = [line.split("\t")[1] for line in files["caso-001.ann"].decode().splitlines()]
    assert lines == ["NAME 0 11", "WHEN 31 41", "PLACE 44 50"]
    expected = {"mapping": "Partner", "written": WRITTEN, "left_out": {"AGE": 1}, "merged": 1}
    assert job.result["labels"] == json.loads(files["export.json"])["labels"] == expected
    assert job.result["spans"] == 3 and job.result["loss_count"] == 0
    entities = files["annotation.conf"].decode().partition("[entities]")[2].partition("[")[0].split()
    assert {"NAME", "WHEN", "PLACE"} <= set(entities) and not {"PATIENT", "AGE", "CITY"} & set(entities)
    event = Event.objects.get(verb=NOTES_EXPORTED)
    assert event.data["mapping"] == gold.mapping.pk
    assert (event.data["left_out"], event.data["merged"]) == (1, 1) and "Partner" not in json.dumps(event.data)
    check_page(rev.get(reverse("job", args=["covid", job.number])))
    assert "gold-partner-brat" in StoredFile.objects.get().name


def test_an_export_keeps_the_codes_of_its_start(gold, rev):
    rev.post(START, body(gold))
    MappedLabel.objects.filter(code="NAME").update(code="LATER")
    gold.mapping.delete()
    job = Job.objects.get(kind="export")
    work(job.pk)
    assert b"NAME 0 11" in files_of(job)["caso-001.ann"]


def test_an_unmapped_label_stops_an_export_before_and_after_its_start(gold, rev):
    rev.post(START, body(gold))
    add_phone(gold)
    job = worked(Job.objects.get(kind="export"))
    assert job.state == JobState.FAILED and "“Phone”" in job.error and not StoredFile.objects.exists()
    for url in (START, PREVIEW):
        response = rev.post(url, body(gold))
        assert response.url == reverse("label_mapping", args=["covid", gold.mapping.pk])
        assert "“Phone”" in check_page(rev.get(response.url))
    assert Job.objects.count() == 1
    with pytest.raises(ServiceError, match="“Phone”") as refused:
        labels_of_mapping(gold.mapping).by_code(gold.project)
    assert refused.value.code == "unmapped"


def test_a_mapping_that_changed_since_the_preview_is_shown_again(gold, rev):
    seen = rev.post(PREVIEW, body(gold)).context["seen"]
    MappedLabel.objects.filter(code="WHEN").update(code="DAY")
    response = rev.post(START, body(gold, seen=seen), follow=True)
    assert "since the preview" in response.text and not Job.objects.exists()
    assert rev.post(START, body(gold)).url.startswith("/projects/covid/jobs/")


def test_the_preview_is_closed_as_the_export_is(gold, rev, sign_in):
    make.change(gold.project, anonymous_adjudication=True)
    make.make_set(gold.note, gold.ann, SPANS, submitted=True)
    assert rev.post(PREVIEW, body(gold, set="annotator:ann")).status_code == 403
    assert sign_in(gold.mia).post(PREVIEW, body(gold, set="annotator:ann")).status_code == 200
    html = rev.post(PREVIEW, body(gold, set="nobody"), follow=True).text
    assert "no such annotation sets" in html and "annotator:ann" not in html


def test_frozen_gold_of_a_merged_label_is_written_as_its_target(gold, tmp_path):
    freeze(project=gold.project, actor=gold.rev)
    merge_labels(source=make.label_of(gold.project, "DATE"), target=make.label_of(gold.project, "CITY"), actor=None)
    labels = labels_of_mapping(gold.mapping)
    report = export_to_path(project=gold.project, out=tmp_path / "out", format="brat", set_spec="gold:1", labels=labels)
    assert report["labels"]["written"] == {"NAME": 1, "PLACE": 2}


def test_the_command_takes_a_mapping_and_words_that_win(gold, tmp_path, export):
    def labels():
        return json.loads((tmp_path / "out/export.json").read_text())["labels"]

    MappedLabel.objects.filter(label=make.label_of(gold.project, "CITY")).delete()
    with pytest.raises(CommandError, match="“CITY”"):
        export("--mapping", "Partner")
    words = ["--map-label", "date=DAY", "--skip-label", "City", "--map-label", "AGE=A"]
    export("--mapping", "Partner", *words)
    assert labels() == {
        "mapping": "Partner", "written": {"A": 1, "DAY": 1, "NAME": 1}, "left_out": {"CITY": 1}, "merged": 1
    }  # fmt: skip


def test_wrong_words_are_refused_before_anything_is_written(gold, tmp_path, export):
    for words, message in (
        (["--mapping", "Nobody"], "“Nobody”.*“Partner”"),
        (["--map-label", "DRAGON=X"], "“DRAGON”.*PATIENT, DOCTOR"),
        (["--map-label", "DATE"], "“DATE” can't be written|has no label “”"),
        (["--map-label", "DATE=ein Tag"], "“ein Tag” can't be written for the label “DATE”"),
        (["--map-label", "DATE=A", "--skip-label", "date"], "“date” is named twice"),
        (["--map-label", "DATE=city"], "“CITY” and “city” differ only in case|“city” and “CITY”"),
    ):
        with pytest.raises(CommandError, match=message):
            export(*words)
    assert not (tmp_path / "out").exists()
