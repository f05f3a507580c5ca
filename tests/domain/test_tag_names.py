"""Tag names of other people's models: prefixes, labels and schemes."""

import pytest

from annotations.domain.tag_names import labels_in, marks_and_labels, scheme_of, without_special


@pytest.mark.parametrize(
    ("names", "scheme"),
    [
        (["O", "B-PER", "I-PER"], "BIO"),
        (["O", "B-PER", "I-PER", "E-PER", "S-PER"], "BIOES"),
        (["O", "B_PER", "I_PER", "L_PER", "U_PER"], "BILOU"),
        (["O", "I-PER"], "IO"),
        (["O", "PER"], "IO"),
    ],
)
def test_the_scheme_is_read_from_the_prefixes(names: list[str], scheme: str) -> None:
    assert (scheme_of(names), labels_in(names)) == (scheme, ("PER",))


def test_labels_without_prefixes_keep_their_letters() -> None:
    """`E-MAIL` is the end of a span of MAIL only in a model whose tags have prefixes."""
    assert labels_in(["O", "E-MAIL", "PER"]) == ("E-MAIL", "PER")
    assert marks_and_labels(["O", "E-MAIL", "B-MAIL"]) == [("", ""), ("E", "MAIL"), ("B", "MAIL")]


def test_names_of_special_tokens_count_as_outside() -> None:
    assert without_special(["<unk>", "O", "B-PER", "<START>"]) == ["O", "O", "B-PER", "O"]


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(ValueError, match="empty name"):
        labels_in(["O", ""])
