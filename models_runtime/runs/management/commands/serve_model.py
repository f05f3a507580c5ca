import signal
import threading
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.core.services import ServiceError
from annotations.models import Project, User
from models_runtime.backends.remote.servers import PROTOCOLS
from models_runtime.runs.services.serving import served, server_for


class Command(ProjectCommand):
    help = (
        "Serve a model to INCEpTION or Label Studio, until the command is stopped. The other tool needs a token of "
        "the API (create_token) of somebody who may read every note of the project."
    )
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("model", metavar="MODEL", help="A backend, or a trained model (its name or model:ID).")
        parser.add_argument("--protocol", required=True, choices=list(PROTOCOLS), help="That of the other tool.")
        parser.add_argument("--host", default="127.0.0.1", help="The address to listen on. Default: this machine only.")
        parser.add_argument("--port", type=int, default=9090, help="The port to listen on. Default: 9090.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        protocol, host = options["protocol"], options["host"]
        answering = served(project=project, model=options["model"], protocol=protocol, actor=actor)
        try:
            server = server_for(answering, host, options["port"])
        except (OSError, OverflowError) as error:
            raise ServiceError(
                f"The address {host}, port {options['port']}, can't be used ({error}). Choose another one.", code="port"
            ) from None
        shown = f"[{host}]" if ":" in host else host
        self.stderr.write(f"{answering.name} answers {PROTOCOLS[protocol]} at http://{shown}:{server.server_port}/")
        if threading.current_thread() is threading.main_thread():
            for signum in (signal.SIGTERM, signal.SIGINT):
                signal.signal(signum, lambda *_: threading.Thread(target=server.shutdown, daemon=True).start())
        with server:
            server.serve_forever()
        return {"model": answering.name, "protocol": protocol}

    def say(self, result: dict[str, Any]) -> str:
        return f"{result['model']} is not served any more."
