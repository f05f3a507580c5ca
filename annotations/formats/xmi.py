"""UIMA CAS XMI, the XML of INCEpTION and other UIMA tools: `NAME.xmi`, one file for each note.

Annotations are elements, with their features as attributes and the namespace made from the package of the type; the
text is the attribute `sofaString` of the Sofa. Offsets count UTF-16 code units, as Java does. The types are in another
file, `TypeSystem.xml`, which is used if it is there. A zip file with both, as INCEpTION exports it, counts as one note.

A note whose spans have attributes gets its own `NAME.typesystem.xml`. INCEpTION reads attributes if its project has
features of these names in the layer of named entities. Sentences are written, too, and none ends inside a span; tokens
are not, because INCEpTION makes them where a file has none.

Source: https://uima.apache.org/d/uimaj-current/references.html, "XMI CAS Serialization Reference".
"""

import zipfile
from collections.abc import Iterable, Mapping
from io import BytesIO
from posixpath import basename, dirname, splitext
from typing import Final

from annotations.formats import uima
from annotations.formats.base import Files, NoteFiles, is_system_file, split_names
from annotations.formats.cas import INITIAL_VIEW, Cas, CasAnnotation, CasFormat, Sofa
from annotations.formats.files.zips import DAMAGED, TooManyEntries, open_zip
from annotations.formats.notes import Loss, NoteError, OutNote, Problem, check_name
from annotations.formats.xml_files import XmlHandler, as_attribute, parsed, replaced_characters, restored
from annotations.text.labels import LabelSetDef
from annotations.text.wording import gettext as _

_XMI: Final = "http://www.omg.org/XMI"
_ID: Final = f"{_XMI}}}id"
_ROOT: Final = f"{_XMI}}}XMI"
_SOFA, _VIEW = "uima.cas.Sofa", "uima.cas.View"
_TYPES: Final = "typesystem.xml"
_LARGEST: Final = 64 * 1024 * 1024
_PREFIXES: Final = {uima.METADATA: "metadata", uima.NAMED_ENTITY: "ner"} | dict.fromkeys(
    (uima.SENTENCE, uima.TOKEN), "segmentation"
)


def _namespace(layer: str) -> str:
    return f"http:///{layer.rpartition('.')[0].replace('.', '/')}.ecore"


def _prefix(layer: str) -> str:
    return _PREFIXES.get(layer, "custom")


_HEAD: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    f'<xmi:XMI xmlns:xmi="{_XMI}" xmlns:cas="{_namespace(_SOFA)}" xmlns:metadata="{_namespace(uima.METADATA)}" '
    f'xmlns:segmentation="{_namespace(uima.SENTENCE)}" '
)


def xmi_document(
    text: str, annotations: Iterable[tuple[str, int, int, Mapping[str, str]]], layer: str = uima.NAMED_ENTITY
) -> bytes:
    """The XMI of a text with annotations as from `uima.written_annotations`; `layer` is that of the entities.

    The ids of the annotations count from 2, and their `sofa` is 1.
    """
    parts = []
    for number, (kind, begin, past, words) in enumerate(annotations, 2):
        features = "".join(f" {feature}={as_attribute(word)}" for feature, word in words.items())
        element = f'{_prefix(kind)}:{kind.rpartition(".")[2]} xmi:id="{number}"'
        parts.append(f'<{element} sofa="1" begin="{begin}" end="{past}"{features}/>')
    members = " ".join(map(str, range(2, 2 + len(parts))))
    end = (
        f'<cas:Sofa xmi:id="1" sofaNum="1" sofaID="{INITIAL_VIEW}" mimeType="text" sofaString={as_attribute(text)}/>\n'
        f'<cas:View sofa="1" members="{members}"/>\n</xmi:XMI>\n{replaced_characters(text)}'
    )
    head = f'xmlns:{_prefix(layer)}="{_namespace(layer)}" xmi:version="2.0">\n<cas:NULL xmi:id="0"/>\n'
    return (_HEAD + head + "\n".join([*parts, end])).encode()


def read_cas(data: bytes, file: str, types: uima.TypeSystem) -> Cas:
    """The content of an XMI file. Raises NoteError; `file` is its name for messages."""
    return parsed(data, file, _XmiHandler(Cas(file, types))).finished()


class XmiFormat(CasFormat):
    """Reads and writes UIMA CAS XMI."""

    name = "xmi"
    endings = ("xmi", "zip")

    def claims(self, name: str, head: bytes) -> bool:
        """A zip file is claimed if it begins with the files that INCEpTION puts into it."""
        low = name.lower()
        if low.endswith(".zip"):
            return head.startswith(b"PK") and (b".xmi" in head or b"TypeSystem.xml" in head)
        return low.endswith(".xmi") and _XMI.encode() in head

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        """A type system belongs to the notes of its folder and of the folders in it."""
        given = list(names)
        types = {name for name in given if basename(name).lower().endswith(_TYPES) and not is_system_file(name)}
        found, problems = split_names([name for name in given if name not in types], self.endings)
        groups = []
        for name, parts in sorted(found.items()):
            for ending, file in sorted(parts.items()):
                nearest = _nearest_types(name, types)
                groups.append(NoteFiles(name, {ending: file} | ({"types": nearest} if nearest else {})))
        return groups, problems

    def cas(self, note: NoteFiles, files: Files) -> Cas:
        types = uima.TypeSystem()
        beside = note.parts.get("types")
        if "zip" in note.parts:
            file = note.parts["zip"]
            data, inside = _unpacked(files.load(file), file)
            if inside is not None:
                types = uima.read_type_system(inside, file)
        else:
            file = note.parts["xmi"]
            data = files.load(file)
            if beside is not None:
                types = uima.read_type_system(files.load(beside), beside)
        return read_cas(data, file, types)

    def write(self, note: OutNote, labels: Mapping[str, str]) -> tuple[dict[str, bytes], list[Loss]]:
        name, text, layer = check_name(note.name), note.text, self.layer.type
        found, losses = uima.entities(note, labels, self.layer)
        out = {f"{name}.xmi": xmi_document(text, uima.written_annotations(note, found, self.layer), layer)}
        attributes = uima.feature_types(found)
        if attributes:
            out[f"{name}.{_TYPES}"] = uima.type_system_xml(uima.written_types(attributes, self.layer))
        return out, losses

    def extra_files(self, labels: LabelSetDef) -> dict[str, bytes]:
        """The type system of the notes without attributes."""
        return {"TypeSystem.xml": uima.type_system_xml(uima.written_types({}, self.layer))}


