"""The count-based score of rewritten text: 000's own example, and what is easily counted wrong."""

import pytest
from hypothesis import given

from annotations.domain.masking import masked
from annotations.domain.scoring.rewritten import RewrittenScore, counts_of
from annotations.domain.spans import Span
from tests.domain.strategies import LABELS, texts_with_spans

TAGS = {"NOME": "[NOME]", "ETA": "[ETÀ]", "LUOGO": "[LUOGO/INDIRIZZO]", "VIA": "[VIA]"}


def spans(text: str, *marks: tuple[str, str] | tuple[str, str, int]) -> list[Span]:
    """Spans by their words, label and (where it isn't the first) which occurrence."""
    found = []
    for quote, label, *nth in marks:
        at = -1
        for _ in range(nth[0] if nth else 1):
            at = text.index(quote, at + 1)
        found.append(Span(at, at + len(quote), label))
    return found


def counted(text: str, rewritten: str, *marks: tuple[str, str] | tuple[str, str, int]) -> dict[str, tuple[int, ...]]:
    """Gone, left and too many of each label."""
    found = counts_of(text, rewritten, spans(text, *marks), TAGS)
    return {label: (one.gone, one.left, one.excess) for label, one in found.items()}


@pytest.mark.parametrize(
    "text, marks",
    [
        ("Anna chiama Luca.", (("Anna", "NOME"), ("Luca", "NOME"))),
        ("Anna chiama Anna.", (("Anna", "NOME"), ("Anna", "NOME", 2))),
    ],
)
def test_000s_example_two_names_one_left_three_tags(text, marks):
    # 000, section 4.3: "True Positives are 2-1=1 ... False Positives are 3-2=1"; the same one twice counts alike.
    rewritten = f"[NOME] [NOME] {marks[1][0]} [NOME]."
    assert counted(text, rewritten, *marks) == {"NOME": (1, 1, 1)}


CASES = {
    "nothing to find, nothing taken": ("Tosse.", "Tosse.", (), {}),
    "a placeholder where gold has nothing": ("Tosse.", "[NOME].", (), {"NOME": (0, 0, 1)}),
    "a text inside another counts by itself only where it stands by itself": (
        "Mario Rossi. Rossi sta bene.",
        "[NOME]. Rossi sta bene.",
        (("Mario Rossi", "NOME"), ("Rossi", "NOME", 2)),
        {"NOME": (1, 1, 0)},
    ),
    "the longer one is left: the shorter one isn't left twice": (
        "Mario Rossi. Rossi sta bene.",
        "Mario Rossi. [NOME] sta bene.",
        (("Mario Rossi", "NOME"), ("Rossi", "NOME", 2)),
        {"NOME": (1, 1, 0)},
    ),
    "gold marks one over the other: both are left, both are gone": (
        "In via Roma, a Pisa.",
        "In via Roma, a [LUOGO/INDIRIZZO].",
        (("via Roma", "VIA"), ("Roma", "LUOGO"), ("Pisa", "LUOGO")),
        {"LUOGO": (1, 1, 0), "VIA": (0, 1, 0)},
    ),
    "and gone together by one placeholder": (
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
    "but where gold marks inside a word, it is": (
        "GambiaHome",
        "[LUOGO/INDIRIZZO]Home",
        (("Gambia", "LUOGO"),),
        {"LUOGO": (1, 0, 0)},
    ),
    "capitals count": ("Rossi. ROSSI.", "[NOME]. ROSSI.", (("Rossi", "NOME"),), {"NOME": (1, 0, 0)}),
    "what gold doesn't mark counts as left": (
        "54 anni, 54 mg",
        "[ETÀ] anni, 54 mg",
        (("54", "ETA"),),
        {"ETA": (1, 1, 0)},
    ),
    "and as gone, with one placeholder too many": (
        "54 anni, 54 mg",
        "[ETÀ] anni, [ETÀ] mg",
        (("54", "ETA"),),
        {"ETA": (2, 0, 1)},
    ),
    "one text of two labels: the label that lacks its placeholder has it left": (
        "54 anni, stanza 54.",
        "[ETÀ] anni, stanza 54.",
        (("54", "ETA"), ("54", "LUOGO", 2)),
        {"ETA": (1, 0, 0), "LUOGO": (0, 1, 0)},
    ),
    "the other label's placeholder is a removal here, and too many there": (
        "Rossi visita.",
        "[LUOGO/INDIRIZZO] visita.",
        (("Rossi", "NOME"),),
        {"NOME": (1, 0, 0), "LUOGO": (0, 0, 1)},
    ),
    "a placeholder that the note had is nobody's": (
        "[NOME] vede Anna.",
        "[NOME] vede [NOME].",
        (("Anna", "NOME"),),
        {"NOME": (1, 0, 0)},
    ),
    "what is in a placeholder is no text of the note": (
        "VIA e VIA",
        "[VIA] e VIA",
        (("VIA", "VIA"), ("VIA", "VIA", 2)),
        {"VIA": (1, 1, 0)},
    ),
    "the rewriting wrote a name more often than it stood there": (
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
    "two labels on one place are one place": (
        "Anna.",
        "[NOME].",
        (("Anna", "NOME"), ("Anna", "LUOGO")),
        {"NOME": (0, 0, 0), "LUOGO": (1, 0, 0)},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_counts(case):
    text, rewritten, marks, expected = CASES[case]
    assert counted(text, rewritten, *marks) == expected


def test_labels_that_share_a_placeholder_are_wanted_together():
    tags = {"PATIENT": "[NAME]", "DOCTOR": "[NAME]"}
    gold = spans("Anna vede Luca.", ("Anna", "DOCTOR"), ("Luca", "PATIENT"))
    found = counts_of("Anna vede Luca.", "[NAME] vede [NAME] [NAME].", gold, tags)
    assert [(label, one.gone, one.excess) for label, one in found.items()] == [("PATIENT", 1, 1), ("DOCTOR", 1, 0)]


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
def test_masking_by_gold_itself_is_never_too_much_and_no_masking_takes_nothing(drawn):
    text, gold = drawn
    tags = {label: f"<{number}>" for number, label in enumerate(LABELS)}
    kept, gone = (counts_of(text, other, gold, tags) for other in (text, masked(text, gold, tags)))
    assert not any(one.gone or one.excess for one in kept.values())
    assert not any(one.excess for one in gone.values())
