"""The demo comes with a rules run whose suggestions wait for review."""

import pytest

from annotations.jobs.runner import run as work
from annotations.models import Document, Job, Project, Review
from annotations.review.selectors.reviewing import next_to_review
from models_runtime.models import Run
from models_runtime.ops.services import preparing

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]


def test_the_demo_has_a_run_that_waits_for_review(settings, no_redis):
    settings.DEMO = True
    assert preparing.load_demo(slug="demo", say=lambda line: None)
    run = Run.objects.get(project=Project.objects.get(slug="demo"))
    work(run.job_id)
    job = Job.objects.get(pk=run.job_id)
    assert (job.state, job.done) == (Job.State.DONE, Document.objects.count())
    assert not Review.objects.exists()
    assert next_to_review(run.author) is not None
