"""Plain text: its encoding is found, shown, and can be chosen."""

import codecs

import pytest

from tests.formats.documents.helpers import mapped, read, refusal, said

SPANISH = "Paciente varón, D. José Muñoz Núñez, 45 años. ¿Alergias? No. Médico: Íñigo Ávila."
TEXTS = {
    "es": (SPANISH, ["cp1252", "iso8859-15", "cp850"]),
    "de": ("Der Patient Jürgen Müller, geboren in Köln, Straße 5, Größe 180 cm, äußerst müde.", ["cp1252"]),
    "pl": ("Pacjentka Małgorzata Wiśniewska, urodzona w Łodzi, zgłosiła się z bólem głowy, źle śpi.", ["cp1250"]),
    "ru": ("Пациент Иван Петров, родился в Москве, поступил с жалобами на головную боль.", ["cp1251", "koi8_r"]),
    "el": ("Ο ασθενής Γιώργος Παπαδόπουλος γεννήθηκε στην Αθήνα και προσήλθε με πονοκέφαλο.", ["cp1253"]),
    "tr": ("Hasta Ayşe Yılmaz, İstanbul doğumlu, baş ağrısı şikayetiyle başvurdu, güçsüzlük.", ["cp1254"]),
    "ja": ("患者の山田太郎さんは東京都で生まれ、頭痛を訴えて来院しました。", ["shift_jis", "euc_jp"]),
    "zh": ("患者张伟，男，45岁，出生于北京，因头痛三天就诊。既往史无特殊。", ["gb18030"]),
}


@pytest.mark.parametrize(
    ("language", "encoding"), [(language, each) for language, (_text, all) in TEXTS.items() for each in all]
)
def test_one_byte_and_asian_encodings_are_guessed_and_it_is_said(language, encoding):
    note = read("a.txt", TEXTS[language][0].encode(encoding))
    assert note.text == TEXTS[language][0] and "was guessed" in said(note)[0] and note.encoding in said(note)[0]


def test_utf8_that_ends_after_the_head_is_guessed_again():
    note = read("a.txt", b"a" * 300_000 + "Muñoz y Núñez".encode("cp1252"))
    assert (note.text[300_000:], note.encoding) == ("Muñoz y Núñez", "cp1252")
    for encoding in ("utf-16-le", "utf-16-be"):  # without a mark
        assert read("a.txt", SPANISH.encode(encoding)).text == SPANISH


MARKS = [
    (codecs.BOM_UTF8, "utf-8", "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16"), (codecs.BOM_UTF32_LE, "utf-32-le", "utf-32"), (b"", "utf-8", "utf-8"),
]  # fmt: skip


@pytest.mark.parametrize(("mark", "encoding", "found"), MARKS)
def test_a_byte_order_mark_and_utf8_are_certain(mark, encoding, found):
    note = read("a.txt", mark + f"{SPANISH} 😀".encode(encoding))
    assert (note.text, note.encoding, said(note)) == (f"{SPANISH} 😀", found, [])


def test_a_person_may_choose_the_encoding():
    assert read("a.txt", "Łódź".encode("cp1250"), encoding="cp1250").text == "Łódź"
    assert read("a.txt", codecs.BOM_UTF8 + b"abc", encoding="utf-8").text == "abc"
    wrong = refusal("a.txt", "año".encode("cp1252"), encoding="utf-8")
    assert all(part in wrong.message for part in ("utf-8", "0xf1", " 1 "))
    assert [refusal("a.txt", "abc", encoding=name).code for name in ("rot13", "klingon")] == ["encoding"] * 2


def test_form_feeds_make_pages_and_line_breaks_stay():
    assert mapped(read("a.txt", "one\r\ntwo\fthree")) == [("page 1", "one\r\ntwo"), ("page 2", "three")]
    assert mapped(read("a.txt", "  one\r\n\r\n")) == [("body", "  one\r\n\r\n")]


WITHOUT_TEXT = [
    ("a.txt", b"", "empty"), ("a.txt", b"  \n ", "no text"), ("a.txt", bytes(range(1, 32)) * 50, "no text"),
    ("a.png", b"\x89PNG\r\n\x1a\n\0\0\0", "no text layer"), ("a.gif", b"GIF89a\0\0\0", "unknown kind"),
    ("a.xyz", bytes(range(256)), "unknown kind"), ("a.pdf", "only text", "damaged"), ("a.docx", "only text", "damaged"),
    ("a.csv", "a,b\n1,2\n", "columns"),
    ("a.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "Workbook".encode("utf-16-le"), "unknown kind"),
    ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "data", "code"), WITHOUT_TEXT)
def test_what_holds_no_text_is_refused_by_name(name, data, code):
    problem = refusal(name, data)
    assert (problem.file, problem.code) == (name, code) and problem.message.endswith(".")


def test_content_wins_over_the_name_and_it_is_said():
    note = read("a.txt", r"{\rtf1\ansi Hello}")
    (warning,) = said(note)
    assert (note.kind, note.text, ".txt" in warning, "rtf" in warning) == ("rtf", "Hello", True, True)
    assert read("README", "plain words").kind == "text"


# ── HTML ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


HTML = [
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
]


@pytest.mark.parametrize(("html", "text"), HTML)
def test_blocks_cells_and_entities(html, text):
    assert mapped(read("a.html", html)) == [("body", text)]


@pytest.mark.parametrize(
    "stated", ['<meta charset="cp1250">', '<meta http-equiv=x content="text/html; charset=cp1250">']
)
def test_the_stated_encoding_is_used(stated):
    note = read("a.htm", f"<html>{stated}<p>Łódź".encode("cp1250"))
    assert (note.text, note.encoding, said(note)) == ("Łódź", "cp1250", [])
    assert read("a.htm", f"<html>{stated}<p>Łódź".encode()).encoding == "utf-8"


def test_declarations_kinds_and_many_levels():
    html = '<!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/passwd">]><html><body>&x; a [b]</body></html>'
    assert mapped(read("a.html", html)) == [("body", "&x; a [b]")]
    assert read("page", "<!DOCTYPE html><html><p>x</html>").kind == "html"
    assert read("a.txt", "<html>as text").kind == "text"
    assert read("a.html", "<div>" * 20_000 + "deep" + "</div>" * 20_000).text == "deep"
    assert read("a.html", "<p>x" + "<" * 20_000).text
