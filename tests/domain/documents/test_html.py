"""HTML: text as a browser shows it. Scripts and styles are left out, and blocks are lines."""

import pytest

from tests.domain.documents.helpers import mapped, read


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h1>Report</h1><p>A  <b>bold</b>word,\n next.<br>Line", "Report\n\nA boldword, next.\nLine"),
        ("<div>one</div><div>two<div>three</div></div>four", "one\ntwo\nthree\nfour"),
        ("<table><tr><td>a<td>b</tr><tr><th>c</th><td></td><td>d</td></tr></table>after", "a\tb\nc\t\td\n\nafter"),
        ("<ul><li>one<li>two <i>three</i></ul>", "one\ntwo three"),
        ("<pre> a\n  b</pre>", " a\n  b"),
        ("x<script>alert('<p>no')</script><style>p {}</style><!-- no -->y", "xy"),
        ("<head><title>no</title><meta charset=utf-8></head><body>yes", "yes"),
        ("<head><title>no</title><p>a head that nothing ends", "a head that nothing ends"),
        ("caf&eacute; &#233;&#x1F600; &amp;lt; a&nbsp;b &#xD800;", "café é😀 &lt; a\xa0b \ufffd"),
        ("<p>a</p>\n\n\n<p> b </p>", "a\n\nb"),
        ("a <b> b</b> c", "a b c"),
        ("<select><option>one<option>two</select>", "one\ntwo"),
        ("x<script>never ended", "x"),
    ],
)
def test_blocks_cells_and_entities(html, text):
    assert mapped(read("a.html", html)) == [("body", text)]


@pytest.mark.parametrize(
    "stated", ['<meta charset="cp1250">', '<meta http-equiv=x content="text/html; charset=cp1250">']
)
def test_the_stated_encoding_is_used(stated):
    note = read("a.htm", f"<html>{stated}<p>Łódź".encode("cp1250"))
    assert (note.text, note.encoding, note.warnings) == ("Łódź", "cp1250", ())
    assert read("a.htm", f"<html>{stated}<p>Łódź".encode()).encoding == "utf-8"


def test_the_declarations_of_a_document_type_are_no_text():
    html = '<!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/passwd">]><html><body>&x; a [b]</body></html>'
    assert mapped(read("a.html", html)) == [("body", "&x; a [b]")]


def test_html_is_found_by_its_content():
    assert read("page", "<!DOCTYPE html><html><p>x</html>").kind == "html"
    assert read("a.txt", "<html>as text").kind == "text"


def test_many_levels_take_no_stack():
    assert read("a.html", "<div>" * 20_000 + "deep" + "</div>" * 20_000).text == "deep"
    assert read("a.html", "<p>x" + "<" * 20_000).text
