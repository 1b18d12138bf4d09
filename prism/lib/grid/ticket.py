"""What a block draws: the number of a tile, and the launch's."""

from prism.lang import int32, struct, uint32


@struct
class Ticket:
    """The number of a tile, and the launch's epoch, which published words carry."""

    tile: int32
    epoch: uint32
