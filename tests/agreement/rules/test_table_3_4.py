"""Figures for table 3.4 of Catelli 2021, which has five sentences and three annotators, computed by hand.

    Uomo di 60 anni               #1, #2: 60 AGE                #3: 60 anni AGE
    ASL Latina Paziente Maschio   #1, #2: ASL Latina HOSPITAL   #3: ASL HOSPITAL, Latina CITY
    COVID-19: caso 98             #1, #2: 98 IDNUM              #3: nothing
    Giunge al PS                  #1: nothing   #2: PS LOCATION_OTHER   #3: PS HOSPITAL
    Performance of radiologists   #1: nothing   #2: radiologists DOCTOR   #3: radiologists PROFESSION

By the default rule, "COVID-19:" has four tokens. Tokens: 4 + 4 + 6 + 3 + 3 = 20. Seven tokens are marked (60, anni,
ASL, Latina, 98, PS, radiologists), thirteen are unmarked.
"""

from collections import Counter

import pytest

from annotations.agreement.rules.coefficients import MatchCriterion, found_in
from annotations.agreement.rules.counting import AgreementCounts
from annotations.agreement.rules.figures import figures
from annotations.agreement.rules.units import ComparedUnit, Granularity, NoteAnnotationSets, Setup
from annotations.text.spans import Span

CATEGORY = {"AGE": "AGE", **dict.fromkeys(["HOSPITAL", "CITY", "LOCATION_OTHER"], "LOCATION"), "IDNUM": "ID",
            "DOCTOR": "NAME", "PROFESSION": "PROFESSION"}  # fmt: skip
ASL = [(0, 10, "HOSPITAL")]
SENTENCES = [
    ("Uomo di 60 anni", [[(8, 10, "AGE")], [(8, 10, "AGE")], [(8, 15, "AGE")]]),
    ("ASL Latina Paziente Maschio", [ASL, ASL, [(0, 3, "HOSPITAL"), (4, 10, "CITY")]]),
    ("COVID-19: caso 98", [[(15, 17, "IDNUM")], [(15, 17, "IDNUM")], []]),
    ("Giunge al PS", [[], [(10, 12, "LOCATION_OTHER")], [(10, 12, "HOSPITAL")]]),
    ("Performance of radiologists", [[], [(15, 27, "DOCTOR")], [(15, 27, "PROFESSION")]]),
]
NOTES = [
    NoteAnnotationSets(text, {str(n): [Span(*span) for span in spans] for n, spans in enumerate(sets, 1)}, number)
    for number, (text, sets) in enumerate(SENTENCES, 1)
]

SETUP = Setup(["1", "2", "3"], list(CATEGORY), CATEGORY)


def report(unit=ComparedUnit.TOKEN, granularity=Granularity.SUBCATEGORY):
    return figures(NOTES, SETUP, unit)["granularities"][granularity]


def value(figure):
    return figure["value"]


def test_tokens_by_label():
    """Units on which not all agree: anni O O AGE, Latina HOSPITAL HOSPITAL CITY, 98 IDNUM IDNUM O: 1/3 each; PS and
    radiologists: 0. Observed (15 + 3 · 1/3 + 0) / 20 = 0.8.

    Values, n = 60: O 8 + 6 + 16 + 7 + 7 = 44, AGE 4, HOSPITAL 3 + 2 + 1 = 6, IDNUM 2, CITY, LOCATION_OTHER, DOCTOR and
    PROFESSION 1 each. De = 1 - (44·43 + 4·3 + 6·5 + 2·1) / (60·59) = 1604/3540. Alpha = 1 - 0.2 · 3540/1604 = 0.5586.
    Fleiss: Pe = (44² + 4² + 6² + 2² + 4) / 60² = 1996/3600; kappa = (0.8 - Pe) / (1 - Pe) = 884/1604 = 0.5511.
    """
    found = report()
    assert (found["units"], found["unmarked"]) == (20, 13)
    assert value(found["observed"]) == pytest.approx(0.8)
    assert value(found["alpha"]) == pytest.approx(1 - 0.2 * 3540 / 1604)
    assert value(found["fleiss"]) == pytest.approx(884 / 1604)
    assert found["fleiss"]["units"] == 20
    assert (value(found["full"]), value(found["majority"])) == (15 / 20, 18 / 20)


