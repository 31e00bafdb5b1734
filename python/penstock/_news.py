"""What the library tells of a job, as Python objects."""
from penstock import _abi, _wire
from penstock.errors import RemoteTraceback, failure_of

USER_ERROR = 1  # FailureClass of common/protocol/failure.hpp.


class Plain:
    """News as Python objects; they outlive the library's."""

    def __init__(self, news):
        self.state = news.state
        self.succeeded = [(r.first, r.last) for r in news.succeeded[:news.succeeded_count]]
        self.cancelled = [(r.first, r.last) for r in news.cancelled[:news.cancelled_count]]
        self.failures = [(f.subtask, exception_of(f)) for f in news.failures[:news.failure_count]]


def exception_of(failure):
    """What a failed subtask has raised, with its traceback as the cause; or what became of its runner."""
    history = [line.decode(errors="replace") for line in failure.history[:failure.history_count]]
    message = _abi.bytes_at(failure.message).decode(errors="replace")
    detail = _abi.bytes_at(failure.detail)
    if detail and failure.failure_class == USER_ERROR:  # Else what it raised was the consequence, not the cause.
        error, text = None, ""
        try:
            error, text = _wire.unpack(detail)
        except Exception as unreadable:  # An exception of a class that is not known here.
            text = f"(its exception cannot be read here: {unreadable})"
        # What would end this process is told, not raised: it was the other one's to end.
        if isinstance(error, Exception):
            error.__cause__ = RemoteTraceback(text, history)
            return error
        message = message + "\n" + text
    return failure_of(failure.failure_class, message, (failure.name or b"").decode(errors="replace"), history,
                      _abi.bytes_at(failure.output_tail).decode(errors="replace"), failure.exit_code, failure.signal)
