"""Releases: keys, policies, released notes, findings, surrogates, known identifiers, audits and certificates."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('annotations', '0037_doubtful_in_bulk_acts'),
    ]

    operations = [
        migrations.CreateModel(
            name='NoteMetadata',
            fields=[
                ('document', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='metadata', serialize=False, to='annotations.document')),
                ('note_type', models.CharField(blank=True, max_length=80)),
                ('site', models.CharField(blank=True, max_length=80)),
            ],
        ),
        migrations.CreateModel(
            name='ProjectKey',
            fields=[
                ('project', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='annotations.project')),
                ('sealed', models.BinaryField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name='SigningKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('public', models.BinaryField(max_length=32)),
                ('sealed', models.BinaryField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.AlterField(
            model_name='storedfile',
            name='kind',
            field=models.CharField(choices=[('upload', 'Upload'), ('export', 'Export'), ('model', 'Model'), ('release', 'Release')], max_length=8),
        ),
        migrations.CreateModel(
            name='KnownUpload',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('format', models.CharField(max_length=4)),
                ('state', models.CharField(choices=[('waiting', 'Being read'), ('read', 'Waiting for confirmation')], default='waiting', max_length=7)),
                ('sealed', models.BinaryField()),
                ('report', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotations.project')),
            ],
            options={
                'ordering': ['-id'],
            },
        ),
        migrations.CreateModel(
            name='Release',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('set_spec', models.CharField(help_text='Which annotations: gold, gold:VERSION, run:NAME and so on.', max_length=200)),
                ('surrogate_maker', models.JSONField(default=dict, help_text='The language model that makes surrogates (surrogates.services.makers); empty: rules.')),
                ('state', models.CharField(choices=[('preparing', 'Being prepared'), ('prepared', 'Prepared'), ('signed', 'Signed'), ('withdrawn', 'Withdrawn')], default='preparing', max_length=10)),
                ('purpose', models.CharField(blank=True, max_length=300)),
                ('recipient', models.CharField(blank=True, max_length=200)),
                ('expires_on', models.DateField(help_text='When the certificate expires.', null=True)),
                ('note_count', models.PositiveIntegerField(default=0)),
                ('span_count', models.PositiveIntegerField(default=0)),
                ('erased_count', models.PositiveIntegerField(default=0, help_text='Notes erased since they were released.')),
                ('revision', models.PositiveIntegerField(default=0, help_text='Counts the changes since its notes were prepared.')),
                ('content_hash', models.CharField(blank=True, max_length=64)),
                ('figures', models.JSONField(default=dict, help_text='Counts and measures of the prepared release.')),
                ('risks', models.JSONField(default=list, help_text='Accepted open risks: [{text, by, at}].')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('begun_at', models.DateTimeField(default=django.utils.timezone.now, help_text='When preparing all of its notes was last started.')),
                ('signed_at', models.DateTimeField(null=True)),
                ('author', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='annotations.author')),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('gold_version', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='annotations.goldversion')),
                ('job', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='annotations.job')),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='releases', to='annotations.project')),
                ('signed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'ordering': ['-number'],
            },
        ),
        migrations.CreateModel(
            name='AuditPlan',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('by', models.CharField(blank=True, choices=[('', 'Not stratified'), ('type', 'Note type'), ('site', 'Site'), ('language', 'Language')], max_length=8)),
                ('confidence', models.FloatField()),
                ('target', models.FloatField()),
                ('planted_share', models.FloatField()),
                ('leaks_allowed', models.PositiveSmallIntegerField(help_text='Notes with a leak after which reading goes on.')),
                ('seed', models.CharField(help_text='Anybody can repeat the draw with it.', max_length=32)),
                ('strata', models.JSONField()),
                ('looks', models.JSONField()),
                ('drawn', models.PositiveIntegerField()),
                ('erased_count', models.PositiveIntegerField(default=0, help_text='Notes of the sample that were erased since.')),
                ('state', models.CharField(choices=[('open', 'Being read'), ('met', 'Target met'), ('unmet', 'Target not met')], default='open', max_length=5)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('release', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='audit', to='annotations.release')),
            ],
        ),
        migrations.CreateModel(
            name='ReleasedNote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=255)),
                ('state', models.CharField(choices=[('pending', 'Waiting'), ('done', 'Ready'), ('held', 'Held back')], default='pending', max_length=7)),
                ('sha256', models.CharField(blank=True, max_length=64)),
                ('span_count', models.PositiveIntegerField(default=0)),
                ('spans', models.JSONField(default=list)),
                ('pieces', models.JSONField(default=list)),
                ('extra', models.JSONField(default=list, help_text="[start, end, label code, masked] in the original: what the leak gate's decisions added. `masked` stretches get the label's placeholder, whatever the policy does with the label.")),
                ('exceptions', models.JSONField(default=dict, help_text='How often each exception of the leak gate applied.')),
                ('characters_kept', models.PositiveIntegerField(default=0, help_text='Code points outside of replaced stretches.')),
                ('first_year', models.PositiveSmallIntegerField(null=True)),
                ('last_year', models.PositiveSmallIntegerField(null=True)),
                ('text', models.TextField(blank=True)),
                ('document', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotations.document')),
                ('release', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='notes', to='annotations.release')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='LeakFinding',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('where', models.CharField(choices=[('text', 'Text'), ('name', 'Name of the note')], default='text', max_length=4)),
                ('start', models.PositiveIntegerField()),
                ('end', models.PositiveIntegerField()),
                ('original_start', models.PositiveIntegerField()),
                ('original_end', models.PositiveIntegerField()),
                ('origin', models.CharField(choices=[('note', 'Labeled in this note'), ('patient', 'Labeled in another note of the patient'), ('known', 'Known identifier of the patient'), ('denied', 'On the deny list'), ('shape', 'Looks like an identifier'), ('audit', 'Marked in the audit')], max_length=7)),
                ('part', models.BooleanField(default=False, help_text='Only a part of the string, of four letters or more.')),
                ('label', models.CharField(blank=True, max_length=60)),
                ('source_start', models.PositiveIntegerField(null=True)),
                ('source_end', models.PositiveIntegerField(null=True)),
                ('string_key', models.BigIntegerField(help_text='A keyed hash of the folded string, to decide equal ones together.')),
                ('decision', models.CharField(blank=True, choices=[('replace', 'Replace here too'), ('allow', 'Allow')], max_length=7)),
                ('decided_at', models.DateTimeField(null=True)),
                ('decided_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('source', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotations.document')),
                ('note', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='findings', to='annotations.releasednote')),
            ],
            options={
                'ordering': ['note', 'where', 'start', 'id'],
            },
        ),
        migrations.CreateModel(
            name='AuditNote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('position', models.PositiveIntegerField(help_text='The order in which notes are read, from 1.')),
                ('look', models.PositiveSmallIntegerField()),
                ('stratum', models.CharField(blank=True, max_length=80)),
                ('state', models.CharField(choices=[('waiting', 'Waiting'), ('reading', 'Being read'), ('done', 'Read')], default='waiting', max_length=7)),
                ('leased_until', models.DateTimeField(null=True)),
                ('done_at', models.DateTimeField(null=True)),
                ('planted_start', models.PositiveIntegerField(null=True)),
                ('planted_end', models.PositiveIntegerField(null=True)),
                ('planted_found', models.BooleanField(null=True)),
                ('reader', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('plan', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='notes', to='annotations.auditplan')),
                ('note', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotations.releasednote')),
            ],
            options={
                'ordering': ['plan', 'position'],
            },
        ),
        migrations.CreateModel(
            name='ReleaseErasure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('notes', models.PositiveIntegerField()),
                ('patients', models.PositiveIntegerField()),
                ('at', models.DateTimeField(auto_now_add=True)),
                ('release', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='erasures', to='annotations.release')),
            ],
            options={
                'ordering': ['id'],
            },
        ),
        migrations.CreateModel(
            name='ReleasePolicy',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('slug', models.SlugField(help_text='Short name, as used for --policy; the same for all versions.', max_length=40)),
                ('version', models.PositiveIntegerField()),
                ('name', models.CharField(max_length=80)),
                ('rules', models.JSONField()),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='release_policies', to='annotations.project')),
            ],
            options={
                'ordering': ['slug', '-version'],
            },
        ),
        migrations.AddField(
            model_name='release',
            name='policy',
            field=models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, related_name='releases', to='annotations.releasepolicy'),
        ),
        migrations.CreateModel(
            name='Certificate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('sha256', models.CharField(db_index=True, max_length=64)),
                ('json', models.BinaryField()),
                ('pdf', models.BinaryField()),
                ('note_count', models.PositiveIntegerField()),
                ('expires_on', models.DateField(null=True)),
                ('signed_at', models.DateTimeField()),
                ('signed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('release', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='certificates', to='annotations.release')),
                ('key', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='annotations.signingkey')),
            ],
            options={
                'ordering': ['-number'],
            },
        ),
        migrations.CreateModel(
            name='SurrogateEntity',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(help_text='annotations.domain.redaction.kinds', max_length=20)),
                ('scope', models.CharField(blank=True, max_length=32)),
                ('sealed', models.BinaryField()),
                ('surrogate_digest', models.CharField(max_length=32, null=True)),
                ('locked', models.BooleanField(default=False, help_text='Only a person may change the surrogate or add forms.')),
                ('made_by', models.CharField(help_text='rules, person, or a model with a digest of its prompts.', max_length=60)),
                ('version', models.PositiveIntegerField(default=1, help_text="Counts changes, so that no editor undoes another's.")),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('edited_at', models.DateTimeField(help_text='When a person last changed the entity.', null=True)),
                ('edited_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='surrogate_entities', to='annotations.project')),
            ],
            options={
                'ordering': ['kind', 'id'],
            },
        ),
        migrations.CreateModel(
            name='SurrogateKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(max_length=20)),
                ('scope', models.CharField(blank=True, max_length=32)),
                ('digest', models.CharField(max_length=32)),
                ('entity', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='keys', to='annotations.surrogateentity')),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotations.project')),
            ],
        ),
        migrations.CreateModel(
            name='SurrogateMention',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('start', models.PositiveIntegerField()),
                ('end', models.PositiveIntegerField()),
                ('form', models.BigIntegerField()),
                ('document', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotations.document')),
                ('entity', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='mentions', to='annotations.surrogateentity')),
            ],
            options={
                'ordering': ['document', 'start'],
            },
        ),
        migrations.CreateModel(
            name='KnownPerson',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('patient_id', models.CharField(max_length=80)),
                ('sealed', models.BinaryField()),
                ('digest', models.CharField(max_length=64)),
                ('fields', models.PositiveIntegerField(default=0, help_text='One bit for each field of Person that has a value.')),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotations.project')),
            ],
            options={
                'ordering': ['patient_id'],
                'constraints': [models.UniqueConstraint(fields=('project', 'patient_id'), name='known_person_once')],
            },
        ),
        migrations.CreateModel(
            name='AuditMark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('start', models.PositiveIntegerField()),
                ('end', models.PositiveIntegerField()),
                ('label', models.CharField(max_length=60)),
                ('leak', models.BooleanField(null=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('dismissed_at', models.DateTimeField(null=True)),
                ('dismissed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('note', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='marks', to='annotations.auditnote')),
                ('finding', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='annotations.leakfinding')),
            ],
            options={
                'ordering': ['note', 'start', 'id'],
                'constraints': [models.UniqueConstraint(fields=('note', 'start', 'end'), name='audit_mark_once'), models.CheckConstraint(condition=models.Q(('end__gt', models.F('start'))), name='audit_mark_not_empty')],
            },
        ),
        migrations.CreateModel(
            name='ListedTerm',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('allow', 'Allow'), ('deny', 'Deny')], max_length=5)),
                ('sealed', models.BinaryField()),
                ('digest', models.CharField(max_length=64)),
                ('label', models.CharField(blank=True, max_length=60)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('project', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='annotations.project')),
            ],
            options={
                'ordering': ['id'],
                'constraints': [models.UniqueConstraint(fields=('project', 'kind', 'digest'), name='listed_term_once')],
            },
        ),
        migrations.AddIndex(
            model_name='releasednote',
            index=models.Index(fields=['release', 'state', 'id'], name='released_note_by_state'),
        ),
        migrations.AddConstraint(
            model_name='releasednote',
            constraint=models.UniqueConstraint(fields=('release', 'document'), name='released_note_once'),
        ),
        migrations.AddConstraint(
            model_name='leakfinding',
            constraint=models.UniqueConstraint(fields=('note', 'where', 'original_start', 'original_end', 'string_key'), name='leak_finding_once'),
        ),
        migrations.AddConstraint(
            model_name='leakfinding',
            constraint=models.CheckConstraint(condition=models.Q(('end__gt', models.F('start'))), name='leak_finding_not_empty'),
        ),
        migrations.AddIndex(
            model_name='auditnote',
            index=models.Index(fields=['plan', 'state', 'position'], name='audit_note_by_state'),
        ),
        migrations.AddConstraint(
            model_name='auditnote',
            constraint=models.UniqueConstraint(fields=('plan', 'position'), name='audit_position_once'),
        ),
        migrations.AddConstraint(
            model_name='auditnote',
            constraint=models.UniqueConstraint(fields=('plan', 'note'), name='audit_note_once'),
        ),
        migrations.AddConstraint(
            model_name='releasepolicy',
            constraint=models.UniqueConstraint(fields=('project', 'slug', 'version'), name='release_policy_version_once'),
        ),
        migrations.AddConstraint(
            model_name='release',
            constraint=models.UniqueConstraint(fields=('project', 'number'), name='release_number_once'),
        ),
        migrations.AddConstraint(
            model_name='certificate',
            constraint=models.UniqueConstraint(fields=('release', 'number'), name='certificate_number_once'),
        ),
        migrations.AddIndex(
            model_name='surrogateentity',
            index=models.Index(fields=['project', 'kind', 'id'], name='surrogate_by_kind'),
        ),
        migrations.AddIndex(
            model_name='surrogateentity',
            index=models.Index(fields=['project', 'scope'], name='surrogate_by_scope'),
        ),
        migrations.AddIndex(
            model_name='surrogateentity',
            index=models.Index(fields=['project', 'edited_at'], name='surrogate_by_edit'),
        ),
        migrations.AddConstraint(
            model_name='surrogateentity',
            constraint=models.UniqueConstraint(fields=('project', 'kind', 'surrogate_digest'), name='surrogate_once'),
        ),
        migrations.AddConstraint(
            model_name='surrogatekey',
            constraint=models.UniqueConstraint(fields=('project', 'digest', 'kind', 'scope'), name='surrogate_key_once'),
        ),
        migrations.AddIndex(
            model_name='surrogatemention',
            index=models.Index(fields=['entity', 'form'], name='surrogate_mention_by_form'),
        ),
        migrations.AddConstraint(
            model_name='surrogatemention',
            constraint=models.UniqueConstraint(fields=('document', 'start', 'end'), name='surrogate_mention_once'),
        ),
        migrations.AddConstraint(
            model_name='surrogatemention',
            constraint=models.CheckConstraint(condition=models.Q(('end__gt', models.F('start'))), name='surrogate_mention_not_empty'),
        ),
    ]
