"""The bench: injecting errors and scoring who catches them, by pages and API."""

from types import SimpleNamespace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotations.core.services import ServiceError
from annotations.jobs.runner import run as work
from annotations.models import AnnotationSet, Author, AuthorKind, Event, Job, Span
from annotations.ops.services.erasing import erase_patient
from models_runtime.models import InjectedError, InjectedRun, RefinedItem, Refinement, SystemicError, SystemicExample
from models_runtime.refining.rules.rules import InjectionRule
from models_runtime.refining.services import injecting
from models_runtime.refining.services.injecting import start_injection
from tests import factories as make
from tests.refining.conftest import inject, score_of
from tests.refining.injecting.rejected import CLUBS, DRUGS, errors_of
from tests.worlds.pages import signed_in as client_of
from tests.worlds.programs import Program


def spans_of(author):
    rows = Span.objects.filter(annotation_set__author__name=author)
    return set(rows.values_list("annotation_set__document__name", "start", "end", "label__code"))


def test_all_rules_on_every_gold_span(frozen):
    found = inject(actor=frozen.mia)
    assert (found.author.name, found.injected) == ("injected-1", 8)
    assert found.possible_by_rule() == {
        "common-words": 1, "values-as-age": 1, "pressures-as-date": 2, "cities": 2, "wards-as-hospital": 2,
        "patient-doctor": 4, "age-date": 2, "hospital-as-organization": 0, "places": 0, "eponyms": 1,
    }  # fmt: skip
    assert list(found.possible_by_rule()) == list(InjectionRule)
    gold, injected = spans_of("gold"), spans_of("injected-1")
    errors = InjectedError.objects.all()
    assert len(injected - gold) == errors.count() == 8 and len(gold - injected) == errors.exclude(was="").count()
    # Nothing of an annotation set tells what is an error.
    there = Span.objects.filter(annotation_set__author__name="injected-1")
    assert set(there.values_list("source", "provenance")) == {("", None)}
    assert Author.objects.get(name="injected-1").kind == AuthorKind.BENCH
    event = Event.objects.get(verb="errors.injected")
    assert (event.actor, event.data["seed"], event.data["gold"]) == (frozen.mia, 7, 1)


@pytest.fixture
def bench(frozen):
    """Five errors. Ann repaired the city and the ward of the first note, and removed a name that was right."""
    row = inject(actor=frozen.mia, rules=["cities", "eponyms", "wards-as-hospital"])
    ann = make.make_member(frozen.project, user="ann")
    ours = [(13, 15, "AGE"), (35, 41, "CITY"), (45, 49, "DATE"), (60, 67, "DOCTOR")]
    sets = make.make_set(frozen.notes[0], ann, ours, submitted=True)
    return SimpleNamespace(row=row, ann=sets.author, set=sets, **vars(frozen))


def test_scoring_by_rule(bench):
    run = "injected-1"
    assert score_of(bench.row, run) | {"by_rule": {}, "by_strategy": {}} == {
        "run": run, "author": run, "gold": 1, "notes": 2, "left_out": 0, "injected": 5, "caught": 0, "share": 0.0,
        "interval": (0.0, pytest.approx(0.52182, abs=1e-4)), "lost": 0, "untouched": 6, "collateral": 0,
        "collateral_share": 0.0, "by_rule": {}, "by_strategy": {},
    }  # fmt: skip
    found = score_of(bench.row, "ann")
    assert (found["notes"], found["left_out"]) == (1, 1)
    assert (found["injected"], found["caught"], found["lost"]) == (2, 2, 0)
    assert (found["untouched"], found["collateral"]) == (4, 1)
    assert {rule: (row["caught"], row["injected"]) for rule, row in found["by_rule"].items()} == {
        "cities": (1, 1), "wards-as-hospital": (1, 1)
    }  # fmt: skip


def test_a_double_click_injects_once_and_an_unfinished_run_is_not_scored(frozen):
    first, second = (start_injection(project=frozen.project, gold=1, actor=frozen.mia, key="k") for _ in range(2))
    assert first.pk == second.pk and (InjectedRun.objects.count(), Job.objects.count()) == (1, 1)
    make.make_set(frozen.notes[0], make.make_member(frozen.project, user="ann"), [], submitted=True)
    with pytest.raises(ServiceError, match="not complete yet"):
        score_of(first, "ann")


