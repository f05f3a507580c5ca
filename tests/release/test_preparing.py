"""What the leak gate looks for, also in attributes, the offset and the order of dates, and hashes."""

import json
import re
from datetime import date

import pytest

from annotations.core.sealing import project_key
from annotations.models import KnownPerson, Label, LeakFinding, ListedTerm, ReleasedNote, Span
from annotations.release.rules.redaction.calendars import LEAST_DAYS, MOST_DAYS
from annotations.release.rules.redaction.date_reading import is_ambiguous, order_of
from annotations.release.rules.redaction.dates import shifted
from annotations.release.rules.redaction.policy import Action
from annotations.release.services.deciding import answer_chosen
from annotations.release.services.policies import policy_named, save_policy
from annotations.release.services.surrogates.patients import date_offset
from annotations.text.attributes import as_text
from tests import factories as make
from tests.release.conftest import add_note, new_project, release_command
from tests.worlds.checks import refused
from tests.worlds.programs import Program
from tests.worlds.released import make_release


def released(ward, slug):
    release = make_release(ward.project, policy=slug)
    return release, {row.document.name: row for row in release.notes.select_related("document")}


def found_in(row):
    """What the gate finds in a note, in order, as quote and origin."""
    rows = LeakFinding.objects.filter(note=row, where="text").order_by("start")
    return [(row.text[one.start : one.end], one.origin) for one in rows]


def know(project, patient, **values):
    sealed = project_key(project).seal(values)
    KnownPerson.objects.create(project=project, patient_id=patient, sealed=sealed, digest="d")


def test_offsets_of_dates_are_a_month_or_more_and_less_than_eleven(ward):
    key = project_key(ward.project)
    offsets = [date_offset(key, f"P-{number}", 1) for number in range(3000)]
    assert {min(map(abs, offsets)), max(map(abs, offsets))} == {LEAST_DAYS, MOST_DAYS} == {31, 334}
    assert 0.4 < sum(days < 0 for days in offsets) / len(offsets) < 0.6
    for days in {*offsets}:  # no month stays, with or without a year
        assert shifted("marzo de 2021", days, "es").split()[0] != "marzo" != shifted("marzo", days, "es")
    assert date_offset(key, "P-1", 1) == date_offset(key, "P-1", 2)
    # Without a patient, each note has an offset of its own; two of them are equal by chance once in 608.
    assert len({date_offset(key, "", note) for note in range(1, 9)}) > 1


def test_intervals_are_kept_over_the_notes_of_a_patient_and_over_releases(ward):
    def dates():
        rows = released(ward, "surrogate")[1]
        for name in ("en-1", "en-2"):
            month, day, year = re.search(r"(\d\d)/(\d\d)/(\d{4})", rows[name].text).groups()
            yield date(int(year), int(month), int(day))

    first, second = dates()
    assert (second - first).days == 14 and first != date(2019, 3, 14) and list(dates()) == [first, second]


def test_hashes_are_equal_for_equal_text_in_another_case(ward):
    rules = policy_named(ward.project, "hash").rules
    add_note(ward.project, "a", "«Lucía Ferrer|PATIENT» came.\n", language="es")
    add_note(ward.project, "b", "«LUCIA FERRER|PATIENT» came.\n", language="es")
    assert rules["PATIENT"]["action"] == Action.HASH
    _release, rows = released(ward, "hash")
    assert rows["a"].text == rows["b"].text and re.search(r"[0-9a-f]{12}", rows["a"].text)


SPELLINGS = [
    ("Visita di Venturri Giulia oggi.", "Venturri Giulia"), ("Nata il 03-03-70 a casa.", "03-03-70"),
    ("Cell. +39 02 55 50 12 34.", "+39 02 55 50 12 34"),
    ("Visita di Gіulіa\u200e Vеnturi oggi.", "Gіulіa\u200e Vеnturi"),  # Cyrillic і and е, a mark of direction
    ("Visita di V E N T U R I oggi.", "V E N T U R I"), ("Nata il 3/III/70 a casa.", "3/III/70"),
    ("Cell. ٠٢٥ ٥٥٠ ١٢٣٤.", "٠٢٥ ٥٥٠ ١٢٣٤"), ("Visita di «Giulia|PATIENT» Venturri oggi.", "Venturri"),
    ("Visita di «Giulia Venturri|PATIENT» oggi.", None),
]  # fmt: skip


