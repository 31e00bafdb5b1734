"""Published datasets, as `dask.distributed` has them."""
from typing import Any, Iterator, MutableMapping

from penstock import errors

_ABSENT = object()


class Datasets:
    """Of a `Client`."""

    def publish_dataset(self, *args: Any, **kwargs: Any) -> Any:
        """Publishes one value under `name=`, or each keyword under its own name. Raises `KeyError` if one is published
        already, unless `override=True`."""
        name, override = kwargs.pop("name", None), kwargs.pop("override", False)
        if len(args) > 1 or (args and name is None):
            raise ValueError("publish_dataset takes one value with name=, or values by keywords")
        given = {name: args[0], **kwargs} if args else kwargs

        def publish():
            for one, value in given.items():
                try:
                    super(Datasets, self).publish_dataset(value, name=one, override=override)  # type: ignore[misc]
                except errors.DatasetExists:
                    raise KeyError(f"Dataset {one} already exists") from None
        return self._ask_now_or_later(publish)

    def get_dataset(self, name: str, default: Any = _ABSENT, **kwargs: Any) -> Any:
        """What was published under that name, or `default`. Raises `KeyError`."""
        def get():
            try:
                return super(Datasets, self).get_dataset(name)  # type: ignore[misc]
            except KeyError:
                if default is _ABSENT:
                    raise KeyError(f"Dataset '{name}' not found") from None
                return default
        return self._ask_now_or_later(get)

    def list_datasets(self, **kwargs: Any) -> Any:
        """The names of all that are published."""
        return self._ask_now_or_later(lambda: tuple(super(Datasets, self).list_datasets()))  # type: ignore[misc]

    def unpublish_dataset(self, name: str, **kwargs: Any) -> Any:
        """The dataset is there no more. Raises `KeyError`."""
        return self._ask_now_or_later(lambda: super(Datasets, self).unpublish_dataset(name))  # type: ignore[misc]

    @property
    def datasets(self) -> "Published":
        """What is published, as a mapping."""
        return Published(self)


class Published(MutableMapping):
    """The published datasets of a client that waits for its answers."""

    def __init__(self, client):
        self._client = client

    def __getitem__(self, name: str) -> Any:
        return self._client.get_dataset(name)

    def __setitem__(self, name: str, value: Any) -> None:
        self._client.publish_dataset(value, name=name)

    def __delitem__(self, name: str) -> None:
        self._client.unpublish_dataset(name)

    def __contains__(self, name: Any) -> bool:
        return name in self._client.list_datasets()

    def __iter__(self) -> Iterator[str]:
        return iter(self._client.list_datasets())

    def __len__(self) -> int:
        return len(self._client.list_datasets())