def page_of(bench, name, **query):
    args = ["ward"] if name in ("injections", "refinements") else ["ward", bench.row.pk]
    return client_of(bench.mia).get(reverse(name, args=args), query)


def html_of(*words, **query):
    return page_of(*words, **query).content.decode()


def test_errors_are_injected_from_the_page_once_and_a_wrong_form_keeps_its_values(frozen):
    client, url = client_of(frozen.mia), reverse("injections", args=["ward"])
    assert "No injected errors yet" in client.get(url).content.decode()
    sent = {"gold": "1", "rules": ["cities", "eponyms"], "rate": "1", "seed": "3", "name": "mine", "token": "t"}
    for name, value, why in (("rate", "7", "Enter a number from 0.001 to 1.0"), ("rules", [], "at least one rule.")):
        wrong = client.post(url, sent | {name: value})
        html = wrong.content.decode()
        assert wrong.status_code == 422 and why in html and 'value="mine"' in html
    first, second = client.post(url, sent), client.post(url, sent)
    row = InjectedRun.objects.get()
    there = reverse("injection", args=["ward", row.pk])
    assert first["Location"] == second["Location"] == there
    assert (row.rules, row.rate, row.seed, row.author.name) == (["cities", "eponyms"], 1.0, 3, "mine")
    assert Job.objects.count() == 1
    waiting = client.get(there).content.decode()
    assert 'hx-trigger="every 1s"' in waiting and "Injected errors caught" not in waiting
    assert client.post(url, sent | {"token": "u"}).status_code == 422  # the name is in use
    work(row.job_id)
    assert "Nobody has refined this copy yet" in client.get(there).content.decode()
    assert there in client.get(reverse("job", args=["ward", Job.objects.get().number])).content.decode()


def test_the_heat_map_leads_to_the_errors(bench):
    html = html_of(bench, "injection")
    assert "Wards as hospitals" in html and "1 of 1" in html and "[2%–100%]" in html and "1 note left out" in html
    where = reverse("injected_errors", args=["ward", bench.row.pk])
    assert f'href="{where}?author={bench.ann.pk}&amp;kind=all&amp;rule=cities"' in html
    assert f'href="{where}?author={bench.ann.pk}&amp;kind=collateral"' in html
    html = html_of(bench, "injected_errors", author=bench.ann.pk, rule="cities")
    note = reverse("note", args=["ward", bench.notes[0].pk])
    assert f'href="{note}?set={bench.set.pk}#L1"' in html and "<mark>Torino</mark>" in html and ">caught<" in html
    assert client_of(bench.mia).get(f"{note}?set={bench.set.pk}").status_code == 200
    assert Event.objects.filter(verb="note.read", document_id=bench.notes[0].pk, actor=bench.mia).exists()
    html = html_of(bench, "injected_errors", author=bench.ann.pk, kind="collateral")
    assert "<mark>Mario Rossi</mark>" in html and "nothing marked here" in html
    assert "No span has this outcome" in html_of(bench, "injected_errors", author=bench.ann.pk, kind="lost")
    html = html_of(bench, "injected_errors")
    assert "5 spans" in html and "<mark>Crohn</mark>" in html and "no identifier" in html
    for query in ({"author": "0"}, {"author": "x"}, {"rule": "towns"}, {"author": str(bench.ann.pk), "kind": "no"}):
        assert page_of(bench, "injected_errors", **query).status_code == 404, query


def test_a_refinement_from_the_page_appears_with_its_reasons(bench):
    """A refinement of the copy is a column; its errors have the reasons of its decisions."""
    client, url = client_of(bench.mia), reverse("refinements", args=["ward"])
    sent = {"run": str(bench.row.author_id), "method": "offline", "gold": "", "name": "", "token": "t"}
    for wrong in ({"method": "magic"}, {"run": "9999"}, {"gold": "9"}):
        assert client.post(url, sent | wrong).status_code == 422
    assert client.post(url, sent)["Location"] == client.post(url, sent)["Location"]
    row = Refinement.objects.get()
    assert row.author.kind == AuthorKind.BENCH
    wrong = Span.objects.get(annotation_set__author=bench.row.author, annotation_set__document=bench.notes[0], start=35)
    made = make.make_set(bench.notes[0], row.author, [(35, 41, "CITY")], submitted=True)
    RefinedItem.objects.create(
        refinement=row, document=bench.notes[0], number=1, start=35, end=41, label=wrong.label.code, action="update",
        new_start=35, new_end=41, new_label="CITY", reason="A town in Piedmont.", step=1,
    )  # fmt: skip
    html = html_of(bench, "injection")
    assert f"author={row.author_id}&amp;kind=all" in html and "Offline agent" in html
    html = html_of(bench, "injected_errors", author=row.author_id, rule="cities")
    assert "A town in Piedmont." in html and f"?set={made.pk}#L1" in html


