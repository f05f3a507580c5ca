"""The numbers that the web server reads from the environment."""

import pytest

from deidreview import gunicorn


@pytest.mark.parametrize("word", ["²", "٣", "0", "-1", "1.5", "two", " 3", "9" * 30])
def test_anything_but_a_whole_number_above_0_ends_the_start(monkeypatch, word):
    monkeypatch.setenv("DEIDREVIEW_WEB_THREADS", word)
    with pytest.raises(SystemExit, match=r"DEIDREVIEW_WEB_THREADS: .+ is not a whole number above 0"):
        gunicorn._number("DEIDREVIEW_WEB_THREADS", 4)


@pytest.mark.parametrize(("word", "number"), [("", 4), ("12", 12)])
def test_without_a_number_the_default_applies(monkeypatch, word, number):
    monkeypatch.setenv("DEIDREVIEW_WEB_THREADS", word)
    assert gunicorn._number("DEIDREVIEW_WEB_THREADS", 4) == number
