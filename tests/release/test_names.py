"""The names of released notes: neutral by default, and searched where they are kept."""

import re
from datetime import datetime

import pytest

from annotations.models import Document, LeakFinding
from annotations.release.rules.redaction.calendars import with_weekday
from annotations.release.services.batches import neutral_names
from annotations.release.services.deciding import answer_chosen
from tests import factories as make
from tests.release.conftest import add_note, new_project, release_command, texts_in
from tests.worlds.released import make_release

pytestmark = pytest.mark.django_db
NAMES = ["visita-2021-03-12", "HUVR-8812345-20210312", "faguilera"]


@pytest.fixture
def ward(db, no_redis):
    project = new_project()
    for name in NAMES:
        add_note(project, name, "Visto el viernes «12/03/2021|DATE».\n", language="es", patient_id="P-1")
    return project


def test_notes_get_neutral_names_that_stay_the_same(ward, sign_in):
    release = make_release(ward, keep_names=False)
    names = dict(release.notes.values_list("document__name", "name"))
    assert sorted(names) == sorted(NAMES) and len(set(names.values())) == 3
    assert all(name.startswith("note-") and name[5:].isdigit() for name in names.values())
    assert not LeakFinding.objects.exists(), "names that nobody sees are not searched"
    assert dict(make_release(ward, keep_names=False).notes.values_list("document__name", "name")) == names
    # The page inside maps the names.
    mara = make.make_member(ward, "manager", "mara")
    page = sign_in(mara).get(f"/projects/ward/releases/{release.number}/").content.decode()
    assert all(before in page and after in page for before, after in names.items())


def test_a_neutral_name_is_no_other_note_s(ward):
    release = make_release(ward, keep_names=False)
    first, *_others = rows = list(release.notes.order_by("pk"))
    Document.objects.filter(pk=rows[1].document_id).update(name=first.name)
    again = neutral_names(release, rows)
    assert len({*again.values()}) == 3 and first.name not in again.values()


def test_kept_names_are_searched_for_dates_and_numbers_of_any_kind(ward):
    release = make_release(ward)
    found = LeakFinding.objects.filter(where="name").order_by("note", "start")
    named = [(one.note.document.name[one.start : one.end], one.label) for one in found]
    assert named == [("2021-03-12", "DATE"), ("8812345-20210312", "IDNUM")]
    answer_chosen(release=release, answer="replace", actor=None)
    assert {name.split("-")[0] for name in release.notes.values_list("name", flat=True)} == {"note", "faguilera"}


def test_kept_names_are_searched_for_what_nobody_labeled(ward):
    for name in ("alta_Dr._Oakes", "oakes@hospital.example.com", "Calle Mayor 5"):
        add_note(ward, name, "Hoy está bien.\n", language="es")
    found = LeakFinding.objects.filter(where="name", note__release=make_release(ward)).order_by("note", "start")
    strings = [(one.note.document.name[one.start : one.end], one.origin) for one in found][:3]
    assert strings == [("Oakes", "rules"), ("oakes@hospital.example.com", "rules"), ("Calle Mayor 5", "rules")]


def test_the_command_writes_neutral_names(ward, tmp_path):
    release_command("ward", "--set", "gold", "--policy", "mask", "--out", tmp_path / "kept")
    assert "faguilera" in texts_in(tmp_path / "kept")
    release_command("ward", "--set", "gold", "--policy", "mask", "--out", tmp_path / "out", keep_names=False)
    assert all(name.startswith("note-") for name in texts_in(tmp_path / "out"))


ES = ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo")


def test_a_weekday_moves_with_its_date(ward):
    """It would tell the days by which the dates of the patient move, modulo 7."""
    for row in make_release(ward, policy="surrogate").notes.all():
        said, day = re.match(r"Visto el (\w+) (\d\d/\d\d/\d{4})", row.text).groups()
        moved = datetime.strptime(day, "%d/%m/%Y")
        assert day != "12/03/2021" and said == ES[moved.weekday()]
        (_start, _end, *_about) = row.pieces[0]
        assert row.document.text[_start:_end] == "viernes 12/03/2021"


WEEKDAYS = [
    ("Visto el viernes 12/03/2021.", "viernes 12/03/2021"), ("Seen on Friday, 12/03/2021.", "Friday, 12/03/2021"),
    ("Il venerdì il 12/03/2021.", "venerdì il 12/03/2021"), ("Fri. 12/03/2021 at noon", "Fri. 12/03/2021"),
    ("12/03/2021 (viernes) visto", "12/03/2021 (viernes)"), ("El viernes\n12/03/2021.", "viernes\n12/03/2021"),
    ("Friday\u00a012/03/2021 - on Friday", "Friday\u00a012/03/2021"), ("viernes (12/03/2021)", "viernes (12/03/2021"),
    ("Venerdì, al giorno 12/03/2021", "Venerdì, al giorno 12/03/2021"),
    ("Vendredi, le 12/03/2021", "Vendredi, le 12/03/2021"),
    ("12/03/2021 (vie.), 12/03/2021 — Freitag", "12/03/2021 (vie.)"), ("12/03/2021 — Freitag", "12/03/2021 — Freitag"),
    ("12/03/2021 Sat 98%", "12/03/2021"),  # oxygen saturation
    ("Every Friday he came. 12/03/2021", "12/03/2021"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "whole"), WEEKDAYS)
def test_the_weekday_beside_a_date(text, whole):
    start = text.index("12/03/2021")
    low, high = with_weekday(text, start, start + 10)
    assert text[low:high] == whole
