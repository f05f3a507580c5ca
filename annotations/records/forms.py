"""Forms of records: a schema, a file of records, and the release of records that are ready."""

from typing import IO, Any, Final

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotations.core.forms import offer
from annotations.models import Project
from annotations.records.selectors import AUTHOR, active_schemas, deciding_runs, reading_authors
from annotations.records.services.schemas import LONGEST, SHIPPED_PREFIX, shipped_schemas
from annotations.release.forms.policies import offered_policies

REVIEWED: Final = ""


class SchemaForm(forms.Form):
    """The file of a schema, or one that deidreview brings."""

    shipped = forms.ChoiceField(label=gettext_lazy("Shipped schema"), required=False)
    file = forms.FileField(
        label=gettext_lazy("Or upload a schema"),
        required=False,
        help_text=gettext_lazy("JSON Schema with a rule for each field."),
    )

    def __init__(self, *args: Any, **about: Any) -> None:
        super().__init__(*args, **about)
        offer(self, "shipped", [("", _("Choose a type")), *((name, name) for name in shipped_schemas())])

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        if bool(data.get("shipped")) == bool(data.get("file")) and not self.errors:
            raise forms.ValidationError(_("Choose a shipped schema or a file."), code="one")
        return data

    @property
    def text(self) -> str:
        """The text of the schema; after validation."""
        if shipped := self.cleaned_data["shipped"]:
            return f"{SHIPPED_PREFIX}{shipped}"
        content: bytes = self.cleaned_data["file"].read(4 * LONGEST + 1)
        return content.decode("utf-8-sig", "replace")


class RecordsForm(forms.Form):
    """A file of records to de-identify."""

    file = forms.FileField(
        label=gettext_lazy("Records"),
        help_text=gettext_lazy("JSON Lines (.ndjson), JSON or Parquet."),
        error_messages={"required": gettext_lazy("Choose a file of records.")},
    )
    data_type = forms.ChoiceField(label=gettext_lazy("Type of the records"), required=False, help_text="")
    policy = forms.ChoiceField(label=gettext_lazy("Policy"))

    def __init__(self, *args: Any, project: Project, **about: Any) -> None:
        super().__init__(*args, **about)
        offer(self, "data_type", [("", _("The records state it")), *((name, name) for name in active_schemas(project))])
        offer(self, "policy", [(one.value, one.name) for one in offered_policies(project)])

    def content(self) -> tuple[str, IO[bytes]]:
        """The name and the content of the file; after validation."""
        file = self.cleaned_data["file"]
        return file.name, file


class RecordReleaseForm(forms.Form):
    """Under which policy records are released, and who decides about their free text."""

    policy = forms.ChoiceField(label=gettext_lazy("Policy"))
    run = forms.ChoiceField(
        label=gettext_lazy("Who decides about free text"),
        required=False,
        help_text=gettext_lazy("A run decides without a person. The certificate names it as a risk."),
    )

    def __init__(self, *args: Any, project: Project, **about: Any) -> None:
        super().__init__(*args, **about)
        offer(self, "policy", [(one.value, one.name) for one in offered_policies(project)])
        runs = [name for name in reading_authors(project) if name != AUTHOR]
        self.has_runs = bool(runs)
        offer(self, "run", [(REVIEWED, _("Reviewers only")), *((name, f"run:{name}") for name in runs)])
        self.fields["run"].initial = next(iter(deciding_runs(project)), REVIEWED)

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs that decide; after validation."""
        return (self.cleaned_data["run"],) if self.cleaned_data["run"] else ()
