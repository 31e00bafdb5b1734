"""What a runner does first, in whatever version of Python it was started: this text travels with its command, and compares
the versions before anything is imported that was installed for another one. Python 2.7 can read it, too."""
import os
import sys

VARIABLE = "PENSTOCK_START"


def is_standard(entry):
    """Whether this entry of `sys.path` belongs to the interpreter itself, so that another one has its own."""
    library = os.path.dirname(os.__file__)
    platform = os.path.join(sys.base_exec_prefix, sys.platlibdir, os.path.basename(library))
    archive = "python%d%d.zip" % sys.version_info[:2]
    return entry in (library, platform) or os.path.dirname(entry) in (library, platform) and entry.endswith("lib-dynload") or (
        os.path.basename(entry) == archive and os.path.dirname(entry) in (os.path.dirname(library), os.path.dirname(platform)))


def path_of(client, package):
    """(entries of `sys.path` before the standard library, those behind it) of a client whose package lies there."""
    before, behind = [], []
    entries = [entry if entry else os.getcwd() for entry in client if isinstance(entry, str)]
    standard = [index for index, entry in enumerate(entries) if is_standard(entry)]
    last = standard[-1] if standard else len(entries)
    for index, entry in enumerate(entries):
        if index not in standard:
            (before if index < last else behind).append(entry)
    return ([] if package in before + behind else [package]) + before, behind


def extend(path, before, behind):
    """`sys.path` with the client's entries, in the order in which the client looks there."""
    last = max([index for index, entry in enumerate(path) if is_standard(entry)] or [0])
    return list(dict.fromkeys([os.getcwd()] + before + path[:last + 1] + behind + path[last + 1:]))


def refuse(why):
    """Answers each call with why it cannot be run here."""
    import ctypes
    try:
        library = ctypes.CDLL(os.environ["PENSTOCK_LIBRARY"])
    except OSError:
        sys.exit(why)
    library.penstock_runner_open.restype = ctypes.c_void_p
    version = "%d.%d.%d" % sys.version_info[:3]
    runner = ctypes.c_void_p(library.penstock_runner_open(0, b"python", version.encode()))
    run = (ctypes.c_uint64 * 64)()
    run[0] = ctypes.sizeof(run)
    answer = -2  # A signal came.
    while answer in (1, -2):
        answer = library.penstock_runner_next(runner, run)
        if answer == 1:
            library.penstock_runner_fail_as(runner, b"VersionMismatch", why.encode(), None, ctypes.c_uint64(0))


def start(version, before, behind, names, text):
    """`version` and entries of the path are the client's; `names` of the variables that it gave, and this text."""
    command = [(name, os.environ.get(name, "")) for name in names] + [(VARIABLE, text)]
    ours = tuple(sys.version_info[:2])
    if ours != version:
        return refuse("the client runs Python %d.%d, this runner %d.%d: %s (give Client(python=...) the same version)" %
                      (version + ours + (sys.executable,)))
    if before or behind:
        own = sys.path
        sys.path = extend([entry for entry in own if entry], before, behind)
        # For what its functions start.
        os.environ["PYTHONPATH"] = os.pathsep.join(entry for entry in before + behind if entry not in own)
    from penstock._runner import main
    main(command)
