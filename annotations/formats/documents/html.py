"""Text of HTML as a browser shows it: blocks are lines, table cells are divided by tabs. Nothing is loaded or run."""

import re
from collections.abc import Iterator
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from html.parser import HTMLParser
from typing import Final

from annotations.formats.documents.base import DocumentSource, Draft, PartKind, count, refused
from annotations.formats.documents.texts import HEAD, decode, note_encoding, python_name
from annotations.text.names import printable
from annotations.text.wording import gettext as _

# Elements whose content is not shown as text.
_DROPPED: Final = frozenset({"title", "script", "style", "template", "svg", "math", "iframe", "object", "noembed"})
_BLOCK_NAMES: Final = (
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol option p pre search section select "
    "summary table tbody tfoot thead tr ul"
)
_BLOCKS: Final = frozenset(_BLOCK_NAMES.split())
_APART: Final = frozenset({"p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "ul", "ol", "dl", "table"})
"""Blocks with an empty line before and after, as browsers show them."""
_CELLS: Final = frozenset({"td", "th"})
_SUBSET: Final = re.compile(r"(<!doctype[^>\[]{0,1000})\[[^\]]*\]", re.IGNORECASE)
"""The declarations inside of a document type, where the parser would end the type at their first “>”."""
_SPACES: Final = re.compile(r"[ \t\n\r\f]+")
_STATED: Final = re.compile(rb"<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)


def read_html(source: DocumentSource) -> Iterator[Draft]:
    """The one note of an HTML file. Raises NoteError if it isn't in the chosen or stated encoding."""
    data = source.load()
    stated = _STATED.search(data[:4096])
    text, found = decode(
        data, source.encoding, stated.group(1).decode("ascii", "replace") if stated else None, file=source.name
    )
    draft = Draft(source)
    note_encoding(draft, found)
    draft.add(html_text(text), PartKind.BODY)
    yield draft


def looks_like_html(head: bytes) -> bool:
    """Whether a file begins like an HTML document, after comments and an XML declaration."""
    start = re.sub(rb"^(?:\xef\xbb\xbf|\s|<!--.*?-->|<\?xml[^>]*>)+", b"", head[:HEAD], flags=re.DOTALL)
    return re.match(rb"<(?:!doctype\s+html|html|head|body)\b", start, re.IGNORECASE) is not None


def html_text(html: str) -> str:
    """The text of an HTML document."""
    writer = _Writer()
    writer.feed(_SUBSET.sub(r"\1", html, count=1))
    writer.close()
    return writer.text()


class _Writer(HTMLParser):
    """Writes text as it is parsed. Line breaks and spaces wait until the next text, so that none are at an end."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._pieces: list[str] = []
        self._waiting = ""
        self._lines = 0
        self._cells = 0
        self._dropped: list[str] = []
        self._pre = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _DROPPED:
            self._dropped.append(tag)
        if self._dropped:
            return
        if tag == "br":
            self._lines += 1
            self._waiting = ""
        elif tag in _CELLS:
            self._cells += 1
            self._waiting = ""
        elif tag in _BLOCKS:
            self._break(tag)
            if tag == "tr":
                self._cells = -1  # no tab before the first cell
            elif tag == "pre":
                self._pre += 1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # `<script/>` begins a script in HTML, while XHTML has no content there.
        if tag not in _DROPPED:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._dropped:
            if tag in self._dropped:
                del self._dropped[self._dropped.index(tag) :]
            return
        if tag in _BLOCKS:
            self._break(tag)
            if tag == "tr":
                self._cells = 0
            elif tag == "pre":
                self._pre = max(0, self._pre - 1)

    def handle_data(self, data: str) -> None:
        if self._dropped:
            return
        if self._pre:
            if data:
                self._flush()
                self._pieces.append(data)
            return
        words = _SPACES.sub(" ", data)
        if words.startswith(" "):
            self._waiting = " "
        if words.strip(" "):
            self._flush()
            self._pieces.append(words.strip(" "))
            if words.endswith(" "):
                self._waiting = " "

    def text(self) -> str:
        return "".join(self._pieces).strip("\n")

    def _break(self, tag: str) -> None:
        self._lines = max(self._lines, 2 if tag in _APART else 1)
        self._waiting = ""

    def _flush(self) -> None:
        """Write the line breaks, tabs or the space between the last text and the next."""
        if self._pieces:
            if self._lines:
                self._pieces.append("\n" * self._lines)
                self._pieces.append("\t" * max(0, self._cells))
            elif self._cells > 0:
                self._pieces.append("\t" * self._cells)
            elif self._waiting:
                self._pieces.append(self._waiting)
        self._lines = self._cells = 0
        self._waiting = ""


# E-mail (EML, RFC 5322): the headers that people see, and the text. Attachments are named, not read.


HEADERS: Final = ("From", "To", "Cc", "Date", "Subject")
_MOST_PARTS: Final = 1000


def read_mail(source: DocumentSource) -> Iterator[Draft]:
    """The one note of a message: headers, then the text, or the HTML if there is no text."""
    message = BytesParser(_class=EmailMessage, policy=policy.default).parsebytes(source.load())
    if not any(name in message for name in HEADERS):
        why = _("The file is not an e-mail: it has none of the headers From, To, Date, Subject.")
        raise refused(source.name, "no mail", why)
    for number, _part in enumerate(message.walk()):
        if number >= _MOST_PARTS:
            why = _("The e-mail has more than {most:,} parts. Save its text as .txt.", _MOST_PARTS)
            raise refused(source.name, "too many parts", why)
    draft = Draft(source)
    lines = [f"{name}: {' '.join(str(value).split())}" for name in HEADERS for value in message.get_all(name, [])]
    draft.add("\n".join(lines), PartKind.MAIL_HEADERS)
    body = message.get_body(("plain", "html"))
    if isinstance(body, EmailMessage):
        text = _text(body, draft, source)
        draft.add(html_text(text) if body.get_content_subtype() == "html" else text, PartKind.MAIL_BODY)
    else:
        draft.warn(_("The e-mail has no text."))
    attached = [part for part in message.iter_attachments() if part is not body]
    if attached:
        names = ", ".join(f"“{printable(part.get_filename() or part.get_content_type())}”" for part in attached)
        has = count(len(attached), _("attachment is"), _("attachments are"))
        draft.warn(_("{attachments_are} not read: {names}. Save and import what is needed.", has, names))
    yield draft


def _text(body: EmailMessage, draft: Draft, source: DocumentSource) -> str:
    """The decoded text of a part; bytes that its encoding can't hold become U+FFFD."""
    stated = body.get_content_charset() or ""
    data = body.get_payload(decode=True)
    raw = data if isinstance(data, bytes) else b""
    chosen = source.encoding or (stated if python_name(stated) else None)
    try:
        text, found = decode(raw, chosen, file=source.name)
    except Exception:
        if source.encoding:
            raise
        text, found = decode(raw, None, file=source.name)
        draft.warn(_("The text is not {name}, as the e-mail says. It was read as {encoding}.", stated, found.encoding))
    draft.note.encoding = found.encoding
    return text.replace("\r\n", "\n")
