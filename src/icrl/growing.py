"""Rows that become more while a run goes on, in one piece of memory."""

import numpy as np

from icrl.types import AnyArray


class Growing:
    """One array that is made twice as long whenever it is full.

    A list with a small array of every round is as long as the run. Its pieces lie between what a
    round takes and gives back, and the gaps are of no use to anybody: memory grows by several times
    what the pieces hold.
    """

    def __init__(self, rows: AnyArray) -> None:
        self._held = rows
        self._num_rows = len(rows)

    @property
    def rows(self) -> AnyArray:
        """[n, ...]: all that was added; further rows leave what was handed out as it is."""
        return self._held[: self._num_rows]

    def add(self, rows: AnyArray) -> None:
        """Put `rows` [m, ...] at the end."""
        total = self._num_rows + len(rows)
        kind = np.result_type(self._held, rows)
        if total > len(self._held) or kind != self._held.dtype:
            # A new array and not a resize: rows that were handed out still look into the old one.
            longer: AnyArray = np.empty((2 * total, *self._held.shape[1:]), kind)
            longer[: self._num_rows] = self.rows
            self._held = longer
        self._held[self._num_rows : total] = rows
        self._num_rows = total
