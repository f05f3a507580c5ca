from django.db import models

from annotations.models.job import Job


class Share(models.Model):
    """The part of a shared job that one worker works on: the job's rows with ids from `first` to `last`.

    A worker has one share at a time and holds it by a lease, like a job. Live shares never overlap. The share of a dead
    worker goes to the others when its lease expires.
    """

    job = models.ForeignKey(Job, models.CASCADE, related_name="shares")
    token = models.UUIDField(unique=True, help_text="The worker's token; for the leading worker, that of the job.")
    first = models.BigIntegerField()
    last = models.BigIntegerField()
    lease_until = models.DateTimeField()

    class Meta:
        # The table was created when the model belonged to another app.
        db_table = "models_runtime_share"
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.first} to {self.last} of job {self.job_id}"
