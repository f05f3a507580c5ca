"""Alignment of a clear and a published decision: Salierno et al. 2024, sections 3, 5.1.1 to 5.1.3."""

import pytest

from annotations.pairs.rules.alignment import align, match_by_diff, match_in_window
from tests.pairs.decisions import compare, excerpt, invented, noisy

CLEAR = "ricorso nr. 14270/C,R.G. Sig.ra ROSSI residente ROMA Via del corso"
PUBLISHED = "ricorso nr. 14270/C,R.G. Sig.ra OMISSIS residente OMISSIS OMISSIS"


def texts(clear, published, method):
    return [clear[span.start : span.end] for span in align(clear, published, method).spans]


def test_the_example_of_tables_4_and_5():
    """`window` joins neighbors, as table 5 does; `diff` makes one span for each OMISSIS."""
    assert texts(CLEAR, PUBLISHED, "window") == ["ROSSI", "ROMA Via del corso"]
    assert texts(CLEAR, PUBLISHED, "diff") == ["ROSSI", "ROMA", "Via del corso"]


def test_the_excerpt_of_section_3_keeps_the_lawyer_his_tax_code_and_his_pec():
    one = excerpt()
    assert [(span.start, span.end) for span in align(one.clear, one.published).spans] == one.hidden
    hidden = " ".join(texts(one.clear, one.published, "diff"))
    for standing in ("Andrea Bianchi", "ANDRBLI00A01D612X", "andrea.bianchi@avvocati.it"):
        assert standing in one.clear and standing not in hidden
    assert "Mario Rossi" in hidden and "RSSMRA21 A011150111" in hidden
    for method in ("diff", "window"):
        counted = compare([one], [one.published], method)
        assert counted.public == counted.standing > 0


@pytest.mark.parametrize(
    ("clear", "published", "window", "matched"),
    [
        ("a b c", "a b c", 1, "111"),
        ("a X c", "a O c", 2, "101"),
        # Out of the window. With equal counts in both texts, C_common matches the token all the same.
        ("a X Y b b", "a O O O b", 2, "10000"),
        ("a X Y b", "a O O O b", 2, "1001"),
        # A match by C_common doesn't move the latest match: `z` is still searched right behind `a`.
        ("a b z z", "a z b z", 1, "1111"),
        ("a b z", "a z b z", 1, "111"),
    ],
)
def test_the_window_as_printed(clear, published, window, matched):
    found = match_in_window(clear.split(), published.split(), window)
    assert "".join(str(int(each)) for each in found) == matched


@pytest.mark.parametrize(
    ("clear", "published", "hidden"),
    [
        ("a b c d", "a OMISSIS d", ["b c"]),
        ("a b c d", "a OMISSIS OMISSIS d", ["b", "c"]),
        ("a d", "a OMISSIS d", []),  # it stands for nothing
        ("a b", "OMISSIS", ["a b"]),
        ("a b c", "a c", []),  # lost, not hidden
        ("a x b c", "a b y OMISSIS", ["c"]),
        # Of equally good alignments, an earlier OMISSIS hides less.
        ("Roma , Via , 6 ;", "OMISSIS , OMISSIS ;", ["Roma", "Via , 6"]),
        ("Via , 6 , e", "OMISSIS , e", ["Via , 6"]),
        ("", "OMISSIS", []),
        ("a b", "", []),
    ],
)
def test_each_omissis_of_diff_hides_what_the_other_tokens_leave(clear, published, hidden):
    words = clear.split()
    assert [" ".join(words[start:past]) for start, past in match_by_diff(words, published.split())[1]] == hidden


def test_diff_does_not_lose_its_place_behind_a_long_insertion():
    one = invented(1, tokens=400)
    published = one.published.replace("rappresentato", f"{'nuovo ' * 40}rappresentato")
    assert compare([one], [published], "diff").f1 == 1
    assert compare([one], [published], "window").f1 < 0.9


def test_token_f1_with_the_noise_of_section_5_1_1():
    made = [invented(seed, tokens=600) for seed in range(8)]
    figures = {}
    for rate in (0.0, 0.03, 0.1):
        published = [noisy(one.published, rate, seed) for seed, one in enumerate(made)]
        figures[rate] = {method: compare(made, published, method).f1 for method in ("diff", "window")}
    assert figures[0.0]["diff"] >= 0.99
    assert figures[0.1]["diff"] > 0.9
    assert all(each["diff"] >= each["window"] for each in figures.values())


def test_confidence_is_the_share_of_matched_neighbors_and_tags_are_counted():
    found = align(f"{'p ' * 5}X{' q' * 5}", f"{'p ' * 5}OMISSIS{' q' * 5}")
    assert [(span.start, span.end, span.confidence) for span in found.spans] == [(10, 11, 1.0)]
    assert (found.outside, found.begin, found.inside, round(found.aligned, 3)) == (10, 1, 0, 0.909)
    # One of the three neighbors was lost.
    assert align("a b c X d", "a c OMISSIS d", window=2).spans[0].confidence == pytest.approx(2 / 3, abs=1e-4)
    assert align("X", "OMISSIS").spans[0].confidence == 1.0


def test_a_text_too_long_for_the_exact_alignment_is_aligned_all_the_same():
    found = align("c " * 800, f"OMISSIS {'p ' * 800}")
    assert (found.begin, found.inside, found.outside) == (1, 799, 0)