def test_a_program_injects_errors_and_reads_who_caught_them(bench):
    program = Program(bench.mia)
    path = "/projects/ward/injections"
    started = program.post(path, {"gold": 1, "rules": ["cities"], "rate": 0.5, "name": "by-api"})
    assert started.status_code == 202 and started.json()["rules"] == ["cities"] and "/jobs/" in started["Location"]
    assert [row["name"] for row in program.get(path).json()["items"]] == ["by-api", "injected-1"]
    for body, field in (
        ({"gold": 7}, "gold"), ({"gold": 1, "rules": ["towns"]}, "rules"), ({"gold": 1, "rules": [" "]}, "rules"),
        ({"gold": 1, "rate": 0}, "rate"), ({"gold": 1, "seed": -1}, "seed"),
        ({"gold": 1, "name": "by-api"}, "name"),
    ):  # fmt: skip
        refused = program.post(path, body)
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, field)
    one = f"{path}/{bench.row.pk}"
    read = program.get(one).json()
    assert [author["name"] for author in read["authors"]] == ["ann"] and read["possible"]["cities"] == 2
    score = program.get(f"{one}/scores/{bench.ann.pk}").json()
    assert (score["injected"], score["caught"], score["collateral"]) == (2, 2, 1)
    errors = program.get(f"{one}/errors").json()["items"]
    assert len(errors) == 5 and {row["caught"] for row in errors} == {None}
    changed = program.get(f"{one}/errors?author={bench.ann.pk}&kind=collateral").json()["items"]
    assert [(row["marked"], row["gold"], row["there"]) for row in changed] == [("Mario Rossi", "PATIENT", [])]
    assert program.get(f"{one}/scores/{bench.gold.pk}").status_code == 404
    refinements = "/projects/ward/refinements"
    made = program.post(refinements, {"run": "injected-1"}).json()
    read = program.get(f"{refinements}/{made['id']}").json()
    assert (read["source_name"], read["gold"], read["effort"]["annotations"]) == ("injected-1", 1, 0)
    assert program.post(refinements, {"run": "nothing"}).json()["errors"][0]["field"] == "run"


# Errors from rejected suggestions, a vocabulary, and clusters of rejected suggestions, by every door


def accept(number, name, project):
    """Accept the cluster with this number under a name."""
    key = injecting.clusters_of(project, 7)[number - 1].cluster.key
    return injecting.accept_cluster(project=project, name=name, seed=7, actor=None, key=key)


def test_errors_of_the_log_are_injected_verbatim(reviewed):
    found = inject(rules=["log"])
    assert (found.possible_by_rule(), found.injected) == ({"log": 13}, 13)
    errors = errors_of(found.author.name)
    assert errors[-1] == ("caso-new", "omeprazol", "CITY", "", "log", "log")
    assert {text for _note, text, *_rest in errors} == {*CLUBS, *DRUGS}
    # They are annotations like any other, and gold has none of them.
    there = Span.objects.filter(annotation_set__author=found.author, annotation_set__document=reviewed.last)
    assert (there.count(), set(there.values_list("source", flat=True))) == (3, {""})
    assert found.author.kind == AuthorKind.BENCH
    score = score_of(found, found.author.name)
    assert (score["by_rule"]["log"]["caught"], score["by_rule"]["log"]["injected"]) == (0, 13)
    assert list(score["by_strategy"]) == ["log"] and inject(rules=["all", "log"]).possible["log"] == 13


def test_rejections_that_overlap_gold_are_no_errors(reviewed):
    gold = AnnotationSet.objects.get(author__kind="gold", document=reviewed.notes[0])
    start = reviewed.notes[0].text.index("Real Betis")
    make.make_span(gold, start, start + 4, "HOSPITAL")
    found = [one.cluster for one in injecting.clusters_of(reviewed.project, 7)]
    assert "Real Betis" not in str(found) and sum(len(one.examples) for one in found) == 11


