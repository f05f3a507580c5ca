from django import template

from annotations.models import Document, Project, Recording

register = template.Library()


@register.filter
def has_recordings(project: Project) -> bool:
    """Whether a note of the project is the transcript of a recording."""
    return Recording.objects.filter(document__project=project).exists()


@register.filter
def is_transcript(note: Document) -> bool:
    """Whether the note is the transcript of a recording."""
    return Recording.objects.filter(document=note).exists()
