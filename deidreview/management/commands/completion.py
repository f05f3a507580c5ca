from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, RequiredStanding
from annotations.models import User

# Django answers with the completions if DJANGO_AUTO_COMPLETE is set.
BASH = """_deidreview() {
    COMPREPLY=($(COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD DJANGO_AUTO_COMPLETE=1 "$1" 2>/dev/null))
}
complete -o default -F _deidreview deidreview"""
SCRIPTS = {
    "bash": BASH,
    "zsh": f"autoload -U +X bashcompinit && bashcompinit\n{BASH}",
    "fish": (
        "complete -c deidreview -a '(env DJANGO_AUTO_COMPLETE=1 COMP_WORDS=(commandline -cp | string collect) "
        'COMP_CWORD=(count (commandline -opc)) deidreview 2>/dev/null | string split " ")\''
    ),
}


class Command(JourneyCommand):
    help = "Print a script with which a shell completes commands. For bash: source <(deidreview completion bash)."
    needs = RequiredStanding.SIGN_IN
    requires_system_checks: list[str] = []

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("shell", choices=sorted(SCRIPTS))

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        return {"shell": options["shell"], "script": SCRIPTS[options["shell"]]}

    def say(self, result: dict[str, Any]) -> str:
        return str(result["script"])
