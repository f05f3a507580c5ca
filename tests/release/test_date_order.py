"""Day or month first: the unambiguous dates of a note, a patient or a project decide, or a person does."""

import re
from datetime import date

import pytest

from annotations.models import LeakFinding
from annotations.release.rules.redaction.date_reading import is_ambiguous, order_of
from annotations.release.rules.redaction.dates import shifted
from annotations.release.services.deciding import answer_chosen
from tests.release.conftest import add_note, new_project
from tests.worlds.released import make_release

pytestmark = pytest.mark.django_db
STAY = "Admitted «28/03/2019|DATE», operated «30/03/2019|DATE», discharged «02/04/2019|DATE».\n"


@pytest.fixture
def ward(db, no_redis):
    return new_project()


def days_between(text):
    """The days from the first to the last date of a text, day first."""
    found = [date(int(year), int(month), int(day)) for day, month, year in re.findall(r"(\d+)/(\d+)/(\d{4})", text)]
    return (found[-1] - found[0]).days


def test_the_other_dates_of_the_note_decide(ward):
    add_note(ward, "a", STAY, language="en")
    note = make_release(ward, policy="surrogate").notes.get()
    assert days_between(note.text) == 5 and note.state == "done"


@pytest.mark.parametrize("patient", ["P-1", "P-2"])
def test_other_notes_of_the_patient_or_of_the_project_decide(ward, patient):
    add_note(ward, "a", STAY, language="en", patient_id="P-1")
    add_note(ward, "b", "From «02/04/2019|DATE» to «07/04/2019|DATE».\n", language="en", patient_id=patient)
    note = make_release(ward, policy="surrogate").notes.get(name="b")
    assert days_between(note.text) == 5 and note.state == "done"


def test_a_note_that_stays_ambiguous_is_held_back_until_somebody_decides(ward):
    add_note(ward, "a", "From «02/04/2019|DATE» to «07/04/2019|DATE».\n", language="en")
    release = make_release(ward, policy="surrogate")
    note = release.notes.get()
    found = LeakFinding.objects.filter(note=note)
    assert note.state == "held" and [one.label for one in found] == ["DATE", "DATE"]
    assert answer_chosen(release=release, answer="replace", actor=None) == 2
    note.refresh_from_db()
    assert (note.state, note.text) == ("done", "From [DATE] to [DATE].\n")


def test_days_come_first_in_spanish(ward):
    add_note(ward, "a", "Del «02/04/2019|DATE» al «07/04/2019|DATE».\n", language="es")
    note = make_release(ward, policy="surrogate").notes.get()
    assert days_between(note.text) == 5 and note.state == "done"


@pytest.mark.parametrize(
    ("text", "order", "ambiguous"),
    [
        ("28/03/2019", False, False),
        ("03/28/2019", True, False),
        ("3-28", True, False),
        ("02/04/2019", None, True),
        ("04/04/2019", None, False),  # the same day in both orders
        ("28/03/2019 to 03/28/2019", None, False),
        ("2019-03-28", None, False),
        ("28 March 2019", None, False),
        ("120/80", None, False),
    ],
)
def test_the_order_of_a_date_in_figures(text, order, ambiguous):
    assert (order_of(text), is_ambiguous(text)) == (order, ambiguous)


def test_a_date_moves_in_the_order_that_is_told():
    assert shifted("02/04/2019", 30, "en") == "03/06/2019"
    assert shifted("02/04/2019", 30, "en", month_first=False) == "02/05/2019"
