"""Forms to upload or paste notes for import."""

from collections.abc import Iterator
from typing import IO, Any, cast

from django import forms
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotations.core.forms import CheckField, LineField, RadioField
from annotations.exchange.forms.exports import INPUT_ABOUT, grouped
from annotations.exchange.services.import_plan import ImportOptions
from annotations.exchange.services.input_formats import INPUT_FORMATS, holds_spans
from annotations.exchange.services.label_choices import UnknownLabel, UnknownLabels
from annotations.exchange.services.staged import pack
from annotations.formats import DETECT
from annotations.formats.base import is_system_file
from annotations.formats.documents.base import DOCUMENTS
from annotations.formats.documents.texts import CleaningRule
from annotations.formats.files.json_files import JsonError, read_json
from annotations.formats.notes import NoteError, check_name
from annotations.models import Category, Label
from annotations.projects.forms.settings import language_field
from annotations.text.names import printable

ANNOTATIONS = [
    ("none", _("None: import texts only")),
    ("gold", _("Gold standard")),
    ("annotator", _("An annotator")),
    ("run", _("A model run")),
]


def format_choices() -> list[Any]:
    """Detection, then all formats in groups."""
    return [(DETECT, gettext("Detect from the files")), *grouped(INPUT_ABOUT)]


class FilesInput(forms.FileInput):
    allow_multiple_selected = True

    def value_from_datadict(self, data: Any, files: Any, name: str) -> list[Any]:
        return files.getlist(name) if hasattr(files, "getlist") else list(filter(None, [files.get(name)]))


class FilesField(forms.FileField):
    """Any number of files; cleans to a list."""

    widget = FilesInput

    def clean(self, data: Any, initial: Any = None) -> "list[UploadedFile[Any]]":
        files = [each for each in data if each] if isinstance(data, list | tuple) else [data] if data else []
        if not files:
            raise ValidationError(self.error_messages["required"], code="required")
        return files


class FormatField(forms.ChoiceField):
    """A format; the error of another value lists the formats, for programs."""

    def validate(self, value: Any) -> None:
        if value and value != DETECT and value not in INPUT_FORMATS:
            raise ValidationError(
                _("There is no format “%(format)s”. Choose one of: %(choices)s."),
                code="invalid_choice",
                params={"format": value[:40], "choices": ", ".join((DETECT, *INPUT_FORMATS))},
            )
        forms.Field.validate(self, value)


class NotesForm(forms.Form):
    """What an import asks of all notes."""

    language = language_field()
    take_duplicates = CheckField(
        label=_("Import texts that the project has under another name"),
        help_text=_("Otherwise these notes are refused, and the report names the note with the same text."),
    )

    def options(self) -> ImportOptions:
        """The options of the import."""
        named = ImportOptions.__annotations__
        # The fields clean to what the options of their names are.
        return cast(ImportOptions, {name: value for name, value in self.cleaned_data.items() if name in named})


ENCODINGS = [
    ("", _("Detect")),
    ("utf-8", "UTF-8"),
    ("utf-16", "UTF-16"),
    ("cp1252", _("Western European (Windows-1252)")),
    ("iso8859-15", _("Western European (ISO 8859-15)")),
    ("mac_roman", _("Western European (Mac Roman)")),
    ("cp850", _("Western European (DOS 850)")),
    ("cp437", _("Western European (DOS 437)")),
    ("cp1250", _("Central European (Windows-1250)")),
    ("cp1257", _("Baltic (Windows-1257)")),
    ("cp1251", _("Cyrillic (Windows-1251)")),
    ("koi8_r", _("Cyrillic (KOI8-R)")),
    ("cp1253", _("Greek (Windows-1253)")),
    ("cp1254", _("Turkish (Windows-1254)")),
    ("cp1255", _("Hebrew (Windows-1255)")),
    ("cp1256", _("Arabic (Windows-1256)")),
    ("shift_jis", _("Japanese (Shift JIS)")),
    ("euc_jp", _("Japanese (EUC-JP)")),
    ("gb18030", _("Chinese (GB 18030)")),
    ("big5", _("Chinese (Big5)")),
    ("euc_kr", _("Korean (EUC-KR)")),
]
RULES = [
    (CleaningRule.MOJIBAKE.value, _("Mend text that was decoded wrongly")),
    (CleaningRule.CONTROL.value, _("Remove control characters")),
    (CleaningRule.LIGATURES.value, _("Write ligatures as letters")),
    (CleaningRule.HYPHENATION.value, _("Join words broken at the end of a line")),
    (CleaningRule.SOFT_HYPHENS.value, _("Remove soft hyphens")),
]


