"""Made-up texts and spans for properties of offsets."""

from hypothesis import strategies as st

from annotations.text.spans import Span

TEXT = st.text(st.sampled_from("ab1 .,\n\r\tÈİ[]👩‍⚕️\u0301\ufeff\xa0漢"), max_size=120)


@st.composite
def spanned(draw: st.DrawFn) -> tuple[str, list[Span]]:
    text = draw(TEXT)
    ends = st.integers(0, len(text))
    bounds = draw(st.lists(st.tuples(ends, ends, st.sampled_from(["PERSON", "AGE"])), max_size=5))
    return text, [Span(a, b, label) for a, b, label in bounds if a < b]
