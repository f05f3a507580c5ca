"""The first and the last step of a project's checklist: import and export."""

from django.utils.translation import gettext as _

from annotations.core import overview
from annotations.core.access import Access, Can
from annotations.models import Document, Import, ImportState

_BEGUN = (ImportState.STAGED, ImportState.RUNNING)


@overview.steps.part(10, Can.MANAGE)
def import_step(access: Access) -> list[overview.Step]:
    # The order makes the database walk an index. Without it, it may read the whole table.
    done = bool(Document.objects.filter(project=access.project).order_by("pk").values_list("pk")[:1])
    title, text = _("Import notes"), _("Upload your notes, with or without spans.")
    begun = None if done else Import.objects.filter(project=access.project, state__in=_BEGUN).order_by("-pk").first()
    if begun is None:
        return [overview.Step(title, text, access.url("import"), _("Import notes"), done)]
    url = access.url("import_preview", begun.pk)
    if begun.state == ImportState.RUNNING:
        return [overview.Step(title, _("The notes are being imported."), url, _("Show import"), done)]
    return [overview.Step(title, _("Your upload waits for you to start the import."), url, _("Check the upload"), done)]


@overview.steps.part(110, Can.MANAGE)
def export_step(access: Access) -> list[overview.Step]:
    text = _("Export a gold version; this list disappears after the first export.")
    # After an export, no step is shown any more.
    return [overview.Step(_("Export"), text, access.url("export"), _("Export"), done=False, optional=True)]