class DocumentsForm(forms.Form):
    """How the text of documents is read."""

    encoding = forms.ChoiceField(
        label=_("Encoding of text"),
        choices=ENCODINGS,
        required=False,
        help_text=_("For text, CSV, HTML, e-mail and HL7 that state no encoding or a wrong one."),
    )
    no_cleanup = forms.MultipleChoiceField(
        label=_("Clean-up rules to leave out"), choices=RULES, required=False, widget=forms.CheckboxSelectMultiple
    )


class AuthorForm(forms.Form):
    """Whose the spans in the files are. `written_as` names the author as the import stores it."""

    annotations = RadioField(label=_("Author of the annotations"), choices=ANNOTATIONS, initial="none", required=False)
    annotator = forms.CharField(
        label=_("User name of the annotator"),
        max_length=150,
        required=False,
        help_text=_("A member's user name, or any name for an annotator without an account."),
        widget=forms.TextInput(attrs={"autocomplete": "off", "list": "annotators"}),
    )
    run = LineField(
        label=_("Name of the run"),
        max_length=150,
        required=False,
        help_text=_("For example, the model and its version."),
    )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        whose = cleaned.get("annotations") or "none"
        if whose in ("annotator", "run") and not cleaned.get(whose) and whose not in self.errors:
            self.add_error(whose, _("Enter a name for the author of the annotations."))
        return cleaned

    @property
    def written_as(self) -> str:
        whose = self.cleaned_data["annotations"] or "none"
        if whose == "none":
            return ""
        return whose if whose == "gold" else f"{whose}:{self.cleaned_data[whose]}"


class UploadForm(NotesForm, DocumentsForm, AuthorForm):
    """Form for files and the author of their annotations.

    `paths` is a JSON list with the relative path of every file, since browsers send names without folders.
    """

    # Django removes fields from the class, so the attribute `files` of every form stays usable.
    files = FilesField(  # type: ignore[assignment]  # see above
        label=_("Files"), error_messages={"required": _("Choose at least one file, a folder, or a zip.")}
    )
    paths = forms.CharField(required=False, widget=forms.HiddenInput)
    format = FormatField(
        label=_("Format"),
        choices=format_choices,
        initial=DETECT,
        help_text=_("The next page shows the format found, and you can change it there."),
    )
    repair_offsets = CheckField(
        label=_("Move spans whose quoted text is found nearby"),
        help_text=_(
            "For files that quote spans (brat, i2b2, BioC and others); moved spans are listed. Otherwise the note is "
            "refused."
        ),
    )

    all_or_nothing = CheckField(
        label=_("Import nothing if a note is refused"),
        help_text=_("Otherwise the other notes are imported, and the report lists the refused ones."),
    )

    def clean_paths(self) -> list[str]:
        given = self.cleaned_data["paths"]
        if not given:
            return []
        try:
            paths = read_json(given.encode())
        except JsonError:
            paths = None
        if isinstance(paths, list) and all(isinstance(path, str) for path in paths):
            return paths
        return [""]  # matches no choice of files, so that the error appears beside the visible field

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        self._check_names(cleaned)
        if (
            (cleaned.get("annotations") or "none") != "none"
            and cleaned.get("format")
            and not holds_spans(cleaned["format"])
        ):
            documents = _("Documents hold no annotations. Choose another format, or “None”.")
            text = _("Plain text holds no annotations. Choose another format, or “None”.")
            self.add_error("annotations", documents if cleaned["format"] == DOCUMENTS else text)
        return cleaned

    def _check_names(self, cleaned: dict[str, Any]) -> None:
        files, paths = cleaned.get("files") or [], cleaned.get("paths") or []
        if paths and files and (len(paths) != len(files) or not all(paths)):
            self.add_error("files", _("The files and their names don't match. Choose the files again."))
            return
        seen: set[str] = set()
        for name in self.names():
            if name in seen:
                self.add_error("files", _("Two files are named “%(name)s”. Rename one of them.") % {"name": name})
                return
            seen.add(name)

    def options(self) -> ImportOptions:
        return {**super().options(), "written_as": self.written_as}

    def names(self) -> list[str]:
        files = self.cleaned_data.get("files") or []
        return self.cleaned_data.get("paths") or [file.name or "" for file in files]

    def content(self) -> tuple[str, IO[bytes]]:
        """Name and content to stage: a single zip unchanged, other files packed into a zip."""
        files: list[UploadedFile[Any]] = self.cleaned_data["files"]
        names = self.names()
        if len(files) == 1 and names[0].lower().endswith(".zip"):
            return names[0], files[0].file  # type: ignore[return-value]  # the reader needs only the methods of a binary file
        packed = pack([(name, file.read()) for name, file in zip(names, files, strict=True)])
        return names[0] if len(files) == 1 else f"{len(files)} files", packed


