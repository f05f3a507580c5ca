"""The count-based score by plain substrings: the example of Miranda et al. 2025, and differences from whole tokens."""

import pytest
from hypothesis import given

from annotations.domain.scoring.counts import Counting
from annotations.domain.scoring.rewritten import RewrittenScore, counts_of
from annotations.domain.scoring.substrings import substring_counts
from annotations.domain.spans import Span
from tests.domain.scoring.test_rewritten import TAGS, spans
from tests.domain.strategies import LABELS, texts_with_spans


def counted(text: str, rewritten: str, *marks: tuple[str, str] | tuple[str, str, int]) -> dict[str, tuple[int, ...]]:
    """Removed texts, remaining texts and extra placeholders of each label."""
    found = substring_counts(text, rewritten, spans(text, *marks), TAGS)
    return {label: (one.removed, one.remaining, one.extra) for label, one in found.items()}


@pytest.mark.parametrize("marks", [(("Anna", "NOME"), ("Anna", "NOME", 2)), (("Anna", "NOME"), ("Luca", "NOME"))])
def test_the_published_example(marks):
    """Miranda et al. 2025, section 4.3: two names, one still there, three tags: TP 2 - 1 = 1, FN 1, FP 3 - 2 = 1."""
    text = f"Anna chiama {marks[1][0]}."
    assert counted(text, f"[NOME] [NOME] {marks[1][0]} [NOME].", *marks) == {"NOME": (1, 1, 1)}


CASES = {
    "an age of 5 is in 15": ("Ha 5 anni, stanza 15.", "Ha [ETÀ] anni, stanza 15.", (("5", "ETA"),), (1, 1, 0)),
    "a name is in a longer word": ("Anna di Annaburg.", "[NOME] di Annaburg.", (("Anna", "NOME"),), (1, 1, 0)),
    "a gold text inside another one counts for both": (
        "Mario Rossi. Rossi sta bene.",
        "[NOME]. Rossi sta bene.",
        (("Mario Rossi", "NOME"), ("Rossi", "NOME", 2)),
        (2, 1, 0),
    ),
    "text inside a placeholder counts": ("NOME.", "[NOME].", (("NOME", "NOME"),), (0, 1, 0)),
    "a placeholder that the original has counts": (
        "[NOME] vede Anna.",
        "[NOME] vede [NOME].",
        (("Anna", "NOME"),),
        (1, 0, 1),
    ),
    "the same text twice is one text": (
        "Anna e Anna.",
        "[NOME] e [NOME].",
        (("Anna", "NOME"), ("Anna", "NOME", 2)),
        (2, 0, 0),
    ),
    "case matters": ("Rossi. ROSSI.", "[NOME]. ROSSI.", (("Rossi", "NOME"),), (1, 0, 0)),
    "the rewriting added a name": ("Anna.", "Anna e Anna.", (("Anna", "NOME"),), (0, 2, 0)),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_difficult_cases(case):
    text, rewritten, marks, found = CASES[case]
    assert list(counted(text, rewritten, *marks).values()) == [found]


def test_each_type_has_its_own_counts_of_one_text():
    found = counted("54 anni, stanza 54.", "[ETÀ] anni, stanza 54.", ("54", "ETA"), ("54", "LUOGO", 2))
    assert found == {"ETA": (1, 1, 0), "LUOGO": (1, 1, 0)}


def test_a_placeholder_of_two_labels_belongs_to_the_first():
    tags = {"PAZIENTE": "[NOME]", "MEDICO": "[NOME]"}
    found = substring_counts("Anna.", "[NOME] [NOME].", spans("Anna.", ("Anna", "MEDICO")), tags)
    assert [(label, one.removed, one.extra, one.placeholders) for label, one in found.items()] == [
        ("PAZIENTE", 0, 1, 2),
        ("MEDICO", 1, 0, 0),
    ]


def test_both_rules_are_counted_and_whole_tokens_are_the_default():
    score = RewrittenScore(TAGS)
    text = "Ha 5 anni, stanza 15."
    gold = spans(text, ("5", "ETA"))
    assert score.add(text, "Ha [ETÀ] anni, stanza 15.", gold) == counts_of(
        text, "Ha [ETÀ] anni, stanza 15.", gold, TAGS
    )
    assert score.as_dict() == score.as_dict(Counting.TOKENS)
    shown = {rule: score.as_dict(rule)["micro"] for rule in Counting}
    assert [shown[rule]["recall"] for rule in Counting] == [1.0, 0.5]
    assert shown[Counting.SUBSTRING]["unmarked"] == 1 and shown[Counting.TOKENS]["unmarked"] == 0


@given(texts_with_spans())
def test_a_text_that_was_not_rewritten_has_no_true_positives(note):
    text, gold = note
    found = substring_counts(text, text, gold, {label: f"<{label}>" for label in LABELS})
    assert all(one.removed == 0 for one in found.values())
    assert all(one.remaining > 0 for one in found.values())
    assert found.keys() == {span.label for span in gold}


def test_gold_without_a_rewritten_text_is_removed():
    assert substring_counts("Anna.", "", [Span(0, 4, "NOME")], TAGS)["NOME"].removed == 1
