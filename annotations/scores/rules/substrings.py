"""The count-based score of rewritten text as published: plain substrings (Miranda et al. 2025, section 4.3).

Each gold text with its label is counted on its own, as the article's program did: an age of 5 occurs in 15, and "Rossi"
in "Mario Rossi". Placeholders are counted in the rewritten text, whether or not the original note already has them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from annotations.scores.rules.counts import Counts, placeholder_pattern
from annotations.text.spans import Span


def substring_counts(
    original: str, rewritten: str, gold: Iterable[Span], placeholder_of: Mapping[str, str]
) -> dict[str, Counts]:
    """The counts of one note by label, for the labels in gold or with a placeholder in the rewritten text.

    Removed: by how much a text's occurrences decreased. Remaining: its occurrences in the rewritten text. Extra:
    placeholders beyond the gold spans of the labels that have them, assigned to the first of these labels.
    """
    spans = {(span.start, span.end, span.label) for span in gold}
    texts = Counter((label, original[start:end]) for start, end, label in spans)
    marks = Counter(label for _, _, label in spans)
    found = {label: Counts(gold=n) for label, n in marks.items()}
    for (label, quote), marked in texts.items():
        before, after = original.count(quote), rewritten.count(quote)
        found[label] += Counts(removed=max(0, before - after), remaining=after, unmarked=max(0, before - marked))
    for label, (n, extra) in _placeholders(rewritten, marks, placeholder_of).items():
        found[label] = found.get(label, Counts()) + Counts(placeholders=n, extra=extra)
    return {label: found[label] for label in placeholder_of if label in found}


def _placeholders(
    rewritten: str, marks: Mapping[str, int], placeholder_of: Mapping[str, str]
) -> dict[str, tuple[int, int]]:
    """For the first label of each placeholder in the text, how often it occurs, and how often beyond gold."""
    pattern = placeholder_pattern(placeholder_of.values())
    found: dict[str, tuple[int, int]] = {}
    for placeholder, n in Counter(pattern.findall(rewritten) if pattern else []).items():
        labels = [label for label, own in placeholder_of.items() if own == placeholder]
        found[labels[0]] = (n, max(0, n - sum(marks.get(label, 0) for label in labels)))
    return found
