from annotations.domain.spans import Span
from tests.quality.regions import Region, inside, regions

NOTE = "Datos\nNombre: Ana.\nInforme clínico: acude.\nVive en Bari.\nRemitido por: Dr. Otero.\nBari.\n"


def test_a_note_is_cut_at_the_lines_that_open_its_parts() -> None:
    parts = {region: NOTE[start:end] for region, (start, end) in regions(NOTE).items()}
    assert parts[Region.HEADER] == "Datos\nNombre: Ana.\n"
    assert parts[Region.NARRATIVE] == "Informe clínico: acude.\nVive en Bari.\n"
    assert parts[Region.REFERRAL] == "Remitido por: Dr. Otero.\nBari.\n"
    assert "".join(parts.values()) == NOTE


def test_without_those_lines_all_is_narrative() -> None:
    text = "Acude por dolor.\n"
    assert regions(text) == {Region.HEADER: (0, 0), Region.NARRATIVE: (0, 17), Region.REFERRAL: (17, 17)}


def test_a_span_belongs_to_where_it_begins() -> None:
    at = NOTE.index("Ana")
    spans = [Span(at, at + 3, "NAME"), Span(NOTE.index("Bari"), NOTE.index("Bari") + 4, "CITY")]
    assert inside(spans, regions(NOTE)[Region.HEADER]) == spans[:1]
