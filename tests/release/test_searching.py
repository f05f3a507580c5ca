"""What rules and runs find in notes whose labels are incomplete is a finding, before a release can be signed."""

import json
import re
from contextlib import nullcontext
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.core.sealing import project_key
from annotations.core.services import ServiceError
from annotations.models import Document, Label, LeakFinding, ListedTerm
from annotations.release.rules.leaks.gate import Leak
from annotations.release.rules.leaks.needles import Needle
from annotations.release.rules.redaction.calendars import with_weekday
from annotations.release.rules.redaction.policy import IdentifierType as Kind
from annotations.release.services.batches import neutral_names, prepare_rows, preparer_of
from annotations.release.services.certificates.drafting import looked_for
from annotations.release.services.deciding import answer_chosen
from annotations.release.services.policies import policy_named, read_policy
from annotations.release.services.preparing import Preparer
from annotations.release.services.searching import merged, with_longer
from annotations.release.services.sources import source_of
from tests import factories as make
from tests.release.conftest import add_note, new_project, release_command, texts_in
from tests.timing import takes_at_most
from tests.worlds.programs import Program
from tests.worlds.released import make_release

pytestmark = pytest.mark.django_db
STAY = (
    "Patient: «Adam Wilson|PATIENT», born 03/16/1954, lives at 12 Oak Street, Millbrook. Admitted to Fairview Hospital "
    "on 03/14/2019 with 120/80 mmHg, hemoglobin 12.3 since 2017.\n"
)
LEFT = ["03/16/1954", "12 Oak Street", "Millbrook", "Fairview Hospital", "03/14/2019"]


@pytest.fixture
def ward(db, no_redis):
    """A project with one note, in which only the name is labeled."""
    project = new_project()
    add_note(project, "en-1", STAY, language="en", patient_id="P-00417")
    return project


def strings_of(release, **which):
    """The strings of findings with their labels and origins, in order."""
    rows = LeakFinding.objects.filter(note__release=release, **which).select_related("note").order_by("note", "start")
    return [(row.note.text[row.start : row.end], row.label, row.origin) for row in rows]


def test_what_nobody_labeled_is_found_and_replaced_by_the_rule_of_its_label(ward):
    release = make_release(ward)
    assert [text for text, _label, _origin in strings_of(release)] == LEFT
    assert {label for _text, label, _origin in strings_of(release)} == {"DATE", "STREET", "CITY", "HOSPITAL"}
    assert release.notes.get().state == "held"
    assert answer_chosen(release=release, answer="replace", actor=None) == len(LEFT)
    note = release.notes.get()
    assert note.state == "done" and not any(text in note.text for text in LEFT)
    assert "120/80 mmHg, hemoglobin 12.3 since 2017" in note.text, "values and a year are no findings"


def test_what_signs_for_letters_stand_for_is_found(ward):
    """Also what only a shape shows, whether rules know the language or not."""
    shapes = [
        "03&#47;14&#47;2019", "anna&#64;hospital&#46;example&#46;com", "04\u201114\u20112019",
        "０５／１４／２０１９", "٠٦/١٤/٢٠١٩", "555\u2013201\u20138834", "b\u00adob\u200b@hospital.example.com",
        "94\u00a0years old", "95&nbsp;years old", "555&#8209;201&#8209;8835",
    ]  # fmt: skip
    for name, language in (("en-2", "en"), ("fi-1", "fi")):
        text = f"Seen by Dr. P&eacute;rez, {', '.join(shapes)} and so on, and on the next day once more.\n"
        add_note(ward, name, text, language=language)
    text = "He lives at 12\u00a0Oak\u00a0Street and was seen on 14\u00a0March, as he says.\n"
    add_note(ward, "en-3", text, language="en")
    release = make_release(ward)
    found = [[text for text, *_about in strings_of(release, note__name=name)] for name in ("en-2", "fi-1", "en-3")]
    assert found == [["P&eacute;rez", *shapes]] * 2 + [["12\u00a0Oak\u00a0Street", "14\u00a0March"]]


def test_the_rest_of_a_name_is_found_however_short_it_is(ward):
    text = "Vista por la Dra. «Helena|DOCTOR» Gil y la Sra. «María|PATIENT» de la Paz, con el Sr. «Juan|PATIENT».\n"
    add_note(ward, "es-1", text, language="es")
    assert [text for text, *_about in strings_of(make_release(ward), note__name="es-1")] == ["Gil", "de la Paz"]