def test_a_vocabulary_comes_from_a_csv_file(reviewed):
    lines = "string,label,count\nSocia,PATIENT,1\nfútbol,HOSPITAL,2\nGil,DOCTOR,1\n"
    terms = injecting.terms_in(reviewed.project, lines, "x")
    found = inject(rules=[], terms=terms)
    assert found.possible_by_rule() == {"csv": 8}
    assert errors_of(found.author.name)[-2:] == [
        ("caso-new", "Socia", "PATIENT", "", "csv", "log"), ("caso-new", "fútbol", "HOSPITAL", "", "csv", "log")
    ]  # fmt: skip
    # The words of the file are not kept after the drawing.
    assert found.terms == [] and inject(rules=["cities", "log"], terms=terms).rules == ["cities", "log", "csv"]


def test_errors_of_a_csv_file_and_of_a_log_without_rejections(frozen):
    for content, said in (
        ("word,label\na,CITY\n", "has no column “string”"),
        ("string,label\na,CITY\nb,TOWN\n", "Line 3: There is no label “TOWN”. Use one of: "),
    ):
        with pytest.raises(ServiceError, match=said):
            injecting.terms_in(frozen.project, content, "x")
    with pytest.raises(ServiceError, match=r"no rejected suggestion yet\. Review a run first"):
        inject(rules=["log"])
    assert injecting.clusters_of(frozen.project, 7) == [] and not InjectedRun.objects.exists()


def test_a_cluster_is_accepted_and_injected_into_other_notes(reviewed):
    listed = injecting.clusters_of(reviewed.project, 7)
    assert [(one.number, one.cluster.label, len(one.cluster.examples)) for one in listed] == [
        (1, "CITY", 6), (2, "CITY", 6)
    ]  # fmt: skip
    clubs = next(one for one in listed if one.strings[0][0] in CLUBS)
    made = accept(clubs.number, "clubs", reviewed.project)
    assert (made.label, made.examples.count()) == ("CITY", 6)
    assert accept(clubs.number, "clubs", reviewed.project) == made
    assert Event.objects.filter(verb="systemic.accepted").count() == 1
    with pytest.raises(ServiceError, match="There is a systemic error “clubs” already"):
        accept(3 - clubs.number, "clubs", reviewed.project)
    found = inject(rules=["systemic:clubs"])
    assert errors_of(found.author.name) == [("caso-new", "Atlético Burgos", "CITY", "", "systemic:clubs", "systemic")]
    assert inject(rules=["all"]).rules[-1] == "systemic:clubs"
    # Removing it keeps the run and its figures.
    injecting.remove_systemic(project=reviewed.project, name="clubs", actor=None)
    assert score_of(found, found.author.name)["injected"] == 1
    with pytest.raises(ServiceError, match=r"Unknown: systemic:clubs"):
        inject(rules=["systemic:clubs"])


def test_erasing_a_patient_reaches_examples_and_vocabularies(reviewed):
    for number in (1, 2):
        accept(number, f"cluster-{number}", reviewed.project)
    terms = injecting.terms_in(reviewed.project, "string,label\nreal betis,CITY\nfútbol,CITY\nmoto,CITY\n", "x")
    waiting = injecting.start_injection(project=reviewed.project, gold=1, actor=None, rules=[], terms=terms, key="k")
    erase_patient(project=reviewed.project, patient_id="p0", actor=reviewed.mia)
    assert SystemicExample.objects.count() == 11 and "Real Betis" not in str(injecting.clusters_of(reviewed.project, 7))
    assert make.reread(waiting).terms == [["moto", "CITY", 1]]


