"""E-mail (EML, RFC 5322): the headers that people see, and the text. Attachments are named, not read."""

from collections.abc import Iterator
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from typing import Final

from annotations.formats.documents.base import DocumentSource, Draft, PartKind, count, refused
from annotations.formats.documents.html import html_text
from annotations.text.names import shown

HEADERS: Final = ("From", "To", "Cc", "Date", "Subject")
_MOST_PARTS: Final = 1000


def read(source: DocumentSource) -> Iterator[Draft]:
    """The one note of a message: headers, then the text, or the HTML if there is no text."""
    message = BytesParser(_class=EmailMessage, policy=policy.default).parsebytes(source.load())
    if not any(name in message for name in HEADERS):
        raise refused(
            source.name, "no mail", "The file is not an e-mail: it has none of the headers From, To, Date, Subject."
        )
    for number, _part in enumerate(message.walk()):
        if number >= _MOST_PARTS:
            raise refused(
                source.name, "too many parts", f"The e-mail has more than {_MOST_PARTS:,} parts. Save its text as .txt."
            )
    draft = Draft(source)
    lines = [f"{name}: {' '.join(str(value).split())}" for name in HEADERS for value in message.get_all(name, [])]
    draft.add("\n".join(lines), PartKind.MAIL_HEADERS)
    body = message.get_body(("plain", "html"))
    if isinstance(body, EmailMessage):
        text = _text(body, draft, source)
        draft.add(html_text(text) if body.get_content_subtype() == "html" else text, PartKind.MAIL_BODY)
    else:
        draft.warn("The e-mail has no text.")
    attached = [part for part in message.iter_attachments() if part is not body]
    if attached:
        names = ", ".join(f"“{shown(part.get_filename() or part.get_content_type())}”" for part in attached)
        has = "1 attachment is" if len(attached) == 1 else f"{count(len(attached), '', 'attachments')} are"
        draft.warn(f"{has} not read: {names}. Save and import what is needed.")
    yield draft


def _text(body: EmailMessage, draft: Draft, source: DocumentSource) -> str:
    """The decoded text of a part; bytes that its encoding can't hold become U+FFFD."""
    stated = body.get_content_charset() or ""
    data = body.get_payload(decode=True)
    from annotations.formats.documents.encodings import decode, python_name

    raw = data if isinstance(data, bytes) else b""
    chosen = source.encoding or (stated if python_name(stated) else None)
    try:
        text, found = decode(raw, chosen, file=source.name)
    except Exception:
        if source.encoding:
            raise
        text, found = decode(raw, None, file=source.name)
        draft.warn(f"The text is not {stated}, as the e-mail says. It was read as {found.encoding}.")
    draft.encoding = found.encoding
    return text.replace("\r\n", "\n")
