import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.text import bio
from annotations.text.spans import Span, SpanError, Token, tokenize
from tests.text.strategies import LABELS, texts_with_apart_spans, texts_with_spans

TAGGED = [
    ("Dr. Anna Neri, 50", [Span(4, 13, "NAME"), Span(15, 17, "AGE")], "O O B-NAME I-NAME O B-AGE"),
    ("GambiaHome", [Span(0, 6, "COUNTRY")], "B-COUNTRY O"),  # an end inside a token splits it
    ("abcd e", [Span(0, 2, "X"), Span(2, 4, "X"), Span(5, 6, "X")], "B-X B-X B-X"),  # touching spans stay two
]


@pytest.mark.parametrize(("text", "spans", "tags"), TAGGED)
def test_tags(text: str, spans: list[Span], tags: str) -> None:
    encoded = bio.encode(text, spans)
    assert (encoded.tags, encoded.losers) == (tags.split(), []) and bio.decode(encoded.tokens, encoded.tags) == spans
    with pytest.raises(SpanError):
        bio.encode("ab", [Span(0, 3, "X")])


def test_the_longest_wins_then_the_earliest_then_label_order() -> None:
    text = "a b c d e"
    long, early, late = Span(0, 9, "L"), Span(0, 3, "E"), Span(2, 5, "E")
    assert bio.encode(text, [early, long]).tags == ["B-L", *["I-L"] * 4]
    assert bio.encode(text, [late, early]).tags == ["B-E", "I-E", "B-E", "O", "O"]
    same = [Span(0, 1, "A"), Span(0, 1, "B")]
    assert bio.encode(text, same, label_order=["B", "A"]).tags[0] == "B-B"
    assert bio.encode(text, same, label_order=["A", "B"]).tags[0] == "B-A" and bio.encode(text, same).tags[0] == "B-A"
    # Other labels come later, by name.
    assert bio.encode(text, [*same, Span(0, 1, "0")], label_order=["B"]).tags[0] == "B-B"


def test_losers_have_their_winner_and_the_cause() -> None:
    long, inside, partly = Span(0, 5, "L"), Span(2, 3, "I"), Span(4, 7, "P")
    encoded = bio.encode("a b c d e", [long, inside, partly])
    losers = [(loser.span, loser.winner, loser.cause) for loser in encoded.losers]
    assert losers == [(inside, long, bio.Cause.COVERED), (partly, long, bio.Cause.PARTLY_COVERED)]
    assert bio.decode(encoded.tokens, encoded.tags) == [long, Span(6, 7, "P")]
    # A span between two winners keeps its middle.
    first, last, middle = Span(0, 5, "A"), Span(6, 11, "B"), Span(4, 7, "M")
    encoded = bio.encode("a b cxd e f", [first, middle, last])
    assert bio.decode(encoded.tokens, encoded.tags) == [first, Span(5, 6, "M"), last]
    assert [(loser.span, loser.cause) for loser in encoded.losers] == [(middle, bio.Cause.PARTLY_COVERED)]


def test_odd_spans_are_reported() -> None:
    encoded = bio.encode("ab  cd", [Span(2, 4, "W"), Span(0, 3, "E"), Span(4, 6, "X"), Span(4, 6, "X")])
    assert [(loser.span, loser.cause) for loser in encoded.losers] == [
        (Span(0, 3, "E"), bio.Cause.WHITE_SPACE), (Span(2, 4, "W"), bio.Cause.NO_TOKEN),
        (Span(4, 6, "X"), bio.Cause.DUPLICATE),
    ]  # fmt: skip


@pytest.mark.parametrize("tag", ["", "X", "B", "B-", "I-", "E-X", "b-X", "B_X", " O"])
def test_a_bad_tag_is_refused(tag: str) -> None:
    with pytest.raises(ValueError, match="B-LABEL"):
        bio.decode([Token(0, 1)], [tag])
    with pytest.raises(ValueError, match=r"2 .* 1 "):
        bio.decode([Token(0, 1), Token(1, 2)], ["O"])
    # I without B starts a span.
    found = bio.decode(tokenize("a b c d e f"), ["I-X", "I-X", "O", "I-X", "I-Y", "B-Y"])
    assert found == [Span(0, 3, "X"), Span(6, 7, "X"), Span(8, 9, "Y"), Span(10, 11, "Y")]


@given(texts_with_spans())
def test_each_token_has_the_label_of_its_winner(made: tuple[str, list[Span]]) -> None:
    text, spans = made
    encoded = bio.encode(text, spans, label_order=LABELS)
    order = {label: rank for rank, label in enumerate(LABELS)}
    for token, tag in zip(encoded.tokens, encoded.tags, strict=True):
        covering = [span for span in spans if span.start <= token.start and token.end <= span.end]
        best = min(covering, key=lambda s: (s.start - s.end, s.start, order[s.label]), default=None)
        assert tag[2:] == (best.label if best else "")


