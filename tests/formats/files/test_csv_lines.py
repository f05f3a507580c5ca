import csv
import io
from itertools import product

import pytest

from annotations.formats.files.csv_files import csv_line

SIGNS = "=+-@＝＋－＠"


def read(line, delimiter=","):
    return next(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter))


def test_every_cell_is_quoted_and_the_line_ends_with_crlf():
    assert csv_line(["a", 1, None, -0.5, [[1, 2, "X"]], []]) == '"a","1","","-0.5","[[1, 2, ""X""]]",""\r\n'


PLAIN = ["caso-001", "a=b", "x@example.org", "a, b", "1-2", "Größe; klein", "a\nb", '"x"', "a - b"]


@pytest.mark.parametrize("word", PLAIN)
def test_plain_words_come_back_as_they_were(word):
    assert read(csv_line([word])) == [word]


def test_no_cell_starts_like_a_formula():
    """Whatever character a spreadsheet takes for the delimiter, and whether or not it understands quotes."""
    places = ["", "x;", "x; ", "x,", "x\t", "x|", "x\n", "x\r\n", 'x;"', "\t", "\r", " ", "x;;"]
    for before, sign, delimiter in product(places, SIGNS, ",;\t|"):
        line = csv_line(["first", f"{before}{sign}1+1", "last"])
        rows = list(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter))
        bare = [cell for part in line.splitlines() for cell in part.split(delimiter)]
        for cell in [*(cell for row in rows for cell in row), *bare]:
            assert not cell.strip(' \t\r\n"').startswith(tuple(SIGNS)), (cell, line)
