"""i2b2 2014 and MEDDOCAN: one `.xml` file per note, with the text in `<TEXT>` and the spans as elements in `<TAGS>`.

Source: Stubbs and Uzuner 2015, doi:10.1016/j.jbi.2015.07.020, and the scripts of the shared tasks, which read the files
(https://github.com/kotfic/i2b2_evaluation_scripts, tags.py). A span is `<NAME id start end text TYPE comment/>`: the
element is the category, and `TYPE` the label; without `TYPE` the element is the label. Offsets are end-exclusive and
count the text as a parser gives it. The scripts are Python and count code points, as we do in writing. The annotation
tool of i2b2 (MAE) is Java and counts UTF-16 code units; such a file is recognized by its quotes. MAE 2 writes
`spans="start~end"` instead of `start` and `end` (https://github.com/keighrim/mae-annotation).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from annotations.formats import xml_files
from annotations.formats.notes import Loss, OutNote
from annotations.formats.span_rules import SpanTaker, given_rows, whole
from annotations.formats.xml_files import XmlHandler, XmlNoteFormat, as_attribute
from annotations.text.wording import gettext as _

_SPANS: Final = re.compile(r"[0-9]{1,12}~[0-9]{1,12}(,[0-9]{1,12}~[0-9]{1,12})*")
_NOWHERE: Final = re.compile(r"-1~-1(,-1~-1)*|~")
"""What MAE 2 writes for a tag of the whole note."""
_OWN: Final = frozenset({"id", "start", "end", "text", "type", "comment", "docid", "spans"})
"""Names of the attributes that the format has itself, in lower case."""

_CATEGORIES: Final = {
    "NAME": "PATIENT DOCTOR USERNAME NOMBRE_SUJETO_ASISTENCIA NOMBRE_PERSONAL_SANITARIO",
    "PROFESSION": "PROFESSION PROFESION",
    "LOCATION": "ROOM DEPARTMENT HOSPITAL ORGANIZATION STREET CITY STATE COUNTRY ZIP LOCATION-OTHER LOCATION_OTHER "
    "TERRITORIO CALLE PAIS INSTITUCION CENTRO_SALUD",
    "AGE": "AGE EDAD_SUJETO_ASISTENCIA",
    "DATE": "DATE FECHAS",
    "CONTACT": "PHONE FAX EMAIL URL IPADDR IPADDRESS CORREO_ELECTRONICO NUMERO_TELEFONO NUMERO_FAX URL_WEB "
    "DIREC_PROT_INTERNET",
    "ID": "SSN MEDICALRECORD HEALTHPLAN ACCOUNT LICENSE VEHICLE DEVICE BIOID IDNUM ID_SUJETO_ASISTENCIA "
    "ID_TITULACION_PERSONAL_SANITARIO ID_ASEGURAMIENTO ID_CONTACTO_ASISTENCIAL ID_EMPLEO_PERSONAL_SANITARIO "
    "NUMERO_BENEF_PLAN_SALUD IDENTIF_DISPOSITIVOS_NRSERIE IDENTIF_VEHICULOS_NRSERIE_PLACAS IDENTIF_BIOMETRICOS "
    "OTRO_NUMERO_IDENTIF",
}
_ELEMENTS: Final = {label: category for category, labels in _CATEGORIES.items() for label in labels.split()}
_OTHER: Final = "OTHER"
"""The element of labels that belong to none of the categories."""


@dataclass
class _I2b2Parts(XmlHandler):
    """Handles the parts of a file: collects its text and its tags."""

    tags: list["_Tag"] = field(default_factory=list)
    has_tags: bool = False

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        super().start(name, attributes)
        if len(self.inside) == 2:
            self.texts += name == "TEXT"
            self.has_tags |= name == "TAGS"
        elif self.inside[1:2] == ["TAGS"]:
            self.tags.append(_Tag(self.line, name, attributes))

    def data(self, text: str) -> None:
        if self.inside[1:2] == ["TEXT"]:
            self.text.append(text)


class I2b2Format(XmlNoteFormat[_I2b2Parts]):
    """Reads and writes the XML of i2b2 2014 and MEDDOCAN."""

    name = "i2b2"
    claim = re.compile(rb"<(?:deIdi2b2|MEDDOCAN)\b|<[A-Za-z_][\w.-]*>\s*<TEXT>")
    element = "TEXT"
    handler = _I2b2Parts

    def _take(self, parts: _I2b2Parts, taker: SpanTaker) -> bool:
        for tag in parts.tags:
            if not _is_span(tag):
                taker.not_kept(_("Tags of the whole note are not imported: <{name}>.", tag.name[:60]), tag.line)
                continue
            if tag.get("comment"):
                taker.not_kept(_("Comments are not imported."), tag.line)
            if taker.skips(_label(tag)):
                continue
            pieces = _pieces(tag, taker)
            if pieces:
                held = xml_files.attributes_of(tag.attributes, _OWN)
                taker.take_pieces(_label(tag), pieces, line=tag.line, quote=tag.get("text"), attributes=held)
        return parts.has_tags

    def _quoted(self, parts: _I2b2Parts) -> Iterator[tuple[int, int, str]]:
        for tag in parts.tags:
            start, end, quote = whole(tag.get("start")), whole(tag.get("end")), tag.get("text")
            if start is not None and end is not None and quote:
                yield start, end, quote

    def _written(self, note: OutNote, labels: Mapping[str, str]) -> tuple[str, list[Loss]]:
        given, losses = given_rows(note, labels, xml_files.NAME, _OWN)
        rows: list[str] = []
        for number, (span, code, words) in enumerate(given):
            quote = as_attribute(note.text[span.start : span.end])
            more = "".join(f" {key}={as_attribute(word)}" for key, word in words.items())
            rows.append(
                f'<{_ELEMENTS.get(code, _OTHER)} id="P{number}" start="{span.start}" end="{span.end}" '
                f'text={quote} TYPE="{code}" comment=""{more}/>\n'
            )
        whole = (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<deIdi2b2>\n<TEXT>{xml_files.as_cdata(note.text)}</TEXT>\n'
            f"<TAGS>\n{''.join(rows)}</TAGS>\n</deIdi2b2>\n"
        )
        return whole, losses


@dataclass(frozen=True, slots=True)
class _Tag:
    """An element in `<TAGS>`."""

    line: int
    name: str
    attributes: Mapping[str, str]

    def get(self, name: str) -> str | None:
        return self.attributes.get(name)


def _label(tag: _Tag) -> str:
    return tag.get("TYPE") or tag.get("type") or tag.name


def _is_span(tag: _Tag) -> bool:
    """Whether a tag has a place in the text; tags of the whole note have none, or -1."""
    if spans := tag.get("spans"):
        return not _NOWHERE.fullmatch(spans)
    return not (tag.get("start") in (None, "-1") and tag.get("end") in (None, "-1"))


def _pieces(tag: _Tag, taker: SpanTaker) -> list[tuple[object, object]]:
    """The bounds of the pieces of a tag as the file gives them; none after a problem was reported."""
    given = tag.get("spans")
    if not given:
        return [(tag.get("start"), tag.get("end"))]
    if not _SPANS.fullmatch(given):
        message = _("The attribute “spans” is not valid. Expected: “start~end”, with “,” between pieces.")
        taker.refuse_span(_label(tag), "offsets", message, tag.line)
        return []
    return [(piece.partition("~")[0], piece.partition("~")[2]) for piece in given.split(",")]
