from typing import IO, Any

from django import forms
from django.utils.translation import gettext_lazy as _

from annotations.audio.rules.intervals import MARGIN, MOST_MARGIN
from annotations.audio.rules.recognizers import POCKETSPHINX, WHISPER
from annotations.audio.rules.word_files import MOST_BYTES
from annotations.core.forms import WholeField
from annotations.models import RegionDecision, RegionSort


class RecordingForm(forms.Form):
    """A recording, where its words come from, and the margin."""

    file = forms.FileField(
        label=_("Recording"),
        help_text=_("WAV, FLAC, MP3 or OGG. The note gets the name of the file."),
        error_messages={"required": _("Choose a recording.")},
    )
    words = forms.FileField(
        label=_("Words with times"),
        required=False,
        help_text=_("JSON, CTM, TextGrid or WebVTT. If you have no such file, choose a recognizer."),
    )
    recognizer = forms.ChoiceField(
        label=_("Recognizer"),
        required=False,
        choices=[(POCKETSPHINX, _("pocketsphinx (English)")), (WHISPER, _("faster-whisper"))],
    )
    folder = forms.CharField(
        label=_("Folder of weights"),
        required=False,
        max_length=60,
        help_text=_("Only for faster-whisper: a folder on the worker."),
    )
    patient = forms.CharField(label=_("Patient ID"), required=False, max_length=80)
    margin = WholeField(
        label=_("Margin in milliseconds"), initial=int(MARGIN * 1000), least=0, most=int(MOST_MARGIN * 1000),
        required=False,
        help_text=_("Muted before and after each word, since recognizers are not exact."),
    )  # fmt: skip

    def clean_words(self) -> Any:
        """Refuse a file that is too large before it is read."""
        file = self.cleaned_data["words"]
        if file and file.size > MOST_BYTES:
            raise forms.ValidationError(_("The file of words is larger than 64 MiB. Split the recording."))
        return file

    @property
    def chosen(self) -> dict[str, Any]:
        """The arguments of `start_recording`; after validation."""
        given = self.cleaned_data
        file, words = given["file"], given["words"]
        content: IO[bytes] = file
        recognizer = given["recognizer"] or POCKETSPHINX
        return {
            "name": file.name,
            "content": content,
            "words": (words.name, words.read()) if words else None,
            "recognizer": f"{recognizer}:{given['folder']}" if recognizer == WHISPER else recognizer,
            "patient": given["patient"],
            "margin": (int(MARGIN * 1000) if given["margin"] is None else given["margin"]) / 1000,
        }


class RegionForm(forms.Form):
    """The bounds of a region in seconds, and what a person decides about it."""

    start = forms.FloatField(min_value=0)
    end = forms.FloatField(min_value=0)
    decision = forms.ChoiceField(required=False, choices=RegionDecision)
    sort = forms.ChoiceField(required=False, choices=RegionSort)