@pytest.mark.parametrize(("text", "found"), SPELLINGS)
def test_known_identifiers_are_found_in_every_spelling(ward, text, found):
    values = {"given": ["Giulia"], "family": ["Venturi"], "phones": ["02 5550 1234"], "birth_dates": ["1970-03-03"]}
    know(ward.project, "K-1", **values)
    add_note(ward.project, "k", f"🙂 {text}\n", language="it", patient_id="K-1")
    row = released(ward, "mask")[1]["k"]
    assert found_in(row) == ([(found, "known")] if found else [])
    finding = LeakFinding.objects.filter(note=row).first()
    if finding:
        assert finding.source is None and row.document.text[finding.original_start : finding.original_end] == found
        assert finding.part == ("«" in text or "V E N" in text), "the rest of a mention that is replaced in part"


def test_a_known_identifier_that_the_policy_keeps_or_the_project_allows_is_no_finding(ward):
    know(ward.project, "K-1", given=["Giulia"], family=["Venturi"], birth_dates=["1970-03-03"])
    add_note(ward.project, "k", "Nata il 3 marzo 1970. Venturi.\n", language="it", patient_id="K-1")
    listed(ward.project, "allow", "Venturi")
    row = released(ward, "limited")[1]["k"]
    assert found_in(row) == [] and row.exceptions["kept"] == 1


def test_names_of_notes_are_searched_where_capitals_separate_words(ward):
    add_note(ward.project, "AdamWilson", "Nothing.\n", language="en", patient_id="P-00417")
    row = released(ward, "mask")[1]["AdamWilson"]
    finding = LeakFinding.objects.get(note=row)
    assert (finding.where, finding.start, finding.end, finding.origin) == ("name", 0, 10, "patient")


@pytest.mark.parametrize("slug", ["mask", "surrogate"])
def test_contacts_that_nobody_labeled_are_found_by_their_shape(ward, slug):
    text = "Write to eve@wardpost.test or call 600 123 456. «Tel 915 12 34 56|PHONE», TA 120/80, 250000.\n"
    add_note(ward.project, "c", text, language="es")
    release, rows = released(ward, slug)
    assert found_in(rows["c"]) == [("eve@wardpost.test", "shape"), ("600 123 456", "shape")]
    answer_chosen(release=release, answer="replace", actor=None)
    rows["c"].refresh_from_db()
    text = rows["c"].text
    assert "wardpost" not in text and "600 123" not in text and "TA 120/80, 250000." in text
    assert not release.open_findings


def test_a_patient_id_in_the_text_is_found(ward):
    add_note(ward.project, "en-9", "Chart of P-00417 was lost.\n", language="en", patient_id="P-00417")
    _release, rows = released(ward, "mask")
    finding = LeakFinding.objects.get(note=rows["en-9"])
    assert (finding.origin, finding.start, finding.end) == ("known", 9, 16)


def listed(project, kind, text, label=""):
    key = project_key(project)
    ListedTerm.objects.create(project=project, kind=kind, sealed=key.seal(text), digest=text, label=label)


def test_denied_terms_are_found_and_allowed_ones_are_not(ward):
    add_note(ward.project, "en-5", "«Nora Quimby|PATIENT»: project Bluebird, Quimby scale.\n", language="en")
    listed(ward.project, "deny", "bluebird")
    listed(ward.project, "allow", "Quimby")
    release, rows = released(ward, "mask")
    finding = LeakFinding.objects.get()
    assert (finding.note, finding.origin) == (rows["en-5"], "denied")
    assert rows["en-5"].text[finding.start : finding.end] == "Bluebird"
    assert rows["en-5"].exceptions == {"allowed": 1} and release.figures["exceptions"] == {}


def test_figures(ward):
    release, rows = released(ward, "mask")
    figures = release.figures
    assert (figures["notes"], figures["patients"], figures["notes_without_patient"]) == (4, 3, 0)
    assert figures["years"] == [2018, 2021] and figures["surrogates"] == {}
    assert figures["characters"] == sum(note.length for note in ward.notes.values())
    spans = sum(piece[1] - piece[0] for row in rows.values() for piece in row.pieces)
    assert figures["characters_kept"] == figures["characters"] - spans and figures["spans_by_label"]["PATIENT"] == 5


def test_pieces_map_both_texts(ward):
    release, rows = released(ward, "surrogate")
    for name, row in rows.items():
        text, at, new_at = ward.notes[name].text, 0, 0
        for start, end, new_start, new_end, _label, _action in row.pieces:
            assert text[at:start] == row.text[new_at:new_start]
            at, new_at = end, new_end
        assert text[at:] == row.text[new_at:]
    assert ReleasedNote.objects.filter(state="done").count() == 4
    figures = release.figures["surrogates"]
    assert figures["notes"] == 4 and figures["mentions"] > 10
    assert (figures["consistent"], figures["collisions"], figures["originals_left"]) == (1.0, 0, 0)


def test_the_reserved_domain_of_a_surrogate_address_is_no_finding(ward):
    add_note(ward.project, "en-7", "Write to «ivo.marlow@clinic.example|EMAIL» today.\n", language="en")
    row = released(ward, "surrogate")[1]["en-7"]
    assert "@example.org" in row.text and found_in(row) == []


