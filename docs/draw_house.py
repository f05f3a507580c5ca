"""`python docs/draw_house.py`: draw which app imports which into docs/house.svg.

The order of the apps is that of the contracts in pyproject.toml.
"""

import sys
import tomllib
from collections import Counter
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("deidreview", "models_runtime", "annotations")
CELL = 26
LEFT = 190
TOP = 182
# A dot's radius by the least number of imports that it stands for.
RADII = {40: 9.5, 10: 6.5, 1: 3.5}
LEGEND = {40: "40 and more", 10: "10 to 39", 1: "1 to 9"}
STYLE = """
    text { font: 13px system-ui, sans-serif; fill: #1f2328 }
    .band { fill: #eef1f4 }
    .self { fill: #c3cad2 }
    .line { stroke: #8c959f }
    .down { fill: #0a5bd0 }
    .up { fill: #cf222e }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #0d1117 }
      text { fill: #e6edf3 }
      .band { fill: #1a2028 }
      .self { fill: #3d444d }
      .down { fill: #58a6ff }
      .up { fill: #ff7b72 }
    }
"""


def ordered_apps() -> list[str]:
    """Return the apps by dotted path, the highest first."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = {
        contract["containers"][0]: contract["layers"]
        for contract in contracts
        if len(contract.get("containers", [])) == 1
    }
    names = [
        f"{package}.{name.strip()}"
        for package in PACKAGES
        for layer in layers.get(package, [])
        for name in layer.split("|")
    ]
    return ["deidreview", *(name for name in names if (ROOT / name.replace(".", "/")).is_dir())]


def counted_imports(apps: list[str]) -> Counter[tuple[str, str]]:
    """Count the pairs of modules of which one, in the first app, imports the other, in the second app."""
    graph = grimp.build_graph(*PACKAGES)
    app_of = {module: app for module in graph.modules for app in apps if module == app or module.startswith(f"{app}.")}
    return Counter(
        (app_of[module], app_of[imported])
        for module in app_of
        for imported in graph.find_modules_directly_imported_by(module)
        if imported in app_of and app_of[imported] != app_of[module]
    )


def drawing(apps: list[str], imports: Counter[tuple[str, str]]) -> str:
    """Return the matrix as SVG: rows import columns."""
    side = CELL * len(apps)
    width, height = LEFT + side + 76, TOP + side + 60
    parts = [f'<rect class="paper" width="{width}" height="{height}" fill="#fff"/>']
    for row, app in enumerate(apps):
        start, middle = TOP + CELL * row, TOP + CELL * row + CELL / 2
        if row % 2 == 0:
            parts.append(f'<rect class="band" x="0" y="{start}" width="{LEFT + side}" height="{CELL}"/>')
        parts.append(f'<text x="{LEFT - 10}" y="{middle + 4.5}" text-anchor="end">{app}</text>')
        column = LEFT + CELL * row + CELL / 2
        parts.append(f'<text transform="translate({column + 4.5} {TOP - 8}) rotate(-60)">{app}</text>')
        parts.append(f'<rect class="self" x="{LEFT + CELL * row}" y="{start}" width="{CELL}" height="{CELL}"/>')
        if row and app.partition(".")[0] != apps[row - 1].partition(".")[0]:
            parts.append(f'<path class="line" d="M0 {start}H{LEFT + side}M{LEFT + CELL * row} {TOP}V{TOP + side}"/>')
    for (importer, imported), count in sorted(imports.items()):
        row, column = apps.index(importer), apps.index(imported)
        radius = next(radius for least, radius in RADII.items() if count >= least)
        parts.append(
            f'<circle class="{"down" if row < column else "up"}" cx="{LEFT + CELL * column + CELL / 2}"'
            f' cy="{TOP + CELL * row + CELL / 2}" r="{radius}">'
            f"<title>{importer} imports {imported}: {count}</title></circle>"
        )
    x, y = LEFT, TOP + side + 32
    for least, radius in sorted(RADII.items()):
        parts.append(f'<circle class="down" cx="{x + 10}" cy="{y}" r="{radius}"/>')
        parts.append(f'<text x="{x + 26}" y="{y + 4.5}">{LEGEND[least]} imports</text>')
        x += 170
    body = "\n  ".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        f' role="img">\n  <title>Which app imports which</title>\n  <style>{STYLE}  </style>\n  {body}\n</svg>\n'
    )


def main() -> None:
    sys.path.insert(0, str(ROOT))
    apps = ordered_apps()
    (ROOT / "docs" / "house.svg").write_text(drawing(apps, counted_imports(apps)), encoding="utf-8")


if __name__ == "__main__":
    main()
