"""Jobs and their shares are models of `annotations` now. Only what Django believes changes: no table, no constraint does."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotations', '0022_jobs_from_models_runtime'),
        ('models_runtime', '0014_losses_by_note_id'),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name='run',
                    name='job',
                    field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='run', to='annotations.job'),
                ),
                migrations.AlterField(
                    model_name='judging',
                    name='job',
                    field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='judging', to='annotations.job'),
                ),
                migrations.AlterField(
                    model_name='trainedmodel',
                    name='job',
                    field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='trained_model', to='annotations.job'),
                ),
                migrations.AlterField(
                    model_name='run',
                    name='backend',
                    field=models.CharField(help_text='A key of models_runtime.core.registry.BACKENDS.', max_length=40),
                ),
                migrations.AlterField(
                    model_name='trainedmodel',
                    name='backend',
                    field=models.CharField(help_text='A key of models_runtime.core.registry.TRAINABLE.', max_length=40),
                ),
                migrations.DeleteModel(name='Share'),
                migrations.DeleteModel(name='Job'),
            ],
        ),
    ]
