"""Forms that train, upload and rename a model."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.utils.html import format_html
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from annotations.core.access import Access
from annotations.core.forms import CheckField, LineField, WholeField, suggest
from annotations.core.services import ServiceError
from annotations.exchange.services.sources import megabytes
from annotations.models import GoldVersion, Job
from models_runtime.core import external
from models_runtime.core.external import Weights
from models_runtime.core.model_files import LONGEST
from models_runtime.core.registry import TRAINABLE, TrainableKind
from models_runtime.core.training_settings import LANGUAGE_MODEL, Setting, checked
from models_runtime.models import OF_MODEL, TrainedModel
from models_runtime.training.services.calibration import start_calibration
from models_runtime.training.services.groups import COMPLETE, MOST_RUNS, Variant, start_group
from models_runtime.training.services.trained import UploadedModel, upload_model
from models_runtime.training.services.training import DEFAULT, MOST_ADAPT, MOST_GROUPED, MOST_ITERATIONS

# The field beside which an error of the service is shown, by its code.
REFUSED_AT = {"version": "gold", "backend": "algorithm", "exists": "name"}
UPLOAD_REFUSED_AT = {"exists": "name", "size": "file", "format": "file"}


class WordsField(forms.Field):
    """Several words, such as the values of ticked boxes; [] without any. The service checks them."""

    def to_python(self, value: object) -> list[str]:
        return [str(each) for each in value] if isinstance(value, list | tuple) else []


class TrainForm(forms.Form):
    """Settings of a training. A kind that can't use `adapt`, `grouping`, `self_training` or `silver` ignores it.

    `algorithm` is `kind:algorithm`, or an algorithm of the default kind. The service checks the version, weights and
    algorithm.
    """

    gold = WholeField(
        label=_("Gold version"),
        help_text=_(
            "Trains on the train split and scores on dev. Without a split, one fifth of the patients is held out."
        ),
        widget=forms.Select(),
    )
    algorithm = forms.CharField(label=_("Type and algorithm"), max_length=40, required=False)
    base = forms.CharField(label=_("Starting weights or model"), max_length=100, required=False, widget=forms.Select())
    adapt = WholeField(
        label=_("Language pre-training epochs"),
        most=MOST_ADAPT,
        required=False,
        initial=0,
        help_text=_(
            "Uses the text of all notes except held-out ones, before training on labels. Slower, but may improve "
            "scores."
        ),
    )
    grouping = WholeField(
        label=_("Sentences per sequence (BiLSTM-CRF, transformer)"),
        least=1,
        most=MOST_GROUPED,
        required=False,
        help_text=_("1 to 32. If empty: 8, 32 with stacked embeddings, and as much text as fits for a transformer."),
    )
    iterations = WholeField(
        label=_("Epochs"),
        least=1,
        most=MOST_ITERATIONS,
        required=False,
        help_text=_("Maximum number of epochs, or of iterations for a CRF. If empty, the algorithm determines it."),
    )
    language = forms.CharField(
        label=_("Language of the training notes"),
        max_length=8,
        required=False,
        help_text=_("To train on several languages in sequence, start each training from the previous model."),
        widget=forms.Select(),
    )
    also = WordsField(
        label=_("Also train on gold of other projects"),
        required=False,
        help_text=_("Projects that you manage. Members of this project can then download weights with words of it."),
        widget=forms.CheckboxSelectMultiple,
    )
    refit = CheckField(
        label=_("Refit on all notes"),
        help_text=_(
            "Choose the number of iterations on the held-out notes, then train again with them. Test notes stay out."
        ),
    )
    self_training = forms.CharField(
        label=_("Self-training: also learn from the labels of a run"),
        max_length=80,
        required=False,
        help_text=_("Learns from lines of notes without gold where this run is confident. Takes over twice as long."),
        widget=forms.Select(),
    )
    silver = forms.CharField(
        label=_("Silver data: also learn from published decisions"),
        max_length=80,
        required=False,
        help_text=_("Labels that nobody reviewed, of paired notes without gold. The hold-out has reviewed notes only."),
        widget=forms.Select(),
    )
    runs = WholeField(
        label=_("Trainings with different seeds"),
        least=1,
        most=MOST_RUNS,
        required=False,
        help_text=_("1 if empty. The model's page shows the mean and the standard deviation of their F1."),
    )
    random_splits = CheckField(
        label=_("A random hold-out for each training"),
        help_text=_("Each training holds out a random fifth of the patients of train and dev. Test notes stay out."),
    )
    name = LineField(
        label=_("Name"),
        max_length=LONGEST,
        required=False,
        help_text=_("If empty, the model gets a number as its name."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name, setting in _named_settings():
            self.fields[name] = _setting_field(setting)

    @property
    def groups(self) -> list[tuple[str, str, list[forms.BoundField]]]:
        """The keys and titles of the kinds that have settings, each with the fields of these settings."""
        return [
            (key, kind.title, [self[_field_name(key, setting)] for setting in kind.settings])
            for key, kind in TRAINABLE.items()
            if kind.settings
        ]

    def choose(
        self,
        *,
        versions: Iterable[GoldVersion],
        weights: Sequence[Weights],
        models: Sequence[TrainedModel],
        weights_home: Path,
        languages: Sequence[str],
        also: Sequence[GoldVersion],
        language_names: Sequence[str] = (),
        runs: Sequence[str] = (),
        silver: Sequence[str] = (),
    ) -> None:
        """Set the choices of the lists."""
        suggest(self, "gold", [(version.number, _version(version)) for version in versions])
        own = [
            (f"{OF_MODEL}{row.pk}", _now("%(name)s, a model of this project") % {"name": row.name}) for row in models
        ]
        suggest(self, "base", [("", _("none")), *((row.name, f"{row.name} ({row.kind})") for row in weights), *own])
        self.fields["base"].help_text = format_html(
            _now(
                "A transformer needs a folder in {home}, on this machine and on each machine with a worker for the gpu "
                "queue, or an earlier transformer. Other types may start from an earlier model of their type: a CRF "
                "uses its spans as features, the others continue from its weights."
            ),
            home=weights_home,
        )
        self.lends = bool(also)
        boxes = self.fields["also"].widget
        assert isinstance(boxes, forms.CheckboxSelectMultiple)  # The field above has this widget.
        boxes.choices = [
            (f"{version.project.slug}:{version.number}", f"{version.project.name}: {_version(version)}")
            for version in also
        ]
        for key, kind in TRAINABLE.items():
            if kind.stacked:
                self.fields[f"{key}-embeddings"].help_text = format_html(
                    _now(
                        "With commas, of files in {home} and character language models: {choices}. If empty, the "
                        "newest language model that has not read the held-out notes."
                    ),
                    home=external.embeddings_home(),
                    choices=", ".join([*external.word_files(), *language_names]) or _now("none yet"),
                )
            if LANGUAGE_MODEL in kind.settings:
                self.fields[_field_name(key, LANGUAGE_MODEL)].help_text = _now(
                    "One of: %(choices)s. Its vectors become features, and reading takes longer. None if empty."
                ) % {"choices": ", ".join(language_names) or _now("none yet")}
        self.teaches = bool(runs)
        suggest(self, "self_training", [("", _("none")), *((name, name) for name in runs)])
        self.paired = bool(silver)
        suggest(self, "silver", [("", _("none")), *((name, name) for name in silver)])
        suggest(self, "language", [("", _("all languages together")), *((code, code) for code in languages)])

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        kind = TRAINABLE.get(self.backend)
        for name, counts in _uses(kind).items():
            if not counts:
                self.errors.pop(name, None)
                cleaned[name] = None
        for setting in kind.settings if kind else ():
            self._check(setting, cleaned)
        return cleaned

    def _check(self, setting: Setting, cleaned: dict[str, Any]) -> None:
        name = _field_name(self.backend, setting)
        try:
            checked([setting], {setting.key: cleaned.get(name, "")}, title="")
        except ServiceError as error:
            self.add_error(name, str(error))

    @property
    def backend(self) -> str:
        return self.cleaned_data.get("algorithm", "").rpartition(":")[0] or DEFAULT

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of the training (TrainingSettings)."""
        data, kind = self.cleaned_data, TRAINABLE.get(self.backend)
        return {
            "backend": self.backend,
            "algorithm": data["algorithm"].rpartition(":")[2],
            "settings": {one.key: data[_field_name(self.backend, one)] for one in (kind.settings if kind else ())},
            **{name: data[name] for name in ("iterations", "language", "also", "refit")},
            **{name: data[name] or "" for name in ("base", "self_training", "silver")},
            **{name: data[name] or 0 for name in ("adapt", "grouping")},
        }

    def start(
        self, access: Access, key: str, variants: Sequence[Variant] = (Variant(COMPLETE),), **more: Any
    ) -> list[TrainedModel]:
        """Start the trainings that a valid form asks for; `more` replaces settings. Raises ServiceError."""
        data = self.cleaned_data
        return start_group(
            project=access.project,
            gold=data["gold"],
            actor=access.user,
            key=key,
            name=data["name"],
            runs=data["runs"] or 1,
            variants=variants,
            random_splits=data["random_splits"],
            **self.settings | more,
        )


