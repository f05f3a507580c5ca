"""Xu et al. 2026: annotations of a language model before and after refinement."""

from typing import Final

from annotations.scores.rules.published.tables import BINARY, RATES, Column, Row, Table, measured

BEFORE: Final = "GPT-5, original annotations"
SINGLE: Final = "GPT-5, refined by single calls"
AGENT: Final = "GPT-5, refined by an agent"

REFINED: Final = Table(
    source="Xu et al. 2026, table 1",
    title="precision, recall and F1 before and after refinement",
    corpus="CARMEN-ES (Spanish), Transcripts-DE (German), WikiPII-EN (English)",
    columns=measured("token, spans overlap", BINARY, *RATES),
    rows=(
        Row((0.9076, 0.9675, 0.9365), system=BEFORE, label="CARMEN-ES"),
        Row(
            (0.5601, 0.9202, 0.6967),
            system=BEFORE,
            label="Transcripts-DE",
            note="F1 of the printed precision and recall is 0.6964.",
        ),
        Row((0.8303, 0.9685, 0.8941), system=BEFORE, label="WikiPII-EN"),
        Row((0.9431, 0.9397, 0.9414), system=SINGLE, label="CARMEN-ES"),
        Row(
            (0.6996, 0.8319, 0.7597),
            system=SINGLE,
            label="Transcripts-DE",
            note="F1 of the printed precision and recall is 0.7600.",
        ),
        Row((0.9072, 0.9203, 0.9137), system=SINGLE, label="WikiPII-EN"),
        Row((0.9795, 0.9539, 0.9665), system=AGENT, label="CARMEN-ES"),
        Row((0.8368, 0.8739, 0.8549), system=AGENT, label="Transcripts-DE"),
        Row((0.9492, 0.8879, 0.9175), system=AGENT, label="WikiPII-EN"),
    ),
    notes=("Printed in percent.",),
)

INJECTED: Final = Table(
    source="Xu et al. 2026, table 2",
    title="injected errors that were detected and corrected",
    corpus="CARMEN-ES (2,807 errors), Transcripts-DE (294 errors)",
    columns=(
        Column("errors caught", "single calls"),
        Column("share", "single calls"),
        Column("errors caught", "agent"),
        Column("share", "agent"),
    ),
    rows=(
        Row(
            (2714, 0.9669, 2779, 0.9901),
            label="CARMEN-ES",
            note="2,779 of 2,807 is 99.00%; 99.01% is printed.",
        ),
        Row(
            (248, 0.8426, 292, 0.9932),
            label="Transcripts-DE",
            note="248 of 294 is 84.35%; 84.26% is printed.",
        ),
    ),
    row_head="Corpus",
)

EFFORT: Final = Table(
    source="Xu et al. 2026, table 3",
    title="effort of refining 84 annotations in 3,314 tokens",
    corpus="CARMEN-ES, a subset (Spanish)",
    columns=(Column("single calls"), Column("agent")),
    rows=(
        Row((420, 161), label="Calls of the language model"),
        Row((1124, 1820), label="Seconds"),
        Row((2284378, 3076333), label="Input tokens"),
        Row((432270, 720450), label="Output tokens"),
        Row((7.18, 11.05), label="US dollars, approximately"),
    ),
    row_head="Effort",
    notes=("Section 3.3 has one call per annotation, which would be 84 calls instead of 420.",),
    digits=2,
)
