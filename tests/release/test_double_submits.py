"""Two equal requests at once, as of a double click or of two managers: one has an effect, and neither fails."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotations import models
from annotations.jobs.runner import run as run_job
from annotations.release.services.deciding import answer_chosen
from annotations.release.services.starting import outdated
from tests import factories as make
from tests.release.test_deciding import replace_city
from tests.worlds.released import make_release

pytestmark = pytest.mark.django_db(transaction=True)
TOKEN = "6f0c6d5e-0000-4000-8000-000000000009"


@pytest.fixture
def twice(clinic, at_once, sign_in):
    """Send a request from two managers at once, or twice from one. Return the sorted states of the answers."""
    clinic.max = make.make_member(clinic.project, "manager", "max")

    def send(name, data, *, number=1, people=("mia", "mia")):
        args = ["covid"] if number is None else ["covid", number]
        clients: list[Client] = [sign_in(getattr(clinic, who)) for who in people]
        calls = [lambda client=client: client.post(reverse(name, args=args), data).status_code for client in clients]
        return sorted(at_once(*calls))

    return send


BOTH = pytest.mark.parametrize("people", [("mia", "mia"), ("mia", "max")])


def events(verb):
    return models.Event.objects.filter(verb=verb).count()


def test_start_release(clinic, twice):
    form = {"sets": ["gold"], "policy": "remove:1", "act": "start", "token": TOKEN}
    assert twice("release_new", form, number=None) == [302, 302]
    assert models.Release.objects.count() == 2 and models.Job.objects.filter(kind="release").count() == 2
    assert models.ReleasePolicy.objects.filter(slug="remove").count() == 1
    other = form | {"token": TOKEN.replace("9", "8")}
    assert twice("release_new", other, number=None, people=("mia", "max")) == [302, 302]
    assert sorted(models.Release.objects.values_list("number", flat=True)) == [1, 2, 3, 4]
    assert models.ReleasedNote.objects.filter(release__number=4).count() == 3


@BOTH
def test_prepare_again(clinic, twice, people):
    clinic.release = make_release(clinic.project, clinic.mia, "surrogate")
    replace_city(clinic)
    assert outdated(clinic.release) and twice("release_prepare", {}, number=2, people=people) == [302, 302]
    assert models.Job.objects.filter(kind="release", state="queued").count() == events("release.prepared_again") == 1


def test_withdraw_and_export_and_sign(clinic, at_once, sign_in):
    """Whichever comes first: nothing of a withdrawn release is left to download."""
    requests = [("release_withdraw", {}), ("release_export", {"format": "text", "leave_out": "on", "token": TOKEN})]
    clients = [(sign_in(clinic.mia), reverse(name, args=["covid", 1]), data) for name, data in requests]
    calls = [lambda c=c, url=url, data=data: c.post(url, data).status_code for c, url, data in clients]
    assert at_once(*calls) == [302, 302]
    for job in models.Job.objects.filter(kind="release_export", state="queued"):
        run_job(job.pk)
    assert not models.StoredFile.objects.exists() and models.Release.objects.get().state == "withdrawn"


@BOTH
def test_save_a_policy(clinic, at_once, sign_in, people):
    """Two edits of one version: the second is refused, or is the same as the first."""
    clinic.max = make.make_member(clinic.project, "manager", "max")
    url = reverse("release_policy", args=["covid", "mask"])
    clients = [sign_in(getattr(clinic, who)) for who in people]
    fields = clients[0].get(url).context["form"]
    form = {name: field.value() for name in fields.fields if (field := fields[name]).value() not in (None, False)}
    form |= {"seen": "1", "new_name": "", "new_slug": ""}
    edits = [form | {"name": name} for name in ("Mask A", "Mask B")]
    calls = [lambda c=c, edit=edit: c.post(url, edit).status_code for c, edit in zip(clients, edits, strict=True)]
    assert sorted(at_once(*calls)) == [302, 422] and models.ReleasePolicy.objects.filter(slug="mask").count() == 2


@BOTH
def test_a_release_from_its_decisions_to_its_withdrawal(clinic, twice, people, sign_in):
    different = len(set(people))
    answer = "replace" if different == 1 else "allow"
    key = models.LeakFinding.objects.values_list("string_key", flat=True).order_by("string_key")[0]
    before = models.LeakFinding.objects.filter(string_key=key).count()
    assert twice("release_decide", {"answer": answer, "string": key}, people=people) == [302, 302]
    assert models.LeakFinding.objects.filter(string_key=key, decision=answer).count() == before
    assert models.LeakFinding.objects.count() == 3 and events("release.decided") == 1
    release = models.Release.objects.get()
    assert release.state == "prepared" and release.content_hash and release.figures["leaks"]["open"] == 3 - before
    assert release.figures["notes"] == models.ReleasedNote.objects.filter(state="done").count()

    answer_chosen(release=release, answer="allow", actor=clinic.mia)
    form = {"target": "10", "confidence": "95", "by": "", "planted": "10", "leaks": "0"}
    assert twice("audit_start", form, people=people) == [302, 302]
    assert models.AuditPlan.objects.count() == events("audit.planned") == 1
    assert models.AuditNote.objects.count() == models.AuditPlan.objects.get().drawn
    assert twice("audit_next", {}, people=people) == [302, 302]
    assert models.AuditNote.objects.filter(state="reading").count() == different
    note = models.AuditNote.objects.filter(reader=clinic.mia).get()
    assert twice("audit_finish", {"note": note.position}) == [302, 302]
    assert models.AuditNote.objects.filter(state="done").count() == 1

    html = sign_in(clinic.mia).get(reverse("certificate_sign", args=["covid", 1])).content.decode()
    risks = [part.split('value="')[1].split('"')[0] for part in html.split('name="risk"')[1:]]
    day = (timezone.localdate() + timedelta(days=30)).isoformat()
    form = {"purpose": "Teaching", "recipient": "Milan", "expires_on": day, "own_risks": "", "risk": risks}
    assert twice("certificate_sign", form, people=people) == [302, 302]
    release = models.Release.objects.get()
    assert release.state == "signed" and release.signed_by in (clinic.mia, clinic.max)
    numbers = list(models.Certificate.objects.order_by("number").values_list("number", flat=True))
    assert numbers == [1] and events("release.signed") == 1

    form = {"format": "text", "leave_out": "on", "token": TOKEN}
    assert twice("release_export", form, people=people) == [302, 302]
    jobs = list(models.Job.objects.filter(kind="release_export"))
    assert len(jobs) == different
    for job in jobs:
        run_job(job.pk)
    assert models.StoredFile.objects.count() == different

    assert twice("release_withdraw", {}, people=people) == [302, 302]
    assert models.Release.objects.get().state == "withdrawn" and events("release.withdrawn") == 1
