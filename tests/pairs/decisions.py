"""Invented decisions of a court, clear and published, with the noise of Salierno et al. 2024, section 5.1.1.

`python -m tests.pairs.decisions` prints the curve of docs/pairs.md: token F1 of what is hidden by noise and window.
"""

import random
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from annotations.pairs.rules.alignment import align
from annotations.text.spans import Token, tokenize

FIRST = re.findall(r"\w+", "Mario Lucia Andrea Carla Pietro Elena Bruno Marta Sergio Paola Dario Irene")
LAST = re.findall(r"\w+", "Rossi Bianchi Verdi Neri Gallo Conti Ferri Riva Costa Fontana Moro Serra")
TOWNS = re.findall(r"\w+", "Roma Firenze Torino Ancona Bari Pisa Udine Trento Lecce Siena")
STREETS = ["Via del Corso", "Via di Valle Murcia", "Piazza Nuova", "Viale dei Mille", "Via San Marco"]
REGIONS = re.findall(r"\w+", "Toscana Lazio Piemonte Marche Puglia Umbria")
WORDS = re.findall(
    r"\w+",
    """
la il di a da in con su per tra che e o ma non si come anche dopo prima quando pensione trattamento ricorso giudice
domanda diritto istanza provvedimento amministrazione servizio infermità causa dipendente aspetto documento relazione
parere commissione medica ospedale decorrenza liquidazione indebito recupero importo rateo contributo periodo norma
articolo comma legge decreto sentenza sezione udienza pubblica memoria deposito difesa parte ricorrente resistente
Istituto eccezione prescrizione merito fondatezza rigetto accoglimento spese compensazione motivazione fatto
""",
)
# The excerpt of section 3. {…} is hidden in the published text, with invented bounds where the source shows none.
EXCERPT = (
    "nel giudizio iscritto al n. 12345/A del registro di Segreteria promosso da {Mario Rossi}, (c.f. "
    "{RSSMRA21 A011150111}) nato il {01.01.1970} a {Roma} e residente in {Roma (RM) in Via di Valle Murcia, 6}, "
    "rappresentato e difeso, per procura speciale in calce al ricorso, dall'avv. Andrea Bianchi del Foro di Firenze "
    "(c.f. ANDRBLI00A01D612X, pec: andrea.bianchi@avvocati.it);"
)


@dataclass
class Decision:
    """A clear text, its published version, and the bounds of what the published version hides."""

    clear: str = ""
    published: str = ""
    hidden: list[tuple[int, int]] = field(default_factory=list)
    # Bounds of the lawyer, his tax code and his PEC, which stay.
    standing: tuple[int, int] = (0, 0)


def marked(text: str) -> Decision:
    """Make a decision of a text in which {…} marks what is hidden."""
    made = Decision()
    for number, part in enumerate(text.replace("}", "{").split("{")):
        if number % 2:
            made.hidden.append((len(made.clear), len(made.clear) + len(part)))
        made.clear += part
        made.published += "OMISSIS" if number % 2 else part
    return made


def excerpt() -> Decision:
    made = marked(EXCERPT)
    made.standing = (made.clear.index("Andrea"), len(made.clear) - 2)
    return made


