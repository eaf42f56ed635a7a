"""Lists of names with descriptions."""

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, Sequence, ValuesView
from typing import overload

from ._errors import unknown_name_error


class Catalog(Sequence[str]):
    """Names in a fixed order, each with a description.

    A sequence of the names: index, slice, `in`, `len` and comparison with lists are those of a tuple. A name as the index returns its
    description; `items()` and `dict(...)` return names and descriptions, as of a dictionary.
    """

    def __init__(self, named: Iterable[tuple[str, str]]) -> None:
        self._about = dict(named)
        self._names = tuple(self._about)

    @overload
    def __getitem__(self, index: int | str) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | str | slice) -> str | list[str]:
        if isinstance(index, str):
            if index not in self._about:
                raise unknown_name_error(f"there is no `{index}`", index, self._names)
            return self._about[index]
        return list(self._names[index]) if isinstance(index, slice) else self._names[index]

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Catalog):
            return list(self.items()) == list(other.items())
        if isinstance(other, Mapping):
            return self._about == dict(other)
        return list(self._names) == list(other) if isinstance(other, (list, tuple)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Iterable[str]) -> list[str]:
        return [*self._names, *other]

    def keys(self) -> KeysView[str]:
        """Returns the names."""
        return self._about.keys()

    def values(self) -> ValuesView[str]:
        """Returns the descriptions."""
        return self._about.values()

    def items(self) -> ItemsView[str, str]:
        """Returns pairs of a name and its description."""
        return self._about.items()

    def get(self, name: str, default: str | None = None) -> str | None:
        """Returns the description of a name, or `default`."""
        return self._about.get(name, default)

    def __repr__(self) -> str:
        return repr(list(self._names))
