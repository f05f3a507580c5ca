"""Merged lists of several runs' suggestions."""

from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.combining.merging import conflicting_spans, merge
from annotations.domain.doubtful import Doubtful, doubtful
from annotations.domain.spans import Span, overlaps

NAMES = ("rules", "crf", "llm")


def told(merged):
    return [(s.start, s.end, s.label, s.confidence, s.source, s.provenance["agree"], s.clear) for s in merged]


def test_every_distinct_span_is_listed_once_with_its_runs():
    found = merge(
        NAMES,
        [
            [Span(0, 5, "PATIENT", 0.9, "title"), Span(20, 26, "CITY", 0.6)],
            [Span(0, 5, "PATIENT"), Span(0, 11, "PATIENT", 0.3)],
            [Span(0, 5, "DOCTOR", 0.75)],
        ],
    )
    assert told(found) == [
        (0, 5, "DOCTOR", 0.25, "llm", 1, 0),
        (0, 5, "PATIENT", 0.6333, "rules+crf", 2, 2),
        (0, 11, "PATIENT", 0.1, "crf", 1, 0),  # the conflicting spans have as many runs
        (20, 26, "CITY", 0.2, "rules", 1, 1),
    ]
    assert found[1].provenance == {
        "runs": [
            {"run": "rules", "confidence": 0.9, "source": "title"},
            {"run": "crf", "confidence": None, "source": ""},
        ],
        "agree": 2,
        "of": 3,
        "clear": 2,
    }  # fmt: skip


def test_a_span_is_doubtful_if_all_its_runs_doubt_it():
    def doubted(start, end):
        return Doubtful(start, end, "PATIENT", None, "rewrite", removed=((end, end + 3),), places=2)

    found = merge(NAMES, [[Span(0, 5, "PATIENT")], [doubted(0, 5), doubted(20, 26)], [doubted(20, 26)]])
    assert [(s.start, s.provenance["agree"], "unsupported" in s.provenance) for s in found] == [
        (0, 2, False), (20, 2, True),
    ]  # fmt: skip
    assert found[1].provenance["removed"] == [[26, 29]] and found[1].provenance["places"] == 2
    assert doubtful(Span(20, 26, "PATIENT"), found[1].provenance) == doubted(20, 26)


def test_overlapping_spans_of_one_run_do_not_conflict():
    bounds = [(0, 10), (0, 4), (4, 10), (12, 14)]
    runs = [frozenset(names) for names in ("ab", "a", "c", "d")]
    assert [sorted(found) for found in conflicting_spans(bounds, runs)] == [[2], [], [0], []]
    assert conflicting_spans([], []) == []


SPANS = st.builds(
    lambda start, length, label: Span(start, start + length, label, 0.5),
    st.integers(0, 30), st.integers(1, 8), st.sampled_from("AB"),
)  # fmt: skip


@given(st.lists(st.lists(SPANS, max_size=8), min_size=3, max_size=3))
def test_no_span_is_lost_and_conflicts_are_mutual(annotation_sets):
    merged = merge(NAMES, annotation_sets)
    assert {(s.start, s.end, s.label) for s in merged} == {
        (s.start, s.end, s.label) for r in annotation_sets for s in r
    }
    assert merged == sorted(set(merged))
    by_run = {
        name: {(s.start, s.end, s.label) for s in annotation_set}
        for name, annotation_set in zip(NAMES, annotation_sets, strict=True)
    }
    for span in merged:
        said = [name for name in NAMES if (span.start, span.end, span.label) in by_run[name]]
        assert [backing.run for backing in span.backing] == said
    runs = [frozenset(b.run for b in span.backing) for span in merged]
    found = conflicting_spans([(s.start, s.end) for s in merged], runs)
    for at, one in enumerate(merged):
        for other in range(len(merged)):
            expected = other != at and overlaps(one, merged[other]) and not runs[at] & runs[other]
            assert (other in found[at]) == expected == (at in found[other])


def test_attributes_of_all_runs_are_kept_and_differing_ones_named():
    given = [(("Family", True), ("Status", "past")), (("Status", "current"),), ()]
    one, other = merge(NAMES, [[Span(0, 5, "PATIENT", attributes=each), Span(9, 12, "CITY")] for each in given])
    assert one.attributes == (("Family", True), ("Status", "past"))
    assert one.differing == ("Status",)
    assert one.provenance["attributes"] == ["Status"]
    assert (other.attributes, "attributes" in other.provenance) == ((), False)
