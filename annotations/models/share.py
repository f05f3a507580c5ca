from django.db import models

from annotations.models.job import Job


class Share(models.Model):
    """What one worker has in hand of a job that several work on: of the job's rows those with ids `first` to `last`.

    A worker has one at a time, and keeps it by a lease as it keeps a job. Shares that live never overlap; what a dead
    worker had goes to the others when its lease has run out.
    """

    job = models.ForeignKey(Job, models.CASCADE, related_name="shares")
    token = models.UUIDField(unique=True, help_text="The worker's; of the one that has the job, the job's own.")
    first = models.BigIntegerField()
    last = models.BigIntegerField()
    lease_until = models.DateTimeField()

    class Meta:
        # The table is older than this place for it.
        db_table = "models_runtime_share"
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.first} to {self.last} of job {self.job_id}"
