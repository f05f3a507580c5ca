"""Invented notes for training, and damaged copies of models."""

import random
from itertools import cycle

from annotations.text.spans import Span
from tests.zips import unzipped, zipped

NAMES = ["Anna Bianchi", "Luis Otero", "Carmen Huerta Paz", "Marco Rossi", "Eva Sanz", "Julián Otero Paz"]
PLACES = ["Madrid", "León", "Torino", "Bari", "Burgos"]
WORDS = ["acude", "por", "dolor", "torácico", "con", "fiebre", "de", "días", "se", "pauta", "reposo", "y", "control"]


def made_notes(count=40):
    """Invented notes in which names follow titles, and towns follow postal codes."""
    chance = random.Random(7)
    notes = []
    for _ in range(count):
        text, spans = "", []
        for label, before, value in (
            ("NOMBRE_SUJETO_ASISTENCIA", "Nombre: ", chance.choice(NAMES)),
            ("TERRITORIO", "CP: 28013 ", chance.choice(PLACES)),
            ("FECHAS", "Ingreso: ", f"{chance.randint(1, 28):02}/03/20{chance.randint(10, 20)}"),
            ("NOMBRE_PERSONAL_SANITARIO", " ".join(chance.sample(WORDS, 9)) + ". Dr. ", chance.choice(NAMES)),
            ("TERRITORIO", ", 28013 ", chance.choice(PLACES)),
        ):
            text += before
            spans.append(Span(len(text), len(text) + len(value), label))
            text += value + (".\n" if label != "NOMBRE_PERSONAL_SANITARIO" else "")
        notes.append((text, spans))
    return notes


def joined(notes):
    """All notes as one long note."""
    text, spans = "", []
    for each, own in notes:
        spans += [Span(span.start + len(text), span.end + len(text), span.label) for span in own]
        text += each + "\n"
    return text, sorted(spans)


def moved_notes(count):
    """The same notes with some lines before them, so that a model doesn't depend on where a note begins."""
    return [
        (lead + text, [Span(span.start + len(lead), span.end + len(lead), span.label) for span in spans])
        for (text, spans), lead in zip(made_notes(count), cycle(["\n\n", "x\n", "\ufeff\r\n\r\n", "a b\n\n"]))
    ]


def damaged(path, made, **members):
    """A copy of a model file with other content for some members. Empty content: without the member."""
    content = unzipped(path) | {name.replace("__", "."): value for name, value in members.items()}
    made.write_bytes(zipped({name: value for name, value in content.items() if value}))
    return made


class Killed(Exception):
    """Stands for the end of a training's process."""


def dies_at(iteration, *, adapting=False):
    """A report that ends a training after this epoch."""

    def report(step):
        if (step.adapting, step.iteration) == (adapting, iteration):
            raise Killed

    return report


def made_pipeline(folder):
    """A small spaCy pipeline trained elsewhere: it finds a few names (PER), towns (LOC) and a word (MISC)."""
    import spacy

    nlp = spacy.blank("it")
    ruler = nlp.add_pipe("entity_ruler")
    words = {"PER": ["Rita Neri", "Julián Otero", "Rossi"], "LOC": ["Madrid", "Torino"], "MISC": ["Covid"]}
    ruler.add_patterns([{"label": label, "pattern": form} for label, forms in words.items() for form in forms])
    nlp.meta["description"] = "A few names & towns."
    nlp.to_disk(folder)
    return folder
