"""What the leak gate looks for, the offset of dates, and hashes."""

import re
from datetime import date

from annotations.core.sealing import project_key
from annotations.domain.redaction.policy import Action
from annotations.jobs.runner import run as work
from annotations.models import KnownPerson, LeakFinding, ListedTerm, ReleasedNote
from annotations.release.selectors.releases import open_findings
from annotations.release.services.deciding import decide_all
from annotations.release.services.policies import policy_named, save_policy
from annotations.release.services.preparing import MOST_DAYS, date_offset
from annotations.release.services.starting import start_release
from tests.release.conftest import add_note


def released(ward, slug):
    policy = slug if not isinstance(slug, str) else policy_named(ward.project, slug)
    release = start_release(project=ward.project, set_spec="gold", policy=policy, actor=None)
    work(release.job_id)
    release.refresh_from_db()
    return release, {row.document.name: row for row in release.notes.select_related("document")}


def test_offsets_of_dates_are_never_0_and_within_a_year(ward):
    key = project_key(ward.project)
    offsets = [date_offset(key, f"P-{number}", 1) for number in range(3000)]
    assert 0 not in offsets and -MOST_DAYS <= min(offsets) < -300 and 300 < max(offsets) <= MOST_DAYS
    assert date_offset(key, "P-1", 1) == date_offset(key, "P-1", 2) != date_offset(key, "", 1)
    assert date_offset(key, "", 1) != date_offset(key, "", 2)


def test_intervals_are_kept_over_the_notes_of_a_patient_and_over_releases(ward):
    def dates():
        rows = released(ward, "surrogate")[1]
        for name in ("en-1", "en-2"):
            month, day, year = re.search(r"(\d\d)/(\d\d)/(\d{4})", rows[name].text).groups()
            yield date(int(year), int(month), int(day))

    first, second = dates()
    assert (second - first).days == 14 and first != date(2019, 3, 14)
    assert list(dates()) == [first, second]


def test_hashes_are_equal_for_equal_text_in_another_case(ward):
    rules = policy_named(ward.project, "hash").rules
    add_note(ward.project, "a", "«Lucía Ferrer|PATIENT» came.\n", language="es")
    add_note(ward.project, "b", "«LUCIA FERRER|PATIENT» came.\n", language="es")
    assert rules["PATIENT"]["action"] == Action.HASH
    _release, rows = released(ward, "hash")
    assert rows["a"].text == rows["b"].text and re.search(r"[0-9a-f]{12}", rows["a"].text)


def test_known_identifiers_are_found(ward):
    sealed = project_key(ward.project).seal({"given": ["Giulia"], "family": ["Venturi"], "phones": ["02 5550 1234"]})
    KnownPerson.objects.create(project=ward.project, patient_id="P-01133", sealed=sealed, digest="d")
    add_note(ward.project, "it-2", "Tel. 02 5550 1234.\n", language="it", patient_id="P-01133")
    _release, rows = released(ward, "mask")
    finding = LeakFinding.objects.get(note=rows["it-2"])
    assert (finding.origin, finding.label, finding.source) == ("known", "PHONE", None)
    assert rows["it-2"].text[finding.start : finding.end] == "02 5550 1234"


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


def test_what_a_policy_keeps_is_not_looked_for(ward):
    rules = policy_named(ward.project, "mask").rules
    rules["CITY"] = rules["CITY"] | {"action": "keep"}
    policy = save_policy(project=ward.project, slug="cities", name="Keeps cities", rules=rules, actor=None)
    add_note(ward.project, "en-6", "Back in Millbrook.\n", language="en", patient_id="P-00417")
    release, rows = released(ward, policy)
    assert not LeakFinding.objects.exists() and rows["en-6"].text == "Back in Millbrook.\n"
    assert release.figures["spans_by_action"] == {"keep": 3, "mask": 22}


def test_figures(ward):
    release, rows = released(ward, "mask")
    figures = release.figures
    assert (figures["notes"], figures["patients"], figures["notes_without_patient"]) == (4, 3, 0)
    assert figures["years"] == [2018, 2021] and figures["surrogates"] == {}
    assert figures["characters"] == sum(note.length for note in ward.notes.values())
    spans = sum(piece[1] - piece[0] for row in rows.values() for piece in row.pieces)
    assert figures["characters_kept"] == figures["characters"] - spans
    assert figures["spans_by_label"]["PATIENT"] == 5


def test_measures_of_surrogates(ward):
    figures = released(ward, "surrogate")[0].figures["surrogates"]
    assert figures["notes"] == 4 and figures["mentions"] > 10
    assert (figures["consistent"], figures["collisions"], figures["originals_left"]) == (1.0, 0, 0)


def test_pieces_map_both_texts(ward):
    _release, rows = released(ward, "surrogate")
    for name, row in rows.items():
        text, at, new_at = ward.notes[name].text, 0, 0
        for start, end, new_start, new_end, _label, _action in row.pieces:
            assert text[at:start] == row.text[new_at:new_start]
            at, new_at = end, new_end
        assert text[at:] == row.text[new_at:]
    assert ReleasedNote.objects.filter(state="done").count() == 4


def test_a_denied_term_is_found_in_what_the_policy_keeps(ward):
    rules = policy_named(ward.project, "mask").rules
    rules["CITY"] = rules["CITY"] | {"action": "keep"}
    policy = save_policy(project=ward.project, slug="cities", name="Keeps cities", rules=rules, actor=None)
    listed(ward.project, "deny", "millbrook")
    release, rows = released(ward, policy)
    finding = LeakFinding.objects.get()
    assert (finding.note, finding.origin) == (rows["en-1"], "denied")
    decide_all(release=release, answer="replace", actor=None)
    text = ReleasedNote.objects.get(pk=rows["en-1"].pk).text
    assert "Millbrook" not in text and not open_findings(release).exists()