def test_a_patient_named_by_chance_like_the_surrogate_of_a_physician_is_no_finding(ward):
    family = re.search(r"dott\. \w+ (\w+)", released(ward, "surrogate")[1]["it-1"].text)[1]
    text = f"Paziente: «{family}|PATIENT». Dott. «Paolo Serra|DOCTOR».\n"
    add_note(ward.project, "it-2", text, language="it", patient_id="P-7")
    release, rows = released(ward, "surrogate")
    assert family in rows["it-2"].text and found_in(rows["it-2"]) == []
    assert release.figures["exceptions"]["coincidence"] >= 1  # the other surrogates may coincide too


def test_what_a_policy_keeps_is_not_looked_for_unless_it_is_denied(ward):
    rules = policy_named(ward.project, "mask").rules
    rules["CITY"] = rules["CITY"] | {"action": "keep"}
    save_policy(project=ward.project, slug="cities", name="Keeps cities", rules=rules, actor=None)
    add_note(ward.project, "en-6", "Back in Millbrook.\n", language="en", patient_id="P-00417")
    release, rows = released(ward, "cities")
    assert not LeakFinding.objects.exists() and rows["en-6"].text == "Back in Millbrook.\n"
    assert release.figures["spans_by_action"] == {"keep": 3, "mask": 22}
    listed(ward.project, "deny", "millbrook")
    release, rows = released(ward, "cities")
    found = {(finding.note, finding.origin) for finding in LeakFinding.objects.all()}
    assert found == {(rows["en-1"], "denied"), (rows["en-6"], "denied")}
    for label in ("", "NONE"):  # A denied term has no label, so a person chooses its placeholder.
        with refused("label"):
            answer_chosen(release=release, answer="replace", actor=None, label=label)
    answer_chosen(release=release, answer="replace", actor=None, label="HOSPITAL")
    text = ReleasedNote.objects.get(pk=rows["en-1"].pk).text
    assert "Millbrook" not in text and "[HOSPITAL]" in text and not release.open_findings


# Day or month first: the unambiguous dates of a note, a patient or a project decide, or a person does.


STAY = "Admitted «28/03/2019|DATE», operated «30/03/2019|DATE», discharged «02/04/2019|DATE».\n"
FIVE_DAYS = "From «02/04/2019|DATE» to «07/04/2019|DATE».\n"


@pytest.fixture
def empty(db, no_redis):
    return new_project("empty")


def days_between(text):
    """The days from the first to the last date of a text, day first."""
    found = [date(int(year), int(month), int(day)) for day, month, year in re.findall(r"(\d+)/(\d+)/(\d{4})", text)]
    return (found[-1] - found[0]).days


@pytest.mark.parametrize(("others", "text", "language"), [
    ((), STAY, "en"), (("P-1",), FIVE_DAYS, "en"), (("P-2",), FIVE_DAYS, "en"), ((), FIVE_DAYS, "es"),
])  # fmt: skip
def test_dates_of_the_note_the_patient_or_the_project_decide_or_the_language(empty, others, text, language):
    for patient in others:
        add_note(empty, "a", STAY, language="en", patient_id=patient)
    add_note(empty, "b", text, language=language, patient_id="P-1")
    note = make_release(empty, policy="surrogate").notes.get(name="b")
    assert days_between(note.text) == 5 and note.state == "done"


def test_a_note_that_stays_ambiguous_is_held_back_until_somebody_decides(empty):
    add_note(empty, "a", FIVE_DAYS, language="en")
    release = make_release(empty, policy="surrogate")
    note = release.notes.get()
    found = LeakFinding.objects.filter(note=note)
    assert note.state == "held" and [one.label for one in found] == ["DATE", "DATE"]
    assert answer_chosen(release=release, answer="replace", actor=None) == 2
    assert (make.reread(note).state, note.text) == ("done", "From [DATE] to [DATE].\n")


ORDERS = [
    ("28/03/2019", False, False), ("03/28/2019", True, False), ("3-28", True, False), ("02/04/2019", None, True),
    ("04/04/2019", None, False),  # the same day in both orders
    ("28/03/2019 to 03/28/2019", None, False), ("2019-03-28", None, False), ("28 March 2019", None, False),
    ("02 / 04 / 2019", None, True), ("02–04–2019", None, True), ("02\u201104\u20112019", None, True),
    ("28 – 03 – 2019", False, False), ("2 - 3 March 2019", None, False), ("120/80", None, False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "order", "ambiguous"), ORDERS)
def test_the_order_of_a_date_in_figures(text, order, ambiguous):
    assert (order_of(text), is_ambiguous(text)) == (order, ambiguous)


