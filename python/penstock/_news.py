"""News of jobs and why subtasks have failed, as Python objects."""
from penstock import _abi, _raised
from penstock.errors import RemoteTraceback, failure_of

USER_ERROR = 1  # FailureClass of common/protocol/failure.hpp.


class Plain:
    """News as Python objects; they outlive the library's."""

    def __init__(self, news):
        self.state = news.state
        self.succeeded = [(r.first, r.last) for r in news.succeeded[:news.succeeded_count]]
        self.cancelled = [(r.first, r.last) for r in news.cancelled[:news.cancelled_count]]
        code_of, failures = _abi.library().failure_code, news.failures[:news.failure_count]
        self.failures = [(f.subtask, exception_of(f, code_of(news, i).decode())) for i, f in enumerate(failures)]


def exception_of(failure, code=""):
    """What a failed subtask has raised, with its traceback as the first cause; or what became of its runner."""
    history = [line.decode(errors="replace") for line in failure.history[:failure.history_count]]
    message = _abi.bytes_at(failure.message).decode(errors="replace")
    detail, tail = _abi.bytes_at(failure.detail), _abi.bytes_at(failure.output_tail).decode(errors="replace")
    if detail and failure.failure_class == USER_ERROR:  # Else what it raised was the consequence, not the cause.
        error, text = _raised.unpack_failure(detail)
        cause = RemoteTraceback(text, history, tail)
        if isinstance(error, BaseException):
            _raised.lead_to(error, cause)
            return error
        if isinstance(error, str):
            message += "\n" + error
            told = failure_of(failure.failure_class, message, name_of(failure), history, "", -1, 0, code)
            told.__cause__ = cause
            return told
        message = message + "\n" + text
    return failure_of(failure.failure_class, message, name_of(failure), history, tail, failure.exit_code, failure.signal,
                      code)


def name_of(failure):
    return (failure.name or b"").decode(errors="replace")
