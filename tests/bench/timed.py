"""One of the product's commands in a process of its own, timed from inside: what is left without Python's start."""

import io
import json
import os
import sys
import time


def main(words: list[str]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deidreview.settings")
    import django
    from django.core.management import call_command, get_commands, load_command_class

    django.setup()
    command = load_command_class(get_commands()[words[0]], words[0])
    answer = io.StringIO()
    began = time.perf_counter()
    call_command(command, *words[1:], stdout=answer)
    seconds = time.perf_counter() - began
    print(json.dumps({"seconds": seconds, "answer": json.loads(answer.getvalue())}))


if __name__ == "__main__":
    main(sys.argv[1:])
