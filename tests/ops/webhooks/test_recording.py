"""What happens becomes deliveries, in the same transaction: ids, counts and links, without names or text."""

import pytest
from django.db import transaction
from django.urls import reverse

from annotations.annotate.services.annotation_set import submit
from annotations.gold.services.making import freeze
from annotations.jobs.runner.claims import take
from annotations.models import Delivery, Job, Webhook
from annotations.ops.selectors.free_texts import free_texts
from annotations.ops.selectors.webhooks import KINDS, link_to
from annotations.ops.services.erasing import delete_note
from annotations.ops.services.webhooks.webhooks import add_webhook, switch
from tests.factories import make_set


def ended(project, state):
    job = Job.objects.create(project=project, kind="gold", key=f"k-{Job.objects.count()}", total=7)
    claim = take(job.pk)
    claim.progress(7, 7)
    claim.finish({}) if state == "done" else claim.end("failed", "Rossi is wrong.")
    return job


@pytest.fixture
def claim(world):
    return take(Job.objects.create(project=world.project, kind="gold", key="k").pk)


@pytest.mark.parametrize("state", ["done", "failed"])
def test_a_job_that_ends(world, webhook, state):
    job = ended(world.project, state)
    delivery, link = Delivery.objects.get(), reverse("job", args=["covid", job.number])
    assert (delivery.kind, delivery.webhook) == (f"job.{state}", webhook)
    data = {"project": "covid", "job": job.number, "kind": "gold", "done": 7, "total": 7, "link": link}
    assert delivery.data == data


def test_other_ends_are_not_reported(webhook, claim):
    with transaction.atomic():
        claim.finish({})
        transaction.set_rollback(True)
    claim.give_back()
    take(claim.job_id).end("canceled")
    assert not Delivery.objects.exists()


def test_a_submitted_note(world, webhook):
    made = make_set(world.note, world.ann, [(0, 11, "PATIENT")])
    submit(document=world.note, user=world.ann, version=made.version)
    delivery, link = Delivery.objects.get(), reverse("note", args=["covid", world.note.pk])
    assert delivery.note == world.note
    about = {"project": "covid", "note": world.note.pk, "annotation_set": made.pk, "spans": 1, "link": link}
    assert delivery.data == about, "no name or text of the note"


def test_a_frozen_version(world, webhook):
    make_set(world.note, "gold", [(0, 11, "PATIENT")])
    version, _ = freeze(project=world.project, reason="Rossi", actor=world.mia)
    about = {"project": "covid", "version": 1, "hash": version.content_hash, "notes": version.note_count}
    assert Delivery.objects.get().data == about | {"link": reverse("gold_version", args=["covid", 1])}


def test_only_webhooks_of_the_project_that_are_on_and_want_the_event(world, webhook, receiver):
    add_webhook(project=world.other, url=receiver.url(), kinds=list(KINDS), actor=None)
    add_webhook(project=world.project, url=receiver.url(), kinds=["gold.frozen"], actor=None)
    off = add_webhook(project=world.project, url=receiver.url(), kinds=list(KINDS), actor=None).webhook
    switch(webhook=off, on=False, actor=None)
    ended(world.project, "done")
    assert [delivery.webhook for delivery in Delivery.objects.all()] == [webhook]


def test_erasing_a_note_erases_its_deliveries(world, webhook):
    made = make_set(world.note, world.ann, [])
    submit(document=world.note, user=world.ann, version=made.version)
    ended(world.project, "done")
    delete_note(project=world.project, note=world.note.pk, actor=world.mia)
    assert [delivery.kind for delivery in Delivery.objects.all()] == ["job.done"]
    assert "Addresses of webhooks" in [text.what for text in free_texts(world.project)]
    Webhook.objects.all().delete()
    assert not Delivery.objects.exists()


def test_links(settings, world):
    assert link_to("covid", "webhooks", 3) == reverse("webhook", args=["covid", 3])
    settings.CSRF_TRUSTED_ORIGINS = ["https://*.example.org", "https://notes.example.org"]
    assert link_to("covid", "jobs", 3) == "https://notes.example.org/projects/covid/jobs/3/"
