"""The pages: adding with a secret that is shown once, errors, the log, buttons, and what others may not."""

import pytest

from annotations.models import Delivery, Event, Webhook
from annotations.webhooks.selectors.kinds import KINDS
from annotations.webhooks.services import webhooks as services
from annotations.webhooks.services.sending import send_now
from annotations.webhooks.services.webhooks import add_webhook
from tests.worlds.checks import check_page

pytestmark = pytest.mark.django_db
PAGE = "/projects/covid/webhooks/"


@pytest.fixture
def webhook(world, receiver):
    return add_webhook(project=world.project, url=receiver.url(), kinds=list(KINDS), actor=world.mia).webhook


def test_a_webhook_is_added_and_its_secret_is_shown_once(world, mia, receiver):
    assert "No webhooks yet" in check_page(mia.get(PAGE))
    answer = mia.post(PAGE, {"url": receiver.url(), "kinds": ["job.done", "gold.frozen"]})
    html = check_page(answer)
    assert "whsec_" in html and answer["Cache-Control"] == "no-store"
    webhook = Webhook.objects.get()
    assert (webhook.kinds, webhook.created_by) == (["job.done", "gold.frozen"], world.mia)
    for page in (PAGE, f"{PAGE}{webhook.pk}/"):
        html = check_page(mia.get(page))
        assert receiver.url() in html and "whsec_" not in html
    assert Event.objects.get(verb="webhook.added").data == {"webhook": webhook.pk, "kinds": webhook.kinds}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"url": ""}, "Enter the address."),
        ({"url": "hooks"}, "must begin with https://"),
        ({"url": "https://elsewhere.example.org/"}, "elsewhere.example.org is not on the list"),
        ({"url": "http://127.0.0.1:1/"}, "127.0.0.1:1 is not on the list"),
        ({"url": "https://2130706433/"}, "Write it in its usual form"),
        ({"kinds": []}, "Choose at least one event."),
        ({"kinds": ["note.read"]}, "There is no event note.read."),
    ],
)
def test_wrong_input_is_explained(mia, receiver, data, reason):
    answer = mia.post(PAGE, {"url": receiver.url(), "kinds": ["job.done"]} | data)
    assert answer.status_code == 422
    assert reason in check_page(answer)
    assert not Webhook.objects.exists()


def test_without_a_list_of_hosts(mia, settings):
    answer = mia.post(PAGE, {"url": "https://hooks.example.org/", "kinds": ["job.done"]})
    assert "DEIDREVIEW_WEBHOOK_HOSTS" in check_page(answer)


def test_the_number_of_webhooks_is_limited(mia, webhook, receiver, monkeypatch):
    monkeypatch.setattr(services, "MOST", 1)
    answer = mia.post(PAGE, {"url": receiver.url(), "kinds": ["job.done"]})
    assert "which is the limit" in check_page(answer)


def test_a_test_and_its_result(mia, webhook, receiver):
    page = f"{PAGE}{webhook.pk}/"
    assert "Nothing was sent yet" in check_page(mia.get(page))
    html = check_page(mia.post(page, {"do": "test"}, follow=True))
    assert 'hx-trigger="every 1s"' in html
    receiver.statuses = [302]
    send_now(Delivery.objects.get().pk)
    html = check_page(mia.get(page))
    assert "Status 302." in html and "never followed" in html and "every 1s" not in html
    fragment = check_page(mia.get(page, headers={"HX-Request": "true"}), fragment=True)
    assert "Status 302." in fragment


def test_changing_switching_and_removing(mia, webhook, receiver):
    page = f"{PAGE}{webhook.pk}/"
    answer = mia.post(page, {"do": "change", "url": "https://elsewhere.example.org/", "kinds": ["job.done"]})
    assert answer.status_code == 422 and "Nothing was changed." in check_page(answer)
    mia.post(page, {"do": "change", "url": receiver.url("/new"), "kinds": ["job.done"]})
    mia.post(page, {"do": "off"})
    mia.post(page, {"do": "off"})
    webhook.refresh_from_db()
    assert (webhook.url, webhook.kinds, webhook.state) == (receiver.url("/new"), ["job.done"], "off")
    assert Event.objects.filter(verb="webhook.off").count() == 1
    before = bytes(webhook.sealed)
    assert "whsec_" in check_page(mia.post(page, {"do": "secret"}))
    webhook.refresh_from_db()
    assert bytes(webhook.sealed) != before
    assert "Unknown action" in mia.post(page, {"do": "x"}, follow=True).content.decode()
    assert "The webhook was removed." in check_page(mia.post(page, {"do": "remove"}, follow=True))
    assert not Webhook.objects.exists()


def test_sending_again(mia, webhook, receiver):
    mia.post(f"{PAGE}{webhook.pk}/", {"do": "test"})
    delivery = Delivery.objects.get()
    resend = f"{PAGE}{webhook.pk}/deliveries/{delivery.pk}/resend"
    assert "waiting to be sent already" in check_page(mia.post(resend, follow=True))
    send_now(delivery.pk)
    assert "is being sent again" in check_page(mia.post(resend, follow=True))
    Delivery.objects.update(kind="job.done", state="failed")
    Webhook.objects.update(state="stopped")
    assert "Switch it on first" in check_page(mia.post(resend, follow=True))


def test_a_stopped_webhook_is_shown_to_managers(world, mia, sign_in, webhook):
    Webhook.objects.update(state="stopped")
    assert "was stopped" in check_page(mia.get(f"{PAGE}{webhook.pk}/"))
    assert "1 webhook was stopped after repeated failures." in mia.get("/projects/covid/").content.decode()
    assert "webhook was stopped" not in sign_in(world.rev).get("/projects/covid/").content.decode()


def test_a_webhook_is_only_found_in_its_own_project(world, sign_in, mia, webhook):
    assert sign_in(world.out).get(f"/projects/other/webhooks/{webhook.pk}/").status_code == 404
    assert mia.post(f"{PAGE}{webhook.pk}/deliveries/999999/resend").status_code == 404