def _uses(kind: TrainableKind | None) -> dict[str, bool]:
    """Return which of the optional fields the kind uses."""
    if kind is None:
        return {"adapt": False, "grouping": False}
    return {
        "adapt": bool(kind.adapts),
        "grouping": kind.grouped,
        "self_training": kind.self_trains,
        "silver": kind.predicts,
    }


def _field_name(kind: str, setting: Setting) -> str:
    return f"{kind}-{setting.key}"


def _named_settings() -> Iterator[tuple[str, Setting]]:
    """Yield the settings of all kinds, each with the name of its field."""
    for key, kind in TRAINABLE.items():
        for setting in kind.settings:
            yield _field_name(key, setting), setting


def _setting_field(setting: Setting) -> forms.CharField:
    """Return a field that may be empty. The value is checked by `checked`, as for the command."""
    widget: forms.Widget = forms.TextInput(attrs={"autocomplete": "off"})
    if setting.kind in ("choice", "switch"):
        choices = setting.choices or {"yes": gettext_noop("yes"), "no": gettext_noop("no")}
        widget = forms.Select(choices=[("", _("default")), *((key, _(name)) for key, name in choices.items())])
    elif setting.kind in ("whole", "number"):
        widget = forms.TextInput(attrs={"autocomplete": "off", "inputmode": "decimal"})
    return forms.CharField(
        label=_(setting.label), required=False, help_text=_(setting.help) if setting.help else "", widget=widget
    )