def test_what_the_rules_find_in_a_note_is_looked_for_in_the_other_notes_of_the_patient(ward):
    add_note(ward, "en-2", "Referred by Dr. Oakes today.\n", language="en", patient_id="P-00417")
    for name, patient in (("en-3", "P-00417"), ("en-4", "P-00418"), ("en-5", "")):
        add_note(ward, name, "Discussed with Oakes, under oakes. Oakeson.\n", language="en", patient_id=patient)
    release = make_release(ward)
    found = [strings_of(release, note__name=name) for name in ("en-3", "en-4", "en-5")]
    assert found == [[("Oakes", "DOCTOR", "rules")], [], []]
    # Notes that are prepared again alone are compared with the patient's others, too.
    row = release.notes.get(document__name="en-3")
    make.change(row, state="pending")
    prepare_rows(release, preparer_of(release), [row.pk], nullcontext())
    assert strings_of(release, note__name="en-3") == found[0]


def test_one_string_is_decided_once_and_an_allowed_term_is_no_finding(ward):
    add_note(ward, "en-2", "Lives at 3 Elm Street, Millbrook. Millbrook.\n", language="en", patient_id="P-00418")
    sealed = project_key(ward).seal("Fairview Hospital")
    ListedTerm.objects.create(project=ward, kind="allow", sealed=sealed, digest="d")
    release = make_release(ward)
    assert "Fairview Hospital" not in {text for text, *_about in strings_of(release)}
    key = LeakFinding.objects.filter(note__release=release, label="CITY").values_list("string_key", flat=True)
    assert len(key) == 3 and len(set(key)) == 1
    assert answer_chosen(release=release, string_key=key[0], answer="allow", actor=None) == 3


def test_the_rest_of_a_name_is_found_and_a_small_difference_in_bounds_is_not(db, no_redis):
    project = new_project()
    add_note(project, "a", "Seen by Dr. Helen «Marsh|DOCTOR» on «03/14/2019|DATE».\n", language="en")
    assert strings_of(make_release(project)) == [("Helen", "DOCTOR", "rules")]


def test_suggestions_of_chosen_runs_are_found(ward):
    note = ward.documents.get()
    at = note.text.index("hemoglobin")
    make.make_set(note, "run:crf-1", [(at, at + len("hemoglobin"), "PROFESSION"), (9, 20, "PATIENT")])
    release = make_release(ward, searched_runs=["run:crf-1"])
    assert ("hemoglobin", "PROFESSION", "run") in strings_of(release)
    assert ("hemoglobin", "PROFESSION", "run") not in strings_of(make_release(ward))
    for wrong in ("gold", "run:none"):
        with pytest.raises(ServiceError):
            make_release(ward, searched_runs=[wrong])


def test_a_language_that_the_rules_do_not_know_is_counted_and_full_dates_are_found_by_their_shape(ward):
    text = "Vu le 14/03/2019 par Mme Durand, 5 rue Foch, avec «Anna Petrie|PATIENT». Petire, P&eacute;trie.\n"
    add_note(ward, "fr-1", text, language="fr")
    release = make_release(ward)
    assert strings_of(release, note__name="fr-1") == [
        ("14/03/2019", "DATE", "shape"), ("Durand", "PATIENT", "rules"), ("5 rue Foch", "STREET", "rules"),
        ("Petire", "PATIENT", "note"), ("P&eacute;trie", "PATIENT", "note"),
    ]  # fmt: skip
    assert release.figures["searched"]["unread"] == {"fr": 1}
    assert looked_for(release) == {"PHONE", "FAX", "EMAIL", "URL"}, "not of what only the rules find"


def test_the_certificate_says_what_was_looked_for(ward, tmp_path):
    made = release_command(
        "ward", "--set", "gold", "--policy", "mask", "--out", tmp_path / "out", "--decide", "replace",
        "--certificate", tmp_path / "c.json",
    )  # fmt: skip
    assert not any(text in texts_in(tmp_path / "out")["en-1"] for text in LEFT)
    part = json.loads((tmp_path / "c.json").read_text())["certificate"]["identifiability"]
    assert part["gate"]["searched"] == {"rules": made["figures"]["searched"]["rules"], "runs": [], "unread": {}}
    assert {row["letter"]: row["status"] for row in part["identifiers"]}["C"] == "removed"


SHOP = {
    "a": "«Ada Lund|PERSON», born «03/16/1954|BIRTH_DATE_TIME», seen on 03/16/2025 and 16 Mar 2025.\n",
    "b": "Born «12 Dec 1919|BIRTH_DATE_TIME», seen in 2019.\n",
    "c": "Born in 1919, seen in 2019, 94-year-old sister.\n",
    "d": "She is «90+|AGE», he «1,200 months|AGE».\n",
    "e": "Born «12 Dec 1919|BIRTH_DATE_TIME».\n",  # another note of the patient tells the age
    "f": "Seen in 2019.\n",
    "g": "Born «12 Dec 1919|BIRTH_DATE_TIME».\n",
}