def invented(
    seed: int, *, tokens: int = 1396, region: str = "", number: str = "", words: Sequence[str] = WORDS
) -> Decision:
    """Invent a decision of about so many tokens, of these words, with eight hidden spans, as in table 6."""
    chance = random.Random(seed)
    pick = chance.choice
    number = number or f"{10_000 + seed}/{pick('CAGM')}"
    person, lawyer = f"{pick(FIRST)} {pick(LAST)}", f"{pick(FIRST)} {pick(LAST)}"
    born = f"{chance.randint(1, 28):02}.{chance.randint(1, 12):02}.{chance.randint(1930, 1975)}"
    letters = "".join(chance.choices("BCDFGLMNPRSTV", k=6))
    street = f"{pick(STREETS)}, {chance.randint(1, 99)}"
    head = (
        f"CORTE DEI CONTI\nSezione giurisdizionale per la Regione {region or pick(REGIONS)}\n"
        f"Sentenza nr. {number},R.G.\n\nsul ricorso promosso da {{{person}}}, (c.f. "
        f"{{{letters}{chance.randint(10, 99)}A01H501X}}) nato il {{{born}}} a {{{pick(TOWNS)}}} e residente in "
        f"{{{pick(TOWNS)}}}, {{{street}}}, "
    )
    code = "".join(chance.choices("BCDFGLMNPRSTV", k=6))
    lawyer_part = (
        f"rappresentato e difeso dall'avv. {lawyer} del Foro di {pick(TOWNS)} (c.f. "
        f"{code}70A01D612X, pec: {lawyer.replace(' ', '.').lower()}@legale.it);"
    )
    sentences, count = [], 130
    while count < tokens:
        drawn = chance.choices(words, k=chance.randint(8, 24))
        sentences.append(" ".join(drawn).capitalize() + pick([".", ".", ";", ", ai sensi dell'art. 12."]))
        count += len(drawn) + 1
    sentences.insert(len(sentences) // 2, f"Il Sig. {{{person}}} ha servito presso il distretto di {{{pick(TOWNS)}}}.")
    made = marked(f"{head}{lawyer_part}\n" + "\n".join(sentences))
    at = made.clear.index("dall'avv. ") + len("dall'avv. ")
    made.standing = (at, made.clear.index(";", at))
    return made


def noisy(text: str, rate: float, seed: int) -> str:
    """Omit, swap and add tokens, at a third of the rate each; never OMISSIS, and never in the first lines."""
    chance = random.Random(seed)
    tokens = [text[start:end] for start, end in tokenize(text)]
    out: list[str] = []
    at = 0
    while at < len(tokens):
        token, drawn = tokens[at], chance.random()
        following = tokens[at + 1] if at + 1 < len(tokens) else "OMISSIS"
        at += 1
        if at < 25 or token == "OMISSIS" or drawn >= rate:
            out.append(token)
        elif drawn < rate / 3:
            continue
        elif drawn < 2 * rate / 3 and following != "OMISSIS":
            out += [following, token]
            at += 1
        else:
            out += [token, chance.choice(WORDS)]
    return " ".join(out)


@dataclass
class Found:
    """Counts of hidden tokens: found, wrongly labeled, missed; and of the lawyer's tokens, all and left standing."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    public: int = 0
    standing: int = 0

    @property
    def f1(self) -> float:
        return 2 * self.right / max(1, 2 * self.right + self.wrong + self.missed)


def compare(decisions: list[Decision], published: list[str], method: str, window: int = 10) -> Found:
    """Count tokens as in section 6.2, without O."""
    found = Found()
    for one, text in zip(decisions, published, strict=True):
        tokens = tokenize(one.clear)
        wanted = inside(tokens, one.hidden)
        labeled = inside(tokens, [(span.start, span.end) for span in align(one.clear, text, method, window).spans])
        public = inside(tokens, [one.standing])
        found.right += len(wanted & labeled)
        found.wrong += len(labeled - wanted)
        found.missed += len(wanted - labeled)
        found.public += len(public)
        found.standing += len(public - labeled)
    return found


def inside(tokens: list[Token], bounds: list[tuple[int, int]]) -> set[int]:
    return {
        number
        for number, (start, end) in enumerate(tokens)
        if any(first <= start and end <= past for first, past in bounds)
    }


RATES = (0.0, 0.01, 0.03, 0.1)
WINDOWS = (5, 10, 20, 50)


def main() -> None:
    decisions = [invented(seed) for seed in range(100)]
    print("| noise | diff | " + " | ".join(f"window {window}" for window in WINDOWS) + " |")
    for rate in RATES:
        published = [noisy(one.published, rate, seed) for seed, one in enumerate(decisions)]
        began = time.perf_counter()
        found = [compare(decisions, published, "diff")]
        found += [compare(decisions, published, "window", window) for window in WINDOWS]
        cells = [f"{one.f1:.4f} ({one.standing / one.public:.3f})" for one in found]
        print(f"| {rate:g} | " + " | ".join(cells) + f" | {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
