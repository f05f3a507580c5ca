from django.db import models

from annotations.models.author import Author
from annotations.models.document import Document


class RewrittenNote(models.Model):
    """A note as a language model rewrote it with placeholders. The text is derived from the note and deleted with it.

    A note that the model changed in other ways has a row too, but its author has no annotation set there.
    """

    author = models.ForeignKey(Author, models.CASCADE, related_name="rewritten_notes", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="+")
    text = models.TextField()
    sha256 = models.CharField(max_length=64)
    unmapped = models.JSONField(
        default=list,
        help_text="[start, end, placeholder, source, doubt or null] of spans without a label.",
    )

    class Meta:
        constraints = [models.UniqueConstraint(fields=["author", "document"], name="rewritten_note_once")]

    def __str__(self) -> str:
        return f"rewritten note {self.pk}"