def test_without_unmarked_units():
    """Seven units, two of them (60, ASL) unanimous: observed (2 + 1) / 7.

    Values, n = 21: O 44 - 39 = 5, the others as above. De = 1 - (5·4 + 12 + 30 + 2) / (21·20) = 356/420; Do = 4/7.
    The unit `marked` gives the same.
    """
    for found in (report()["marked"], report(ComparedUnit.MARKED)):
        assert found["units"] == 7
        assert value(found["observed"]) == pytest.approx(3 / 7)
        assert value(found["alpha"]) == pytest.approx(1 - (4 / 7) * 420 / 356)


def test_entities():
    """Bounds: 60 (A A O), 60 anni (O O A), ASL Latina (H H O), ASL (O O H), Latina (O O C), 98 (I I O), PS (O L H),
    radiologists (O D P): six with 1/3, two with 0; all three annotators agree on none.

    Values, n = 24: O 1+2+1+2+2+1+1+1 = 11, AGE 3, HOSPITAL 2+1+1 = 4, IDNUM 2, four others 1 each.
    De = 1 - (11·10 + 3·2 + 4·3 + 2·1) / (24·23) = 422/552; Do = 1 - 2/8 = 3/4; alpha = 1 - 0.75 · 552/422.
    """
    found = report(ComparedUnit.ENTITY)
    assert (found["units"], found["unmarked"]) == (8, 0)
    assert value(found["observed"]) == pytest.approx(0.25)
    assert value(found["alpha"]) == pytest.approx(1 - 0.75 * 552 / 422)
    assert value(found["full"]) == 0


def test_pairs():
    """#1 and #2 differ only on PS and radiologists: Po = 18/20. #1: O 16, AGE 1, HOSPITAL 2, IDNUM 1; #2: the same with
    O 14, and LOCATION_OTHER 1, DOCTOR 1. Pe = (16·14 + 1 + 4 + 1) / 400 = 230/400; kappa = (0.9 - 0.575) / 0.425.
    Spans: #1 has 3, #2 has 5, and 3 are equal: F1 6/8.
    #1 and #3: of 3 and 5 spans none is exact; 60 overlaps 60 anni (AGE), ASL Latina overlaps ASL (HOSPITAL), 98 is
    missed: F1 by overlap 4/8.
    """
    first, second, _ = report()["pairs"]
    assert (first["a"], first["b"], first["notes"], first["spans"]) == ("1", "2", 5, [3, 5])
    assert value(first["observed"]) == pytest.approx(0.9)
    assert value(first["kappa"]) == pytest.approx((0.9 - 0.575) / 0.425)
    assert (value(first["exact"]), value(first["overlap"])) == (0.75, 0.75)
    assert (value(second["exact"]), value(second["overlap"])) == (0.0, 0.5)


def test_labels():
    """AGE: 60 by all, anni by one: 4 of 60 values, weight 2·1·2/2 = 2; alpha = 1 - 59 · 2 / (2 · 4 · 56).
    HOSPITAL: ASL by all, Latina by two, PS by one: 6 values, weight 2 + 2 = 4; alpha = 1 - 59 · 4 / (2 · 6 · 54).
    """
    by_value = {row["value"]: row for row in report()["labels"]}
    assert (by_value["AGE"]["units"], by_value["AGE"]["full"]) == (2, 1)
    assert value(by_value["AGE"]["alpha"]) == pytest.approx(1 - 59 * 2 / (2 * 4 * 56))
    assert value(by_value["HOSPITAL"]["alpha"]) == pytest.approx(1 - 59 * 4 / (2 * 6 * 54))
    assert [row["value"] for row in report()["labels"]] == list(CATEGORY), "in the order of the labels"


def test_notes_worst_first():
    """Alpha by note. PS: O 7, L 1, H 1 of 9 values, Do 1/3, De = 1 - 42/72, alpha 1 - 72/90 = 0.2; the same for
    radiologists. Uomo: O 8, AGE 4, Do 1/6, De = 1 - 68/132. ASL: O 6, H 5, C 1, Do 1/6, De = 1 - 50/132. 98: O 16, I 2
    of 18 values, Do 1/9, De = 1 - 242/306.
    """
    rows = report()["per_note"]
    assert [row["note"] for row in rows] == [4, 5, 3, 1, 2]
    assert [row["alpha"] for row in rows] == pytest.approx(
        [0.2, 0.2, 1 - (1 / 9) * 306 / 64, 1 - (1 / 6) * 132 / 64, 1 - (1 / 6) * 132 / 82]
    )
    assert Counter(row["differing"] for row in rows) == {1: 5}


