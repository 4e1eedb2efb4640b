#!/usr/bin/env python3
"""DuckDB by its library, without any package: runs the statements of a script, each of which ends with a line's end.

bench/duckdb_client.py LIBRARY FILE SCRIPT [NAME=VALUE…]     settings are those that the file is opened with

The first cells of rows are printed, a row a line; at the end stands `done`. What DuckDB refuses ends it with status 1.
"""
import ctypes, pathlib, sys

OK = 0


class Result(ctypes.Structure):
    """duckdb_result: its fields are DuckDB's own, and only their size matters here."""
    _fields_ = [("numbers", ctypes.c_uint64 * 3), ("columns", ctypes.c_void_p), ("message", ctypes.c_void_p), ("internal", ctypes.c_void_p)]


def opened(path):
    library = ctypes.CDLL(path)
    library.duckdb_library_version.restype = ctypes.c_char_p
    library.duckdb_result_error.restype = ctypes.c_char_p
    library.duckdb_row_count.restype = ctypes.c_uint64
    library.duckdb_value_varchar.restype = ctypes.c_void_p
    library.duckdb_value_varchar.argtypes = [ctypes.POINTER(Result), ctypes.c_uint64, ctypes.c_uint64]
    library.duckdb_free.argtypes = [ctypes.c_void_p]
    return library


def connected(library, file, settings):
    config, database, connection, why = (ctypes.c_void_p() for _ in range(4))
    library.duckdb_create_config(ctypes.byref(config))
    for name, value in settings:
        if library.duckdb_set_config(config, name.encode(), value.encode()) != OK:
            sys.exit(f"DuckDB has no setting {name}={value}")
    if library.duckdb_open_ext(file.encode(), ctypes.byref(database), config, ctypes.byref(why)) != OK:
        sys.exit(f"DuckDB does not open {file}: {ctypes.string_at(why).decode()}")
    if library.duckdb_connect(database, ctypes.byref(connection)) != OK:
        sys.exit(f"DuckDB does not connect to {file}")
    return connection


def query(library, connection, sql):
    """The first cells of the rows, as text."""
    result = Result()
    if library.duckdb_query(connection, sql.encode(), ctypes.byref(result)) != OK:
        sys.exit(f"DuckDB refuses «{sql}»: {library.duckdb_result_error(ctypes.byref(result)).decode()}")
    cells = []
    for row in range(library.duckdb_row_count(ctypes.byref(result))):
        text = library.duckdb_value_varchar(ctypes.byref(result), 0, row)
        cells.append(ctypes.string_at(text).decode())
        library.duckdb_free(text)
    library.duckdb_destroy_result(ctypes.byref(result))
    return cells


def main():
    path, file, script, *settings = sys.argv[1:]
    library = opened(path)
    connection = connected(library, file, [setting.split("=", 1) for setting in settings])
    for sql in pathlib.Path(script).read_text().splitlines():
        for cell in query(library, connection, sql):
            print(cell, flush=True)
    print("done", flush=True)


if __name__ == "__main__":
    main()
