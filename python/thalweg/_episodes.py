"""Seeds and varied keys of the episodes of environments."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, SupportsIndex, TypeAlias

import numpy

from . import ScenarioError
from . import _arguments as arguments
from ._toml import toml_changes

Vary: TypeAlias = Mapping[str, Sequence[Any] | Callable[[numpy.random.Generator], Any]]


def generators(seed: SupportsIndex | None, count: int) -> list[numpy.random.Generator]:
    """Returns independent generators for `count` environments, for any seeds."""
    checked_seed = None if seed is None else arguments.integer("seed", seed, 0, 2**128)
    return [numpy.random.default_rng(of) for of in numpy.random.SeedSequence(checked_seed).spawn(count)]


def episode(generator: numpy.random.Generator, vary: Vary) -> tuple[int, list[str]]:
    """Returns the seed of the next episode, and its changes of the scenario."""
    seed = int(generator.integers(1 << 53))
    chosen = {key: of(generator) if callable(of) else of[int(generator.integers(len(of)))] for key, of in vary.items()}
    return seed, toml_changes(chosen)


def checked(vary: Vary | None) -> dict[str, Sequence[Any] | Callable[[numpy.random.Generator], Any]]:
    """Checks the varied keys; returns them with their choices."""
    if vary is not None:
        arguments.mapping("vary", vary, "keys and lists of values")
    return {key: of if callable(of) else _choices(key, of) for key, of in (vary or {}).items()}


def _choices(key: str, of: Any) -> Sequence[Any]:
    """Returns the values to choose from, of a list or of an array: an index of pandas is none of a list."""
    listed = arguments.plain(of)
    if isinstance(listed, (str, bytes, Mapping)) or not isinstance(listed, Sequence) or len(listed) == 0:
        raise ScenarioError(f"vary: `{key}` has a list of values or a function of a random generator, and not {of!r}")
    return list(listed)
