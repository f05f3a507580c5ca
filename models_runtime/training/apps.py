from django.apps import AppConfig
from django.utils.translation import gettext_noop as _


class TrainingConfig(AppConfig):
    name = "models_runtime.training"

    def ready(self) -> None:
        from annotations.core import navigation
        from annotations.core.access import Can
        from annotations.core.hooks import audit_names, patient_erased, project_deleted, tidiers
        from annotations.jobs.registry import JobKind, register

        jobs = "models_runtime.training.jobs"
        training = JobKind(
            _("Training"),
            f"{jobs}.training.run",
            Can.MANAGE,
            unit=_("steps"),
            undo=f"{jobs}.training.undo",
            redo=f"{jobs}.training.redo",
            result="training/result.html",
        )
        measuring = f"{jobs}.calibration.run"
        calibrating = JobKind(_("Calibration"), measuring, Can.MANAGE, result="training/calibration/result.html")
        register({"train": training, "calibrate": calibrating})
        options = f"{jobs}.kept_models"
        tidiers.add(f"{options}.forget_stale")
        patient_erased.add(f"{options}.forget_after_erasure")
        audit_names.add("models_runtime.training.services.trained.names_of_models")
        project_deleted.add(f"{options}.forget_with_project")
        models = frozenset({"model", "model_train", "model_upload", "model_rename"})
        navigation.register(navigation.Entry("models", 30, _("Trained"), "models", Can.READ_NOTES, models))
        navigation.SHORTCUTS.append(navigation.Shortcut(_("Train a model"), "models", Can.MANAGE, "train-title"))
