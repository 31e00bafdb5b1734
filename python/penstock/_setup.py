"""Functions of a client that each of its runners calls once, before the first subtask: they travel in a variable of the
runner's environment, so that runners with others are other processes."""
import base64
import os
import pickle
from typing import Any, Callable, Optional, Sequence

import cloudpickle

from penstock.errors import PenstockError

VARIABLE = "PENSTOCK_SETUP"
BYTES_MAX = 96 << 10  # Linux takes 128 KiB for one variable.


def variable_of(functions: Sequence[Callable[[], Any]]) -> str:
    """The value of `VARIABLE`; raises `PenstockError` for what is too large."""
    value = base64.b64encode(cloudpickle.dumps(list(functions), 5)).decode()
    if len(value) > BYTES_MAX:
        raise PenstockError(f"takes {len(value)} bytes, and {BYTES_MAX} fit", subject="the setup of runners",
                            remedy="let it read large data from a file (files=, upload_file) instead of holding them")
    return value


def run() -> Optional[BaseException]:
    """In a runner: calls them; what one of them raises is what each call raises here."""
    try:
        for function in pickle.loads(base64.b64decode(os.environ[VARIABLE])):
            function()
    except Exception as error:
        return error
    return None
