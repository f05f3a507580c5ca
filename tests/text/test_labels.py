import copy
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.exchange.rules import Relabeler, likely_labels, written_set
from annotations.formats.notes import OutNote
from annotations.release.rules.redaction.policy import kinds_of
from annotations.text import attributes, labels
from annotations.text.attributes import AttributeDef, AttributeDefError
from annotations.text.hashes import gold_hash
from annotations.text.spans import Span

NOME = {"code": "NOME", "name": "NOME", "hotkey": "o", "description": "Names", "placeholder": "[NAME]"}
DATA = {
    "key": "it-4",
    "name": "Italian, four labels",
    "description": "Two\nlines",
    "source": "A source",
    "languages": ["it", "pt-BR"],
    "categories": [
        {"code": "PERSON", "name": "Person", "labels": [NOME, {"name": "ETÀ", "hotkey": "t"}]},
        {"name": "Luogo e data", "labels": [{"name": "LUOGO/INDIRIZZO"}, {"code": "DATA", "name": "DATA"}]},
    ],
}


def changed(path: list, value: object) -> dict:
    data = copy.deepcopy(DATA)
    at = data
    for step in path[:-1]:
        at = at[step]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return data


def test_a_label_set_is_parsed_and_completed() -> None:
    label_set = labels.parse_label_set(DATA)
    codes = ["NOME", "ETA", "LUOGO_INDIRIZZO", "DATA"]
    assert (label_set.key, label_set.languages) == ("it-4", ("it", "pt-BR"))
    assert [category.code for category in label_set.categories] == ["PERSON", "Luogo_e_data"]
    assert [label.code for label in label_set.labels()] == codes
    assert [label.placeholder for label in label_set.labels()][:2] == ["[NAME]", "[ETÀ]"]
    others = {"ETÀ": "ETA", "LUOGO/INDIRIZZO": "LUOGO_INDIRIZZO"}
    assert label_set.accepted() == {code: code for code in codes} | others


LABEL = ["categories", 0, "labels", 1]


ERRORS = [
    ([], "key, name"), (changed(["key"], None), "“key”"), (changed(["key"], "It 4"), "a-z, 0-9"),
    (changed(["name"], "  "), "“name”"), (changed(["name"], 7), "“name”"), (changed(["name"], "a\tb"), "U+0009"),
    (changed(["colour"], "red"), "“colour”"), (changed(["languages"], "it"), "“languages”"),
    (changed(["languages", 0], "italian!"), "“pt-BR”"), (changed(["categories"], []), "at least one category"),
    (changed(["categories", 0, "labels"], []), "category 1 (Person)"),
    (changed(["categories", 0], "PERSON"), "category 1: "),
    (changed([*LABEL, "hotKey"], "x"), "category 1 (Person), label 2: "),
    (changed([*LABEL, "code"], "ET À"), "“ET À”"), (changed([*LABEL, "code"], "---"), "“---”"),
    (changed([*LABEL, "name"], "***"), "“***”"), (changed([*LABEL, "code"], "nome"), "“nome”"),
    (changed([*LABEL, "name"], "Nome"), "“Nome”"), (changed([*LABEL, "hotkey"], "o"), "“o”"),
    (changed([*LABEL, "hotkey"], "N"), "* / ? a e f g j k m n p u v w x"),
    (changed([*LABEL, "hotkey"], "ab"), "hotkey"), (changed([*LABEL, "hotkey"], "\x07"), "control character"),
    (changed(["categories", 1, "code"], "person"), "“Person” and “Luogo e data”"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "words"), ERRORS)
def test_errors(data: dict, words: str) -> None:
    with pytest.raises(labels.LabelSetError, match=re.escape(words)):
        labels.parse_label_set(data)


CODES_OF_NAMES = [
    ("ETÀ", "ETA"), ("ETA\u0300", "ETA"), ("LUOGO/INDIRIZZO", "LUOGO_INDIRIZZO"), (" Straße 1 ", "Strasse_1"),
    ("Øre & Łódź", "Ore_Lodz"), ("ID-NUM_x", "ID-NUM_x"), ("Name 姓", "Name"), ("姓名", "U59D3_U540D"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "code"), CODES_OF_NAMES)
def test_ascii_code(name: str, code: str) -> None:
    assert labels.ascii_code(name) == code


@given(st.text())
def test_a_code_fits_the_grammar(name: str) -> None:
    try:
        code = labels.ascii_code(name)
    except ValueError:
        assert not any(ch.isascii() and ch.isalnum() for ch in name)
    else:
        assert labels.CODE.fullmatch(code)


# ── Labels as an export writes them ──────────────────────────────────────────────────────────────────────────────────


