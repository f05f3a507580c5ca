"""All tables of this app."""

import models_runtime.refining.rules.injection
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from annotations.migrations._tables import CreateTables


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('annotations', '0002_tables'),
        ('annotations', '__first__'),
    ]

    operations = [
        CreateTables(
            models=[
                migrations.CreateModel(
                    name='ServerCapacity',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('server', models.CharField(max_length=40, unique=True)),
                        ('seats', models.JSONField(default=dict)),
                    ],
                    options={
                        'db_table': 'models_runtime_serverroom',
                    },
                ),
                migrations.CreateModel(
                    name='Calibration',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='calibrations', to='annotations.project')),
                        ('backend', models.CharField(help_text='As in Run.backend.', max_length=40)),
                        ('revision', models.CharField(max_length=120)),
                        ('model', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='calibrations', to='models_runtime.trainedmodel')),
                        ('run', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='models_runtime.run')),
                        ('held_out', models.BooleanField(default=False)),
                        ('uploaded', models.BooleanField(db_default=False, default=False, help_text="Came with an uploaded model's file.")),
                        ('gold_version', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='annotations.goldversion')),
                        ('gold_number', models.PositiveIntegerField()),
                        ('gold_hash', models.CharField(max_length=64)),
                        ('notes', models.PositiveIntegerField()),
                        ('own_spans', models.PositiveIntegerField(default=0, help_text='Gold spans that came from the run.')),
                        ('left_out', models.JSONField(default=dict, help_text='Numbers of notes left out: used in training, or held back as test.')),
                        ('curves', models.JSONField(help_text='Parameters for all labels and by label.')),
                        ('figures', models.JSONField(help_text='Reliability before and after calibration, for all labels and by label.')),
                        ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('created_at', models.DateTimeField(auto_now_add=True)),
                        ('withdrawn_at', models.DateTimeField(null=True)),
                    ],
                    options={
                        'ordering': ['-id'],
                        'indexes': [models.Index(fields=['project', 'backend', '-id'], name='calibration_by_backend')],
                    },
                ),
                migrations.CreateModel(
                    name='InjectedRun',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='injected_runs', to='annotations.project')),
                        ('author', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='injected_run', to='annotations.author')),
                        ('gold_version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='injected_runs', to='annotations.goldversion')),
                        ('rules', models.JSONField(help_text='Rule names, in their order of priority (models_runtime.refining.rules.rules).')),
                        ('rate', models.FloatField(help_text='Errors per gold span, from 0.001 to 1.')),
                        ('seed', models.BigIntegerField()),
                        ('terms', models.JSONField(default=list, help_text='Strings of a CSV file, [string, label, count], until the errors are drawn.')),
                        ('possible', models.JSONField(default=dict)),
                        ('injected', models.PositiveIntegerField(null=True)),
                        ('job', models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='injected_run', to='annotations.job')),
                        ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('created_at', models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        'ordering': ['-id'],
                    },
                ),
                migrations.CreateModel(
                    name='Judging',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='judgings', to='annotations.project')),
                        ('author', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='judgings', to='annotations.author')),
                        ('gold_version', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='judgings', to='annotations.goldversion')),
                        ('split', models.CharField(blank=True, max_length=10)),
                        ('most_notes', models.PositiveIntegerField(help_text='At most this many notes, drawn by hash; null: all.', null=True)),
                        ('rules', models.CharField(default='standard', help_text='annotations.scores.rules.judging', max_length=20)),
                        ('unit', models.CharField(default='occurrence', help_text='What one entity is: a Unit of the rules.', max_length=20)),
                        ('temperature', models.FloatField(default=0.0)),
                        ('threshold', models.FloatField(help_text='An entity counts where more than this share of the judges agree.')),
                        ('language', models.CharField(max_length=8)),
                        ('prompt', models.TextField()),
                        ('prompt_version', models.CharField(max_length=20)),
                        ('labels', models.JSONField(default=list)),
                        ('frozen_at', models.DateTimeField(help_text='When the judged notes and entities were fixed.', null=True)),
                        ('job', models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='judging', to='annotations.job')),
                        ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('created_at', models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        'ordering': ['-id'],
                    },
                ),
                migrations.CreateModel(
                    name='JudgedNote',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('judging', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='notes', to='models_runtime.judging')),
                        ('document', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotations.document')),
                        ('entities', models.JSONField()),
                        ('hidden', models.JSONField()),
                        ('beside', models.JSONField()),
                    ],
                    options={
                        'ordering': ['id'],
                        'constraints': [models.UniqueConstraint(fields=('judging', 'document'), name='judged_note_once')],
                    },
                ),
                migrations.CreateModel(
                    name='Judge',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('judging', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='judges', to='models_runtime.judging')),
                        ('position', models.PositiveSmallIntegerField()),
                        ('server', models.CharField(max_length=40)),
                        ('model', models.CharField(max_length=200)),
                        ('stopped', models.CharField(blank=True, max_length=300)),
                    ],
                    options={
                        'ordering': ['position'],
                        'constraints': [models.UniqueConstraint(fields=('judging', 'position'), name='judge_once')],
                    },
                ),
                migrations.CreateModel(
                    name='Judgment',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('judge', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='judgments', to='models_runtime.judge')),
                        ('note', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='judgments', to='models_runtime.judgednote')),
                        ('verdicts', models.JSONField(null=True)),
                        ('error', models.CharField(blank=True, help_text='A sentence for people, without note text.', max_length=300)),
                    ],
                    options={
                        'db_table': 'models_runtime_judgement',
                        'ordering': ['id'],
                        'constraints': [models.UniqueConstraint(fields=('judge', 'note'), name='judgment_once')],
                    },
                ),
                migrations.CreateModel(
                    name='LlmAnswer',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('document', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotations.document')),
                        ('key', models.CharField(max_length=64)),
                        ('found', models.JSONField(help_text="[start, end, label] in code points of the piece, a judge's verdicts, or the piece rewritten.")),
                        ('created_at', models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        'indexes': [models.Index(fields=['key'], name='llm_answer_by_key')],
                        'constraints': [models.UniqueConstraint(fields=('document', 'key'), name='llm_answer_once')],
                    },
                ),
                migrations.CreateModel(
                    name='Refinement',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='refinements', to='annotations.project')),
                        ('source', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='refinements', to='annotations.author')),
                        ('author', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='refinement', to='annotations.author')),
                        ('method', models.CharField(choices=[('offline', 'Offline agent'), ('single', 'Language model, one question per annotation'), ('agent', 'Agent with a language model'), ('external', 'Client over MCP')], max_length=8)),
                        ('gold_version', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='annotations.goldversion')),
                        ('params', models.JSONField(default=dict)),
                        ('revision', models.CharField(blank=True, help_text='Everything that the decisions depend on.', max_length=120)),
                        ('server', models.CharField(blank=True, help_text='Name of the listed server. Empty without a model.', max_length=40)),
                        ('model', models.CharField(blank=True, max_length=200)),
                        ('language', models.CharField(blank=True, help_text='Language of the prompt.', max_length=8)),
                        ('prompt', models.TextField(blank=True, help_text='The system message, copied at the start.')),
                        ('prompt_version', models.CharField(blank=True, max_length=20)),
                        ('switched_off', models.JSONField(default=list, help_text="Names of the agent's components that are not used.")),
                        ('calls', models.PositiveIntegerField(default=0, help_text='Questions that the model answered.')),
                        ('seconds', models.FloatField(default=0, help_text='Time spent on answers, summed over simultaneous questions.')),
                        ('tokens_in', models.PositiveBigIntegerField(default=0)),
                        ('tokens_out', models.PositiveBigIntegerField(default=0)),
                        ('unreadable', models.PositiveIntegerField(default=0, help_text='Answers that could not be read.')),
                        ('not_applied', models.PositiveIntegerField(default=0, help_text='Updates that could not be applied.')),
                        ('job', models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='refinement', to='annotations.job')),
                        ('key', models.CharField(help_text='Idempotency key of a refinement without a job. With one, its job has it.', max_length=120, null=True)),
                        ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('created_at', models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        'ordering': ['-id'],
                        'constraints': [models.UniqueConstraint(fields=('project', 'key'), name='refinement_key_once')],
                    },
                ),
                migrations.CreateModel(
                    name='RefinedItem',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('refinement', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='items', to='models_runtime.refinement')),
                        ('document', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotations.document')),
                        ('number', models.PositiveIntegerField()),
                        ('start', models.PositiveIntegerField()),
                        ('end', models.PositiveIntegerField()),
                        ('label', models.CharField(max_length=100)),
                        ('action', models.CharField(blank=True, choices=[('keep', 'keep'), ('update', 'update'), ('remove', 'remove')], help_text='Empty while open.', max_length=6)),
                        ('new_start', models.PositiveIntegerField(null=True)),
                        ('new_end', models.PositiveIntegerField(null=True)),
                        ('new_label', models.CharField(blank=True, max_length=100)),
                        ('reason', models.CharField(blank=True, max_length=500)),
                        ('step', models.PositiveIntegerField(default=0)),
                    ],
                    options={
                        'ordering': ['refinement', 'document', 'number'],
                        'indexes': [models.Index(fields=['refinement', 'action'], name='refined_item_by_action')],
                        'constraints': [models.UniqueConstraint(fields=('refinement', 'document', 'number'), name='refined_item_once')],
                    },
                ),
                migrations.CreateModel(
                    name='ReviewSkill',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='skills', to='annotations.project')),
                        ('name', models.CharField(max_length=40)),
                        ('version', models.PositiveIntegerField()),
                        ('labels', models.JSONField(default=list)),
                        ('text', models.TextField(blank=True)),
                        ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('created_at', models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        'ordering': ['project', 'name', '-version'],
                        'constraints': [models.UniqueConstraint(fields=('project', 'name', 'version'), name='review_skill_version_once')],
                    },
                ),
                migrations.CreateModel(
                    name='Run',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='runs', to='annotations.project')),
                        ('author', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='run', to='annotations.author')),
                        ('backend', models.CharField(help_text='A key of models_runtime.core.registry.BACKENDS.', max_length=40)),
                        ('model', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='runs', to='models_runtime.trainedmodel')),
                        ('revision', models.CharField(blank=True, help_text='Written by the worker that loaded the backend.', max_length=120)),
                        ('params', models.JSONField(default=dict)),
                        ('calibration', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='runs', to='models_runtime.calibration')),
                        ('job', models.OneToOneField(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='run', to='annotations.job')),
                        ('spans_without_label', models.PositiveIntegerField(default=0, help_text='Spans left out because the project lacks their label.')),
                        ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('created_at', models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        'ordering': ['-id'],
                    },
                ),
                migrations.CreateModel(
                    name='LlmUsage',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('run', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='usage', to='models_runtime.run')),
                        ('judge', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='usage', to='models_runtime.judge')),
                        ('release', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='usage', to='annotations.release')),
                        ('project', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='surrogate_usage', to='annotations.project')),
                        ('requests', models.PositiveIntegerField(default=0)),
                        ('retries', models.PositiveIntegerField(default=0)),
                        ('kept', models.PositiveIntegerField(default=0, help_text='Answers taken from the cache.')),
                        ('tokens_in', models.PositiveBigIntegerField(default=0)),
                        ('tokens_out', models.PositiveBigIntegerField(default=0)),
                        ('hallucinated', models.PositiveIntegerField(default=0, help_text='Mentions that are not in the text, or were not asked about.')),
                        ('ambiguous', models.PositiveIntegerField(default=0, help_text='Mentions whose position or verdict is unclear.')),
                        ('broken', models.PositiveIntegerField(default=0, help_text='Entries that could not be read.')),
                        ('unknown', models.PositiveIntegerField(default=0, help_text='Types or verdicts that were not requested.')),
                        ('too_long', models.PositiveIntegerField(default=0, help_text='Mentions that are too long for an entity.')),
                        ('cut', models.PositiveIntegerField(default=0, help_text='Answers that were cut off.')),
                        ('cost', models.DecimalField(decimal_places=6, help_text='Null: no price is known.', max_digits=14, null=True)),
                        ('currency', models.CharField(blank=True, max_length=3)),
                    ],
                    options={
                        'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('judge__isnull', True), ('project__isnull', True), ('release__isnull', True), ('run__isnull', False)), models.Q(('judge__isnull', False), ('project__isnull', True), ('release__isnull', True), ('run__isnull', True)), models.Q(('judge__isnull', True), ('project__isnull', True), ('release__isnull', False), ('run__isnull', True)), models.Q(('judge__isnull', True), ('project__isnull', False), ('release__isnull', True), ('run__isnull', True)), _connector='OR'), name='usage_of_one'), models.UniqueConstraint(fields=('run', 'currency'), name='usage_of_run_once'), models.UniqueConstraint(fields=('judge', 'currency'), name='usage_of_judge_once'), models.UniqueConstraint(fields=('release', 'currency'), name='usage_of_release_once'), models.UniqueConstraint(fields=('project', 'currency'), name='usage_of_project_once')],
                    },
                ),
                migrations.CreateModel(
                    name='RunItem',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='items', to='models_runtime.run')),
                        ('document', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotations.document')),
                        ('state', models.CharField(choices=[('pending', 'To do'), ('done', 'Done'), ('failed', 'Failed')], default='pending', max_length=8)),
                        ('attempt', models.PositiveSmallIntegerField(default=0)),
                        ('error', models.CharField(blank=True, help_text='A sentence for people, without note text.', max_length=300)),
                        ('finished_at', models.DateTimeField(null=True)),
                    ],
                    options={
                        'ordering': ['id'],
                        'indexes': [models.Index(fields=['run', 'state', 'id'], name='run_item_by_state')],
                        'constraints': [models.UniqueConstraint(fields=('run', 'document'), name='run_item_once')],
                    },
                ),
                migrations.CreateModel(
                    name='SystemicError',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='systemic_errors', to='annotations.project')),
                        ('name', models.CharField(max_length=30)),
                        ('label', models.CharField(help_text='The code of the label that the suggestions had.', max_length=100)),
                        ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('created_at', models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        'ordering': ['project', 'name'],
                        'constraints': [models.UniqueConstraint(fields=('project', 'name'), name='systemic_error_once')],
                    },
                ),
                migrations.CreateModel(
                    name='SystemicExample',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('error', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='examples', to='models_runtime.systemicerror')),
                        ('document', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotations.document')),
                        ('start', models.PositiveIntegerField()),
                        ('end', models.PositiveIntegerField()),
                    ],
                    options={
                        'ordering': ['error', 'document', 'start'],
                        'constraints': [models.UniqueConstraint(fields=('error', 'document', 'start', 'end'), name='systemic_example_once')],
                    },
                ),
                migrations.CreateModel(
                    name='TrainedModel',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='trained_models', to='annotations.project')),
                        ('name', models.CharField(max_length=80)),
                        ('backend', models.CharField(help_text='A key of models_runtime.core.registry.TRAINABLE.', max_length=40)),
                        ('state', models.CharField(choices=[('training', 'In training'), ('ready', 'Ready'), ('failed', 'Failed'), ('retired', 'Retired')], default='training', max_length=8)),
                        ('params', models.JSONField(default=dict, help_text='The requested parameters: algorithm, iterations and others.')),
                        ('card', models.JSONField(default=dict)),
                        ('losses', models.JSONField(default=list, help_text='The loss of each iteration so far.')),
                        ('hold_out', models.JSONField(default=list, help_text='F1 of exact spans on the held-out notes after each epoch so far.')),
                        ('enough', models.BooleanField(default=False, help_text='A person asked to end the training early and keep the model.')),
                        ('gold_version', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='annotations.goldversion')),
                        ('stored_file', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='trained_model', to='annotations.storedfile')),
                        ('job', models.OneToOneField(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='trained_model', to='annotations.job')),
                        ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('created_at', models.DateTimeField(auto_now_add=True)),
                        ('retired_at', models.DateTimeField(null=True)),
                    ],
                    options={
                        'ordering': ['-id'],
                        'indexes': [models.Index(fields=['project', '-id'], name='model_by_project')],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('state__in', ['training', 'ready'])), fields=('project', 'name'), name='model_name_once')],
                    },
                ),
                migrations.CreateModel(
                    name='InjectedError',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='errors', to='models_runtime.injectedrun')),
                        ('document', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotations.document')),
                        ('start', models.PositiveIntegerField()),
                        ('end', models.PositiveIntegerField()),
                        ('label', models.CharField(help_text="The wrong label's code.", max_length=100)),
                        ('was', models.CharField(blank=True, help_text="The gold label's code; empty: no gold overlaps it.", max_length=100)),
                        ('rule', models.CharField(max_length=40)),
                        ('strategy', models.CharField(choices=[(models_runtime.refining.rules.injection.Strategy['RULE'], 'Rule'), (models_runtime.refining.rules.injection.Strategy['SYSTEMIC'], 'Systemic'), (models_runtime.refining.rules.injection.Strategy['LOG'], 'Log')], max_length=8)),
                    ],
                    options={
                        'ordering': ['run', 'document', 'start'],
                        'constraints': [models.UniqueConstraint(fields=('run', 'document', 'start'), name='injected_error_once')],
                    },
                ),
            ],
        ),
    ]
