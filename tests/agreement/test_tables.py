"""The raw table of agreement, and disagreements by sentence (table 3.4 of Catelli 2021), as pages and as CSV.

From the raw table, the reference library computes the alpha of the page.
"""

import csv
import io
from types import SimpleNamespace

import krippendorff
import numpy as np
import pytest
from django.core.management import CommandError
from django.urls import reverse

from annotations.agreement.rules.units import ComparedUnit, Granularity, granularities
from annotations.agreement.selectors.disagreements import Filters
from annotations.agreement.selectors.sentences import sentences
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.agreement.services.figures import figures_of
from annotations.core.services import FILE_DOWNLOADED
from annotations.models import AnnotationSet, Event
from tests import factories as make
from tests.held import made_once
from tests.worlds.checks import check_page
from tests.worlds.commands import printed

LABELS = [("AGE", [("AGE", "")]), ("LOCATION", [("HOSPITAL", "h"), ("CITY", "c"), ("OTHER", "")])]
RAW = [
    ("Uomo di 60 anni", [[(8, 10, "AGE")], [(8, 10, "AGE")], [(8, 15, "AGE")]]),
    ("ASL Latina, Roma", [[(0, 10, "HOSPITAL")], [(0, 3, "HOSPITAL"), (4, 10, "CITY")], None]),
    ("Giunge 😀 al PS", [[], [(12, 14, "HOSPITAL")], [(12, 14, "CITY")]]),
    ("Nessuno", [[(0, 7, "CITY")], None, None]),
]
# The sentences of the table with each annotator's spans.
PRINTED = [
    RAW[0],
    (
        "ASL Latina Paziente Maschio",
        [[(0, 10, "HOSPITAL")], [(0, 10, "HOSPITAL")], [(0, 3, "HOSPITAL"), (4, 10, "CITY")]],
    ),
    ("Giunge al PS", [[], [(10, 12, "OTHER")], [(10, 12, "HOSPITAL")]]),
]
CSV = reverse("agreement_table", args=["raw"])
SENTENCES, SENTENCES_CSV = (reverse(name, args=["table"]) for name in ("disagreement_sentences", "sentences_export"))


def make_read(slug, people, reviewer, viewer, notes):
    project = make.make_project(slug, labels=LABELS)
    project.label_set.labels.filter(name="OTHER").update(code="LOCATION_OTHER")
    for person in people:
        make.make_member(project, user=person)
    for number, (text, sets) in enumerate(notes, start=1):
        note = make.make_note(project, text, f"n{number}")
        for person, spans in zip(people, sets, strict=True):
            if spans is not None:
                make.make_set(note, person, spans, submitted=True)
    return SimpleNamespace(
        project=project, people=people, rev=make.make_member(project, "reviewer", reviewer),
        vic=make.make_member(project, "viewer", viewer),
    )  # fmt: skip


def make_both():
    anna, bruno, carla, rev, vic = map(make.make_user, ("anna", "bruno", "carla", "rev", "vic"))
    return SimpleNamespace(
        raw=make_read("raw", [carla, anna, bruno], rev, vic, RAW),
        table=make_read("table", [anna, bruno, carla], rev, vic, PRINTED),
    )


made, both = made_once(make_both)


@pytest.fixture
def raw(both):
    return both.raw


@pytest.fixture
def table(both):
    return both.table


def rows_of(response):
    return list(csv.reader(io.StringIO(b"".join(response.streaming_content).decode())))


# ── The raw table ────────────────────────────────────────────────────────────────────────────────────────────────────


def alpha_of(rows, unit):
    kinds = {value: number for number, value in enumerate(sorted({cell for row in rows for cell in row[3:] if cell}))}
    columns = []
    for row in rows:
        column = [kinds[cell] if cell else np.nan for cell in row[3:]]
        columns += [column] * (int(row[2]) - int(row[1]) if unit == ComparedUnit.CHARACTER else 1)
    return krippendorff.alpha(np.array(columns).T, level_of_measurement="nominal")


@pytest.mark.parametrize("unit, granularity", [(unit, each) for unit in ComparedUnit for each in granularities(unit)])
def test_the_table_has_the_alpha_of_the_page(raw, sign_in, unit, granularity):
    head, *rows = rows_of(sign_in(raw.rev).get(f"{CSV}?unit={unit}&granularity={granularity}"))
    assert head == ["note", "start", "end", "carla", "anna", "bruno"]
    report = figures_of(project=raw.project, unit=unit)["granularities"][granularity]
    units = sum(int(row[2]) - int(row[1]) for row in rows) if unit == ComparedUnit.CHARACTER else len(rows)
    assert units == report["units"]
    assert alpha_of(rows, unit) == pytest.approx(report["alpha"]["value"])


