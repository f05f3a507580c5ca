"""The count-based score of rewritten text: the example of Miranda et al. 2025, and difficult cases."""

import pytest
from hypothesis import given

from annotations.scores.rules.rewritten import CountingRule, RewrittenScore, counts_of, substring_counts
from annotations.text.spans import Span, masked
from tests.text.strategies import LABELS, texts_with_spans

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
    return {label: (one["removed"], one["remaining"], one["extra"]) for label, one in found.items()}


@pytest.mark.parametrize("other", ["Luca", "Anna"])
def test_the_published_example_with_two_names_one_remaining_and_three_tags(other):
    # Miranda et al. 2025, section 4.3: "True Positives are 2-1=1 ... False Positives are 3-2=1".
    marks = [("Anna", "NOME"), ("Anna", "NOME", 2) if other == "Anna" else (other, "NOME")]
    assert counted(f"Anna chiama {other}.", f"[NOME] [NOME] {other} [NOME].", *marks) == {"NOME": (1, 1, 1)}


ROSSI = (("Mario Rossi", "NOME"), ("Rossi", "NOME", 2))
ROMA = (("via Roma", "VIA"), ("Roma", "LUOGO"), ("Pisa", "LUOGO"))
CASES = [
    # No gold, no placeholder
    ("Tosse.", "Tosse.", (), {}),
    # A placeholder where gold has nothing
    ("Tosse.", "[NOME].", (), {"NOME": (0, 0, 1)}),
    # A text inside another gold text doesn't count
    ("Mario Rossi. Rossi sta bene.", "[NOME]. Rossi sta bene.", ROSSI, {"NOME": (1, 1, 0)}),
    # A remaining longer text doesn't count for the shorter text inside
    ("Mario Rossi. Rossi sta bene.", "Mario Rossi. [NOME] sta bene.", ROSSI, {"NOME": (1, 1, 0)}),
    # Nested gold spans: both remain
    ("In via Roma, a Pisa.", "In via Roma, a [LUOGO/INDIRIZZO].", ROMA, {"LUOGO": (1, 1, 0), "VIA": (0, 1, 0)}),
    # Nested gold spans: both are removed by one placeholder
    ("In via Roma, a Pisa.", "In [VIA], a Pisa.", ROMA, {"LUOGO": (1, 1, 0), "VIA": (1, 0, 0)}),
    # Gold spans that overlap in part
    (
        "Via Roma 12 Pisa",
        "[VIA] Pisa",
        (("Via Roma", "VIA"), ("Roma 12", "LUOGO")),
        {"LUOGO": (1, 0, 0), "VIA": (1, 0, 0)},
    ),
    # An age of 5 is not in 15
    ("Ha 5 anni, stanza 15.", "Ha [ETÀ] anni, stanza 15.", (("5", "ETA"),), {"ETA": (1, 0, 0)}),
    # A name is not in a longer word
    ("Anna di Annaburg.", "[NOME] di Annaburg.", (("Anna", "NOME"),), {"NOME": (1, 0, 0)}),
    # Gold marks a part of a word
    ("GambiaHome", "[LUOGO/INDIRIZZO]Home", (("Gambia", "LUOGO"),), {"LUOGO": (1, 0, 0)}),
    # Case matters
    ("Rossi. ROSSI.", "[NOME]. ROSSI.", (("Rossi", "NOME"),), {"NOME": (1, 0, 0)}),
    # An unmarked occurrence remains
    ("54 anni, 54 mg", "[ETÀ] anni, 54 mg", (("54", "ETA"),), {"ETA": (1, 1, 0)}),
    # An unmarked occurrence is removed, with an extra placeholder
    ("54 anni, 54 mg", "[ETÀ] anni, [ETÀ] mg", (("54", "ETA"),), {"ETA": (2, 0, 1)}),
    # One text with two labels: it remains for the label that lacks a placeholder
    (
        "54 anni, stanza 54.",
        "[ETÀ] anni, stanza 54.",
        (("54", "ETA"), ("54", "LUOGO", 2)),
        {"ETA": (1, 0, 0), "LUOGO": (0, 1, 0)},
    ),
    # The wrong placeholder: removed for the gold label, extra for the other one
    ("Rossi visita.", "[LUOGO/INDIRIZZO] visita.", (("Rossi", "NOME"),), {"NOME": (1, 0, 0), "LUOGO": (0, 0, 1)}),
    # A placeholder in the original doesn't count
    ("[NOME] vede Anna.", "[NOME] vede [NOME].", (("Anna", "NOME"),), {"NOME": (1, 0, 0)}),
    # Text inside a placeholder doesn't count
    ("VIA e VIA", "[VIA] e VIA", (("VIA", "VIA"), ("VIA", "VIA", 2)), {"VIA": (1, 1, 0)}),
    # The rewriting added a name
    ("Anna.", "Anna e Anna.", (("Anna", "NOME"),), {"NOME": (0, 2, 0)}),
    # Overlapping occurrences of one text
    ("a a a a", "[NOME] [NOME]", (("a a", "NOME"), ("a a", "NOME", 3)), {"NOME": (2, 0, 0)}),
    # Two labels with equal bounds
    ("Anna.", "[NOME].", (("Anna", "NOME"), ("Anna", "LUOGO")), {"NOME": (0, 0, 0), "LUOGO": (1, 0, 0)}),
]