def test_recall():
    """Spans by overlap: 60 (all), ASL Latina (all), 98 (#1, #2), PS (#2, #3), radiologists (#2, #3). No span was found
    by one annotator alone, so none is hidden. One annotator finds (3 + 5 + 4) / 3 / 5 = 0.8. Two annotators find all,
    since every span was found by at least two of three.
    """
    by_overlap = figures(NOTES, SETUP, ComparedUnit.TOKEN)["recall"]["overlap"]
    assert (by_overlap["found"], by_overlap["hidden"]) == (5, 0)
    assert [value(row) for row in by_overlap["annotators"]] == pytest.approx([0.8, 1.0, 1.0])
    assert [value(row) for row in by_overlap["each"]] == pytest.approx([3 / 5, 5 / 5, 4 / 5])


# ── Capture-recapture ────────────────────────────────────────────────────────────────────────────────────────────────


def note(number=1, **annotation_sets):
    sets = {name: [Span(start, end, "X") for start, end in bounds] for name, bounds in annotation_sets.items()}
    return NoteAnnotationSets("x" * 500, sets, number)


def found(*notes, matching=MatchCriterion.OVERLAP):
    return found_in(groups_of(*notes)[matching])


def groups_of(*notes):
    return AgreementCounts(notes, Setup("abc", [], dict.fromkeys("XYZ", "ANY")), ComparedUnit.ENTITY).groups


def test_who_found_what():
    """With OVERLAP, a chain of overlapping spans counts as one; touching spans are separate."""
    annotation_sets = {"a": [Span(0, 5, "X"), Span(8, 9, "X")], "b": [Span(4, 8, "Y")], "c": [Span(0, 5, "Z")]}
    groups = groups_of(NoteAnnotationSets("x" * 500, annotation_sets))
    found = {
        matching: [rows.tolist() for group in by.values() for rows in (group.found_by, group.alone, group.found)]
        for matching, by in groups.items()
    }
    # By overlap one span of all and one of a; exactly one span of a and c, one of a and one of b.
    assert found == {
        MatchCriterion.OVERLAP: [[[1, 0, 1]], [[1, 0, 0]], [[2, 1, 1]]],
        MatchCriterion.EXACT: [[[2, 1, 0]], [[1, 1, 0]], [[2, 1, 1]]],
    }


def test_two_annotators_chapman():
    """a finds 4, b finds 3, and 2 of them are the same: (4+1)(3+1)/(2+1) - 1 = 17/3; found 5, hidden 2/3."""
    bounds = [(10 * n, 10 * n + 5) for n in range(5)]
    result = found(note(a=bounds[:4], b=bounds[2:]))
    assert result.known == 5
    assert result.hidden == pytest.approx(17 / 3 - 5)
    assert result.recall(1).value == pytest.approx((4 + 3) / 2 / (17 / 3))
    assert result.recall(2).value == pytest.approx(5 / (17 / 3))
    assert result.recall_of("a").value == pytest.approx(4 / (17 / 3))
    assert result.projected_for(3)
    assert result.recall(3).value == pytest.approx(1 - (1 - 5 * 3 / 17) * (1 - 3.5 * 3 / 17))


def test_three_annotators_chao():
    """Found alone: a 2, b 1, c 1; by two: 3; by all: 4. Hidden: (2·1 + 2·1 + 1·1) / (3 + 1) = 1.25."""
    at = [(10 * n, 10 * n + 5) for n in range(11)]
    a, b, c = [at[0], at[1]], [at[2]], [at[3]]
    a += [at[4], at[5], *at[7:]]
    b += [at[4], at[6], *at[7:]]
    c += [at[5], at[6], *at[7:]]
    result = found(note(a=a, b=b, c=c))
    assert (result.known, result.hidden) == (11, 1.25)
    assert result.recall(1).value == pytest.approx((8 + 7 + 7) / 3 / 12.25)
    assert result.recall(2).value == pytest.approx(((11 - 1) + (11 - 1) + (11 - 2)) / 3 / 12.25)
    assert result.recall(3).value == pytest.approx(11 / 12.25)


def test_notes_are_grouped_by_their_annotators():
    bounds = [(10 * n, 10 * n + 5) for n in range(5)]
    one, other = note(a=bounds[:4], b=bounds[2:]), note(2, b=bounds[:4], c=bounds[2:])
    both = found(one, other)
    assert both.hidden == pytest.approx(2 * found(one).hidden)
    assert both.recall(1).value == pytest.approx(found(one).recall(1).value)
    assert both.recall_of("b").value == pytest.approx((3 + 4) / (2 * 17 / 3))
