"""Disagreements by sentence (table 3.4 of Catelli 2021), as a page and as CSV."""

import csv
import io
from types import SimpleNamespace

from django.urls import reverse

from annotations.agreement.selectors.disagreements import Filters
from annotations.agreement.selectors.sentences import sentences
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.core.events import FILE_DOWNLOADED
from annotations.models import AnnotationSet, Event
from tests import factories as make
from tests.held import made_once
from tests.worlds.checks import check_page

LABELS = [("AGE", [("AGE", "")]), ("LOCATION", [("HOSPITAL", "h"), ("CITY", "c"), ("OTHER", "")])]
# The sentences of the table with each annotator's spans.
PRINTED = [
    ("Uomo di 60 anni", [[(8, 10, "AGE")], [(8, 10, "AGE")], [(8, 15, "AGE")]]),
    (
        "ASL Latina Paziente Maschio",
        [[(0, 10, "HOSPITAL")], [(0, 10, "HOSPITAL")], [(0, 3, "HOSPITAL"), (4, 10, "CITY")]],
    ),
    ("Giunge al PS", [[], [(10, 12, "OTHER")], [(10, 12, "HOSPITAL")]]),
]
PAGE, CSV = reverse("disagreement_sentences", args=["table"]), reverse("sentences_export", args=["table"])


def make_table():
    project = make.make_project("table", labels=LABELS)
    project.label_set.labels.filter(name="OTHER").update(code="LOCATION_OTHER")
    people = [make.make_member(project, user=name) for name in ("anna", "bruno", "carla")]
    for number, (text, sets) in enumerate(PRINTED, start=1):
        note = make.make_note(project, text, f"n{number}")
        for person, spans in zip(people, sets, strict=True):
            make.make_set(note, person, spans, submitted=True)
    return SimpleNamespace(
        project=project, people=people, rev=make.make_member(project, "reviewer", "rev"),
        vic=make.make_member(project, "viewer", "vic"),
    )  # fmt: skip


made, table = made_once(make_table)


def found(world, **filters):
    bring_up_to_date(world.project)
    return list(sentences(world.project, Filters(**filters), hidden=False))


def rows_of(response):
    return list(csv.reader(io.StringIO(b"".join(response.streaming_content).decode())))


def test_the_rows_of_the_table(table):
    """Sentences on which all agree are left out, and filters apply."""
    note = make.make_note(table.project, "Visto a Roma.", "agreed")
    for person in table.people:
        make.make_set(note, person, [(8, 12, "CITY")], submitted=True)
    said = [[" ".join(each.tags(name)) for name in ("anna", "bruno", "carla")] for each in found(table)]
    assert said == [
        ["O O B-AGE O", "O O B-AGE O", "O O B-AGE I-AGE"],
        ["B-HOSPITAL I-HOSPITAL O O", "B-HOSPITAL I-HOSPITAL O O", "B-HOSPITAL B-CITY O O"],
        ["O O O", "O O B-LOCATION_OTHER", "O O B-HOSPITAL"],
    ]
    assert [each.note.name for each in found(table, label=make.label_of(table.project, "CITY").pk)] == ["n2"]


def test_a_sentence_with_two_disagreements_is_one_row(table):
    text = "Torino, 60 anni. Visto a Roma oggi."
    note = make.make_note(table.project, text, "two")
    make.make_set(note, table.people[0], [(0, 6, "CITY"), (8, 10, "AGE"), (25, 29, "CITY")], submitted=True)
    make.make_set(note, table.people[1], [], submitted=True)
    own = [each for each in found(table) if each.note == note]
    assert [each.text for each in own] == ["Torino, 60 anni.", "Visto a Roma oggi."]
    assert own[0].tags("anna") == ["B-CITY", "O", "B-AGE", "O", "O"] and own[0].tags("carla") is None


def test_the_page_has_one_column_for_each_annotator(table, sign_in, monkeypatch):
    html = check_page(sign_in(table.vic).get(PAGE))
    assert [html.index(f'<th scope="col">{name}</th>') for name in ("anna", "bruno", "carla")]
    assert "B-LOCATION_OTHER" in html and CSV not in html
    client = sign_in(table.rev)
    assert PAGE in check_page(client.get(reverse("disagreements", args=["table"])))
    # Pages follow each other.
    monkeypatch.setattr("annotations.agreement.views.disagreements.SENTENCES", 2)
    html = check_page(client.get(PAGE))
    assert "Uomo" in html and "Giunge" not in html
    query = html.split('rel="next" href="?')[1].split('"')[0]
    html = check_page(client.get(f"{PAGE}?{query}"))
    assert "Giunge" in html and "Uomo" not in html
    AnnotationSet.objects.all().delete()
    assert "No disagreements" in check_page(client.get(PAGE))


def test_csv_has_one_row_for_each_sentence(table, sign_in):
    """A note that starts like a formula of spreadsheets is none."""
    note = make.make_note(table.project, "=1+1 Roma", "formula")
    make.make_set(note, table.people[0], [(5, 9, "CITY")], submitted=True)
    make.make_set(note, table.people[1], [], submitted=True)
    client, city = sign_in(table.rev), make.label_of(table.project, "CITY").pk
    head, *rows = rows_of(client.get(CSV))
    assert head == ["note", "start", "end", "sentence", "tokens", "anna", "bruno", "carla"]
    assert rows[2][:5] == ["n3", "0", "12", "Giunge al PS", "Giunge al PS"]
    assert rows[2][5:] == ["O O O", "O O B-LOCATION_OTHER", "O O B-HOSPITAL"]
    assert rows[3][3] == "'=1+1 Roma"
    (event,) = Event.objects.filter(verb=FILE_DOWNLOADED)
    assert event.data == {"sentences": "csv"}
    assert [row[0] for row in rows_of(client.get(f"{CSV}?label={city}"))] == ["note", "n2", "formula"]
