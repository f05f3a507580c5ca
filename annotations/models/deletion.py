from django.db import models


class Deletion(models.Model):
    """A project that is being deleted: nobody sees it any more, and its rows are deleted one batch after another.

    A trigger lets the events of such a project be deleted (migration 0031): no foreign key. The last batch deletes this
    row too.
    """

    project_id = models.BigIntegerField(primary_key=True)

    class Meta:
        ordering = ["project_id"]

    def __str__(self) -> str:
        return f"deletion of project {self.project_id}"
