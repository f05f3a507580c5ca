from django import template

from annotations.models import Document, Project, Recording
from annotations.models.prepared import PreparedRead

register = template.Library()
# The list of notes asks for it on every page.
_HAS_RECORDINGS = PreparedRead(
    lambda project: Recording.objects.filter(document__project=project).order_by().values_list("pk")[:1], int
)


@register.filter
def has_recordings(project: Project) -> bool:
    """Whether a note of the project is the transcript of a recording."""
    return _HAS_RECORDINGS.first(project.pk) is not None


@register.filter
def is_transcript(note: Document) -> bool:
    """Whether the note is the transcript of a recording."""
    return Recording.objects.filter(document=note).exists()
