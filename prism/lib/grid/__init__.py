"""Collectives of a grid: how blocks that do not meet share tiles and totals. In a kernel: `grid.look_back(...)`."""

from prism.lib.grid.count_launch import count_launch
from prism.lib.grid.completion import count_done, wait_for_done
from prism.lib.grid.draw import draw, epoch, next_tile
from prism.lib.grid.gather import gather, gather_into
from prism.lib.grid.histogram import histogram
from prism.lib.grid.look_back import look_back, look_back_each, look_back_share
from prism.lib.grid.look_back_columns import look_back_columns
from prism.lib.grid.look_back_digits import look_back_digits, look_back_more_digits
from prism.lib.grid.look_back_segments import look_back_segments
from prism.lib.grid.look_back_stable import look_back_stable
from prism.lib.grid.pipeline import pipeline, pipeline_of_three
from prism.lib.grid.publish import publish
from prism.lib.grid.publish_digits import publish_digits, publish_more_digits
from prism.lib.grid.receive_totals import receive_totals
from prism.lib.grid.scan_tiles import scan_tiles, select_tiles, tile_loop
from prism.lib.grid.ticket import Ticket
from prism.lib.grid.tiles import count_tiles, deal_tiles, dynamic_tiles, owners, tiles

__all__ = [
    "Ticket", "count_done", "count_launch", "count_tiles", "deal_tiles", "draw", "dynamic_tiles", "epoch", "gather",
    "gather_into", "histogram", "look_back", "look_back_columns", "look_back_digits", "look_back_each",
    "look_back_more_digits", "look_back_segments", "look_back_share", "look_back_stable", "next_tile", "owners",
    "pipeline", "pipeline_of_three", "publish", "publish_digits", "publish_more_digits", "receive_totals", "scan_tiles",
    "select_tiles", "tile_loop", "tiles", "wait_for_done",
]
