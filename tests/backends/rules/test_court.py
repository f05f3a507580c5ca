"""Decisions of courts: private persons are found, lawyers and the numbers of decisions stay."""

import pytest

from models_runtime.backends.rules.backend import RulesBackend
from tests.timing import grows_in_proportion

LAWYER = "dall'avv. Piera Monti del Foro di Prato (c.f. MNTPRI70A41D612X, pec: piera.monti@avvocati.example)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"promosso da Bruno Salis, nato il 03.05.1961, rappresentato {LAWYER};", ["Bruno Salis", "03.05.1961"]),
        (f"difeso {LAWYER}. La sig.ra Anna Gallo vive. L'avv. Monti deposita.", ["Anna Gallo"]),
        ("gli avv.ti Piera Monti e Carlo Gallo per il sig. Bruno Salis", ["Bruno Salis"]),
        ("difeso dagli avv. Piera Monti e Carlo Gallo", []),
        ("sono comparsi l'avv. Piera Monti e Bruno Salis", ["Bruno Salis"]),
        # The name of a private person, and one that both have.
        ("per Bruno Salis l'avv. Piera Salis ha parlato. Salis tace.", ["Bruno Salis", "Salis"]),
        ("ricorso proposto dall'avv. Piera Monti in proprio", ["Piera Monti"]),
        ("il dott. Bruno Salis, pensionato", ["Bruno Salis"]),
        ("nel giudizio iscritto al n. 12345/A del registro", []),
        ("vista la sentenza n. 245/2019 e la decisione n. 12/2020", []),
        ("nel ricorso, tessera n. 4471005", ["4471005"]),
    ],
)
def test_lawyers_and_numbers_of_decisions_stay(text: str, expected: list[str]) -> None:
    (spans,) = RulesBackend("omissis", ["it"]).predict([text])
    assert [text[span.start : span.end] for span in spans] == expected


@pytest.mark.parametrize("piece", ["Avv.ti Piera Monti, ", "Avv. Piera Monti (x ", "sentenza n. 245/2019 "])
def test_many_lawyers_take_time_in_proportion(piece: str) -> None:
    rules = RulesBackend("omissis", ["it"])
    assert grows_in_proportion(lambda: rules.predict([piece * 300]), lambda: rules.predict([piece * 1200]), 0.05)
