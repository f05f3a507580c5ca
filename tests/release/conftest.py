"""Projects with invented notes in three languages, ready to be released. Whatever they name does not exist."""

import re
from pathlib import Path
from types import SimpleNamespace

from annotations.models import Author, AuthorKind, Document, Label, Project, Span
from annotations.projects.services.projects import create_project
from tests import factories as make
from tests.held import made_once
from tests.worlds.commands import told

MARK = re.compile(r"«([^|«»]+)\|(\w+)»")
# Each note: name, language, patient, and text with «string|LABEL».
NOTES = [
    ("en-1", "en", "P-00417",
     "Patient: «Adam Wilson|PATIENT», «45|AGE» years old, seen on «03/14/2019|DATE» by Dr. «Helen Marsh|DOCTOR» at "
     "«Fairview Hospital|HOSPITAL», «Millbrook|CITY». Phone «555-201-8834|PHONE». Mr. «Wilson|PATIENT» improved.\n"),
    ("en-2", "en", "P-00417",
     "«Wilson, Adam|PATIENT» came back on «03/28/2019|DATE», MRN «8841207|MEDICALRECORD». Contact: "
     "«adam.wilson@wardpost.test|EMAIL».\n"),
    ("es-1", "es", "P-00902",
     "Nombre: «Lucía Ferrer Ríos|PATIENT». Fecha: «7 de mayo de 2018|DATE». Médico: «Óscar Prieto|DOCTOR», "
     "«Hospital del Valle|HOSPITAL». Domicilio: «Calle Olmo 12|STREET», «28999|ZIP» «Villasol|CITY».\n"),
    ("it-1", "it", "P-01133",
     "«Giulia Venturi|PATIENT», «91|AGE» anni, visitata il «12 marzo 2021|DATE» dal dott. «Paolo Serra|DOCTOR» "
     "presso l'«Ospedale San Lino|HOSPITAL» di «Borgonovo|CITY».\n"),
]  # fmt: skip


def marked(text: str) -> tuple[str, list[tuple[int, int, str]]]:
    """The text without marks, and its spans."""
    spans, parts, length, at = [], [], 0, 0
    for match in MARK.finditer(text):
        parts.append(text[at : match.start()])
        length += len(parts[-1])
        parts.append(match[1])
        spans.append((length, length + len(match[1]), match[2]))
        length += len(match[1])
        at = match.end()
    return "".join([*parts, text[at:]]), spans


def add_note(project: Project, name: str, text: str, *, author: Author | None = None, **fields: object) -> Document:
    """Add a note with «string|LABEL» in its text, and these spans as submitted gold or by the author."""
    plain, spans = marked(text)
    note = make.make_note(project, plain, name, **fields)
    author = author or make.make_author(project, kind=AuthorKind.GOLD, name="gold")
    labels = {label.code: label for label in Label.objects.filter(label_set__project=project)}
    made = make.make_set(note, author, submitted=True)
    rows = [Span(annotation_set=made, start=start, end=end, label=labels[code]) for start, end, code in spans]
    Span.objects.bulk_create(rows)
    return note


def new_project(slug: str = "ward", label_set: str = "i2b2-2014") -> Project:
    return create_project(name=slug.title(), slug=slug, label_set_key=label_set)


def release_command(*arguments: object, keep_names: bool = True) -> dict:
    """Run the command `release` and return its result."""
    return told("release", *arguments, *(["--keep-names"] if keep_names else []))


def texts_in(folder: Path) -> dict[str, str]:
    return {path.stem: path.read_bytes().decode() for path in sorted(folder.rglob("*.txt"))}


def make_ward():
    """A project with gold of four notes of three patients, and its manager."""
    project = new_project()
    manager = make.make_member(project, "manager", "mara")
    notes = {
        name: add_note(project, name, text, language=language, patient_id=patient)
        for name, language, patient, text in NOTES
    }
    return SimpleNamespace(project=project, manager=manager, notes=notes)


made, ward = made_once(make_ward, "no_redis")
