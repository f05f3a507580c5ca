from django.apps import AppConfig


class NotesConfig(AppConfig):
    name = "annotations.notes"
    label = "notes"
