"""Candidates for pairs: the threshold by shingle length and redactions, MinHash LSH, and the exact similarity."""

import pytest

from annotations.pairs.rules.candidates import CandidateIndex, CandidateSearch, expected_similarity, jaccard, shingles
from tests.pairs.decisions import invented, noisy


def test_the_average_decision_of_table_6_misses_the_threshold_with_shingles_of_five_tokens():
    assert expected_similarity(1396, 7.6, 11.7, 1) == pytest.approx(0.9916, abs=1e-4)
    assert expected_similarity(1396, 7.6, 11.7, 5) == pytest.approx(0.949, abs=5e-4)
    assert CandidateSearch(shingle=5).least(1396, 8) < CandidateSearch().least(1396, 8) <= 0.95


@pytest.mark.parametrize(("tokens", "spans", "least"), [(1396, 0, 0.95), (500, 8, 0.914), (60, 6, 0.737), (0, 5, 0.3)])
def test_a_text_with_more_redactions_may_differ_more(tokens, spans, least):
    assert CandidateSearch().least(tokens, spans) == pytest.approx(least, abs=1e-3)


def test_shingles_leave_omissis_and_case_out():
    assert shingles("Sig. OMISSIS nato, nato") == {"sig", ".", "nato", ","}
    assert shingles("a b OMISSIS C", 2) == {"a b", "b c"}
    assert jaccard(frozenset("abc"), frozenset("bcd")) == 0.5 and jaccard(frozenset(), frozenset()) == 0


@pytest.mark.parametrize("shingle", [1, 5])
def test_each_published_decision_finds_its_clear_one(shingle):
    made = [invented(seed, tokens=600) for seed in range(30)]
    published = {seed: noisy(one.published, 0, seed) for seed, one in enumerate(made)}
    index = CandidateIndex(CandidateSearch(shingle=shingle), published.items())
    for seed, one in enumerate(made):
        near = index.near(one.clear)
        found = dict(index.exact(one.clear, {key: shingles(published[key], shingle) for key in near}))
        assert seed in found
        assert found[seed] == jaccard(shingles(one.clear, shingle), shingles(published[seed], shingle))
    again = CandidateIndex(CandidateSearch(shingle=shingle), published.items())
    assert [again.near(one.clear) for one in made] == [index.near(one.clear) for one in made], "the seed is fixed"
