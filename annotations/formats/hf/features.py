"""The features of a data set: the types of its columns, and the names of class labels.

They are in the metadata of Parquet and Arrow files under the key `huggingface`, and beside other files in
`dataset_info.json`, `dataset_infos.json` or the data set card `README.md`. Sources:
https://huggingface.co/docs/datasets/about_dataset_features and
https://github.com/huggingface/datasets/blob/main/src/datasets/features/features.py.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from annotations.formats.files.strict_json import JsonError, read_json
from annotations.text.bio import OUTSIDE
from annotations.text.labels import CODE

KEY: Final = b"huggingface"
BESIDE: Final = ("dataset_info.json", "dataset_infos.json", "README.md")
"""The names of files that describe a data set, in the order in which they are asked."""
_CARD: Final = re.compile(r"\A---\n(.*?)\n---", re.DOTALL)
_COLUMN: Final = re.compile(r"^(\s*)- name: *['\"]?([\w-]+)['\"]? *$", re.MULTILINE)
_NAMES: Final = re.compile(r"^\s*names: *$\n((?:^\s+(?:['\"]?\d+['\"]?:|-) .+\n?)+)", re.MULTILINE)
_ENTRY: Final = re.compile(r"^\s+(?:['\"]?\d+['\"]?:|-) *(.+?) *$", re.MULTILINE)

Names = dict[str, list[str]]
"""The names of class labels by column."""


def class_names(labels: Mapping[str, str]) -> list[str]:
    """The class labels for BIO tags of the labels that are written."""
    codes = [code for code in dict.fromkeys(labels.values()) if CODE.fullmatch(code)]
    return [OUTSIDE, *(f"{mark}-{code}" for code in codes for mark in "BI")]


def written_features(names: Sequence[str]) -> bytes:
    """The features of the files that are written, for their metadata; lists as all versions of `datasets` know them."""
    string, number = {"dtype": "string", "_type": "Value"}, {"dtype": "int32", "_type": "Value"}
    span = {"start": number, "end": number, "label": string, "attributes": string}
    features = {
        "name": string,
        "text": string,
        "tokens": [string],
        "token_starts": [number],
        "token_ends": [number],
        "ner_tags": [{"names": list(names), "_type": "ClassLabel"}],
        "spans": [span],
    }
    return json.dumps({"info": {"features": features}}).encode()


def names_in_metadata(metadata: Mapping[bytes, bytes] | None) -> Names:
    """The names in the metadata of a file; nothing if there are none."""
    return _of_info((metadata or {}).get(KEY, b"{}"))


def names_beside(data: bytes) -> Names:
    """The names in a file of BESIDE."""
    card = _CARD.match(data.decode(errors="replace").replace("\r\n", "\n"))
    return dict(_of_card(card[1])) if card else _of_info(data)


def _of_info(data: bytes) -> Names:
    try:
        found: Any = read_json(data)
    except JsonError:
        return {}
    names: Names = {}
    while isinstance(found, dict) and "features" not in found:
        # The metadata has the features under `info`, `dataset_infos.json` under the name of a configuration.
        found = found.get("info", next(iter(found.values()), None))
    features = found.get("features") if isinstance(found, dict) else None
    for column, feature in features.items() if isinstance(features, dict) else ():
        while isinstance(feature, list | dict) and feature:
            if isinstance(feature, list):
                feature = feature[0]
                continue
            given = feature.get("names")
            if isinstance(given, list) and all(isinstance(name, str) for name in given):
                names[column] = given
            feature = feature.get("feature")
    return names


def _of_card(card: str) -> Iterator[tuple[str, list[str]]]:
    """The names of the class labels of each column in the YAML of a data set card."""
    columns = list(_COLUMN.finditer(card))
    for column, after in zip(columns, [*columns[1:], None], strict=True):
        found = _NAMES.search(card, column.end(), after.start() if after else len(card))
        if found:
            yield column[2], [entry.strip("'\"") for entry in _ENTRY.findall(found[1])]