@pytest.mark.parametrize(("text", "rewritten", "marks", "expected"), CASES)
def test_counts(text, rewritten, marks, expected):
    assert counted(text, rewritten, *marks) == expected


def test_labels_that_share_a_placeholder_are_counted_together():
    tags = {"PATIENT": "[NAME]", "DOCTOR": "[NAME]"}
    gold = spans("Anna vede Luca.", ("Anna", "DOCTOR"), ("Luca", "PATIENT"))
    found = counts_of("Anna vede Luca.", "[NAME] vede [NAME] [NAME].", gold, tags)
    assert [(label, one["removed"], one["extra"]) for label, one in found.items()] == [
        ("PATIENT", 1, 1),
        ("DOCTOR", 1, 0),
    ]


def test_many_notes_add_up_and_undefined_is_none():
    score = RewrittenScore(TAGS)
    score.add("Anna, Luca.", "Anna, [NOME], [NOME].", spans("Anna, Luca.", ("Anna", "NOME"), ("Luca", "NOME")))
    score.add("Ha 54 anni.", "Ha 54 anni.", spans("Ha 54 anni.", ("54", "ETA")))
    said = score.as_dict()
    name, age = said["labels"]
    assert name["label"] == "NOME"
    assert [age[key] for key in ("label", "tp", "fn", "fp", "precision", "recall")] == ["ETA", 0, 1, 0, None, 0.0]
    assert [age[key] for key in ("gold", "unmarked", "placeholders")] == [1, 0, 0]
    assert [said["micro"][key] for key in ("tp", "fn", "fp")] == [1, 2, 0]
    assert RewrittenScore(TAGS).as_dict()["micro"]["f1"] is None


@given(texts_with_spans())
def test_masking_by_gold_adds_no_extra_and_no_masking_removes_nothing(drawn):
    text, gold = drawn
    tags = {label: f"<{number}>" for number, label in enumerate(LABELS)}
    same, hidden = (counts_of(text, other, gold, tags) for other in (text, masked(text, gold, tags)))
    assert not any(one["removed"] or one["extra"] for one in same.values())
    assert not any(one["extra"] for one in hidden.values())


# ── Plain substrings ──


def by_substrings(
    text: str, rewritten: str, *marks: tuple[str, str] | tuple[str, str, int]
) -> dict[str, tuple[int, ...]]:
    """Removed texts, remaining texts and extra placeholders of each label."""
    found = substring_counts(text, rewritten, spans(text, *marks), TAGS)
    return {label: (one["removed"], one["remaining"], one["extra"]) for label, one in found.items()}


