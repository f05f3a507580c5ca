"""The count-based score of rewritten text: the example of Miranda et al. 2025, and difficult cases."""

import pytest
from hypothesis import given

from annotations.domain.masking import masked
from annotations.domain.scoring.rewritten import RewrittenScore, counts_of
from annotations.domain.spans import Span
from tests.domain.strategies import LABELS, texts_with_spans

TAGS = {"NOME": "[NOME]", "ETA": "[ETÀ]", "LUOGO": "[LUOGO/INDIRIZZO]", "VIA": "[VIA]"}


def spans(text: str, *marks: tuple[str, str] | tuple[str, str, int]) -> list[Span]:
    """Spans from their text, label and, optionally, the number of the occurrence."""
    found = []
    for quote, label, *nth in marks:
        at = -1
        for _ in range(nth[0] if nth else 1):
            at = text.index(quote, at + 1)
        found.append(Span(at, at + len(quote), label))
    return found


def counted(text: str, rewritten: str, *marks: tuple[str, str] | tuple[str, str, int]) -> dict[str, tuple[int, ...]]:
    """Removed texts, remaining texts and extra placeholders of each label."""
    found = counts_of(text, rewritten, spans(text, *marks), TAGS)
    return {label: (one.removed, one.remaining, one.extra) for label, one in found.items()}


@pytest.mark.parametrize(
    "text, marks",
    [
        ("Anna chiama Luca.", (("Anna", "NOME"), ("Luca", "NOME"))),
        ("Anna chiama Anna.", (("Anna", "NOME"), ("Anna", "NOME", 2))),
    ],
)
def test_the_published_example_with_two_names_one_remaining_and_three_tags(text, marks):
    # Miranda et al. 2025, section 4.3: "True Positives are 2-1=1 ... False Positives are 3-2=1".
    rewritten = f"[NOME] [NOME] {marks[1][0]} [NOME]."
    assert counted(text, rewritten, *marks) == {"NOME": (1, 1, 1)}