CODES = {"PATIENT": "NAME", "DOCTOR": "NAME", "DATE": "DATE", "AGE": ""}


def note(*spans):
    return OutNote("a", "x" * 40, spans)


EQUAL_SPANS = [
    ([], [], 0),
    # Other offsets or another written label: both stay.
    ([Span(0, 4, "PATIENT"), Span(0, 5, "DOCTOR")], [Span(0, 4, "PATIENT"), Span(0, 5, "DOCTOR")], 0),
    ([Span(0, 4, "PATIENT"), Span(0, 4, "DATE")], [Span(0, 4, "PATIENT"), Span(0, 4, "DATE")], 0),
    # Equal as written: the span whose label comes first stands for both, whatever their order in the note.
    ([Span(0, 4, "DOCTOR"), Span(0, 4, "PATIENT")], [Span(0, 4, "PATIENT")], 1),
    # Left out spans merge with nothing.
    ([Span(0, 4, "AGE"), Span(0, 4, "PATIENT")], [Span(0, 4, "PATIENT")], 0),
    # A label that the codes lack is written as it is.
    ([Span(0, 4, "OTHER")], [Span(0, 4, "OTHER")], 0),
]


@pytest.mark.parametrize(("spans", "kept", "merged"), EQUAL_SPANS)
def test_spans_that_become_equal_are_written_once(spans, kept, merged):
    done = Relabeler(CODES)
    written, losses = done.note(note(*spans))
    assert list(written.spans) == kept and done.merged == merged and not losses
    assert done.written == Counter(CODES.get(span.label, span.label) for span in kept)
    assert done.left_out == Counter(span.label for span in spans if span.label == "AGE")


def test_attributes_of_a_merged_span_are_a_loss():
    known, doubtful = Span(0, 4, "PATIENT"), Span(0, 4, "DOCTOR", attributes=(("doubtful", True),))
    _written, losses = Relabeler(CODES).note(note(doubtful, known))
    assert [loss.span for loss in losses] == [doubtful] and losses[0].span.attributes
    assert "“PATIENT”" in losses[0].reason and "“NAME”" in losses[0].reason
    assert not Relabeler(CODES).note(note(doubtful))[1]


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(1, 4), st.sampled_from([*CODES, "OTHER"])), max_size=30))
def test_every_span_is_written_merged_or_left_out(rows):
    spans = {Span(start, start + length, label) for start, length, label in rows}
    done = Relabeler(CODES)
    written, _losses = done.note(note(*spans))
    assert done.written.total() + done.merged + done.left_out.total() == len(spans)
    keys = [(one.start, one.end, CODES.get(one.label, one.label)) for one in written.spans]
    assert len(set(keys)) == len(keys) == done.written.total()


NAMES = labels.CategoryDef(
    "C0", "Names", (labels.LabelDef("PATIENT", "Patient", "1"), labels.LabelDef("DOCTOR", "Doctor", "2"))
)
OTHERS = labels.CategoryDef("C1", "Others", (labels.LabelDef("DATE", "Date"), labels.LabelDef("AGE", "Age")))
OURS = labels.LabelSetDef("ours", "Ours", "", "", (), (NAMES, OTHERS))
THEIRS = labels.LabelSetDef(
    "theirs", "Theirs", "", "", (), (labels.CategoryDef("P", "Persons", (labels.LabelDef("NAME", "Full name"),)),)
)


def test_the_written_set_has_the_categories_and_names_of_the_target():
    def groups(found):
        return {group.name: [(one.code, one.name, one.hotkey) for one in group.labels] for group in found.categories}

    found = written_set(OURS, CODES, THEIRS)
    assert groups(found) == {"Persons": [("NAME", "Full name", "1")], "Others": [("DATE", "Date", "")]}
    assert found.key == "theirs"
    # Without a target, codes stay in the category of their first label.
    found = written_set(OURS, CODES | {"DATE": "WHEN"}, None)
    assert groups(found) == {"Names": [("NAME", "NAME", "1")], "Others": [("WHEN", "WHEN", "")]}


FAMILY, STATUS = AttributeDef("Family"), AttributeDef("Status", ("current", "past"))


def test_definitions_as_lines_and_as_data() -> None:
    assert attributes.definitions_in("Family\n\n Status:  current | past \n") == (FAMILY, STATUS)
    assert attributes.definitions_in(attributes.as_lines([FAMILY, STATUS])) == (FAMILY, STATUS)
    assert attributes.definitions_of(attributes.as_data([FAMILY, STATUS])) == (FAMILY, STATUS)
    found = attributes.as_data([FAMILY, STATUS])
    assert found == [{"name": "Family"}, {"name": "Status", "values": ["current", "past"]}]