@pytest.mark.parametrize("marks", [(("Anna", "NOME"), ("Anna", "NOME", 2)), (("Anna", "NOME"), ("Luca", "NOME"))])
def test_the_published_example_by_substrings(marks):
    """Miranda et al. 2025, section 4.3: two names, one still there, three tags: TP 2 - 1 = 1, FN 1, FP 3 - 2 = 1."""
    text = f"Anna chiama {marks[1][0]}."
    assert by_substrings(text, f"[NOME] [NOME] {marks[1][0]} [NOME].", *marks) == {"NOME": (1, 1, 1)}


SUBSTRINGS = [
    # An age of 5 is in 15
    ("Ha 5 anni, stanza 15.", "Ha [ETÀ] anni, stanza 15.", (("5", "ETA"),), (1, 1, 0)),
    # A name is in a longer word
    ("Anna di Annaburg.", "[NOME] di Annaburg.", (("Anna", "NOME"),), (1, 1, 0)),
    # A gold text inside another one counts for both
    (
        "Mario Rossi. Rossi sta bene.",
        "[NOME]. Rossi sta bene.",
        (("Mario Rossi", "NOME"), ("Rossi", "NOME", 2)),
        (2, 1, 0),
    ),
    # Text inside a placeholder counts
    ("NOME.", "[NOME].", (("NOME", "NOME"),), (0, 1, 0)),
    # A placeholder that the original has counts
    ("[NOME] vede Anna.", "[NOME] vede [NOME].", (("Anna", "NOME"),), (1, 0, 1)),
    # The same text twice is one text
    ("Anna e Anna.", "[NOME] e [NOME].", (("Anna", "NOME"), ("Anna", "NOME", 2)), (2, 0, 0)),
    # Case matters
    ("Rossi. ROSSI.", "[NOME]. ROSSI.", (("Rossi", "NOME"),), (1, 0, 0)),
    # The rewriting added a name
    ("Anna.", "Anna e Anna.", (("Anna", "NOME"),), (0, 2, 0)),
]


@pytest.mark.parametrize(("text", "rewritten", "marks", "found"), SUBSTRINGS)
def test_difficult_cases_by_substrings(text, rewritten, marks, found):
    assert list(by_substrings(text, rewritten, *marks).values()) == [found]


def test_each_type_has_its_own_counts_of_one_text():
    found = by_substrings("54 anni, stanza 54.", "[ETÀ] anni, stanza 54.", ("54", "ETA"), ("54", "LUOGO", 2))
    assert found == {"ETA": (1, 1, 0), "LUOGO": (1, 1, 0)}
    assert by_substrings("Anna.", "", ("Anna", "NOME"))["NOME"][0] == 1
    # A placeholder of two labels belongs to the first.
    tags = {"PAZIENTE": "[NOME]", "MEDICO": "[NOME]"}
    found = substring_counts("Anna.", "[NOME] [NOME].", spans("Anna.", ("Anna", "MEDICO")), tags)
    counts = [(label, one["removed"], one["extra"], one["placeholders"]) for label, one in found.items()]
    assert counts == [("PAZIENTE", 0, 1, 2), ("MEDICO", 1, 0, 0)]


def test_both_rules_are_counted_and_whole_tokens_are_the_default():
    score = RewrittenScore(TAGS)
    text, rewritten = "Ha 5 anni, stanza 15.", "Ha [ETÀ] anni, stanza 15."
    score.add(text, rewritten, spans(text, ("5", "ETA")))
    assert score.as_dict() == score.as_dict(CountingRule.TOKENS)
    shown = {rule: score.as_dict(rule)["micro"] for rule in CountingRule}
    assert [shown[rule]["recall"] for rule in CountingRule] == [1.0, 0.5]
    assert (shown[CountingRule.SUBSTRING]["unmarked"], shown[CountingRule.TOKENS]["unmarked"]) == (1, 0)


@given(texts_with_spans())
def test_a_text_that_was_not_rewritten_has_no_true_positives(note):
    text, gold = note
    found = substring_counts(text, text, gold, {label: f"<{label}>" for label in LABELS})
    assert all(one["removed"] == 0 < one["remaining"] for one in found.values())
    assert found.keys() == {span.label for span in gold}
