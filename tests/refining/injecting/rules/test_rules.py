"""The ten rules on the examples of Xu et al. 2026, appendix C, and on sentences of our own in four languages."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.formats.files.csv_files import RowError
from annotations.release.rules.redaction.policy import IdentifierType, kinds_of
from annotations.text.spans import Span, overlaps
from models_runtime.refining.rules.injection import (
    MOST_TERMS,
    Caught,
    Draw,
    Injection,
    Strategy,
    Term,
    Vocabulary,
    read_terms,
    ticket,
)
from models_runtime.refining.rules.rules import InjectionRule, Labels, candidates, missing
from models_runtime.refining.rules.systemic import Space, Systemic, clusters, examples_in


def labels_of(label_set="i2b2-2014"):
    kinds = kinds_of(label_set)
    codes = {}
    for code, kind in kinds.items():
        codes.setdefault(kind, code)
    return Labels(kinds, codes)


I2B2 = labels_of()


def errors(marked, language="", rules=tuple(InjectionRule), labels=I2B2):
    """The errors in a text with gold such as `[Rome|CITY]`, as (text, label, gold label, rule)."""
    text, gold = "", []
    for piece in marked.split("["):
        inside, closed, after = piece.partition("]")
        if closed:
            quote, label = inside.split("|")
            gold.append(Span(len(text), len(text) + len(quote), label))
            text += quote + after
        else:
            text += piece
    found = candidates(text, gold, labels, language=language, rules=rules)
    return [(text[one.start : one.end], one.label, one.was, str(one.rule)) for one in found]


EXAMPLES = [
    # Appendix C, rule by rule.
    ("the patient reported a brown rash", "en", ("brown", "PATIENT", "", "common-words")),
    ("the patient may require surgical care", "en", ("may", "PATIENT", "", "common-words")),
    ("we will grant discharge", "en", ("grant", "PATIENT", "", "common-words")),
    ("der mann klagt über Schmerzen", "de", ("mann", "PATIENT", "", "common-words")),
    ("culture: WBC 12", "en", ("12", "AGE", "", "values-as-age")),
    ("CBC: platelets 45", "en", ("45", "AGE", "", "values-as-age")),
    ("RR 22", "en", ("22", "AGE", "", "values-as-age")),
    ("Infektion, Leukozyten 45", "de", ("45", "AGE", "", "values-as-age")),
    ("BP 120/80", "en", ("120/80", "DATE", "", "pressures-as-date")),
    ("BP 130/85 sitting", "en", ("130/85", "DATE", "", "pressures-as-date")),
    ("hypotensive at 90/60", "en", ("90/60", "DATE", "", "pressures-as-date")),
    ("Blutdruck 130/85 gemessen", "de", ("130/85", "DATE", "", "pressures-as-date")),
    ("from [Berlin|CITY]", "en", ("Berlin", "STATE", "CITY", "cities")),
    ("ingresado en [Madrid|CITY] ayer", "es", ("Madrid", "ORGANIZATION", "CITY", "cities")),
    ("treated in [Paris|CITY] clinic", "en", ("Paris", "ORGANIZATION", "CITY", "cities")),
    ("to ICU", "en", ("ICU", "HOSPITAL", "", "wards-as-hospital")),
    ("admitted to cardiology", "en", ("cardiology", "HOSPITAL", "", "wards-as-hospital")),
    ("sent to ER for evaluation", "en", ("ER", "HOSPITAL", "", "wards-as-hospital")),
    ("Dr. [Smith|DOCTOR]", "en", ("Smith", "PATIENT", "DOCTOR", "patient-doctor")),
    ("[John Davis|PATIENT] reviewed", "en", ("John Davis", "DOCTOR", "PATIENT", "patient-doctor")),
    ("Born [1978|DATE]", "en", ("1978", "AGE", "DATE", "age-date")),
    ("patient is [84|AGE]", "en", ("84", "DATE", "AGE", "age-date")),
    ("[63|AGE]-jähriger Patient", "de", ("63", "DATE", "AGE", "age-date")),
    ("[La Fe|HOSPITAL]", "es", ("La Fe", "ORGANIZATION", "HOSPITAL", "hospital-as-organization")),
    ("[02115|ZIP]", "en", ("02115", "CITY", "ZIP", "places")),
    ("[CA|STATE]", "en", ("CA", "CITY", "STATE", "places")),
    ("Parkinson's disease", "en", ("Parkinson", "PATIENT", "", "eponyms")),
    ("Hodgkin lymphoma", "en", ("Hodgkin", "PATIENT", "", "eponyms")),
    ("Morbus Alzheimer", "de", ("Morbus Alzheimer", "PATIENT", "", "eponyms")),
    # Sentences of our own.
    ("dolor en flanco izquierdo", "es", ("izquierdo", "PATIENT", "", "common-words")),
    ("ematuria di colore rosso", "it", ("rosso", "PATIENT", "", "common-words")),
    ("hemoglobina y plaquetas, saturacion 97", "es", ("97", "AGE", "", "values-as-age")),
    ("piastrine 88", "it", ("88", "AGE", "", "values-as-age")),
    ("TA 135/70", "es", ("135/70", "DATE", "", "pressures-as-date")),
    ("140/90 mmHg", "it", ("140/90", "DATE", "", "pressures-as-date")),
    ("acudió a urgencias", "es", ("urgencias", "HOSPITAL", "", "wards-as-hospital")),
    ("accesso in pronto soccorso", "it", ("pronto soccorso", "HOSPITAL", "", "wards-as-hospital")),
    ("enfermedad de Crohn", "es", ("Crohn", "PATIENT", "", "eponyms")),
    ("sindrome di Sjogren", "it", ("Sjogren", "PATIENT", "", "eponyms")),
    ("Crohn’s disease", "en", ("Crohn", "PATIENT", "", "eponyms")),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "language", "expected"), EXAMPLES)
def test_an_error_of_each_rule(marked, language, expected):
    assert errors(marked, language) == [expected]


WITHOUT_ERRORS = [
    ("[Brown|PATIENT] came on [May 3|DATE]", "xx"), ("WBC 12.5, platelets 145, saturation 97%, RR 12/04", "en"),
    ("aged about 45", "en"), ("RR\n45", "en"), ("ratio 120/80, on 12/10 and 120/80/3, BP 80/120", "en"),
    ("Parkinson came. Crohnian disease", "en"), ("Buenos modos, mayormente", "es"),
]  # fmt: skip


@pytest.mark.parametrize(("marked", "language"), WITHOUT_ERRORS)
def test_what_no_rule_takes(marked, language):
    assert [one for one in errors(marked, language) if not one[2]] == []


def test_the_first_rule_takes_the_place():
    """`mann` is a common word; a city is one of the rule `cities` until that rule is left out."""
    assert errors("[Rome|CITY]", "en", [InjectionRule.PLACES, InjectionRule.CITIES]) == [
        ("Rome", "STATE", "CITY", "cities")
    ]
    assert errors("[Rome|CITY]", "en", [InjectionRule.PLACES]) == [("Rome", "ZIP", "CITY", "places")]
    pressure = ("120/80", "DATE", "", "pressures-as-date")
    assert errors("WBC 12 and 120/80 mmHg", "en", [InjectionRule.PRESSURES_AS_DATE]) == [pressure]


def test_labels_that_are_lacking():
    meddocan = labels_of("meddocan")
    assert missing(I2B2, list(InjectionRule)) == {}
    assert missing(meddocan, list(InjectionRule)) == {InjectionRule.PLACES: [IdentifierType.CITY, IdentifierType.ZIP]}
    assert set(missing(labels_of("omissis"), list(InjectionRule))) == set(InjectionRule)
    found = errors("ingresa en [Lugo|TERRITORIO], [27001|TERRITORIO]", "es", labels=meddocan)
    assert found == [("Lugo", "INSTITUCION", "TERRITORIO", "cities")]
    assert errors("Dr. [Neri|NOME], [50|ETA]", "it", labels=labels_of("it-4")) == [("50", "DATA", "ETA", "age-date")]


def test_gold_that_overlaps_other_gold_is_left_alone():
    gold = [Span(0, 10, "CITY"), Span(5, 15, "HOSPITAL"), Span(12, 14, "DOCTOR"), Span(20, 24, "CITY")]
    assert candidates("x" * 30, gold, I2B2) == [Injection(20, 24, "STATE", "CITY", "cities")]


WORDS = st.sampled_from(["brown", "may", "WBC 12", "BP 120/80", "Rome", "ICU", "Smith", "84", "1978",
                         "Parkinson's disease", "\n", "😀", "ẞ"])  # fmt: skip


@given(st.lists(WORDS, max_size=30), st.lists(st.tuples(st.integers(0, 120), st.integers(1, 12)), max_size=8))
def test_errors_never_overlap_each_other_nor_spurious_ones_gold(words, places):
    text = " ".join(words)
    codes = list(kinds_of("i2b2-2014"))
    gold = [
        Span(start, start + length, codes[start % len(codes)])
        for start, length in dict(places).items()
        if start + length <= len(text)
    ]
    found = candidates(text, gold, I2B2, language="en")
    by_bounds = {(span.start, span.end): span for span in gold}
    for at, one in enumerate(found):
        assert 0 <= one.start < one.end <= len(text) and one.label != one.was
        assert not any(overlaps(one, other) for other in found[at + 1 :])
        if one.was:
            assert by_bounds[one.start, one.end].label == one.was
        else:
            assert not any(overlaps(one, span) for span in gold)


# ── Drawing errors ───────────────────────────────────────────────────────────────────────────────────────────────────


RULES = ["cities", "wards-as-hospital", "eponyms"]


def tickets(counts, seed=7, note=1, sha="a"):
    return [
        ticket(Injection(at * 10, at * 10 + 5, "X", "", rule), note, sha, seed)
        for rule, count in counts.items()
        for at in range(count)
    ]


def drawn(*batches, most):
    draw = Draw(most)
    for batch in batches:
        draw.add(batch)
    return draw.drawn(RULES)


def test_in_turn_by_rule_until_none_is_left():
    found = drawn(tickets({"cities": 10, "wards-as-hospital": 2}), most=8)
    rules = [one.injection.rule for one in found]
    assert rules == ["cities", "wards-as-hospital", "cities", "wards-as-hospital", *["cities"] * 4]
    assert len(drawn(tickets({"eponyms": 3}), most=8)) == 3 and drawn(tickets({"eponyms": 3}), most=0) == []


def test_the_same_seed_draws_the_same_errors():
    def injections(*batches):
        return [each.injection for each in drawn(*batches, most=20)]

    first, second = (tickets({"cities": 200}, sha=sha) for sha in "ab")
    one = injections(first, second)
    assert one == injections(second, first) != injections(tickets({"cities": 200}, seed=8))
    # A note has another id in another database.
    assert one == injections(tickets({"cities": 200}, note=99), tickets({"cities": 200}, note=3, sha="b"))
    # What is possible is counted beyond what is kept.
    draw = Draw(5)
    draw.add(tickets({"cities": 50, "eponyms": 1}))
    assert (dict(draw.possible), len(draw.drawn(RULES))) == ({"cities": 50, "eponyms": 1}, 5)


# Caught errors and collateral, on worked notes


GOLD = [Span(0, 5, "DOCTOR"), Span(10, 15, "CITY"), Span(20, 24, "AGE"), Span(30, 40, "DATE")]
ERRORS = [
    Injection(0, 5, "PATIENT", "DOCTOR", "patient-doctor"), Injection(50, 53, "HOSPITAL", "", "wards-as-hospital"),
    Injection(60, 64, "PATIENT", "", "eponyms"), Injection(20, 24, "DATE", "AGE", "age-date", Strategy.LOG),
]  # fmt: skip
INJECTED = [Span(one.start, one.end, one.label) for one in ERRORS] + GOLD[1:2] + GOLD[3:]


def caught(refined):
    found = Caught()
    found.add(GOLD, ERRORS, refined)
    return found.as_json()


def test_nothing_changed():
    figures = caught(INJECTED)
    assert (figures["injected"], figures["caught"], figures["lost"]) == (4, 0, 0)
    assert (figures["untouched"], figures["collateral"]) == (2, 0)


def test_everything_caught():
    figures = caught(GOLD)
    assert (figures["injected"], figures["caught"], figures["collateral"]) == (4, 4, 0)
    assert figures["by_rule"]["age-date"]["share"] == 1.0
    assert {key: each["caught"] for key, each in figures["by_strategy"].items()} == {"log": 1, "rule": 3}
    assert figures["by_strategy"]["log"]["interval"] == (pytest.approx(0.025), 1.0)


def test_a_changed_end_is_not_a_removal():
    """A spurious span that only became shorter is still there; a relabeled one counts by its label."""
    figures = caught([Span(51, 53, "HOSPITAL"), Span(0, 4, "DOCTOR"), Span(10, 14, "CITY"), Span(30, 40, "DATE")])
    by_rule = {rule: each["caught"] for rule, each in figures["by_rule"].items()}
    assert by_rule == {"patient-doctor": 1, "age-date": 0, "wards-as-hospital": 0, "eponyms": 1}
    assert (figures["lost"], figures["collateral"]) == (1, 1)
    # A removed identifier is lost and not caught.
    figures = caught([])
    assert (figures["caught"], figures["lost"]) == (2, 2)
    assert (figures["collateral"], figures["collateral_share"]) == (2, 1.0)
    figures = caught([Span(0, 100, "OTHER")])
    assert (figures["caught"], figures["lost"], figures["collateral"]) == (0, 0, 2)


def test_published_intervals_and_empty_counts():
    found = Caught()
    for at in range(2779 + 28):
        found.errors.add(at < 2779)
    published = (0.9900, 0.98562, 0.99336)
    assert (found.errors.value, *found.errors.interval()) == pytest.approx(published, abs=5e-5)
    assert (Caught().errors.value, Caught().errors.interval()) == (None, None)


# ── A vocabulary of errors: where its strings occur, and what a CSV file may hold ──


LABELS = ["CITY", "HOSPITAL", "PATIENT"]


def found(text, *terms, gold=()):
    return candidates(text, gold, Labels({}, {}), rules=[], sources=[Vocabulary("log", terms)])


def test_strings_are_marked_verbatim_as_whole_words_where_gold_has_nothing():
    text = "General care in General Hospital, generally; pleural effusion, PLEURAL, pleural."
    terms = [Term("General Hospital", "HOSPITAL"), Term("General", "CITY"), Term("pleural", "CITY", 3)]
    marked = [(one.start, one.end, one.label) for one in found(text, *terms)]
    assert marked == [(0, 7, "CITY"), (16, 32, "HOSPITAL"), (45, 52, "CITY"), (72, 79, "CITY")]
    gold = [Span(16, 32, "HOSPITAL"), Span(40, 52, "CITY")]
    assert [one.start for one in found(text, *terms, gold=gold)] == [0, 72]
    assert found(text, Term("pleural", "CITY"))[0] == Injection(45, 52, "CITY", "", "log", Strategy.LOG)
    # The most frequent label of a string counts.
    assert found("May", Term("May", "CITY"), Term("May", "PATIENT", 2))[0].label == "PATIENT"
    assert found("May", Term("May", "PATIENT"), Term("May", "CITY"))[0].label == "CITY"
    lines = ["string;label;count;note\r\n", '"diabetes; type 2";HOSPITAL;4;x\r\n', "general;CITY;;\r\n"]
    assert read_terms(iter(lines), LABELS) == [Term("diabetes; type 2", "HOSPITAL", 4), Term("general", "CITY", 1)]


INVALID_FILES = [
    (["word,label\n", "a,CITY\n"], ["“string”", "string, label"]),
    (["string,label\n", "a,CITY\n", ",CITY\n"], ["Line 3"]),
    (["string,label\n", "a\n"], ["Line 2", "“”", "CITY, HOSPITAL, PATIENT"]),
    (["string,label\n", "a,TOWN\n"], ["Line 2", "“TOWN”", "CITY, HOSPITAL, PATIENT"]),
    (["string,label\n", "a" * 201 + ",CITY\n"], ["Line 2", "201", "200"]),
    (["string,label,count\n", "a,CITY,0\n"], ["Line 2", "“0”", "1"]),
    (["string,label\n"], ["line"]),
    (["string,label\n", *["a,CITY\n"] * (MOST_TERMS + 1)], [str(MOST_TERMS + 1), str(MOST_TERMS)]),
]


@pytest.mark.parametrize(("lines", "words"), INVALID_FILES)
def test_errors_of_a_file_say_the_line_and_what_to_do(lines, words):
    with pytest.raises(RowError) as error:
        read_terms(iter(lines), LABELS)
    assert all(word in str(error.value) for word in words)


# ── Clusters of rejected annotations, and places that are like those of a cluster ────────────────────────────────────


CLUBS = ["Real Betis", "Real Oviedo", "Celta Vigo", "Real Murcia", "Racing Ferrol", "Celta Lugo"]
DRUGS = ["omeprazol", "paracetamol", "ibuprofeno", "metamizol", "lansoprazol", "pantoprazol"]


def rejected():
    """Clubs as CITY, and drugs as CITY and as PATIENT, each in a sentence of its own note."""
    examples = []
    for note, (string, label) in enumerate(
        [*((club, "CITY") for club in CLUBS), *((drug, "CITY") for drug in DRUGS), ("omeprazol", "PATIENT")], 1
    ):
        text = f"Socio del club de fútbol {string} desde niño." if string in CLUBS else f"Toma {string} 20 mg al día."
        start = text.index(string)
        examples += examples_in(note, text, [(start, start + len(string), label)])
    return examples


def test_similar_annotations_of_a_label_are_together():
    found = clusters(rejected(), 7)
    assert {(one.label, frozenset(string for string, _count in one.strings)) for one in found} == {
        ("CITY", frozenset(CLUBS)), ("CITY", frozenset(DRUGS))
    }  # fmt: skip
    words = {frozenset(one.words) for one in found if one.examples[0].string in CLUBS}
    assert words == {frozenset({"club", "de", "del", "desde", "fútbol", "niño"})}


def test_the_same_seed_gives_the_same_clusters_in_any_order():
    rows = rejected()
    first = [(one.key, one.examples, one.words) for one in clusters(rows, 7)]
    assert first == [(one.key, one.examples, one.words) for one in clusters(rows[::-1], 7)]
    assert clusters([], 7) == [] == clusters(rows[:1], 7)
    # Words around stay on the line.
    (one,) = examples_in(1, "uno dos\ntres Torino, 3 cuatro cinco seis siete ocho\nnueve", [(13, 19, "CITY")])
    assert one.context == ("tres", "cuatro", "cinco", "seis", "siete")


def places(text, gold=()):
    rows = rejected()
    clubs = next(one for one in clusters(rows, 7) if one.examples[0].string in CLUBS)
    source = Systemic("clubs", clubs.examples, Space(rows))
    assert source.notes == set(range(1, len(CLUBS) + 1))
    return candidates(text, gold, Labels({}, {}), rules=[], sources=[source])


def test_new_strings_in_similar_sentences_are_like_them():
    text = "Mujer de Torrelavega Cantabria.\nSocia del club de fútbol Atlético Burgos desde niña. Toma amoxicilina."
    (one,) = places(text)
    assert (text[one.start : one.end], one.label, one.was) == ("Atlético Burgos", "CITY", "")
    assert (one.rule, one.strategy) == ("systemic:clubs", Strategy.SYSTEMIC)
    assert places(text, [Span(one.start, one.start + 8, "CITY")]) == []
    assert places("Vive en Puerto Rico desde 2010.\nAcude al Centro Galego.") == []


def test_the_same_string_is_like_them_anywhere_and_no_two_overlap():
    text = "Ayer vio al Real Betis.\nNada más. Club de fútbol Real Betis Real Oviedo."
    found = places(text)
    assert [text[one.start : one.end] for one in found].count("Real Betis") == 2
    assert [one.label for one in found] == ["CITY"] * len(found)
    assert all(one.end <= other.start for one, other in itertools.pairwise(found))
