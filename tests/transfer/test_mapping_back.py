"""A label mapping the other way round: it preselects labels for unknown labels of imported files."""

import pytest
from django.core.management import CommandError, call_command

from annotations.models import Import, Span
from annotations.transfer.services.label_choices import unknown_of
from annotations.transfer.services.label_mappings import delete_mapping
from tests import factories as make
from tests.transfer.import_pages import page_of
from tests.transfer.mapped import make_mapping
from tests.worlds.checks import check_page
from tests.worlds.managing import run, staged, upload

FILES = {
    "uno.txt": b"Anna Neri a Roma, 54",
    "uno.ann": b"T1\twhen 0 4\tAnna\nT2\tNAME 5 9\tNeri\nT3\tDRAGON 12 16\tRoma\nT4\tDOCTOR 0 9\tAnna Neri\n",
}


@pytest.fixture
def row(world, mia):
    world.mapping = make_mapping(world.project)
    return staged(upload(mia, FILES, format="brat", annotations="gold"))


def unknown(row):
    return unknown_of(Import.objects.select_related("project").get(pk=row.pk))


def preselect(client, row, mapping, values=None, seen=None):
    state = unknown(row)
    body = {f"label-{one.key}": (values or {}).get(one.name, one.value) for one in state.rows}
    form = {"do": "mapping", "mapping": str(mapping), "choices": seen or state.seen}
    return client.post(page_of(row), form | body)


def test_a_mapping_preselects_what_it_knows_and_keeps_other_choices(world, mia, row):
    html = check_page(mia.get(page_of(row)))
    assert "Map back by a label mapping" in html and ">Partner</option>" in html
    response = preselect(mia, row, world.mapping.pk, {"DRAGON": "skip"})
    date = make.label_of(world.project, "DATE")
    assert {one.name: one.value for one in unknown(row).rows} == {
        "when": f"map:{date.pk}",  # the code of one label, in other case
        "NAME": "",  # of two labels
        "DRAGON": "skip",
    }
    html = check_page(mia.get(response.url.partition("#")[0]))
    assert "The mapping writes several labels of the project as: “NAME”." in html
    # A choice that a person made stays.
    preselect(mia, row, world.mapping.pk, {"NAME": f"map:{date.pk}"})
    assert not unknown(row).open


def test_the_names_of_the_target_set_are_known_too(world, mia):
    mapping = make_mapping(world.project, codes={"AGE": "ETA", "DATE": "DATA"}, target="it-4")
    files = {"uno.txt": FILES["uno.txt"], "uno.ann": b"T1\tETA 0 4\tAnna\n"}
    row = staged(upload(mia, files, format="brat", annotations="gold"))
    preselect(mia, row, mapping.pk)
    assert [one.value for one in unknown(row).rows] == [f"map:{make.label_of(world.project, 'AGE').pk}"]


def test_nothing_to_map_back(world, mia, row):
    empty = make_mapping(world.project, "Empty", {})
    response = preselect(mia, row, empty.pk)
    assert "maps no other label back" in check_page(mia.get(response.url.partition("#")[0]))
    delete_mapping(mapping=empty, actor=None)
    response = preselect(mia, row, empty.pk)
    assert response.status_code == 409 and "no such label mapping" in response.content.decode()
    assert len(unknown(row).open) == 3


def test_a_form_that_is_out_of_date_is_refused(world, mia, row):
    seen = unknown(row).seen
    preselect(mia, row, world.mapping.pk, {"DRAGON": "skip"})
    response = preselect(mia, row, world.mapping.pk, {"NAME": "skip"}, seen=seen)
    assert response.status_code == 409 and "have changed since" in response.content.decode()


def test_without_mappings_or_unknown_labels_the_page_offers_none(world, mia):
    row = staged(upload(mia, FILES, format="brat", annotations="gold"))
    assert "Map back" not in check_page(mia.get(page_of(row)))


def test_export_and_import_with_the_same_mapping_give_the_spans_back(world, mia, tmp_path):
    codes = {"PATIENT": "P", "DOCTOR": "D", "DATE": "W", "CITY": "C", "HOSPITAL": "H", "AGE": "Y"}
    make_mapping(world.project, codes=codes)
    other = make.make_project("again")
    make_mapping(other, codes=codes)
    spans = [(0, 11, "PATIENT"), (13, 15, "AGE"), (31, 41, "DATE"), (44, 50, "CITY")]
    gold = make.make_author(world.project, kind="gold", name="gold")
    make.make_set(world.note, gold, spans, submitted=True)
    out = str(tmp_path / "out")
    call_command("export_documents", "covid", out, "--format", "brat", "--set", "gold", "--mapping", "Partner")
    call_command("import_documents", "again", out, "--as", "gold", "--mapping", "Partner")
    found = Span.objects.filter(annotation_set__document__project=other).order_by("start")
    assert list(found.values_list("start", "end", "label__name")) == spans


def test_the_command_takes_a_mapping_and_words_that_win(world, tmp_path):
    make_mapping(world.project)
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    words = ["covid", str(tmp_path), "--as", "gold", "--mapping", "Partner"]
    with pytest.raises(CommandError, match="“NAME”") as refused:
        call_command("import_documents", *words)
    assert "“when”" not in str(refused.value) and "--mapping" in str(refused.value)
    call_command("import_documents", *words, "--map-label", "NAME=PATIENT", "--skip-label", "DRAGON")
    found = Span.objects.filter(annotation_set__document__name="uno").order_by("start", "end")
    assert list(found.values_list("start", "end", "label__name")) == [
        (0, 4, "DATE"), (0, 9, "DOCTOR"), (5, 9, "PATIENT"),
    ]  # fmt: skip
    with pytest.raises(CommandError, match="no label mapping “Nobody”"):
        call_command("import_documents", "covid", str(tmp_path), "--as", "gold", "--mapping", "Nobody")


def test_the_import_then_runs(world, mia, row):
    preselect(mia, row, world.mapping.pk, {"DRAGON": "skip", "NAME": "skip"})
    mia.post(f"/projects/covid/imports/{row.pk}/start", {"choices": unknown(row).seen})
    run(row)
    found = Span.objects.filter(annotation_set__document__name="uno").values_list("label__name", flat=True)
    assert sorted(found) == ["DATE", "DOCTOR"]
