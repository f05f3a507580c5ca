"""Specifications of unions, with names that have a plus sign."""

import pytest

from annotations.core.errors import ServiceError
from annotations.models import Author
from annotations.release.services.sources import source_of, specs_of, union_of
from tests import factories as make
from tests.release.conftest import add_note, release_command, texts_in


@pytest.mark.parametrize(
    "specs",
    [["gold"], ["gold:1", "run:rules-1"], ["run:a+b", "gold"], ['run:"a"', "run:a+b", "gold"], ["run:a+b"]],
)
def test_a_union_can_be_read_again(specs):
    assert specs_of(union_of(specs)) == specs


def test_unions_without_plus_in_names_are_written_without_quotation_marks():
    assert union_of(["gold:1", "run:rules-1"]) == "union:gold:1+run:rules-1"
    assert specs_of("union: gold:1 + run:rules-1") == ["gold:1", "run:rules-1"]
    assert union_of(["union:gold+run:a", "run:b+c"]) == 'union:gold+run:a+"run:b+c"'


def test_an_open_quotation_mark_and_an_unknown_part_say_what_to_do(ward):
    with pytest.raises(ServiceError, match="isn't closed"):
        source_of(ward.project, 'union:gold+"run:a')
    with pytest.raises(ServiceError, match="quotation marks"):
        source_of(ward.project, "union:gold+run:a+b")


def test_the_command_unites_repeated_sets(ward, tmp_path):
    run = make.make_author(ward.project, kind=Author.Kind.RUN, name="rules+crf")
    add_note(ward.project, "u", "«Nora Quimby|PATIENT» came.\n", author=run, language="en")
    out = tmp_path / "out"
    given = ["--set", "gold", "--set", "run:rules+crf"]
    assert release_command("ward", *given, "--policy", "mask", "--out", out)["notes"] == 5
    assert texts_in(out)["u"] == "[PATIENT] came.\n"
