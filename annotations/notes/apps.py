from django.apps import AppConfig


class NotesConfig(AppConfig):
    name = "annotations.notes"
    label = "notes"

    def ready(self) -> None:
        from annotations.jobs import hooks
        from annotations.notes.services.searching import purge_searches

        hooks.TIDIERS.append(purge_searches)