def _version(version: GoldVersion) -> str:
    text = (
        _now("Version %(number)d: %(notes)s notes, %(spans)s spans, split")
        if version.split_seed
        else _now("Version %(number)d: %(notes)s notes, %(spans)s spans")
    )
    return text % {"number": version.number, "notes": f"{version.note_count:,}", "spans": f"{version.span_count:,}"}


class UploadModelForm(forms.Form):
    """A model file that deidreview wrote, and its name in this project."""

    file = forms.FileField(
        label=_("File"),
        error_messages={
            "required": _("Choose a model's file."),
            "empty": _("This file is empty. Choose a zip file downloaded from the page of a model."),
        },
        widget=forms.FileInput(attrs={"accept": ".zip"}),
    )
    name = LineField(label=_("Name in this project"), max_length=LONGEST, required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["file"].help_text = _now(
            "A zip that deidreview wrote, up to %(limit)s. Other formats are refused."
        ) % {"limit": megabytes(settings.UPLOAD_MAX_BYTES)}

    def start(self, access: Access) -> UploadedModel:
        """Upload the file of a valid form. Raises ServiceError."""
        file, name = self.cleaned_data["file"].file, self.cleaned_data["name"]
        return upload_model(project=access.project, content=file, actor=access.user, name=name)


class RenameForm(forms.Form):
    name = LineField(label=_("Name"), max_length=LONGEST)


# The form that starts a calibration.


class CalibrationForm(forms.Form):
    """`author` is the author of the run. The service checks the run and the gold version."""

    author = WholeField(label=_("Run"))
    gold = WholeField(label=_("Gold version"))

    def start(self, access: Access, token: str = "") -> Job:
        """Start the job that a valid form asks for. Raises ServiceError."""
        data = self.cleaned_data
        return start_calibration(
            project=access.project, author_id=data["author"], gold=data["gold"], actor=access.user, token=token
        )