def _nearest_types(name: str, types: set[str]) -> str | None:
    """The type system of a note: its own, or that in its folder or the next folder above."""
    own = next((file for file in types if splitext(file)[0].lower() == f"{name}.typesystem".lower()), None)
    if own is not None:
        return own
    by_folder = {dirname(file): file for file in types if basename(file).lower() == _TYPES}
    folder = dirname(name)
    while folder and folder not in by_folder:
        folder = dirname(folder)
    return by_folder.get(folder)


def _unpacked(data: bytes, file: str) -> tuple[bytes, bytes | None]:
    """The XMI in a zip file, and the type system if there is one. Raises NoteError."""
    try:
        with open_zip(BytesIO(data)) as archive:
            entries = [entry for entry in archive.infolist() if not is_system_file(entry.filename)]
            notes = [entry for entry in entries if entry.filename.lower().endswith(".xmi")]
            types = [entry for entry in entries if basename(entry.filename).lower() == _TYPES]
            if len(notes) == 1:
                return _entry(archive, notes[0], file), _entry(archive, types[0], file) if types else None
    except (*DAMAGED, TooManyEntries):
        message = _("The zip file can't be read: it is damaged or encrypted. Export the note again.")
        raise NoteError([Problem(file, None, "zip", message)]) from None
    message = _(
        "The zip file has {count} files that end in .xmi. Expected: one. Unpack it, and import the files.", len(notes)
    )
    raise NoteError([Problem(file, None, "zip", message)])


def _entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, file: str) -> bytes:
    with archive.open(entry) as opened:
        data = opened.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        message = _("A file in the zip file has more than {most} MB. Split the note.", _LARGEST // 1024 // 1024)
        raise NoteError([Problem(file, None, "size", message)])
    return data


class _XmiHandler(XmlHandler):
    """Takes the elements of an XMI file. The children of an annotation are features with lists."""

    def __init__(self, cas: Cas) -> None:
        super().__init__()
        self._cas = cas
        self._depth = 0
        self._kinds: dict[str, str] = {}
        self._lists: set[str] = set()
        self._open: CasAnnotation | None = None

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._depth += 1
        if self._depth == 1 and name != _ROOT:
            message = _("The file is not a UIMA CAS in XMI. Expected: the root element xmi:XMI.")
            raise NoteError([Problem(self._cas.file, self.line, "format", message)])
        if self._depth == 2:
            kind = self._kinds.get(name) or self._kinds.setdefault(name, _type_of(name))
            self._feature_structure(kind, attributes)
        elif self._depth == 3:
            self._lists.add(name)

    def end(self, name: str) -> None:
        self._depth -= 1
        if self._depth == 1 and self._open is not None:
            self._open.others = tuple(sorted(self._lists))
            self._cas.add(self._open)
            self._open = None

    def finished(self) -> Cas:
        """The content of the whole file. Raises NoteError."""
        for sofa in self._cas.sofas.values():
            if self.replaced and sofa.text is not None and sofa.view == INITIAL_VIEW:
                sofa.text = restored(sofa.text, self.replaced, self._cas.file)
        return self._cas

    def _feature_structure(self, kind: str, attributes: Mapping[str, str]) -> None:
        if kind == _SOFA:
            identity = attributes.get(_ID, "")
            view = attributes.get("sofaID", "")
            location = attributes.get("sofaURI") or attributes.get("sofaArray") or ""
            self._cas.sofas[identity] = Sofa(view, attributes.get("sofaString"), location)
        elif kind == _VIEW:
            self._cas.members.setdefault(attributes.get("sofa", ""), set()).update(
                attributes.get("members", "").split()
            )
        elif "begin" in attributes and "end" in attributes and not uima.is_structure(kind):
            values = {
                feature: word
                for feature, word in attributes.items()
                if feature not in ("begin", "end", "sofa") and "}" not in feature
            }
            self._lists.clear()
            self._open = CasAnnotation(
                attributes.get(_ID, ""),
                kind,
                attributes.get("sofa", ""),
                attributes["begin"],
                attributes["end"],
                self.line,
                values,
            )


def _type_of(name: str) -> str:
    """The type of an element: its namespace is made from the package."""
    namespace, _, word = name.rpartition("}")
    package = namespace.removeprefix("http:///").removesuffix(".ecore").replace("/", ".")
    return f"{package}.{word}" if package and package != "uima.noNamespace" else word
