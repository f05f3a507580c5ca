"""Clean-up rules: what each changes, what it leaves, and that the source map stays right."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.formats.documents.base import PartKind
from annotations.formats.documents.texts import ALL_RULES, CleaningRule, cleaned
from annotations.formats.notes import NotePart


def clean(text, rules=ALL_RULES):
    found, _parts, counts = cleaned(text, [], rules)
    return found, counts


CHANGES = [
    (CleaningRule.MOJIBAKE, "D. JosÃ© GarcÃ\xada y MuÃ±oz\nAna", "D. José García y Muñoz\nAna", 1),
    (CleaningRule.MOJIBAKE, "uno â€“ dos\ntres â€œcuatroâ€\x9d", "uno – dos\ntres “cuatro”", 2),
    (CleaningRule.CONTROL, "a\x00b\x07c\x9f\ufeff", "abc", 4),
    (CleaningRule.CONTROL, "page\x0cnext\x0bline", "page\nnext\nline", 2),
    (CleaningRule.LIGATURES, "ﬁebre, ﬂujo, eﬃcaz, ﬀ, ﬄ, ﬅ, ﬆ", "fiebre, flujo, efficaz, ff, ffl, st, st", 7),
    (CleaningRule.HYPHENATION, "hospita-\nlizado el 3", "hospitalizado el 3", 1),
    (CleaningRule.HYPHENATION, "hospita- \r\n  lizado", "hospitalizado", 1),
    (CleaningRule.HYPHENATION, "hospita\u00ad\nlizado", "hospitalizado", 1),
    # The compound stands elsewhere in the text, so its hyphen stays.
    (CleaningRule.HYPHENATION, "a follow-up, and follow-\nup again", "a follow-up, and follow-up again", 1),
    # Addresses keep their hyphens.
    (CleaningRule.HYPHENATION, "a.moss-\nlund@klinik.example", "a.moss-lund@klinik.example", 1),
    (CleaningRule.HYPHENATION, "moss@klinik-\nnord.example, www.a-\nb", "moss@klinik-nord.example, www.a-\nb", 1),
    (CleaningRule.HYPHENATION, "https://a.example/hospi-\ntal", "https://a.example/hospi-tal", 1),
    (CleaningRule.SOFT_HYPHENS, "hos\u00adpi\u00adtal", "hospital", 2),
]


@pytest.mark.parametrize(("rule", "text", "wanted", "changes"), CHANGES)
def test_a_rule_changes_and_counts(rule, text, wanted, changes):
    assert clean(text, {rule}) == (wanted, {rule.value: changes}) and clean(text, set()) == (text, {})
    assert clean(text, ALL_RULES - {rule})[0] != wanted


GOOD_TEXTS = [
    "SÃO PAULO, 3 de maio",  # Portuguese
    "Straße, naïve, Ångström, £5, 37 °C, ½",
    "Jean-\nPaul",  # a name in two capitals
    "1990-\n1995",
    "A-\nbc",  # one letter and a hyphen are no syllable
    "pre -\npost", "a\tb\r\nc\n", "العربية\u200c فارسی", "👨‍👩‍👧 e\u0301",
]  # fmt: skip


@pytest.mark.parametrize("text", GOOD_TEXTS)
def test_good_text_stays(text):
    assert clean(text) == (text, {})


def test_no_rule_works_across_parts():
    text = "hospita-\nlizado"
    parts = [NotePart(0, 8, PartKind.PAGE, 1), NotePart(9, 15, PartKind.PAGE, 2)]
    assert cleaned(text, parts, ALL_RULES) == (text, parts, {})


def test_parts_follow_the_text_and_empty_ones_are_dropped():
    text = "ﬁn\x00\n\nJosÃ©\n\n\x07\x07\n\nhos\u00adpi-\ntal ﬂ"
    bounds = [(0, 3), (5, 10), (12, 14), (16, len(text))]
    parts = [NotePart(start, end, PartKind.PAGE, number) for number, (start, end) in enumerate(bounds, 1)]
    found, moved, counts = cleaned(text, parts, ALL_RULES)
    cut = [(part.number, found[part.start : part.end]) for part in moved]
    assert cut == [(1, "fin"), (2, "José"), (4, "hospital fl")]
    assert counts == {"mojibake": 1, "control": 3, "ligatures": 2, "hyphenation": 1, "soft-hyphens": 1}


PIECES = st.lists(
    st.sampled_from(["ab", "ﬁ", "\u00ad", "\x00", "x-\nyz", "Ã©", " ", "\n", "co\u00ad\nla", "é", "😀", "-"]),
    max_size=8,
).map("".join)


@given(st.lists(PIECES, max_size=5))
def test_each_part_is_cleaned_as_if_it_were_alone(texts):
    """The source map is exact: the cleaned text of a part is the cleaned text of its page."""
    rules = ALL_RULES - {CleaningRule.HYPHENATION}
    parts, at = [], 0
    for number, text in enumerate(texts, 1):
        if text:
            parts.append(NotePart(at, at + len(text), PartKind.PAGE, number))
        at += len(text) + 2
    found, moved, _counts = cleaned("\n\n".join(texts), parts, rules)
    alone = {number: clean(text, rules)[0] for number, text in enumerate(texts, 1)}
    assert {part.number: found[part.start : part.end] for part in moved} == {n: one for n, one in alone.items() if one}
