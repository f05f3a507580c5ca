from django.apps import AppConfig


class AudioConfig(AppConfig):
    name = "annotations.audio"

    def ready(self) -> None:
        from annotations.core import addresses, navigation, offers

        addresses.register("note.recording", "recording")
        navigation.extend("notes", "recordings", "recording")
        navigation.extend("import", "recording_import")
        offers.offer("notes.actions", "audio/offers/notes.html", position=40)
        offers.offer("import.actions", "audio/offers/import.html", position=10)
        offers.offer("note.foot", "audio/offers/note.html", position=-20)
