"""Notes in: by the command, 500 with their spans as gold, each time into a new project."""

from tests.bench import corpus
from tests.bench.figures import Figure, over_rounds
from tests.bench.people import Bench, import_gold, new_member, new_project

PART = "import"
READERS = 8


def measure(bench: Bench) -> list[Figure]:
    plain = []
    for _ in range(bench.rounds):
        name = bench.fresh("import")
        new_project(bench.product, name)
        plain.append(import_gold(bench.product, name, bench.notes))
    name = bench.fresh("import")
    new_project(bench.product, name)
    for number in range(READERS):
        new_member(bench.product, name, f"reader{number}", "annotator")
    assigned, _ = import_gold(bench.product, name, bench.notes)
    inside = [corpus.NOTES / seconds for seconds, _ in plain]
    whole = [corpus.NOTES / seconds for _, seconds in plain]
    return [
        over_rounds(PART, "import, 500 notes with 11,333 spans", inside, "notes/s", aim=2000, at_least=True),
        over_rounds(PART, "the same, with the start of the interpreter", whole, "notes/s"),
        Figure(PART, "import and hand out to 8 annotators", corpus.NOTES / assigned, "notes/s"),
    ]
