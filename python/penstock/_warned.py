"""Warnings that calls give: they travel with the values that were made there, and are given again by the client."""
import pickle
import sys
import warnings
from typing import Any, List, Tuple

NOTES_MAX = 50  # Of one value; the others are in the log of its call only.
Note = Tuple[bytes, str, str, int]
QUIET = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)  # Python shows none of these.
_registry: dict = {}  # As a module has one: what was shown once is not shown again, where filters say so.


class Notes:
    """In a runner: what the present call has been warned of, itself or by what it read."""

    def __init__(self):
        self.notes: "dict[Note, None]" = {}
        self.show = warnings.showwarning
        self.shown: set = set()
        warnings.showwarning = self.note
        if not sys.warnoptions:  # Each call is to warn, not only the first one in its process.
            warnings.simplefilter("always", append=False)

    def note(self, message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
        """Stands for `warnings.showwarning`; the log has each warning once."""
        place = str(message), category.__name__, filename, lineno
        if file is not None or (place not in self.shown and not issubclass(category, QUIET)):
            self.shown.add(place)
            self.show(message, category, filename, lineno, file, line)
        if file is None:
            self.add([(_pickled(message, category), str(category.__name__), filename, lineno)])

    def add(self, notes: List[Note]) -> None:
        """Of a value that was read."""
        for note in notes:
            if len(self.notes) < NOTES_MAX:
                self.notes[note] = None

    def take(self) -> List[Note]:
        """All, which are forgotten here."""
        notes = list(self.notes)
        self.notes.clear()
        return notes


class Warned:
    """A value in whose making there were warnings."""

    __slots__ = ("value", "notes")

    def __init__(self, value, notes):
        self.value, self.notes = value, notes

    def __reduce__(self):
        return warned, (self.value, self.notes)


def warned(value: Any, notes: List[Note]) -> Any:
    """Called by the unpickler: gives the warnings, and the value."""
    runner = sys.modules.get("penstock._runner")
    if runner is not None and runner.serving is not None:
        runner.serving.warned.add(notes)
        return value
    for pickled, _, filename, lineno in notes:
        message = _message(pickled)
        warnings.warn_explicit(message, type(message), filename, lineno, registry=_registry)
    return value


def _pickled(message, category):
    try:
        return pickle.dumps(message if isinstance(message, Warning) else category(message), 5)
    except Exception:
        return pickle.dumps(UserWarning(f"{category.__name__}: {message}"), 5)


def _message(pickled):
    try:
        message = pickle.loads(pickled)
    except Exception as error:
        return UserWarning(f"a warning of a call cannot be read here: {error}")
    return message if isinstance(message, Warning) else UserWarning(str(message))