class LabelsForm(forms.Form):
    """A field for each unknown label: map it to a label of the project, add it to a category, or skip its spans."""

    def __init__(self, *, unknown: UnknownLabels, groups: list[tuple[Category, list[Label]]]) -> None:
        super().__init__()
        self.unknown = unknown
        every = [(one.name, [(f"map:{label.pk}", label.name) for label in labels]) for one, labels in groups]
        new, mapped = gettext("New label in %(category)s"), gettext("Map to a label of %(category)s")
        add = (_("Add as a new label"), [(f"add:{one.pk}", new % {"category": one.name}) for one, _labels in groups])
        for row in unknown.rows:
            likely = {f"map:{label.pk}": label.name for label in row.likely}
            rest = [(name, [each for each in labels if each[0] not in likely]) for name, labels in every]
            self.fields[f"label-{row.key}"] = forms.ChoiceField(
                label=printable(row.name),
                required=False,
                initial=row.value or (next(iter(likely)) if len(likely) == 1 else ""),
                choices=[
                    ("", _("Choose an action")),
                    *([(_("Did you mean?"), list(likely.items()))] if likely else []),
                    ("skip", _("Skip its spans")),
                    *([add] if row.can_add else []),
                    *[(mapped % {"category": name}, labels) for name, labels in rest if labels],
                ],
            )

    def rows(self) -> Iterator[tuple[UnknownLabel, forms.BoundField]]:
        return zip(self.unknown.rows, self, strict=True)


class PasteForm(NotesForm):
    """Form for one pasted note."""

    name = LineField(label=_("Name of the note"), max_length=240)
    text = forms.CharField(
        label=_("Text"),
        strip=False,
        widget=forms.Textarea(attrs={"rows": 10, "spellcheck": "false", "dir": "auto"}),
        help_text=_("Line ends are stored as LF. To keep CRLF or a byte order mark, upload the file."),
    )

    def clean_name(self) -> str:
        name = str(self.cleaned_data["name"]).removesuffix(".txt")
        try:
            check_name(name)
        except NoteError as error:
            raise ValidationError(error.problems[0].message) from error
        if "/" in name:
            raise ValidationError(_("The name can't contain “/”, since a pasted note has no folder."))
        if is_system_file(name) or any(part.startswith(".") for part in name.split("/")):
            raise ValidationError(_("This name is reserved for system files. Choose another name."))
        return name

    def clean_text(self) -> str:
        # Browsers send the line feeds of a text box as CRLF.
        text = str(self.cleaned_data["text"]).replace("\r\n", "\n")
        if not text.strip():
            raise ValidationError(_("The text is empty. Enter the text of the note."))
        return text

    def content(self) -> tuple[str, IO[bytes]]:
        name = f"{self.cleaned_data['name']}.txt"
        return name, pack([(name, self.cleaned_data["text"].encode())])
