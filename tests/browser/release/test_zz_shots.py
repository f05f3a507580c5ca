import pytest, os
from tests.worlds.released import make_clinic, make_release
pytestmark = pytest.mark.django_db(transaction=True)
PART = os.environ.get("SHOT", "")

def test_shots(page_of, live):
    ward = make_clinic()
    release = make_release(ward.project, ward.mia)
    from annotations.models import LeakFinding
    from annotations.release.services.deciding import decide
    f = LeakFinding.objects.first()
    print(list(LeakFinding.objects.values_list("note__name","start","end","origin","string_key","label")))
    urls = {
        "releases": live("releases", "covid"),
        "new": live("release_new", "covid"),
        "release": live("release", "covid", 1),
        "findings": live("release_findings", "covid", 1),
        "note": live("release_note", "covid", 1, ward.notes[0].pk),
        "policies": live("release_policies", "covid"),
        "policy": live("release_policy", "covid", "mask"),
        "masked": live("note", "covid", ward.notes[0].pk) + "?view=masked",
        "surr": live("note", "covid", ward.notes[0].pk) + "?view=surrogates",
    }
    for w, scheme in ((1440, "light"), (390, "light"), (1440, "dark"), (390, "dark")):
        page = page_of(ward.mia, viewport={"width": w, "height": 900}, color_scheme=scheme)
        for name, url in urls.items():
            if PART and name not in PART.split(","): continue
            r = page.goto(url)
            if name == "new": page.on("pageerror", lambda e: print("ERR", e));page.wait_for_timeout(1200)
            print(name, r.status, page.evaluate("[document.documentElement.scrollWidth, innerWidth]"))
            page.screenshot(path=f"/tmp/shots/{name}-{w}-{scheme}.png", full_page=True)
