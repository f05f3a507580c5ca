"""Webhooks on pages, by the API and by commands: the secret is shown once, errors are named, the log has each try."""

from annotations.models import Delivery, Event, Webhook
from annotations.ops.rules import read_hosts
from annotations.ops.services.webhooks import webhooks as services
from annotations.ops.services.webhooks.sending import send_now
from tests.factories import reread
from tests.worlds.checks import check_page
from tests.worlds.programs import Program

PAGE, HOOKS = "/projects/covid/webhooks/", "/projects/covid/webhooks"


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


def test_wrong_input_is_explained(mia, receiver):
    elsewhere = "https://elsewhere.example.org/"
    wrong = {"Enter the address.": {"url": ""}, "elsewhere.example.org is not on the list": {"url": elsewhere}}
    wrong |= {"Choose at least one event.": {"kinds": []}, "There is no event note.read.": {"kinds": ["note.read"]}}
    for reason, data in wrong.items():
        answer = mia.post(PAGE, {"url": receiver.url(), "kinds": ["job.done"]} | data)
        assert answer.status_code == 422 and reason in check_page(answer)
    assert not Webhook.objects.exists()


def test_without_a_list_of_hosts_and_above_the_limit(mia, webhook, receiver, monkeypatch, settings):
    monkeypatch.setattr(services, "MOST", 1)
    sent = {"url": receiver.url(), "kinds": ["job.done"]}
    assert "which is the limit" in check_page(mia.post(PAGE, sent))
    settings.WEBHOOK_HOSTS = read_hosts([])
    assert "DEIDREVIEW_WEBHOOK_HOSTS" in check_page(mia.post(PAGE, sent))


def test_changing_switching_and_removing(mia, webhook, receiver):
    page = f"{PAGE}{webhook.pk}/"
    answer = mia.post(page, {"do": "change", "url": "https://elsewhere.example.org/", "kinds": ["job.done"]})
    assert answer.status_code == 422 and "Nothing was changed." in check_page(answer)
    mia.post(page, {"do": "change", "url": receiver.url("/new"), "kinds": ["job.done"]})
    for _ in range(2):
        mia.post(page, {"do": "off"})
    assert (reread(webhook).url, webhook.kinds, webhook.state) == (receiver.url("/new"), ["job.done"], "off")
    assert Event.objects.filter(verb="webhook.off").count() == 1
    before = bytes(webhook.sealed)
    assert "whsec_" in check_page(mia.post(page, {"do": "secret"}))
    assert bytes(reread(webhook).sealed) != before and "Unknown action" in mia.post(page, {"do": "x"}, follow=True).text
    check_page(mia.post(page, {"do": "remove"}, follow=True))
    assert not Webhook.objects.exists()


def test_the_log_is_loaded_again_while_a_delivery_is_about_to_be_sent(world, mia, webhook, receiver):
    page = f"{PAGE}{webhook.pk}/"
    assert "Nothing was sent yet" in check_page(mia.get(page))
    delivery = services.send_test(webhook=webhook, actor=world.mia)
    log = mia.get(page).text.split('id="webhook-log"')[1]
    assert f'hx-get="{page}?page=1"' in log.partition(">")[0] and "Waiting" in log
    send_now(delivery.pk)
    log = check_page(mia.get(page)).split('id="webhook-log"')[1]
    assert "hx-get" not in log.partition(">")[0] and "Delivered" in log


def test_a_stopped_webhook_is_shown_to_managers(world, mia, sign_in, webhook):
    Webhook.objects.update(state="stopped")
    assert "was stopped" in check_page(mia.get(f"{PAGE}{webhook.pk}/"))
    assert "1 webhook was stopped" in mia.get("/projects/covid/").text
    assert "webhook was stopped" not in sign_in(world.rev).get("/projects/covid/").text


# ── The API ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_webhook_from_its_secret_to_its_log(world, receiver):
    api = Program(world.mia)
    made = api.post(HOOKS, {"url": receiver.url(), "kinds": ["job.done"]})
    assert (made.status_code, made.json()["secret"][:6]) == (201, "whsec_")
    own = f"{HOOKS}/{made.json()['id']}"
    for shown in (api.get(own), api.get(HOOKS)):
        assert b"whsec_" not in shown.content and receiver.url().encode() in shown.content
    assert api.post(f"{own}/secret").json()["secret"] != made.json()["secret"]
    sent = api.post(f"{own}/test")
    assert (sent.status_code, sent.json()["state"]) == (202, "waiting")
    receiver.statuses = [500]
    send_now(Delivery.objects.get().pk)
    (logged,) = api.get(f"{own}/deliveries").json()["items"]
    assert (logged["id"], logged["state"], logged["status"]) == (sent.json()["id"], "failed", 500)
    again = api.post(f"{own}/deliveries/{logged['id']}/resend")
    assert (again.status_code, again.json()["state"]) == (202, "waiting")
    assert api.post(f"{own}/deliveries/{logged['id']}/resend").json()["code"] == "waiting"
    changed = api.patch(own, {"kinds": ["gold.frozen"], "on": False}).json()
    assert (changed["kinds"], changed["state"], changed["url"]) == (["gold.frozen"], "off", receiver.url())
    assert (api.delete(own).status_code, api.get(own).status_code) == (204, 404)


def test_what_is_wrong_is_named(world, receiver):
    api = Program(world.mia)

    def fields(**body):
        answer = api.post(HOOKS, {"url": receiver.url(), "kinds": ["test"]} | body)
        return [one["field"] for one in answer.json()["errors"]]

    assert fields() == ["kinds"] and fields(kinds=["job.done"], url="https://elsewhere.example.org/") == ["url"]


# ── Commands ─────────────────────────────────────────────────────────────────────────────────────────────────────────