def test_the_rows(raw, sign_in):
    client = sign_in(raw.rev)
    assert rows_of(client.get(f"{CSV}?unit=entity"))[1:] == [
        ["n1", "8", "10", "AGE", "AGE", "O"], ["n1", "8", "15", "O", "O", "AGE"], ["n2", "0", "3", "O", "HOSPITAL", ""],
        ["n2", "0", "10", "HOSPITAL", "O", ""], ["n2", "4", "10", "O", "CITY", ""],
        ["n3", "12", "14", "O", "HOSPITAL", "CITY"],
    ]  # fmt: skip
    assert Event.objects.get(verb=FILE_DOWNLOADED).data == {"agreement": "entity"}
    # Unknown values mean the default, as on the page.
    assert rows_of(client.get(f"{CSV}?unit=word&granularity=x")) == rows_of(client.get(f"{CSV}?unit=token"))


def test_hidden_names_are_numbered_anew_in_each_note(raw, sign_in):
    make.change(raw.project, anonymous_adjudication=True)
    head, *rows = rows_of(sign_in(raw.rev).get(f"{CSV}?unit=entity"))
    assert head[3:] == ["Annotator 1", "Annotator 2", "Annotator 3"]
    assert all("carla" not in cell for row in rows for cell in row)
    report = figures_of(project=raw.project, unit=ComparedUnit.ENTITY)["granularities"][Granularity.SUBCATEGORY]
    assert alpha_of(rows, ComparedUnit.ENTITY) == pytest.approx(report["alpha"]["value"])


def test_the_page_links_to_the_table_and_the_command_writes_a_new_file(raw, sign_in, tmp_path):
    page, path = reverse("agreement", args=["raw"]), tmp_path / "table.csv"
    link = f"{CSV}?unit=marked&amp;granularity=category"
    assert link in check_page(sign_in(raw.rev).get(f"{page}?unit=marked&granularity=category"))
    assert CSV not in check_page(sign_in(raw.vic).get(page))
    printed("agreement", "raw", "--unit", "entity", "--table", path)
    assert path.read_text().count("\n") == 7
    with pytest.raises(CommandError, match="File exists"):
        printed("agreement", "raw", "--table", path)


# ── Disagreements by sentence ────────────────────────────────────────────────────────────────────────────────────────


def found(world, **filters):
    bring_up_to_date(world.project)
    return [each.sentence for each in sentences(world.project, Filters(**filters), hidden=False)]


def test_a_sentence_with_two_disagreements_is_one_row(table):
    note = make.make_note(table.project, "Torino, 60 anni. Visto a Roma oggi.", "two")
    make.make_set(note, table.people[0], [(0, 6, "CITY"), (8, 10, "AGE"), (25, 29, "CITY")], submitted=True)
    make.make_set(note, table.people[1], [], submitted=True)
    own = [each for each in found(table) if each.note == note]
    assert [each.text for each in own] == ["Torino, 60 anni.", "Visto a Roma oggi."]
    assert own[0].tags["anna"] == ["B-CITY", "O", "B-AGE", "O", "O"] and "carla" not in own[0].tags


def test_the_page_has_one_column_for_each_annotator(table, sign_in, monkeypatch):
    html = check_page(sign_in(table.vic).get(SENTENCES))
    assert [html.index(f'<th scope="col">{name}</th>') for name in ("anna", "bruno", "carla")]
    assert "B-LOCATION_OTHER" in html and SENTENCES_CSV not in html
    client = sign_in(table.rev)
    assert SENTENCES in check_page(client.get(reverse("disagreements", args=["table"])))
    # Pages follow each other.
    monkeypatch.setattr("annotations.agreement.views.disagreements.SENTENCES", 2)
    html = check_page(client.get(SENTENCES))
    assert "Uomo" in html and "Giunge" not in html
    query = html.split('rel="next" href="?')[1].split('"')[0]
    html = check_page(client.get(f"{SENTENCES}?{query}"))
    assert "Giunge" in html and "Uomo" not in html
    AnnotationSet.objects.all().delete()
    assert "No disagreements" in check_page(client.get(SENTENCES))


def test_csv_has_one_row_for_each_sentence(table, sign_in):
    """A note that starts like a formula of spreadsheets is none."""
    note = make.make_note(table.project, "=1+1 Roma", "formula")
    make.make_set(note, table.people[0], [(5, 9, "CITY")], submitted=True)
    make.make_set(note, table.people[1], [], submitted=True)
    client, city = sign_in(table.rev), make.label_of(table.project, "CITY").pk
    head, *rows = rows_of(client.get(SENTENCES_CSV))
    assert head == ["note", "start", "end", "sentence", "tokens", "anna", "bruno", "carla"]
    assert rows[2][:5] == ["n3", "0", "12", "Giunge al PS", "Giunge al PS"]
    assert rows[2][5:] == ["O O O", "O O B-LOCATION_OTHER", "O O B-HOSPITAL"]
    assert rows[3][3] == "'=1+1 Roma"
    (event,) = Event.objects.filter(verb=FILE_DOWNLOADED)
    assert event.data == {"sentences": "csv"}
    assert [row[0] for row in rows_of(client.get(f"{SENTENCES_CSV}?label={city}"))] == ["note", "n2", "formula"]
