from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotations", "0023_suggestions"),
    ]

    operations = [
        migrations.AddField(
            model_name="review",
            name="ahead",
            field=models.BooleanField(
                help_text="Created with the suggestions, before anybody began the review.", null=True
            ),
        ),
        migrations.AlterField(
            model_name="plantedleak",
            name="known",
            field=models.CharField(
                choices=[
                    ("people", "Reviewers always accepted the same words with this label in other notes"),
                    ("runs", "Most runs over the note suggest exactly this span"),
                    ("string", "The run suggests the same words with this label in other notes"),
                ],
                max_length=6,
            ),
        ),
    ]