def test_safe_harbor_with_labels_for_dates_of_birth_only(db, no_redis, tmp_path):
    """redactor-33 has labels for dates of birth and death only; the gate finds the others, and ages over 89."""
    project = new_project("shop", "redactor-33")
    for name, text in SHOP.items():
        add_note(project, name, text, language="en", patient_id="P-1" if name in "ef" else "")
    release = make_release(project, policy="safe-harbor")
    assert [text for text, *_about in strings_of(release)] == ["03/16/2025", "16 Mar 2025", "1919", "94-year-old"]
    release_command(
        "shop", "--set", "gold", "--policy", "safe-harbor", "--out", tmp_path / "out", "--decide", "replace",
        "--certificate", tmp_path / "c.json",
    )  # fmt: skip
    assert texts_in(tmp_path / "out") == {
        "a": "[PERSON], born 1954, seen on 2025 and 2025.\n", "b": "Born [BIRTH_DATE_TIME], seen in 2019.\n",
        "c": "Born in [AGE], seen in 2019, 90+-year-old sister.\n", "d": "She is 90+, he [AGE].\n",
        "e": "Born [BIRTH_DATE_TIME].\n", "f": "Seen in 2019.\n", "g": "Born 1919.\n",
    }  # fmt: skip
    content = json.loads((tmp_path / "c.json").read_text())["certificate"]
    statuses = {row["letter"]: row["status"] for row in content["identifiability"]["identifiers"]}
    assert (statuses["C"], statuses["P"]) == ("searched", "none")
    assert content["context"]["statements"][0]["text"].startswith("Not met.")


def test_of_several_labels_of_the_kind_of_a_finding_a_person_chooses_one(db, no_redis):
    """A visit is no date of birth, and a hospital no pharmacy."""
    project = new_project("shop", "redactor-33")
    add_note(project, "a", "Admitted to Fairview Hospital on 03/16/2025. Ring 555-201-8834.\n", language="en")
    release = make_release(project)
    found = [(text, label) for text, label, _origin in strings_of(release)]
    assert found == [("Fairview Hospital", ""), ("03/16/2025", ""), ("555-201-8834", "TELEPHONE_NUMBER")]
    program = Program(make.make_member(project, "manager"))
    states = [
        program.post("/projects/shop/releases/1/findings/decide", {"answer": "replace", "all": True, "label": label})
        for label in ("", "ORGANIZATION")
    ]
    assert [answer.status_code for answer in states] == [422, 200]
    assert release.notes.get().text == "Admitted to [ORGANIZATION] on [ORGANIZATION]. Ring [TELEPHONE_NUMBER].\n"


@pytest.mark.parametrize(("kept", "found"), [
    ("", True), ("BIRTH_DATE_TIME", True), ("BIRTH_DATE_TIME DEATH_DATE_TIME", False)
])  # fmt: skip
def test_a_date_may_stay_only_if_the_policy_keeps_all_labels_for_dates(db, no_redis, kept, found):
    project = new_project("shop", "redactor-33")
    add_note(project, "a", "Seen on 03/16/2025.\n", language="en")
    policy = policy_named(project, "mask")
    rules = {code: rule | ({"action": "keep"} if code in kept.split() else {}) for code, rule in policy.rules.items()}
    preparer = Preparer(project, read_policy(rules), source_of(project, "gold"))
    (note,) = preparer.prepare(preparer.originals([(project.documents.get(), ())]))
    assert [one.label for one in note.found] == ([""] if found else [])


def test_a_label_is_asked_only_where_it_would_be_written(db, no_redis):
    """A date that is shifted has no label in its text; a feast can't be shifted, and gets a placeholder."""
    project = new_project("shop", "redactor-33")
    add_note(project, "a", "Seen on 03/16/2025, and on Christmas Day 2024.\n", language="en")
    found = strings_of(make_release(project, policy="surrogate"))
    assert [(text, label) for text, label, _origin in found] == [
        ("03/16/2025", "BIRTH_DATE_TIME"), ("Christmas Day", "")
    ]  # fmt: skip


CLAIMED = [
    ("mask", True, True),
    ("mask", False, False),  # Nothing says what an age would become.
    ("safe-harbor", False, True),  # Dates that keep only their year cover ages over 89.
    ("limited", True, False),  # It keeps ages.
]


@pytest.mark.parametrize(("policy", "labeled", "claimed"), CLAIMED)
def test_all_dates_are_claimed_only_where_ages_over_89_get_a_label(ward, policy, labeled, claimed):
    if not labeled:
        Label.objects.filter(code="AGE", label_set__project=ward).delete()
    add_note(ward, "en-2", "A 94-year-old.\n", language="en")
    release = make_release(ward, policy=policy)
    assert ("DATES" in looked_for(release)) is claimed
    assert [text for text, *_about in strings_of(release, note__name="en-2")] == ["94-year-old"] * claimed


# Leaks of two searches, put together.


