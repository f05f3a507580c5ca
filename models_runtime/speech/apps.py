from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class SpeechConfig(AppConfig):
    name = "models_runtime.speech"
    label = "models_speech"

    def ready(self) -> None:
        from annotations.core import offers
        from annotations.core.access import Can
        from annotations.jobs.registry import JobKind, register

        register(
            {
                "transcribe": JobKind(
                    title=_("Transcribe a recording"),
                    handler="models_runtime.speech.jobs.run",
                    right=Can.MANAGE,
                    unit=_("seconds"),
                    undo="annotations.audio.services.storing.undo_recording",
                    can_pause=True,
                    # A canceled or failed job deletes its recording.
                    can_retry=False,
                    result="audio/result.html",
                ),
                "judge_gaps": JobKind(
                    title=_("Judge gaps of a recording"),
                    handler="models_runtime.speech.jobs.run_gaps",
                    right=Can.MANAGE,
                    queue="llm",
                    result="speech/gaps_result.html",
                ),
            }
        )
        offers.offer("recording.actions", "speech/offers/recording.html")
