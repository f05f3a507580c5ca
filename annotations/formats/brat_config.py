"""Configuration files that brat needs in the folder of its notes: the types, their display names and their colors.

Source: https://brat.nlplab.org/configuration.html. A type name consists of A-Z, a-z, 0-9, `_` and `-`. A leading tab
makes a type a child of the type above; `!` marks a type that only groups others. ` | ` separates display names.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator

from annotations.text.labels import CategoryDef, LabelSetDef

_LIGHTNESS, _CHROMA = 0.88, 0.07


def annotation_conf(labels: LabelSetDef) -> str:
    """`annotation.conf`: each category with its labels, and the attributes. It must have all four sections."""
    rows = ["[entities]"]
    for category, grouped in _groups(labels):
        if grouped:
            rows.append(f"!{category.code}")
        rows += [("\t" if grouped else "") + label.code for label in category.labels]
    rows += ["", "[relations]", "", "[events]", "", "[attributes]", *_attribute_rows(labels)]
    return "\n".join([*rows, ""])


def _attribute_rows(labels: LabelSetDef) -> Iterator[str]:
    """The attributes with the labels that have them: brat has one definition for each name."""
    having: dict[str, list[str]] = {}
    values: dict[str, dict[str, None]] = {}
    for label in labels.labels():
        for attribute in label.attributes:
            having.setdefault(attribute.name, []).append(label.code)
            # In brat's files, white space and commas end a value.
            fit = [value for value in attribute.values if not re.search(r"[\s,]", value)]
            values.setdefault(attribute.name, {}).update(dict.fromkeys(fit))
    for name, codes in having.items():
        choices = "|".join(values[name])
        yield f"{name}\tArg:{'|'.join(codes)}" + (f", Value:{choices}" if choices else "")


def visual_conf(labels: LabelSetDef) -> str:
    """`visual.conf`: display names, and one color per category, evenly spaced in hue."""
    names, colors = [], []
    for (category, grouped), color in zip(_groups(labels), category_colors(labels), strict=True):
        if grouped:
            names.append(f"{category.code} | {_plain(category.name)}")
        for label in category.labels:
            names.append(f"{label.code} | {_plain(label.name)}")
            colors.append(f"{label.code}\tbgColor:{color}")
    default = "SPAN_DEFAULT\tfgColor:black, bgColor:#e5e5e5, borderColor:darken"
    return "\n".join(["[labels]", *names, "", "[drawing]", default, *colors, ""])


def category_colors(labels: LabelSetDef) -> list[str]:
    """The color of each category as `#rrggbb`, evenly spaced in hue."""
    count = len(labels.categories)
    return [oklch_hex(_LIGHTNESS, _CHROMA, 360 * at / count) for at in range(count)]


def _groups(labels: LabelSetDef) -> Iterator[tuple[CategoryDef, bool]]:
    """Each category, and whether it can be a parent type of its labels, which needs a code that occurs only once."""
    codes = {label.code for label in labels.labels()}
    times = Counter(category.code for category in labels.categories)
    for category in labels.categories:
        yield category, category.code not in codes and times[category.code] == 1


def _plain(name: str) -> str:
    """The name without characters that have a meaning in brat's files: `|`, a leading `!`, tabs and line breaks."""
    return " ".join(name.replace("|", "/").lstrip("!").split())


def oklch_hex(lightness: float, chroma: float, hue: float) -> str:
    """Convert a color to `#rrggbb`, clipped to sRGB. Source: B. Ottosson, "A perceptual color space" (2020)."""
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )
    return "#" + "".join(f"{round(255 * _gamma(min(1.0, max(0.0, part)))):02x}" for part in linear)


def _gamma(part: float) -> float:
    return float(12.92 * part if part <= 0.0031308 else 1.055 * part ** (1 / 2.4) - 0.055)