NEEDLE = Needle("Wilson", "NAME", Kind.NAME)


def leak(start: int, end: int) -> Leak:
    return Leak(start, end, NEEDLE, part=False)


LEAKS = st.lists(st.tuples(st.integers(0, 20), st.integers(1, 5)).map(lambda place: leak(place[0], sum(place))))


def overlap(one: Leak, other: Leak) -> bool:
    return one.start < other.end and other.start < one.end


@given(LEAKS, LEAKS)
def test_a_leak_of_the_second_search_gives_way_to_one_of_the_first(first: list[Leak], second: list[Leak]) -> None:
    added = [other for other in second if not any(overlap(one, other) for one in first)]
    assert merged(first, second) == sorted([*first, *added], key=lambda one: one.start)


@given(LEAKS, LEAKS)
def test_a_shorter_leak_gives_way_to_one_that_has_all_of_it(first: list[Leak], second: list[Leak]) -> None:
    def is_inside(one: Leak, other: Leak) -> bool:
        return other.start <= one.start and one.end <= other.end and other.end - other.start > one.end - one.start

    kept = [one for one in first if not any(is_inside(one, other) for other in second)]
    assert with_longer(first, second) == merged(kept, second)


def test_many_leaks_are_compared_in_linear_time() -> None:
    first, second = ([leak(at, at + 2) for at in range(begin, 200_000, 4)] for begin in (0, 1))
    assert len(with_longer(first, second)) == 50_000 and takes_at_most(2, lambda: with_longer(first, second))


# The names of released notes: neutral by default, and searched where they are kept.


KEPT = ["visita-2021-03-12", "HUVR-8812345-20210312", "faguilera"]


@pytest.fixture
def visits(db, no_redis):
    project = new_project()
    for name in KEPT:
        add_note(project, name, "Visto el viernes «12/03/2021|DATE».\n", language="es", patient_id="P-1")
    return project


def test_notes_get_neutral_names_that_stay_the_same(visits, sign_in):
    release = make_release(visits, keep_names=False)
    names = dict(release.notes.values_list("document__name", "name"))
    assert sorted(names) == sorted(KEPT) and len(set(names.values())) == 3
    assert all(name.startswith("note-") and name[5:].isdigit() for name in names.values())
    assert not LeakFinding.objects.exists(), "names that nobody sees are not searched"
    assert dict(make_release(visits, keep_names=False).notes.values_list("document__name", "name")) == names
    # The page inside maps the names.
    mara = make.make_member(visits, "manager", "mara")
    page = sign_in(mara).get(f"/projects/ward/releases/{release.number}/").content.decode()
    assert all(before in page and after in page for before, after in names.items())


def test_a_neutral_name_is_no_other_note_s(visits):
    release = make_release(visits, keep_names=False)
    first, *_others = rows = list(release.notes.order_by("pk"))
    Document.objects.filter(pk=rows[1].document_id).update(name=first.name)
    again = neutral_names(release, rows)
    assert len({*again.values()}) == 3 and first.name not in again.values()


def test_kept_names_are_searched_for_dates_and_numbers_of_any_kind(visits):
    release = make_release(visits)
    found = LeakFinding.objects.filter(where="name").order_by("note", "start")
    named = [(one.note.document.name[one.start : one.end], one.label) for one in found]
    assert named == [("2021-03-12", "DATE"), ("8812345-20210312", "IDNUM")]
    answer_chosen(release=release, answer="replace", actor=None)
    assert {name.split("-")[0] for name in release.notes.values_list("name", flat=True)} == {"note", "faguilera"}


def test_kept_names_are_searched_for_what_nobody_labeled(visits):
    for name in ("alta_Dr._Oakes", "oakes@hospital.example.com", "Calle Mayor 5"):
        add_note(visits, name, "Hoy está bien.\n", language="es")
    found = LeakFinding.objects.filter(where="name", note__release=make_release(visits)).order_by("note", "start")
    strings = [(one.note.document.name[one.start : one.end], one.origin) for one in found][:3]
    assert strings == [("Oakes", "rules"), ("oakes@hospital.example.com", "rules"), ("Calle Mayor 5", "rules")]


def test_the_command_writes_neutral_names(visits, tmp_path):
    release_command("ward", "--set", "gold", "--policy", "mask", "--out", tmp_path / "kept")
    assert "faguilera" in texts_in(tmp_path / "kept")
    release_command("ward", "--set", "gold", "--policy", "mask", "--out", tmp_path / "out", keep_names=False)
    assert all(name.startswith("note-") for name in texts_in(tmp_path / "out"))


ES = ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo")


def test_a_weekday_moves_with_its_date(visits):
    """It would tell the days by which the dates of the patient move, modulo 7."""
    for row in make_release(visits, policy="surrogate").notes.all():
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
