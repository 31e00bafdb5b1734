"""TPC-H's tables as Parquet files, made by DuckDB, and the answers that DuckDB gives."""
# tidy: foreign-file task
import pathlib

NAMES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
ROWS_PER_FILE = 1_000_000


def connect():
    """DuckDB with its extension for TPC-H, which the wheel duckdb-extension-tpch brings."""
    import duckdb
    import duckdb_extension_tpch
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    found = sorted(pathlib.Path(duckdb_extension_tpch.__file__).parent.rglob("*.duckdb_extension"))
    connection.execute(f"LOAD '{found[0]}'")
    return connection


def make(directory, scale):
    """Makes the tables and the answers in a directory, unless they are there."""
    directory = pathlib.Path(directory) / f"scale-{scale:g}"
    if (directory / "done").exists():
        return directory
    directory.mkdir(parents=True, exist_ok=True)
    connection = connect()
    connection.execute(f"CALL dbgen(sf={scale})")
    for name in NAMES:
        (directory / name).mkdir(exist_ok=True)
        columns = []
        for column, kind, *_ in connection.execute(f"DESCRIBE {name}").fetchall():
            wanted = "DOUBLE" if kind.startswith("DECIMAL") else "TIMESTAMP_NS" if kind == "DATE" else kind
            columns.append(f"{column}::{wanted} AS {column}")
        rows = connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
        for part, first in enumerate(range(0, rows, ROWS_PER_FILE)):
            path = directory / name / f"part-{part:03}.parquet"
            connection.execute(f"COPY (SELECT {', '.join(columns)} FROM {name} LIMIT {ROWS_PER_FILE} OFFSET {first}) "
                               f"TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 250000)")
    for number in range(1, 23):
        connection.execute(f"PRAGMA tpch({number})").df().to_pickle(directory / f"q{number:02}.pickle")
    (directory / "done").touch()
    return directory


class Tables:
    """The tables as frames of a module of pandas' interface, each read when it is asked for."""

    def __init__(self, pd, directory):
        self._pd, self._directory = pd, pathlib.Path(directory)

    def __getattr__(self, name):
        if name not in NAMES:
            raise AttributeError(name)
        paths = sorted(str(path) for path in (self._directory / name).glob("*.parquet"))
        return self._pd.read_parquet(paths if len(paths) > 1 else paths[0])
