"""The command: which models it serves, to whom, and that the audit log knows."""

import io
import re
import threading
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotations.core.api.tokens import create_token, revoke_token
from annotations.models import ApiToken, Event, Membership
from models_runtime.backends import BackendError
from models_runtime.backends.rules import RulesBackend
from models_runtime.runs.management.commands import serve_model
from models_runtime.runs.services.serving import served, tokens_for
from tests import factories as make
from tests.backends.remote.scripted import remote
from tests.waiting import HANGS, wait_for

TEXT = "Dr. Julián Otero Paz, tel. 923 555 100.\n"


@pytest.fixture
def project(db):
    project = make.make_project("ward")
    project.label_set.key = "i2b2-2014"
    project.label_set.save()
    return project


def token(user, **options):
    return create_token(user=user, name="Label Studio", scope="read", days=9, actor=None, **options)


def test_a_backend_is_loaded_and_recorded(project):
    boss = make.make_member(project, "manager", "boss")
    assert served(project=project, model="rules", protocol="inception", actor=boss).name == "rules"
    event = Event.objects.get(verb="model.served")
    assert (event.data, event.actor) == ({"backend": "rules", "protocol": "inception"}, boss)


def test_what_is_not_served(project):
    for model, reason in (("nothing", "no backend “nothing”"), ("llm", "needs a server"), ("remote", "this type")):
        with pytest.raises(CommandError, match=reason):
            call_command("serve_model", "ward", model, "--protocol", "inception")
    with serve_model.server_for(None, "127.0.0.1", 0) as taken, pytest.raises(CommandError, match="can't be used"):
        call_command("serve_model", "ward", "rules", "--protocol", "inception", "--port", str(taken.server_port))


def test_tokens_of_people_who_may_read_every_note(project):
    accepts = tokens_for(project)
    for role, right in (("viewer", True), ("reviewer", True), ("manager", True), ("annotator", False)):
        _, secret = token(make.make_member(project, role, role))
        assert accepts(secret) is right
    other = make.make_project("other")
    _, stranger = token(make.make_member(other, "manager", "out"))
    assert not accepts(stranger) and not accepts("") and not accepts("deid_wrong")


def test_tokens_of_other_projects_and_those_that_ended(project):
    accepts, vic = tokens_for(project), make.make_member(project, "viewer", "vic")
    other = make.make_project("other")
    make.make_member(other, "viewer", vic)
    assert accepts(token(vic, project=project)[1]) and not accepts(token(vic, project=other)[1])
    revoked, secret = token(vic)
    assert accepts(secret)
    revoke_token(token=revoked, actor=vic)
    assert not accepts(secret)
    _, secret = token(vic)
    Membership.objects.filter(project=project, user=vic).update(active=False)
    assert not accepts(secret)
    Membership.objects.filter(project=project, user=vic).update(active=True)
    ApiToken.objects.update(expires_at=timezone.now() - timedelta(days=1))
    assert not accepts(secret)


@pytest.mark.django_db(transaction=True)
def test_the_command_serves_until_it_is_stopped(project, monkeypatch):
    row, secret = token(make.make_member(project, "viewer", "vic"))
    made, original = [], serve_model.server_for
    monkeypatch.setattr(serve_model, "server_for", lambda *words: made.append(original(*words)) or made[0])
    monkeypatch.setattr(serve_model.signal, "signal", lambda *_: None)
    err, found, refused = io.StringIO(), [], []
    labels = {label: label for label in RulesBackend(label_set="i2b2-2014").labels}

    def client():
        wait_for(lambda: "answers" in err.getvalue(), what="the server")
        url = re.search(r"at (\S+)/", err.getvalue())[1]
        try:
            found.extend(remote(f"{url}/{secret}", "label-studio", labels).predict([TEXT]))
            remote(f"{url}/{secret}x", "label-studio", labels)
        except BackendError as error:
            refused.append(str(error))
        finally:
            made[0].shutdown()

    thread = threading.Thread(target=client)
    thread.start()
    call_command("serve_model", "ward", "rules", "--protocol", "label-studio", "--port", "0", stderr=err, stdout=err)
    thread.join(HANGS)
    assert {(TEXT[span.start : span.end], span.label) for span in found[0]} >= {("Julián Otero Paz", "DOCTOR")}
    assert "rejected the key (401)" in refused[0]
    assert "not served any more" in err.getvalue() and secret not in err.getvalue()
    row.refresh_from_db()
    assert row.last_used_at is not None
