"""What language models cost that make surrogates, by release or project."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotations', '0038_release'),
        ('models_runtime', '0021_rules_of_judgings'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='llmusage',
            name='usage_of_one',
        ),
        migrations.AddField(
            model_name='llmusage',
            name='project',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='surrogate_usage', to='annotations.project'),
        ),
        migrations.AddField(
            model_name='llmusage',
            name='release',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='usage', to='annotations.release'),
        ),
        migrations.AddConstraint(
            model_name='llmusage',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('judge__isnull', True), ('project__isnull', True), ('release__isnull', True), ('run__isnull', False)), models.Q(('judge__isnull', False), ('project__isnull', True), ('release__isnull', True), ('run__isnull', True)), models.Q(('judge__isnull', True), ('project__isnull', True), ('release__isnull', False), ('run__isnull', True)), models.Q(('judge__isnull', True), ('project__isnull', False), ('release__isnull', True), ('run__isnull', True)), _connector='OR'), name='usage_of_one'),
        ),
        migrations.AddConstraint(
            model_name='llmusage',
            constraint=models.UniqueConstraint(fields=('release', 'currency'), name='usage_of_release_once'),
        ),
        migrations.AddConstraint(
            model_name='llmusage',
            constraint=models.UniqueConstraint(fields=('project', 'currency'), name='usage_of_project_once'),
        ),
    ]
