from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class SpeechConfig(AppConfig):
    name = "models_runtime.speech"

    def ready(self) -> None:
        from annotations.core import offers
        from annotations.core.access import Can
        from annotations.jobs.registry import JobKind, register

        jobs = "models_runtime.speech.jobs"
        # A canceled or failed job deletes its recording.
        transcribing = JobKind(
            _("Transcribe a recording"),
            f"{jobs}.run",
            Can.MANAGE,
            unit=_("seconds"),
            can_pause=True,
            can_retry=False,
            undo="annotations.audio.services.storing.undo_recording",
            result="audio/result.html",
        )
        judging = JobKind(
            _("Judge gaps of a recording"),
            f"{jobs}.run_gaps",
            Can.MANAGE,
            queue="llm",
            result="speech/gaps_result.html",
        )
        register({"transcribe": transcribing, "judge_gaps": judging})
        offers.offer("recording.actions", "speech/offers/recording.html")