def test_a_date_moves_in_the_order_that_is_told():
    assert shifted("02/04/2019", 30, "en") == "03/06/2019"
    assert shifted("02/04/2019", 30, "en", month_first=False) == "02/05/2019"


# Attributes of released spans go through the leak gate: what identifies somebody there holds the note back.


@pytest.fixture
def labeled(db, no_redis):
    project = new_project("labeled")
    add_note(project, "en-1", "Seen: «Adam Wilson|PATIENT».\n", language="en", patient_id="P-00417")
    add_note(project, "en-2", "MRN «8841207|MEDICALRECORD».\n", language="en", patient_id="P-00417")
    return project


def give(project, attributes, *, defined=True):
    """Give the first name these attributes, which its label defines."""
    label = Label.objects.get(label_set__project=project, code="PATIENT")
    label.attributes = [
        {"name": name} if value is True else {"name": name, "values": [value]} for name, value in attributes.items()
    ] if defined else []  # fmt: skip
    label.save()
    Span.objects.filter(label=label).update(attributes=attributes)


ATTRIBUTES = [
    ({"role": "patient", "deceased": True}, []),
    ({"who": "Adam Wilson"}, ["Adam Wilson"]),  # labeled in the note
    ({"Adam_Wilson": True}, ["Adam_Wilson"]),
    ({"who": "AdamWilson"}, ["AdamWilson"]),
    ({"who": "wilson, MRN 8841207"}, ["wilson", "8841207"]),  # labeled in another note of the patient
    ({"who": "P-00417"}, ["P-00417"]),
    ({"who": "Dr. Helen Marsh"}, ["Helen Marsh"]),  # nobody labeled it: found by the rules
    ({"who": "bed 4471"}, ["4471"]),
    ({"who": "marsh@wardpost.org"}, ["marsh@wardpost.org"]),
    ({"seen": "12/03/2021"}, ["12/03/2021"]),
]


@pytest.mark.parametrize(("attributes", "strings"), ATTRIBUTES)
def test_identifiers_in_attributes_are_findings(labeled, attributes, strings):
    give(labeled, attributes)
    make_release(labeled)
    line = as_text(tuple(sorted(attributes.items())))
    found = LeakFinding.objects.filter(where="attr").order_by("start")
    assert [line[one.start : one.end] for one in found] == strings
    assert LeakFinding.objects.exclude(where="attr").count() == 0
    assert set(found.values_list("note__state", flat=True)) <= {"held"}


def test_a_decision_removes_attributes_and_is_undone(labeled, sign_in):
    give(labeled, {"who": "present"}, defined=False)  # the label doesn't define it
    release = make_release(labeled)
    found = LeakFinding.objects.get()
    assert (found.where, found.start, found.end, found.origin) == ("attr", 0, 12, "shape")
    lena = make.make_member(labeled, "manager", "lena")
    client, path = sign_in(lena), f"/projects/labeled/releases/{release.number}/"
    assert "<mark>who: present</mark>" in client.get(path + "findings/").content.decode()
    answer_chosen(release=release, answer="replace", actor=None)
    row = release.notes.get(pk=found.note_id)
    assert (row.state, row.spans) == ("done", [[6, 15, "PATIENT"]])
    assert client.get(path + "findings/?show=all").status_code == 200
    answer_chosen(release=release, answer="undo", findings=[found.pk], actor=None)
    assert (make.reread(row).state, row.spans) == ("held", [[6, 15, "PATIENT", {"who": "present"}]])
    read = Program(lena).get(f"{path.removesuffix('/')}/notes/{row.document_id}")
    assert read.status_code == 200 and len(read.json()["released_spans"]) == 1


def test_the_command_writes_no_attributes_with_open_findings(labeled, tmp_path):
    give(labeled, {"who": "Adam Wilson"})
    out = tmp_path / "out"
    release_command("labeled", "--set", "gold", "--policy", "mask", "--out", out, "--format", "jsonl")
    notes = [json.loads(line) for line in (out / "notes.jsonl").read_text().splitlines()]
    assert len(notes) == 1 and "Wilson" not in json.dumps(notes)


def test_configuration_files_name_only_attributes_of_released_spans(labeled, tmp_path):
    give(labeled, {"who": "Adam Wilson"})
    add_note(labeled, "en-3", "Seen: «Bea Lund|PATIENT».\n", language="en", patient_id="P-2")
    Label.objects.filter(code="PATIENT").update(attributes=[{"name": "who", "values": ["Adam Wilson", "relative"]}])
    Span.objects.filter(annotation_set__document__name="en-3").update(attributes={"who": "relative"})
    release_command("labeled", "--set", "gold", "--policy", "mask", "--out", tmp_path / "out", "--format", "brat")
    texts = [path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert any("Value:relative" in text for text in texts) and not any("Wilson" in text for text in texts)
