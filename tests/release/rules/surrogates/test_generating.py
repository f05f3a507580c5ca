"""Surrogates in the style of what they replace, which agree with each other."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.release.rules.redaction.policy import IdentifierType as Kind
from annotations.release.rules.surrogates.clustering import surrogate_key
from annotations.release.rules.surrogates.folding import accented, folded, long_words
from annotations.release.rules.surrogates.gazetteers import Chain, kept, names_of
from annotations.release.rules.surrogates.generating import generate
from annotations.release.rules.surrogates.people import titles
from annotations.release.rules.surrogates.pipeline import Around, IndexedEntity
from annotations.release.rules.surrogates.places import areas, areas_in, capital, of_country, zip_in
from annotations.release.rules.surrogates.templates import acronym_of, distinctive, slots
from tests.release.rules.surrogates.worlds import one, person, replaced

SEEDS = range(4)
# Folded words that surrogates may keep, because they name nobody: "hospital", "avenida".
STAYING = frozenset({"www", "marys", "dott"}).union(*map(kept, ("institution", "street", "honor", "small", "particle")))


def made(kind: Kind, *forms: str, language: str = "es", seed: int = 1, attempt: int = 0, avoid=frozenset(), related=()):
    source = random.Random(seed)
    return generate(source, one(kind, *forms, language=language), Around(related), avoid, attempt)


def test_a_seed_gives_the_same_surrogates() -> None:
    text = "[name:María Pérez], [street:Calle Mayor, 3], [zip:28015] [city:Madrid], [email:mperez@gmail.com]"
    assert replaced(text, "es") == replaced(text, "es") and replaced(text, "es") != replaced(text, "es", seed=8)


@pytest.mark.parametrize(
    ("language", "name", "gender"),
    [("en", "Emily Carter", "f"), ("es", "Rubén García", "m"), ("it", "Giulia Rossi", "f")],
)
def test_gender_language_and_frequency_are_kept(language: str, name: str, gender: str) -> None:
    lists = names_of(language)
    for seed in SEEDS:
        parts = made(Kind.NAME, name, language=language, seed=seed).parts
        first, last = lists.given[folded(parts["given"])], lists.surnames[folded(parts["family"])]
        assert (first.gender, parts["gender"]) == (gender, gender)
        assert first.band == lists.given[folded(name.split()[0])].band
        assert last.band == lists.surnames[folded(name.split()[1])].band


@pytest.mark.parametrize("seed", SEEDS)
def test_names_that_no_list_knows_accents_and_initials(seed: int) -> None:
    lists = names_of("es")
    parts = made(Kind.NAME, "Yasna Garamendi", seed=seed).parts
    assert folded(parts["given"]) not in lists.given and folded(parts["family"]) not in lists.surnames
    assert accented(made(Kind.NAME, "Rubén Gómez", seed=seed).parts["family"])
    assert not accented(made(Kind.NAME, "Rubén Torres", seed=seed).parts["family"])
    for other in range(seed * 10, seed * 10 + 10):
        parts = made(Kind.NAME, "A.W.", language="en", seed=other).parts
        assert not {parts["given"][0], parts["family"][0]} & set("AW")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_name_avoids_others_and_the_originals_of_the_patient(seed: int) -> None:
    pool = names_of("es").pools["surname", 0, True]
    taken = {folded(name) for name in pool}
    assert folded(made(Kind.NAME, "Ana Gómez", seed=seed, avoid=taken).parts["family"]) not in taken
    forms = [f"Ana {name}" for name in pool]
    known = [IndexedEntity(at, Kind.STAFF, [form], person("Eva", "Xu")) for at, form in enumerate(forms)]
    assert f"Ana {made(Kind.NAME, 'Rosa Gómez', seed=seed, related=known).parts['family']}" not in forms


def test_relatives_share_the_surrogate_of_their_surname() -> None:
    adam = IndexedEntity(1, Kind.NAME, ["Adam Wilson"], person("Kevin", "Chang", gender="m"))
    parts = made(Kind.NAME, "Mary Wilson", language="en", related=[adam]).parts
    assert parts["family"] == "Chang" and parts["given"] not in ("Kevin", "Mary")


@pytest.mark.parametrize(("language", "name"), [("en", "Ann Lee"), ("es", "Ana Gil"), ("it", "Anna Neri")])
def test_many_people_get_different_names(language: str, name: str) -> None:
    source, cluster = random.Random(1), one(Kind.NAME, name, language=language)
    taken: set[str] = set()
    for at in range(1000):
        keys = (surrogate_key(generate(source, cluster, Around(), frozenset(), attempt)) for attempt in range(40))
        key = next((key for key in keys if key not in taken), None)
        assert key is not None, at
        taken.add(key)


NOTES = [
    # Spain
    (
        "es",
        "[name:Sebastián Pérez Blanco] vive en [street:Calle Asturias, 34, 2º B], [zip:28400] [city:Collado Villalba],"
        " [region:Madrid]. [hospital:Hospital Universitario La Paz]. [staff:Dra. María Romeo Donlo],"
        " [license:28 28 60348], [email:mromeo@salud.madrid.org], [phone:917 27 00 83]. [profession:carpintero]",
    ),
    # Italy
    (
        "it",
        "[name:Rossi Mario], [street:Via Garibaldi 12], [zip:20121] [city:Milano], [hospital:Ospedale San Raffaele],"
        " [staff:Dott.ssa Lucia Bianchi], [email:lucia.bianchi@hsr.it], [national id:RSSMRA80A01F205X]",
    ),
    # United States
    (
        "en",
        "[name:Adam Wilson], [street:123 Oak Street, Apt 4B], [city:Boston], [region:Massachusetts] [zip:02115],"
        " [hospital:St. Mary's Hospital], [staff:Dr. Emily Carter], [email:emily.carter@mgh.org],"
        " [url:www.mgh.org/staff]",
    ),
]


@pytest.mark.parametrize(("language", "text"), NOTES, ids=["es", "it", "en"])
def test_nothing_of_the_original_stays_but_generic_words(language: str, text: str) -> None:
    for seed in SEEDS:
        for old, new in replaced(text, language, seed):
            assert folded(old) not in folded(new)
            assert not (long_words(old) & long_words(new)) - STAYING, (old, new)


@pytest.mark.parametrize(("language", "text"), NOTES, ids=["es", "it", "en"])
def test_the_parts_of_an_address_agree(language: str, text: str) -> None:
    country = {"es": "es", "it": "it", "en": "us"}[language]
    for seed in SEEDS:
        new = dict(replaced(text, language, seed))
        zipped = next(value for key, value in new.items() if re.fullmatch(r"\d{5}", key))
        city = new[{"es": "Collado Villalba", "it": "Milano", "en": "Boston"}[language]]
        assert areas_in(zipped, country) & areas_in(city, country), (zipped, city)
        region = new.get({"es": "Madrid", "it": "", "en": "Massachusetts"}[language])
        if region:
            assert areas_in(zipped, country) & areas_in(region, country)


@pytest.mark.parametrize("seed", SEEDS)
def test_places_agree(seed: int) -> None:
    new = dict(replaced("[city:Napoli] ([region:NA]), [zip:80121]", "it", seed))
    assert f"it:{new['NA']}" in areas_in(new["Napoli"], "it") & areas_in(new["80121"], "it")
    value = made(Kind.LOCATION, "Springfield, IL 62704", language="en", seed=seed).parts
    assert value["s1"] == value["area"][3:] != "IL"
    # British places stay British.
    new = dict(replaced("[street:45 Mill Lane], [city:Oxford] [zip:OX1 2JD]", "en", seed))
    assert re.fullmatch(r"[A-Z]{1,2}\d{1,2} \d[A-Z]{2}", new["OX1 2JD"])
    assert areas_in(new["OX1 2JD"], "us") & areas_in(new["Oxford"], "us")
    # A later hospital in the same city agrees.
    new = dict(replaced("[city:Valencia]. [hospital:Hospital General de Valencia]", "es", seed))
    assert areas_in(new["Valencia"], "es") & areas_in(new["Hospital General de Valencia"], "es")
    assert new["Hospital General de Valencia"].startswith("Hospital General de ")
    # A street named by a letter gets another letter.
    ((_old, street),) = replaced("[street:Paseo A]", "es", seed=seed)
    assert street.startswith("Paseo ") and street != "Paseo A"


ADDRESSES = [
    (Kind.STREET, "Palo Alto, CA 94301"),
    (Kind.STREET, "12 ELM CT, DAYTON, OH 45402"),
    (Kind.LOCATION, "Salem, Ore. 97301"),  # not as the lists have it
    (Kind.STREET, "9 Main St., Smallville TX 78701"),
    (Kind.HOSPITAL, "Lakeside Clinic, Rochester, MN 55905"),
]


@pytest.mark.parametrize(("kind", "text"), ADDRESSES)
def test_a_state_in_an_address_becomes_the_state_of_the_zip_code(kind: Kind, text: str) -> None:
    for seed in SEEDS:
        ((_old, new),) = replaced(f"[{kind}:{text}]", seed=seed)
        state, zipped = re.findall(r"[A-Z]{2}(?=\.? [0-9]{5}$)|[0-9]{5}$", new)
        assert f"us:{state}" in areas_in(zipped, "us"), new


@pytest.mark.parametrize("name", ["Robert", "Nguyễn Văn Ánh", "Tran Van Duc", "Md Rahman", "Don Brown", "smith"])
def test_a_name_has_one_surrogate_without_any_of_its_words(name: str) -> None:
    for seed in SEEDS:
        first, second = replaced(f"Mr [name:{name}] came. Then [name:{name}] left.", seed=seed)
        assert first == second and not set(folded(first[1]).split()) & (titles() | set(folded(name).split()))


INSTITUTIONS = [
    ("es", Kind.HOSPITAL, "Hospital Universitario Virgen del Rocío", r"Hospital Universitario Virgen del [\w ]+"),
    ("es", Kind.HOSPITAL, "Centro de Salud José Ramón Muñoz", r"Centro de Salud \w+ \w+ \w+"),
    ("es", Kind.HOSPITAL, "Hospital 12 de Octubre", r"Hospital [1-9]\d de \w+"),
    ("es", Kind.HOSPITAL, "Hospital General", r"Hospital (Provincial|Regional|Comarcal|Central)"),
    ("es", Kind.ORGANIZATION, "Facultad de Medicina", r"Facultad de \w+"),
    ("es", Kind.ORGANIZATION, "SAMUR", r"[A-Z]{5}"),
    ("en", Kind.HOSPITAL, "Lincoln Medical Center", r"[\w' .-]+ Medical Center"),
    ("en", Kind.HOSPITAL, "St. Mary's Hospital", r"St\. [\w']+ Hospital"),
    ("it", Kind.HOSPITAL, "Ospedale San Raffaele", r"Ospedale San \w+"),
    ("it", Kind.HOSPITAL, "A.O.U. Federico II", r"A\.O\.U\. \w+ [IVX]+"),
    ("es", Kind.HOSPITAL, "Hospital La Paz", r"Hospital La \w+"),
    # A word of which the lists of this language have no second one.
    ("en", Kind.HOSPITAL, "Virgen de la Vega", r"Virgen de la \w+"),
    ("it", Kind.HOSPITAL, "Virgen de la Vega", r"Virgen de la \w+"),
    ("it", Kind.CITY, "Reggio nell'Emilia", r"[\w' ]+ nell'\w+"),
    ("en", Kind.IP, "10.0.0.1", r"(192\.0\.2|198\.51\.100|203\.0\.113)\.\d+"),
    ("es", Kind.STREET, "Av. Pedro Rubio, s/n", r"Av\. \w+ \w+, s/n"),
    ("es", Kind.STREET, "C/ Princesa, 23, 3D", r"C/ \w+, [1-9]\d, [1-9][A-F]"),
    ("en", Kind.STREET, "123 Oak Street", r"[1-9]\d\d \w+ Street"),
    ("it", Kind.STREET, "Via Garibaldi 12", r"Via \w+ [1-9]\d"),
    ("es", Kind.LOCATION, "E-18012", r"E-\d{5}"),
    ("en", Kind.LOCATION, "Boston, MA 02115", r"[\w' .-]+, [A-Z]{2} \d{5}"),
    ("es", Kind.PROFESSION, "costurera", r"[a-zñéáíó ]+"),
    ("es", Kind.COUNTRY, "España", r"[\w ]+"),
]


@pytest.mark.parametrize(("language", "kind", "text", "pattern"), INSTITUTIONS)
def test_type_and_format_are_kept(language: str, kind: Kind, text: str, pattern: str) -> None:
    for seed in SEEDS:
        value = made(kind, text, language=language, seed=seed).parts["value"]
        assert re.fullmatch(pattern, value), value
        assert value != text


def test_addresses_follow_the_surrogate_name() -> None:
    """The account has names, initials or both of a person of the note."""
    emily = [IndexedEntity(1, Kind.STAFF, ["Dr. Emily Carter"], person("Kevin", "Chang"))]
    old = ["emily.carter@mgh.org", "carter@mgh.com", "ecarter@mgh.net", "carter_e@mgh.org"]
    new = [made(Kind.EMAIL, each, language="en", related=emily).parts["value"] for each in old]
    assert new == ["kevin.chang@example.org", "chang@example.com", "kchang@example.net", "chang_k@example.org"]
    # Another address of the same person differs.
    value = made(Kind.EMAIL, "carter@mgh.com", language="en", related=emily, attempt=1).parts["value"]
    assert re.fullmatch(r"chang\d{1,2}@example\.com", value)
    # An address without a known name keeps its pattern.
    assert re.fullmatch(r"[a-z]+_\d\d@example\.com", made(Kind.EMAIL, "marian_84@gmail.com").parts["value"])
    assert made(Kind.URL, "http://www.unizar.es/clinica/x1").parts["value"].startswith("http://www.example.org/")


@given(
    st.sampled_from(list(Kind)), st.text(min_size=1, max_size=40).filter(str.strip), st.sampled_from(["en", "es", "it"])
)
def test_any_text_gets_a_surrogate(kind: Kind, text: str, language: str) -> None:
    surrogate = made(kind, text, language=language)
    assert surrogate.kind == kind and surrogate.parts


def test_short_numbers_run_out_and_grow() -> None:
    assert len({made(Kind.ID, "7", seed=seed, attempt=seed).parts["value"] for seed in range(60)}) > 15


@pytest.mark.parametrize("kind", [Kind.AGE, Kind.OTHER, Kind.PHONE, Kind.DATE])
def test_a_number_of_thousands_of_digits_is_no_error(kind: Kind) -> None:
    """Python reads no number of more than 4,300 digits."""
    assert surrogate_key(made(kind, "7" * 5_000))


# Places by country, and what is replaced in names of places and institutions.


@pytest.mark.parametrize(("country", "count"), [("es", 52), ("it", 107), ("us", 51), ("gb", 44)])
def test_every_area_has_places_and_zip_codes(country: str, count: int) -> None:
    found = of_country(country)
    assert len(found) == count
    for area in found:
        assert area.names and area.regions
        for city in (capital(area), list(area.cities)[-1]):
            code = zip_in(random.Random(1), area, city, "AB1 2CD" if country == "gb" else "12345")
            assert area.key in areas_in(code, country), (area.key, city, code)
    # Italian particles are small.
    assert country != "it" or not [one for area in found for one in area.cities if re.search(r" (Di|Del|Della) ", one)]
    assert "Reggio Emilia" in areas()["it:RE"].names


TEXTS = [
    ("28015 Madrid", "es", {"es:28"}), ("Cataluña", "es", {"es:08", "es:17", "es:25", "es:43"}),
    ("Santiago de Compostela", "es", {"es:15"}),  # the longest name counts
    ("20121 Milano", "it", {"it:MI"}), ("Boston", "us", {"us:MA", "gb:Lincolnshire"}),
    ("SW1A 1AA", "us", set()),  # of no listed place
    ("OX1 2JD", "us", {"gb:Oxfordshire"}), ("carpintero", "es", set()),
]  # fmt: skip


@pytest.mark.parametrize(("text", "country", "found"), TEXTS)
def test_areas_in_a_text(text: str, country: str, found: set[str]) -> None:
    assert areas_in(text, country) == found


SLOTS = [
    ("es", Kind.HOSPITAL, "Hospital Universitario La Paz", ["Paz"]),
    ("es", Kind.HOSPITAL, "Hospital 12 de Octubre", ["12", "Octubre"]),
    ("es", Kind.HOSPITAL, "Hospital General de Valencia", ["Valencia"]),
    ("es", Kind.STREET, "C/ Marqués de Viana,  86, 3º D", ["Marqués", "Viana", "86", "3", "D"]),
    ("es", Kind.STREET, "Ctra. Madrid-Cartagena, s/n", ["Madrid", "Cartagena"]),
    ("es", Kind.LOCATION, "Las palmas", ["Las palmas"]),
    ("es", Kind.LOCATION, "Calle Mayor 3, 28015 Madrid", ["Mayor", "3", "28015", "Madrid"]),
    ("en", Kind.LOCATION, "123 Oak Street, Boston, MA 02115", ["123", "Oak", "Boston", "MA", "02115"]),
    ("en", Kind.STREET, "9 Elm Ct, Palo Alto, CA 94301", ["9", "Elm", "Palo Alto", "CA", "94301"]),
    ("en", Kind.LOCATION, "Reno, NV 89501, USA", ["Reno", "NV", "89501"]),  # the country stays
    ("es", Kind.LOCATION, "Toledo, España", ["Toledo"]),
    ("it", Kind.STREET, "20121 Milano (BO)", ["20121", "Milano", "BO"]),
    ("it", Kind.CITY, "Reggio Emilia", ["Reggio Emilia"]),
    ("es", Kind.ORGANIZATION, "Facultad de Ciencias de la Salud", ["Salud"]),  # something must change
]


@pytest.mark.parametrize(("language", "kind", "text", "replaced"), SLOTS)
def test_what_is_replaced(language: str, kind: Kind, text: str, replaced: list[str]) -> None:
    assert [slot.text for slot in slots(text, kind, language)] == replaced


def test_what_tells_institutions_apart() -> None:
    names = ("Hospital Universitario Miguel Servet", "Hospital Miguel Servet")
    assert {distinctive(name, Kind.HOSPITAL, "es") for name in names} == {"miguel servet"}
    assert acronym_of("Hospital Universitario de la Princesa") == "HUP"


# ── Made-up names ────────────────────────────────────────────────────────────────────────────────────────────────────


WORDS = ("Marino", "Martino", "Marchetti", "Mariani", "Moretti", "Monti", "Montanari", "Ferrari", "Ferri", "Fontana")


def test_made_up_words_stay_the_same() -> None:
    """Otherwise a project's surrogates would change."""
    source, chain = random.Random(18), Chain(WORDS)
    assert [chain.coin(source, "Marino") for _ in range(4)] == ["Montana", "Montana", "Fonti", "Montana"]


def test_a_made_up_word_is_none_of_the_list() -> None:
    chain, source = Chain(WORDS), random.Random(7)
    made = {chain.coin(source, "Marino") for _ in range(200)}
    assert len(made) > 2 and not {word.lower() for word in made} & {word.lower() for word in WORDS}
