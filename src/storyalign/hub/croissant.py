"""A dataset's Croissant description (``croissant.json``): where its files are and what their columns hold.

The Hub makes one from its own Parquet export; this one goes with the files, and so works for a downloaded folder too.
Format: Croissant 1.0, http://mlcommons.org/croissant/1.0.
"""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from storyalign.hub.card_front import front_matter
from storyalign.hub.payload import Payload

FILE = "croissant.json"

# fmt: off
_TERMS = (
    "arrayShape", "citeAs", "column", "equivalentProperty", "extract", "field", "fileObject", "fileProperty", "fileSet",
    "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet",
    "references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform",
)
# fmt: on


def with_croissant(payload: Payload, repo: str, version: str) -> Payload:
    """Add ``croissant.json`` to the files of a dataset.

    Args:
        payload: the files, with a card that names configurations.
        repo: ``ORG/NAME`` on the Hub.
        version: of the release, like 1.0.0.
    """
    return payload.with_files({FILE: orjson.dumps(describe(payload, repo, version), option=orjson.OPT_INDENT_2)})


def describe(payload: Payload, repo: str, version: str) -> dict[str, Any]:
    """Describe each split of each configuration as a record set over its files."""
    front = front_matter(payload)
    sets, records = [], []
    for config in front["configs"]:
        for split in config["data_files"]:
            name = f"{config['config_name']}/{split['split']}"
            patterns = [split["path"]] if isinstance(split["path"], str) else list(split["path"])
            sets.append(
                {
                    "@type": "cr:FileSet",
                    "@id": f"{name}/files",
                    "name": f"{name}/files",
                    "includes": patterns[0] if len(patterns) == 1 else patterns,
                    "encodingFormat": "application/x-parquet",
                }
            )
            records.append(
                {"@type": "cr:RecordSet", "@id": name, "name": name, "field": _fields(payload, name, patterns)}
            )
    return {
        "@context": _context(),
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": repo.rpartition("/")[2],
        "description": str(front.get("pretty_name")),
        "license": front["license"],
        "url": f"https://huggingface.co/datasets/{repo}",
        "version": version,
        "distribution": sets,
        "recordSet": records,
    }


def _fields(payload: Payload, name: str, patterns: list[str]) -> list[dict[str, Any]]:
    path = next(path for path in payload.files if any(fnmatch(path, pattern) for pattern in patterns))
    source = payload.files[path]
    schema = pq.read_schema(source if isinstance(source, Path) else pa.BufferReader(source))
    return [_field(name, column) for column in schema]


def _field(name: str, column: pa.Field) -> dict[str, Any]:
    is_list = pa.types.is_list(column.type)
    field: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"{name}/{column.name}",
        "name": f"{name}/{column.name}",
        "dataType": _data_type(column.type.value_type if is_list else column.type),
        "source": {"fileSet": {"@id": f"{name}/files"}, "extract": {"column": column.name}},
    }
    return {**field, "cr:isArray": True, "cr:arrayShape": "-1"} if is_list else field


def _data_type(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "sc:Boolean"
    if pa.types.is_integer(kind):
        return "sc:Integer"
    return "sc:Float" if pa.types.is_floating(kind) else "sc:Text"


def _context() -> dict[str, Any]:
    context: dict[str, Any] = {
        "@language": "en",
        "@vocab": "https://schema.org/",
        "sc": "https://schema.org/",
        "cr": "http://mlcommons.org/croissant/",
        "rai": "http://mlcommons.org/croissant/RAI/",
        "dct": "http://purl.org/dc/terms/",
    }
    context.update({term: f"cr:{term}" for term in _TERMS})
    return {
        **context,
        "conformsTo": "dct:conformsTo",
        "data": {"@id": "cr:data", "@type": "@json"},
        "examples": {"@id": "cr:examples", "@type": "@json"},
        "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    }