@given(texts_with_spans())
def test_all_other_spans_come_back_and_losers_keep_at_most_one_piece(made: tuple[str, list[Span]]) -> None:
    text, spans = made
    encoded = bio.encode(text, spans)
    pieces = bio.decode(encoded.tokens, encoded.tags)
    lost = [loser.span for loser in encoded.losers]
    for span in set(spans) - set(lost):
        pieces.remove(span)
    assert len(pieces) <= len(lost)
    assert all(any(s.start <= p.start and p.end <= s.end and s.label == p.label for s in lost) for p in pieces)


SCHEMES = [
    (bio.Scheme.IOB2, "B-X I-X B-X O B-Y B-X I-X I-X"),
    (bio.Scheme.IOB1, "I-X I-X B-X O I-Y I-X I-X I-X"),
    (bio.Scheme.BIOES, "B-X E-X S-X O S-Y B-X I-X E-X"),
]


@pytest.mark.parametrize(("scheme", "tags"), SCHEMES)
def test_tags_in_other_schemes(scheme: bio.Scheme, tags: str) -> None:
    plain = ["B-X", "I-X", "B-X", "O", "B-Y", "B-X", "I-X", "I-X"]
    assert bio.in_scheme(plain, scheme) == tags.split() and bio.as_bio(tags.split()) == plain


BROKEN_SCHEMES = [
    ("B-X L-X U-X O U-Y", "B-X I-X B-X O B-Y"), ("E-X I-X O I-X S-X E-X", "B-X B-X O B-X B-X B-X"),
    ("B-ID-1 L-ID-1", "B-ID-1 I-ID-1"), ("", ""),
]  # fmt: skip


@pytest.mark.parametrize(("tags", "mended"), BROKEN_SCHEMES)
def test_tags_that_break_their_scheme(tags, mended):
    assert bio.as_bio(tags.split()) == mended.split()


@pytest.mark.parametrize("tag", ["", "X", "B", "B-", "M-X", "b-X", "B_X", " O", "E", "S-"])
def test_a_tag_of_no_scheme_is_refused(tag: str) -> None:
    with pytest.raises(ValueError, match="B-, I-, E-, S-, L- or U-"):
        bio.as_bio([tag])


TAGS = ["O", *(f"{mark}-{label}" for mark in "BIES" for label in ("X", "Y"))]


@given(st.lists(st.sampled_from(TAGS), max_size=12))
def test_any_tags_are_read_as_seqeval_reads_them(tags: list[str]) -> None:
    from seqeval.metrics.sequence_labeling import get_entities

    tokens = [Token(at, at + 1) for at in range(len(tags))]
    found = [(span.label, span.start, span.end - 1) for span in bio.decode(tokens, bio.as_bio(tags))]
    assert found == get_entities(tags)


@pytest.mark.parametrize(
    ("scheme", "theirs"), [(bio.Scheme.IOB1, "IOB1"), (bio.Scheme.IOB2, "IOB2"), (bio.Scheme.BIOES, "IOBES")]
)
@given(made=texts_with_apart_spans())
def test_written_tags_are_valid_for_seqeval(scheme: bio.Scheme, theirs: str, made: tuple[str, list[Span]]) -> None:
    from seqeval import scheme as schemes

    text, spans = made
    encoded = bio.encode(text, spans)
    tokens = encoded.tokens
    (found,) = schemes.Entities([bio.in_scheme(encoded.tags, scheme)], getattr(schemes, theirs)).entities or ([],)
    assert [Span(tokens[each.start].start, tokens[each.end - 1].end, each.tag) for each in found] == spans


# ── Tag names of other people's models ───────────────────────────────────────────────────────────────────────────────


TAG_NAMES = [
    (["O", "B-PER", "I-PER"], "BIO"), (["O", "B-PER", "I-PER", "E-PER", "S-PER"], "BIOES"),
    (["O", "B_PER", "I_PER", "L_PER", "U_PER"], "BILOU"), (["O", "I-PER"], "IO"), (["O", "PER"], "IO"),
]  # fmt: skip


@pytest.mark.parametrize(("names", "scheme"), TAG_NAMES)
def test_the_scheme_is_read_from_the_prefixes(names: list[str], scheme: str) -> None:
    assert (bio.scheme_of(names), bio.labels_in(names)) == (scheme, ("PER",))


def test_labels_without_prefixes_keep_their_letters() -> None:
    """`E-MAIL` is the end of a span of MAIL only in a model whose tags have prefixes."""
    assert bio.labels_in(["O", "E-MAIL", "PER"]) == ("E-MAIL", "PER")
    assert bio.marks_and_labels(["O", "E-MAIL", "B-MAIL"]) == [("", ""), ("E", "MAIL"), ("B", "MAIL")]


def test_names_of_special_tokens_count_as_outside() -> None:
    assert bio.without_special(["<unk>", "O", "B-PER", "<START>"]) == ["O", "O", "B-PER", "O"]
