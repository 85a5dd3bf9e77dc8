"""Settings read from YAML: one check and one message format for all recipes.

A section of a recipe is a frozen dataclass marked ``checked``. Types are strict (``"8"`` is no number, ``true`` no
integer), bounds stand beside the type, and an unknown key is refused with the nearest known one.
"""

from __future__ import annotations

import difflib
import json
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import yaml
from annotated_types import Ge, Gt, Le, MinLen

from storyalign.errors import RecipeError

T = TypeVar("T")

Name = Annotated[str, MinLen(1)]
Count = Annotated[int, Ge(1)]
NotNegative = Annotated[float, Ge(0)]
Positive = Annotated[float, Gt(0)]
Share = Annotated[float, Ge(0), Le(1)]
Temperature = Annotated[float, Ge(0), Le(2)]


def checked(kind: type[T]) -> type[T]:
    """Mark a dataclass as a section of settings: unknown keys, infinity and NaN are refused."""
    kind.__pydantic_config__ = {"extra": "forbid", "allow_inf_nan": False}  # type: ignore[attr-defined]
    return kind


def read_recipe(path: str | Path, parse: Callable[[Mapping[str, Any]], T]) -> T:
    """Read a YAML file of settings.

    Args:
        path: the file.
        parse: turns its content into settings; a ``RecipeError`` gets the path in front.

    Raises:
        RecipeError: the file cannot be read, is not YAML, holds no mapping, or holds wrong settings.
    """
    try:
        content = yaml.safe_load(Path(path).read_text("utf-8"))
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise RecipeError(f"{path}: not valid YAML in UTF-8 ({' '.join(str(error).split())})") from error
    if not isinstance(content, dict):
        raise RecipeError(f"{path}: expected sections with settings")
    try:
        return parse(content)
    except RecipeError as error:
        raise RecipeError(f"{path}: {error}") from error


def from_entry(kind: type[T], entry: object, place: str = "") -> T:
    """Turn what YAML holds into settings.

    Args:
        kind: a ``checked`` dataclass, or any type that pydantic knows.
        entry: the content.
        place: its keys in the file, joined by dots, for messages.

    Raises:
        RecipeError: names each wrong setting, what is expected, and what was found.
    """
    from pydantic import ValidationError

    try:
        # JSON in between: there a list is as good as a tuple, and strict all the same.
        return cast("T", _adapter(cast("Any", kind)).validate_json(json.dumps(entry, default=str), strict=True))
    except TypeError as error:
        raise RecipeError(f"{place or 'recipe'}: keys must be strings ({error})") from error
    except ValidationError as error:
        found = error.errors(include_url=False)
        problems = "; ".join(_problem(kind, one, place) for one in found[:3])
        raise RecipeError(problems + (f"; and {len(found) - 3} more" if len(found) > 3 else "")) from None


@cache
def _adapter(kind: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _problem(kind: Any, error: Mapping[str, Any], place: str) -> str:
    loc: Sequence[Any] = error["loc"]
    name = ".".join(filter(None, (place, *map(str, loc)))) or "recipe"
    if error["type"] == "unexpected_keyword_argument":
        return f"{name} is unknown; {_near(str(loc[-1]), _annotation(kind, loc[:-1]))}"
    if error["type"].startswith("missing"):
        return f"{name} is missing"
    if error["type"] == "value_error":
        return f"{name} {error['ctx']['error']}"
    expected = _expected(_annotation(kind, loc))
    return f"{name} must be {expected}, got {_shown(error['input'], expected)}"


def _near(name: str, kind: Any) -> str:
    known = [one.name for one in fields(_bare(kind)[0])]
    near = difflib.get_close_matches(name, known, 1)
    return f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}"


def _annotation(kind: Any, loc: Sequence[Any]) -> Any:
    """Return the type that stands at a place within a type."""
    for part in loc:
        kind = _bare(kind)[0]
        if is_dataclass(kind):
            kind = get_type_hints(kind, include_extras=True).get(part, Any)
        else:
            kind = (get_args(kind) or (Any,))[-1 if get_origin(kind) is not tuple else 0]
    return kind


def _bare(kind: Any) -> tuple[Any, bool, list[Any]]:
    """Return a type without ``None`` and bounds, whether ``None`` is allowed, and the bounds."""
    bounds: list[Any] = []
    if get_origin(kind) is Annotated:
        kind, *bounds = get_args(kind)
    if get_origin(kind) in (Union, types.UnionType) and type(None) in get_args(kind):
        inner, _, more = _bare(next(one for one in get_args(kind) if one is not type(None)))
        return inner, True, [*bounds, *more]
    return kind, False, bounds


def _expected(kind: Any) -> str:
    """Describe a type in words, bounds included."""
    kind, optional, bounds = _bare(kind)
    names = {int: "an integer", float: "a number", str: "a string", bool: "true or false"}
    if get_origin(kind) is Literal:
        words = f"one of {', '.join(map(str, get_args(kind)))}"
    elif get_origin(kind) is tuple:
        words = "a list"
    elif any(isinstance(one, MinLen) for one in bounds):
        words = "a string that is not empty"
    else:
        words = names.get(kind, "a mapping")
    return f"{words}{''.join(_bounds(bounds))}{' or null' if optional else ''}"


def _bounds(bounds: Sequence[Any]) -> Iterator[str]:
    low = next((one.ge for one in bounds if isinstance(one, Ge)), None)
    high = next((one.le for one in bounds if isinstance(one, Le)), None)
    if low is not None and high is not None:
        yield f" from {low} to {high}"
    elif low is not None:
        yield f" of {low} or more"
    for one in bounds:
        if isinstance(one, Gt):
            yield f" above {one.gt}"


def _shown(value: object, expected: str) -> str:
    """Show what was found; where a string was expected only its type, as the value may be a key."""
    if value is None or value == "":
        return "null" if value is None else "an empty string"
    if expected.startswith(("a string", "a mapping", "a list")):
        return type(value).__name__
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