def test_pages_offer_all_three(reviewed):
    client = client_of(reviewed.mia)
    url, other = reverse("injections", args=["ward"]), reverse("systemic_errors", args=["ward"])
    html = client.get(url).content.decode()
    assert "Rejected suggestions" in html and other in html
    shown = client.get(other)
    assert "Real Betis" in shown.content.decode()
    assert Event.objects.filter(verb="note.read", data__what="systemic errors", actor=reviewed.mia).exists()
    key = next(one["one"].cluster.key for one in shown.context["clusters"] if "Betis" in str(one["one"].cluster))
    sent = {"key": key, "seed": "7", "name": "Clubs!"}
    wrong = client.post(other, sent)
    assert wrong.status_code == 422 and 'value="Clubs!"' in wrong.content.decode()
    stale = client.post(other, sent | {"name": "clubs", "key": "0" * 16})
    assert "New decisions changed the clusters" in stale.content.decode() and not SystemicError.objects.exists()
    assert client.post(other, sent | {"name": "clubs"})["Location"] == other
    assert "systemic:clubs" in client.get(other).content.decode()

    form = {"gold": "1", "rules": ["systemic:clubs", "log"], "rate": "1", "seed": "7", "name": "mine", "token": "t"}

    def send(content, **more):
        return client.post(url, form | {"vocabulary": SimpleUploadedFile("words.csv", content)} | more)

    refused = send(b"string,label\nSocia,TOWN\n")
    assert refused.status_code == 422 and "Line 2: There is no label “TOWN”" in refused.content.decode()
    assert send(b"string,label\nSocia,PATIENT\n").status_code == 302
    assert InjectedRun.objects.get().rules == ["systemic:clubs", "log", "csv"]
    assert "The file is not UTF-8." in send(b"\xff", rules=[], token="u").content.decode()

    assert client.post(other, {"remove": "clubs"})["Location"] == other and not SystemicError.objects.exists()
    assert "no systemic error “clubs”" in client.post(other, {"remove": "clubs"}, follow=True).content.decode()


PATH = "/projects/ward/injections"


def test_a_program_accepts_a_cluster_and_injects_errors_like_it(reviewed):
    program = Program(reviewed.mia)
    listed = program.get(f"{PATH}/systemic/clusters").json()["items"]
    clubs = next(one for one in listed if one["strings"][0]["string"] in CLUBS)
    example = clubs["examples"][0]
    assert (len(listed), clubs["label"], clubs["size"]) == (2, "CITY", 6) and {"club", "fútbol"} <= set(clubs["words"])
    assert example["marked"] in CLUBS and len(example["marked"]) == example["end"] - example["start"]
    read = Event.objects.filter(verb="note.read", data__what="systemic errors", actor=reviewed.mia)
    shown = {example["note"] for one in listed for example in one["examples"]}
    assert set(read.values_list("document_id", flat=True)) == shown
    wanted = {"name": "clubs", "key": clubs["key"]}
    for wrong, status in (({"key": "0" * 16}, 409), ({"name": "Clubs!"}, 422), ({"seed": -1}, 422)):
        assert program.post(f"{PATH}/systemic", wanted | wrong).status_code == status
    made = program.post(f"{PATH}/systemic", wanted)
    assert made.status_code == 201 and made.json()["rule"] == "systemic:clubs" and made.json()["examples"] == 6
    assert program.post(f"{PATH}/systemic", wanted).json() == made.json()
    assert program.get(f"{PATH}/systemic").json()["items"] == [made.json()]
    terms = [{"string": "Socia", "label": "PATIENT"}, {"string": " fútbol ", "label": "HOSPITAL", "count": 2}]
    asked = {"gold": 1, "rules": ["systemic:clubs", "log"], "terms": terms, "rate": 1, "name": "mine"}
    wrong = [*terms, {"string": "b", "label": "TOWN"}, {"string": " ", "label": "CITY"}]
    refused = program.post(PATH, asked | {"terms": wrong}).json()
    assert [row["field"] for row in refused["errors"]] == ["terms.2.label", "terms.3.string"]
    assert program.post(PATH, {"gold": 1, "rules": []}).status_code == 422 and not InjectedRun.objects.exists()
    started = program.post(PATH, asked)
    assert (started.status_code, started.json()["rules"]) == (202, ["systemic:clubs", "log", "csv"])
    row = InjectedRun.objects.get()
    assert row.terms == [["Socia", "PATIENT", 1], ["fútbol", "HOSPITAL", 2]]
    work(row.job_id)
    found = {row[1:3] for row in errors_of("mine") if row[0] == "caso-new"}
    expected = {("Atlético Burgos", "CITY"), ("omeprazol", "CITY"), ("Socia", "PATIENT"), ("fútbol", "HOSPITAL")}
    assert found and found <= expected
    one = f"{PATH}/systemic/{made.json()['id']}"
    assert [program.delete(one).status_code for _ in range(2)] == [204, 404] and not SystemicError.objects.exists()
    assert Event.objects.filter(verb="systemic.removed", actor=reviewed.mia).count() == 1
