"""The raw table of agreement: from it, the reference library computes the alpha of the page."""

import csv
import io
from types import SimpleNamespace

import krippendorff
import numpy as np
import pytest
from django.core.management import CommandError
from django.urls import reverse

from annotations.agreement.rules.units import ComparedUnit, Granularity, granularities
from annotations.agreement.services.figures import figures_of
from annotations.core.events import FILE_DOWNLOADED
from annotations.models import Event
from tests import factories as make
from tests.held import made_once
from tests.worlds.checks import check_page
from tests.worlds.commands import printed

LABELS = [("AGE", [("AGE", "")]), ("LOCATION", [("HOSPITAL", "h"), ("CITY", "c")])]
NOTES = [
    ("Uomo di 60 anni", [[(8, 10, "AGE")], [(8, 10, "AGE")], [(8, 15, "AGE")]]),
    ("ASL Latina, Roma", [[(0, 10, "HOSPITAL")], [(0, 3, "HOSPITAL"), (4, 10, "CITY")], None]),
    ("Giunge 😀 al PS", [[], [(12, 14, "HOSPITAL")], [(12, 14, "CITY")]]),
    ("Nessuno", [[(0, 7, "CITY")], None, None]),
]
CSV = reverse("agreement_table", args=["raw"])


def make_raw():
    project = make.make_project("raw", labels=LABELS)
    people = [make.make_member(project, user=name) for name in ("carla", "anna", "bruno")]
    for number, (text, sets) in enumerate(NOTES, start=1):
        note = make.make_note(project, text, f"n{number}")
        for person, spans in zip(people, sets, strict=True):
            if spans is not None:
                make.make_set(note, person, spans, submitted=True)
    return SimpleNamespace(
        project=project, people=people, rev=make.make_member(project, "reviewer", "rev"),
        vic=make.make_member(project, "viewer", "vic"),
    )  # fmt: skip


made, raw = made_once(make_raw)


def rows_of(response):
    return list(csv.reader(io.StringIO(b"".join(response.streaming_content).decode())))


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
        ["n1", "8", "10", "AGE", "AGE", "O"],
        ["n1", "8", "15", "O", "O", "AGE"],
        ["n2", "0", "3", "O", "HOSPITAL", ""],
        ["n2", "0", "10", "HOSPITAL", "O", ""],
        ["n2", "4", "10", "O", "CITY", ""],
        ["n3", "12", "14", "O", "HOSPITAL", "CITY"],
    ]
    assert Event.objects.get(verb=FILE_DOWNLOADED).data == {"agreement": "entity"}
    # Unknown values mean the default, as on the page.
    assert rows_of(client.get(f"{CSV}?unit=word&granularity=x")) == rows_of(client.get(f"{CSV}?unit=token"))


def test_hidden_names_are_numbered_anew_in_each_note(raw, sign_in):
    raw.project.anonymous_adjudication = True
    raw.project.save()
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
