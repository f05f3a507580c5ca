"""Pages of label mappings: add with suggestions, change, delete; two editors; renamed, merged and new labels."""

import pytest
from django.urls import reverse

from annotations.core.services import ServiceError
from annotations.exchange.events import LABEL_MAPPING_CHANGED, LABEL_MAPPING_DELETED
from annotations.exchange.selectors import open_labels, seen_of, suggested_codes
from annotations.exchange.services.label_mappings import change_mapping
from annotations.models import Event, Label, LabelMapping, LabelSet, MappedLabel
from annotations.projects.services.labels import add_label, merge_labels, update_label
from tests import factories as make
from tests.exchange.brat_files import CODES, SPANS, make_mapping
from tests.worlds.checks import check_page

LIST = reverse("label_mappings", args=["covid"])


@pytest.fixture
def mapping(world):
    make.make_set(world.note, make.make_author(world.project, kind="gold", name="gold"), SPANS, submitted=True)
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
    response = mia.post(page_of(mapping), form_of(mapping, new, name="Renamed"))
    assert response.status_code == 302
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