CASES = {
    "no gold, no placeholder": ("Tosse.", "Tosse.", (), {}),
    "a placeholder where gold has nothing": ("Tosse.", "[NOME].", (), {"NOME": (0, 0, 1)}),
    "a text inside another gold text doesn't count": (
        "Mario Rossi. Rossi sta bene.",
        "[NOME]. Rossi sta bene.",
        (("Mario Rossi", "NOME"), ("Rossi", "NOME", 2)),
        {"NOME": (1, 1, 0)},
    ),
    "a remaining longer text doesn't count for the shorter text inside": (
        "Mario Rossi. Rossi sta bene.",
        "Mario Rossi. [NOME] sta bene.",
        (("Mario Rossi", "NOME"), ("Rossi", "NOME", 2)),
        {"NOME": (1, 1, 0)},
    ),
    "nested gold spans: both remain": (
        "In via Roma, a Pisa.",
        "In via Roma, a [LUOGO/INDIRIZZO].",
        (("via Roma", "VIA"), ("Roma", "LUOGO"), ("Pisa", "LUOGO")),
        {"LUOGO": (1, 1, 0), "VIA": (0, 1, 0)},
    ),
    "nested gold spans: both are removed by one placeholder": (
        "In via Roma, a Pisa.",
        "In [VIA], a Pisa.",
        (("via Roma", "VIA"), ("Roma", "LUOGO"), ("Pisa", "LUOGO")),
        {"LUOGO": (1, 1, 0), "VIA": (1, 0, 0)},
    ),
    "gold spans that overlap in part": (
        "Via Roma 12 Pisa",
        "[VIA] Pisa",
        (("Via Roma", "VIA"), ("Roma 12", "LUOGO")),
        {"LUOGO": (1, 0, 0), "VIA": (1, 0, 0)},
    ),
    "an age of 5 is not in 15": (
        "Ha 5 anni, stanza 15.",
        "Ha [ETÀ] anni, stanza 15.",
        (("5", "ETA"),),
        {"ETA": (1, 0, 0)},
    ),
    "a name is not in a longer word": (
        "Anna di Annaburg.",
        "[NOME] di Annaburg.",
        (("Anna", "NOME"),),
        {"NOME": (1, 0, 0)},
    ),
    "gold marks a part of a word": (
        "GambiaHome",
        "[LUOGO/INDIRIZZO]Home",
        (("Gambia", "LUOGO"),),
        {"LUOGO": (1, 0, 0)},
    ),
    "case matters": ("Rossi. ROSSI.", "[NOME]. ROSSI.", (("Rossi", "NOME"),), {"NOME": (1, 0, 0)}),
    "an unmarked occurrence remains": (
        "54 anni, 54 mg",
        "[ETÀ] anni, 54 mg",
        (("54", "ETA"),),
        {"ETA": (1, 1, 0)},
    ),
    "an unmarked occurrence is removed, with an extra placeholder": (
        "54 anni, 54 mg",
        "[ETÀ] anni, [ETÀ] mg",
        (("54", "ETA"),),
        {"ETA": (2, 0, 1)},
    ),
    "one text with two labels: it remains for the label that lacks a placeholder": (
        "54 anni, stanza 54.",
        "[ETÀ] anni, stanza 54.",
        (("54", "ETA"), ("54", "LUOGO", 2)),
        {"ETA": (1, 0, 0), "LUOGO": (0, 1, 0)},
    ),
    "the wrong placeholder: removed for the gold label, extra for the other one": (
        "Rossi visita.",
        "[LUOGO/INDIRIZZO] visita.",
        (("Rossi", "NOME"),),
        {"NOME": (1, 0, 0), "LUOGO": (0, 0, 1)},
    ),
    "a placeholder in the original doesn't count": (
        "[NOME] vede Anna.",
        "[NOME] vede [NOME].",
        (("Anna", "NOME"),),
        {"NOME": (1, 0, 0)},
    ),
    "text inside a placeholder doesn't count": (
        "VIA e VIA",
        "[VIA] e VIA",
        (("VIA", "VIA"), ("VIA", "VIA", 2)),
        {"VIA": (1, 1, 0)},
    ),
    "the rewriting added a name": (
        "Anna.",
        "Anna e Anna.",
        (("Anna", "NOME"),),
        {"NOME": (0, 2, 0)},
    ),
    "overlapping occurrences of one text": (
        "a a a a",
        "[NOME] [NOME]",
        (("a a", "NOME"), ("a a", "NOME", 3)),
        {"NOME": (2, 0, 0)},
    ),
    "two labels with equal bounds": (
        "Anna.",
        "[NOME].",
        (("Anna", "NOME"), ("Anna", "LUOGO")),
        {"NOME": (0, 0, 0), "LUOGO": (1, 0, 0)},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_counts(case):
    text, rewritten, marks, expected = CASES[case]
    assert counted(text, rewritten, *marks) == expected


def test_labels_that_share_a_placeholder_are_counted_together():
    tags = {"PATIENT": "[NAME]", "DOCTOR": "[NAME]"}
    gold = spans("Anna vede Luca.", ("Anna", "DOCTOR"), ("Luca", "PATIENT"))
    found = counts_of("Anna vede Luca.", "[NAME] vede [NAME] [NAME].", gold, tags)
    assert [(label, one.removed, one.extra) for label, one in found.items()] == [("PATIENT", 1, 1), ("DOCTOR", 1, 0)]


def test_many_notes_add_up_and_undefined_is_none():
    score = RewrittenScore(TAGS)
    score.add("Anna, Luca.", "Anna, [NOME], [NOME].", spans("Anna, Luca.", ("Anna", "NOME"), ("Luca", "NOME")))
    score.add("Ha 54 anni.", "Ha 54 anni.", spans("Ha 54 anni.", ("54", "ETA")))
    said = score.as_dict()
    assert [row["label"] for row in said["labels"]] == ["NOME", "ETA"]
    assert said["labels"][1] | {"precision": 0} == {
        "label": "ETA", "tp": 0, "fn": 1, "fp": 0, "precision": 0, "recall": 0.0, "f1": 0.0, "gold": 1, "unmarked": 0,
        "placeholders": 0,
    }  # fmt: skip
    assert said["labels"][1]["precision"] is None
    assert (said["micro"]["tp"], said["micro"]["fn"], said["micro"]["fp"]) == (1, 2, 0)
    assert RewrittenScore(TAGS).as_dict()["micro"]["f1"] is None


@given(texts_with_spans())
def test_masking_by_gold_adds_no_extra_and_no_masking_removes_nothing(drawn):
    text, gold = drawn
    tags = {label: f"<{number}>" for number, label in enumerate(LABELS)}
    same, hidden = (counts_of(text, other, gold, tags) for other in (text, masked(text, gold, tags)))
    assert not any(one.removed or one.extra for one in same.values())
    assert not any(one.extra for one in hidden.values())
