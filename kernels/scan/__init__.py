"""Scans: of whole arrays in one pass, along axes, of segments and of runs; and how they are cut into tiles."""

from prism.kernels.scan.columns import scan_columns, scan_columns_by_thread, scan_columns_shared
from prism.kernels.scan.configurations import (
    BLOCK_THREADS, DEVICE, HOST_LARGE, HOST_SEGMENTS_LARGE, HOST_SEGMENTS_SMALL, HOST_SMALL, ONCE,
    ONCE_ITEMS, ONCE_OTHERS, ONCE_THREADS, ONCE_TILES, UNPACKED, WHOLE_ROWS, WHOLE_ROWS_COLUMNS, ColumnConfiguration,
    Configuration, RowsConfiguration, StripConfiguration, for_columns, for_runs, for_segments,
)
from prism.kernels.scan.head_flags import BITS, KEYS, ROWS, mark
from prism.kernels.scan.packed import scan_packed
from prism.kernels.scan.rows import AND, ANY, MAX, MIN, OR, SUM
from prism.kernels.scan.runs import reduce_runs
from prism.kernels.scan.segmented import scan_segments
from prism.kernels.scan.single_pass import scan
from prism.kernels.scan.small import scan_block, scan_once
from prism.kernels.scan.whole_rows import scan_whole_rows

__all__ = [
    "AND", "ANY", "BITS", "BLOCK_THREADS", "DEVICE", "HOST_LARGE", "HOST_SEGMENTS_LARGE", "HOST_SEGMENTS_SMALL", "HOST_SMALL",
    "KEYS", "MAX", "MIN", "ONCE", "ONCE_ITEMS", "ONCE_OTHERS", "ONCE_THREADS", "ONCE_TILES", "OR", "ROWS",
    "SUM", "UNPACKED", "WHOLE_ROWS", "WHOLE_ROWS_COLUMNS", "ColumnConfiguration", "Configuration", "RowsConfiguration",
    "StripConfiguration", "for_columns", "for_runs", "for_segments",
    "mark", "reduce_runs", "scan", "scan_block", "scan_columns", "scan_columns_by_thread", "scan_columns_shared", "scan_once",
    "scan_packed", "scan_segments", "scan_whole_rows",
]
