"""E-mail: chosen headers, the text or the HTML, attachments named."""

from email.message import EmailMessage

import pytest

from tests.domain.documents.helpers import mapped, read, refusal


def mail(**headers):
    message = EmailMessage()
    for name, value in ({"From": "Ana Núñez <ana@example.org>", "Subject": "Informe de José"} | headers).items():
        message[name] = value
    return message


def test_headers_and_text():
    message = mail(To="a@example.org, b@example.org", Date="Tue, 03 Mar 2020 10:00:00 +0100", Bcc="c@example.org")
    message.set_content("Hola José:\nadiós\n")
    message.add_alternative("<p>not this</p>", subtype="html")
    note = read("a.eml", message.as_bytes())
    headers = (
        "From: Ana Núñez <ana@example.org>\nTo: a@example.org, b@example.org\n"
        "Date: Tue, 03 Mar 2020 10:00:00 +0100\nSubject: Informe de José"
    )
    assert mapped(note) == [("mail headers", headers), ("mail body", "Hola José:\nadiós\n")]
    assert note.warnings == ()


def test_html_if_there_is_no_text():
    message = mail()
    message.set_content("<p>Hola <b>José</b><script>x</script><p>adiós", subtype="html")
    assert mapped(read("a.eml", message.as_bytes()))[1] == ("mail body", "Hola José\n\nadiós")


def test_attachments_are_named_and_not_read():
    message = mail()
    message.set_content("See attachment.")
    message.add_attachment(b"%PDF-", maintype="application", subtype="pdf", filename="informe José.pdf")
    message.add_attachment("secret", filename="b.txt")
    note = read("a.eml", message.as_bytes())
    assert "secret" not in note.text
    (warning,) = note.warnings
    assert "2 " in warning and "“informe José.pdf”, “b.txt”" in warning


def test_other_encodings_and_transfer_encodings():
    for transfer in ("quoted-printable", "base64", "8bit"):
        message = mail()
        message.set_content("Łódź źle", charset="iso-8859-2", cte=transfer)
        note = read("a.eml", message.as_bytes())
        assert note.text.endswith("Łódź źle\n")
        assert note.encoding == "iso8859-2"


def test_a_wrongly_stated_encoding_is_said():
    data = b"From: a@example.org\nContent-Type: text/plain; charset=utf-8\n\n" + "Muñoz".encode("cp1252")
    note = read("a.eml", data)
    assert note.text.endswith("Muñoz")
    assert "not utf-8" in note.warnings[0]


def test_what_is_no_mail_is_refused():
    assert refusal("a.eml", "just some words\n").code == "no mail"


@pytest.mark.parametrize("levels", [50, 5000])
def test_messages_within_messages_do_no_harm(levels):
    data = "From: a@example.org\nContent-Type: message/rfc822\n\n" * levels + "From: b@example.org\n\ntext"
    problem_or_note = read("a.eml", data) if levels == 50 else refusal("a.eml", data)
    assert getattr(problem_or_note, "code", "nesting") in ("nesting", "too many parts")


def test_too_many_parts_are_refused():
    part = "--b\nContent-Type: text/plain\n\nx\n"
    data = (
        "From: a@example.org\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n" + part * 1001 + "--b--"
    )
    assert refusal("a.eml", data).code == "too many parts"
