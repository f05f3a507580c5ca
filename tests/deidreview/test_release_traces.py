"""Releasing notes leaves no text of notes, names or surrogates in events, jobs, the log and addresses."""

import io
import json
import logging

import pytest
from django.test.client import MULTIPART_CONTENT
from django.urls import reverse

from annotations.jobs.runner import run as run_job
from annotations.models import Event, Job, JobState, KnownPerson, KnownUpload, LeakFinding, SurrogateEntity
from tests.worlds.pages import signed_in
from tests.worlds.released import make_clinic

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("no_redis")]
# Of the notes, of the patient master, of the lists, and of what people type.
WORDS = ["Rossi", "Bianchi", "Torino", "Neri", "Milano", "/2021", "Zqknown", "Zqdenied", "Zqsurrogate", "caso-00",
         "P-1", "P-2", "Zqpurpose", "Zqrecipient", "Zqrisk"]  # fmt: skip
MASTER = "patient_id,given,family\nP-1,Mario,Zqknown\n"


class Desk:
    """A person at their browser: every redirect is kept, and the jobs that a request starts are done at once."""

    def __init__(self, person) -> None:
        self.client = signed_in(person)
        self.led_to: list[str] = []

    def __call__(self, name, *args, post=None, query="", type=MULTIPART_CONTENT, expect=(200, 302, 303)):
        url = reverse(name, args=args) + query
        answer = self.client.get(url) if post is None else self.client.post(url, post, content_type=type)
        assert answer.status_code in expect, (name, answer.status_code)
        self.led_to.append(str(answer.headers))
        for job in Job.objects.filter(state=JobState.QUEUED):
            run_job(job.pk)
        return answer


def release(clinic, desk: Desk, policy: str, number: int) -> None:
    form = {
        "sets": ["gold"], "policy": f"{policy}:1", "act": "start", "purpose": "Zqpurpose", "recipient": "Zqrecipient",
        "token": f"6f0c6d5e-0000-4000-8000-00000000000{number}",
    }  # fmt: skip
    desk("release_new", "covid", post=form)
    desk("release_findings", "covid", number)
    desk("release_decide", "covid", number, post={"answer": "replace", "string": "Rossi"})
    for key in set(LeakFinding.objects.filter(note__release__number=number).values_list("string_key", flat=True)):
        for answer in ("replace", "undo", "replace"):
            desk("release_decide", "covid", number, post={"answer": answer, "string": key})
    desk("release_note", "covid", number, clinic.notes[0].pk)
    for format in ("text", "jsonl"):
        form = {"format": format, "token": f"6f0c6d5e-0000-4000-8000-0000000{number}{len(format)}"}
        desk("release_export", "covid", number, post=form)
    desk("release", "covid", number)


def test_no_words_of_notes_are_in_events_jobs_log_or_addresses(caplog, settings):
    caplog.set_level(logging.INFO)
    clinic = make_clinic()
    manager, reviewer = Desk(clinic.mia), Desk(clinic.rev)
    file = io.BytesIO(MASTER.encode())
    file.name = "Zqknown.csv"
    manager("known", "covid", post={"file": file, "format": "csv", "language": "it"}, expect=(302, 422))
    for upload in KnownUpload.objects.all():
        manager("known_upload", "covid", upload.pk, post={"do": "import"})
    assert KnownPerson.objects.exists()
    manager("known_person", "covid", KnownPerson.objects.get().pk, post={"do": "show"})
    terms = {"do": "add", "which": "deny", "terms": "Zqdenied", "label": "CITY"}
    manager("known_lists", "covid", post=terms)
    manager("known_lists", "covid", post=terms | {"label": "Rossi"}, expect=(422,))
    manager("run_start", "covid", post={"backend": "known"})

    release(clinic, manager, "mask", 1)
    choices = {"target": "10", "confidence": "95", "by": "", "planted": "0", "leaks": "0"}
    manager("audit_start", "covid", 1, post=choices, expect=(302,))
    reviewer("audit_next", "covid", 1, post={})
    reviewer("audit_read", "covid", 1)
    mark = {"note": "1", "start": "0", "end": "60", "label": "CITY"}
    for label in ("CITY", "Rossi", ""):
        reviewer(
            "audit_mark",
            "covid",
            1,
            post={"changes": [mark | {"label": label}], "person": clinic.rev.pk},
            type="application/json",
        )
    reviewer("audit_finish", "covid", 1, post={"note": "1"})
    manager("audit_leaks", "covid", 1)
    manager("certificate_sign", "covid", 1)
    sign = {"purpose": "Zqpurpose", "recipient": "Zqrecipient", "expires_on": "2099-01-01", "own_risks": "Zqrisk"}
    manager("certificate_sign", "covid", 1, post=sign, expect=(200, 302, 422))
    broken = io.BytesIO(json.dumps({"certificate": {"Rossi": "Torino"}}).encode())
    broken.name = "Rossi.json"
    manager("certificate_verify", post={"certificate": broken, "key": "Rossi"}, expect=(200, 422))

    release(clinic, manager, "surrogate", 2)
    entity = SurrogateEntity.objects.filter(kind="name").first()
    assert entity is not None
    manager("surrogates", "covid", post={"text": "Rossi"})
    change = {"act": "replace", "version": entity.version, "text": "Zqsurrogate Zqsurrogate"}
    manager("surrogate_change", "covid", entity.pk, post=change, expect=(302, 303, 422))
    manager("surrogate_change", "covid", entity.pk, post=change | {"text": "Rossi"}, expect=(422,))
    manager("note", "covid", clinic.notes[0].pk, query="?view=surrogates")
    manager("release_withdraw", "covid", 2, post={})

    events = list(Event.objects.values_list("verb", "data"))
    assert {"release.started", "release.decided", "release.exported"} <= {verb for verb, _data in events}
    jobs = list(Job.objects.values_list("key", "params", "result", "error"))
    places = {
        "events": json.dumps(events, default=str), "jobs": json.dumps(jobs, default=str),
        "log": caplog.text, "addresses": "\n".join(manager.led_to + reviewer.led_to),
    }  # fmt: skip
    found = {place: [word for word in WORDS if word in text] for place, text in places.items()}
    assert found == {place: [] for place in places}
