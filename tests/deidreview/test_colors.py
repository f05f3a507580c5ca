"""The color tokens: readable in both themes (WCAG 2.2 AA), the same lightness and chroma for every category.

OKLCH to linear sRGB after Björn Ottosson, https://bottosson.github.io/posts/oklab/
"""

import math
import re
from pathlib import Path

import pytest

CSS = (Path(__file__).resolve().parents[2] / "static" / "css" / "tokens.css").read_text()
_OKLCH = r"oklch\(((?:[^()]|\([^()]*\))*)\)"
PAIR = re.compile(rf"--([\w-]+): light-dark\({_OKLCH}, {_OKLCH}\);")
TOKENS = {name: {"light": light.split(), "dark": dark.split()} for name, light, dark in PAIR.findall(CSS)}
HUES = [float(value) for value in re.findall(r"\.hue-\d+ \{ --hue: (\d+); \}", CSS)]
Color = tuple[float, float, float]


def color(name: str, theme: str, hue: float = 0) -> Color:
    lightness, chroma, angle = TOKENS[name][theme]
    return float(lightness), float(chroma), hue if "--hue" in angle else float(angle)


def linear(c: Color) -> tuple[float, ...]:
    lightness, chroma, hue = c
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    medium = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    return (
        4.0767416621 * long - 3.3077115913 * medium + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * medium - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * medium + 1.7076147010 * short,
    )


def contrast(one: Color, other: Color) -> float:
    def luminance(c: Color) -> float:
        red, green, blue = (min(1.0, max(0.0, part)) for part in linear(c))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


TEXT = [
    *[(text, ground) for text in ("text", "text-soft", "text-mute") for ground in ("canvas", "surface", "raised")],
    *[("text-mute", ground) for ground in ("sunken", "hover")],
    *[("text", f"{kind}-tint") for kind in ("accent", "ok", "warn", "danger")],
    *[(kind, f"{kind}-tint") for kind in ("ok", "warn", "danger")],
    *[(kind, ground) for kind in ("accent", "danger") for ground in ("canvas", "surface")],
    ("accent-strong", "accent-tint"), ("on-accent", "accent"), ("on-accent", "accent-strong"), ("on-danger", "danger"),
    ("on-danger", "danger-strong"),
]  # fmt: skip
# The contrast of frames and focus rings: 3 to 1.
PARTS = [(part, ground) for part in ("control-line", "focus") for ground in ("canvas", "surface")]
OF_SPANS = [("text", "span-tint"), ("text", "span-tint-strong"), ("chip-text", "chip-bg")]


def test_all_tokens_were_read():
    assert {name for pair in TEXT + PARTS + OF_SPANS for name in pair} <= set(TOKENS)
    assert len(TOKENS) == len(re.findall(r"--[\w-]+: light-dark\(", CSS))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_is_readable_and_frames_and_focus_are_visible(theme):
    pairs = [(4.5, pair) for pair in TEXT] + [(3, pair) for pair in PARTS]
    found = {pair: contrast(*(color(name, theme) for name in pair)) for _, pair in pairs}
    assert [pair for least, pair in pairs if found[pair] < least] == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("hue", HUES)
def test_spans_and_chips_are_readable_in_every_hue(theme, hue):
    for text, ground in OF_SPANS:
        assert contrast(color(text, theme, hue), color(ground, theme, hue)) >= 4.5, (text, ground)
    for ground, own in (("surface", 0), ("span-tint", hue)):
        assert contrast(color("span-line", theme, hue), color(ground, theme, own)) >= 3, ground
    # A color outside sRGB would be clipped, and its category would look different from the rest.
    for name in ("span-tint", "span-tint-strong", "span-line", "chip-bg", "chip-text"):
        assert all(-0.002 <= part <= 1.002 for part in linear(color(name, theme, hue))), name
