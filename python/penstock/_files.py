"""Files that travel with calls: sent once, unpacked once on a host into a directory named by their content,
which is the first that modules are looked for in and where the runner works."""
import fcntl
import hashlib
import importlib
import io
import os
import pathlib
import pickle
import shutil
import stat
import sys
import tempfile
import time
import zipfile

from penstock import _wire
from penstock.errors import PenstockError

VARIABLE = "PENSTOCK_FILES"       # The hash of a runner's files: runners with others are others.
KEPT_S = 7 * 24 * 3600            # A directory that nobody has begun to use for so long goes when a new one comes.
BUNDLES_MAX = 16                  # So many are remembered, so that the same files are not read for each call.
_EPOCH = (1980, 1, 1, 0, 0, 0)    # Equal files are equal bytes, whenever they were written.


class Bundle:
    """Files by content."""

    __slots__ = ("digest", "shared")

    def __init__(self, content):
        self.digest = hashlib.sha256(content).hexdigest()[:32]
        self.shared = _wire.Shared(_wire.pack(pickle.PickleBuffer(content)), "the files", often=True)


_bundles: dict = {}  # By names, sizes and times.


def bundle_of(files):
    """The bundle of these paths: files, directories with all that is in them, and archives (.zip), which are unpacked."""
    if isinstance(files, (str, os.PathLike)):
        raise TypeError(f"files must be a list of paths, not {files!r}")
    found = {}
    for given in files:
        for name, path in entries_of(pathlib.Path(given)):
            if found.setdefault(name, path) != path:
                raise ValueError(f"files: {found[name]} and {path} are both named {name}")
    stats = [(name, path, path.stat()) for name, path in sorted(found.items())]
    key = tuple((name, str(path.absolute()), seen.st_size, seen.st_mtime_ns, seen.st_ino) for name, path, seen in stats)
    bundle = _bundles.get(key)
    if bundle is None:
        while len(_bundles) >= BUNDLES_MAX:
            _bundles.pop(next(iter(_bundles)))
        bundle = _bundles[key] = Bundle(archive_of((name, path) for name, path, _ in stats))
    return bundle


def entries_of(path):
    if path.is_dir():
        base = path.absolute().parent
        return [(str(one.absolute().relative_to(base)), one) for one in sorted(path.rglob("*"))
                if one.is_file() and "__pycache__" not in one.parts]
    if not path.is_file():
        raise FileNotFoundError(f"files: {path} is no file and no directory")
    return [(path.name, path)]


def archive_of(entries):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in entries:
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, (path.stat().st_mode & 0o777) << 16
            archive.writestr(info, path.read_bytes())
    return buffer.getvalue()


# ---- in a runner ----

class Later:
    """A program that is loaded when it is first called: it may need the files, which come with the call."""

    __slots__ = ("program", "function")

    def __init__(self, program):
        self.program, self.function = program, None

    def __reduce__(self):
        return Later, (self.program,)

    def __call__(self, *arguments, **keywords):
        if self.function is None:
            self.function = _wire.load_program(self.program)
        return self.function(*arguments, **keywords)


class After:
    """Stands for a payload that is unpickled when the files, the input with this number, are there."""

    __slots__ = ("place", "digest", "enter", "payload")

    def __init__(self, place, digest, enter, payload):
        self.place, self.digest, self.enter, self.payload = place, digest, enter, payload

    def __reduce__(self):
        return arguments_after, (_wire.Input(self.place), self.digest, self.enter, self.payload)


_here = []  # The open directory of this runner's files.


def arguments_after(content, digest, enter, payload):
    """Called by the unpickler of a payload."""
    if not _here:
        _here.append(provide(content, digest))
        place = os.path.join(root(), digest)
        sys.path.insert(0, place)
        importlib.invalidate_caches()
        if enter:
            os.chdir(place)
    return pickle.loads(payload) if payload else ((), {})


def root():
    """Where this user's files are; refuses a place that is another's to change."""
    path = os.path.join(tempfile.gettempdir(), f"penstock-files-{os.getuid()}")
    os.makedirs(path, 0o700, exist_ok=True)
    seen = os.lstat(path)
    if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.getuid() or seen.st_mode & 0o022:
        raise PenstockError("is not a directory that only this user can write to", subject=path,
                            remedy="remove it, or set TMPDIR for the worker")
    return path


def provide(content, digest):
    """A descriptor of the directory with these files: for as long as it is open, nobody removes them."""
    place = os.path.join(root(), digest)
    while True:
        try:
            opened = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            unpack(content, place)
            sweep(time.time())
            continue
        fcntl.flock(opened, fcntl.LOCK_SH)
        try:
            os.utime(place)
            if os.stat(place).st_ino == os.fstat(opened).st_ino:
                return opened
        except FileNotFoundError:
            pass
        os.close(opened)  # It was removed before it was ours.


def unpack(content, place):
    """All or nothing, whoever else is at it."""
    if hashlib.sha256(content).hexdigest()[:32] != os.path.basename(place):
        raise PenstockError("are not those that were sent", subject="the files")
    making = tempfile.mkdtemp(prefix=".making-", dir=os.path.dirname(place))
    try:
        extract(io.BytesIO(content), making)
        for name in os.listdir(making):
            if name.endswith(".zip"):
                extract(os.path.join(making, name), making)
        os.rename(making, place)
    except OSError:
        if not os.path.isdir(place):
            raise
    finally:
        shutil.rmtree(making, ignore_errors=True)


def extract(archive, target):
    with zipfile.ZipFile(archive) as opened:
        for info in opened.infolist():
            path = opened.extract(info, target)
            if info.external_attr >> 16 and not info.is_dir():
                os.chmod(path, (info.external_attr >> 16) & 0o777 | stat.S_IRUSR)


def sweep(now):
    """Removes what nobody has begun to use for long and nobody uses."""
    for name in os.listdir(root()):
        place = os.path.join(root(), name)
        try:
            if now - os.stat(place).st_mtime < KEPT_S:
                continue
            opened = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
        except OSError:
            continue
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(place, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(opened)