INVALID_DEFINITIONS = [
    ("Family member", "only A-Z"), ("Status:", "value"), ("Status: a | a", "same value twice"),
    ("A\na", "occurs twice"), ("\n".join(f"a{n}" for n in range(21)), "at most 20"),
    ("Status: " + "x" * 61, "60 characters"), ("-", "letter or"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "words"), INVALID_DEFINITIONS)
def test_definitions_that_are_refused(lines: str, words: str) -> None:
    with pytest.raises(AttributeDefError, match=words):
        attributes.definitions_in(lines)
    for data in ({}, [1], [{"values": []}], [{"name": 1}], [{"name": "A", "values": [1]}], [{"n": "A"}]):
        with pytest.raises(AttributeDefError):
            attributes.definitions_of(data)


FITTING = [
    ((("Family", True), ("Status", "past")), (("Family", True), ("Status", "past")), []),
    ((("family", "true"), ("status", "PAST")), (("Family", True), ("Status", "past")), []),
    ((("Status", "future"),), (), ["Status"]),
    ((("Status", True), ("Family", "no"), ("Other", True)), (), ["Status", "Family", "Other"]),
]


@pytest.mark.parametrize(("given", "kept", "others"), FITTING)
def test_attributes_that_fit(given: tuple, kept: tuple, others: list[str]) -> None:
    assert attributes.fitting(given, [FAMILY, STATUS]) == (kept, others)


def label_set(attributes: object) -> dict[str, object]:
    category = {"name": "C", "labels": [{"name": "L", "attributes": attributes}]}
    return {"key": "k", "name": "K", "categories": [category]}


def test_a_label_set_has_attributes() -> None:
    (label,) = labels.parse_label_set(label_set([{"name": "Status", "values": ["current", "past"]}])).labels()
    assert label.attributes == (STATUS,)
    with pytest.raises(labels.LabelSetError, match=r"label 1 \(L\): The name “a b”"):
        labels.parse_label_set(label_set([{"name": "a b"}]))


PAST, CURRENT, KIN = ("Status", "past"), ("Status", "current"), ("Family", True)


def test_votes_and_hashes() -> None:
    # More than half decides.
    votes = [(KIN, ("S", "a")), (KIN, ("S", "b")), (("S", "c"),)]
    assert [attributes.voted(some) for some in (votes, votes[:2], [(KIN,), ()])] == [(KIN,), (KIN,), ()]
    # Two labels together
    other, further = AttributeDef("status", ("past", "unknown")), AttributeDef("X")
    both = (FAMILY, AttributeDef("Status", ("current", "past", "unknown")), further)
    assert attributes.joined([FAMILY, STATUS], [other, further]) == both
    # The hash of spans without attributes stays as computed before spans had attributes.
    without = gold_hash([("a", "h", [(0, 5, "NAME")])])
    assert without == "9b237807e39766f0a620170fcc64a925d62acbc60a91d178277a44a97776f43b"
    assert gold_hash([("a", "h", [(0, 5, "NAME", (KIN,))])]) != without


def test_attributes_of_several_and_changed_ones() -> None:
    assert attributes.united([(PAST,), (KIN, CURRENT), ()]) == ((KIN, PAST), ["Status"])


# ── brat ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


MEANT = [
    ("PER", "i2b2-2014", "PATIENT"),  # once a place: LOCATION_OTHER has “per” in no word, but nearly all of its letters
    ("TEL", "i2b2-2014", "PHONE"), ("LOC", "i2b2-2014", "LOCATION_OTHER"), ("E-mail", "i2b2-2014", "EMAIL"),
    ("CITYY", "i2b2-2014", "CITY"),  # a slip of the pen
    ("Médico", "meddocan", "NOMBRE_PERSONAL_SANITARIO"), ("phones", "meddocan", "NUMERO_TELEFONO"),
    ("Person", "hipaa-18", "NAMES"), ("ORG", "hipaa-18", None), ("xyz", "i2b2-2014", None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "label_set", "code"), MEANT)
def test_the_label_that_a_name_probably_means(name, label_set, code):
    assert (likely_labels(name, {one: one for one in kinds_of(label_set)}) or [None])[0] == code


@pytest.mark.parametrize(("names", "taken", "keys"), [
    (["DATE", "DOCTOR", "CITY", "Case number"], "", "d o c s"),  # initials first; then the other letters, in order
    (["Età", "Straße"], "", "t s"),
    (["PATIENT", "Judge"], "tid", "4 5"),  # the program has p, a, e, n, and j, u, g
    (["病人", "Name"], "456789", "0 "),  # then none is left
])  # fmt: skip
def test_labels_get_keys_from_their_names(names, taken, keys):
    assert " ".join(labels.free_hotkeys(names, taken)) == keys
