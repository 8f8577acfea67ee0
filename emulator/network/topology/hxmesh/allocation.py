"""Boards of a HammingMesh for jobs: a virtual mesh of u x v boards is any u rows that have the same v columns free.

Its rows and columns need not be neighbors: all boards of a row are one switch away, so that no other job shares a link
with it. Greedy, with the heuristics of Hoefler et al. (2022): transposed, other shapes of the same number of boards,
largest jobs first, boards under the same leaves. A failed board is one that is never free.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from emulator.network.topology.check import MAX_NODES
from emulator.network.topology.hxmesh.hammingmesh import RADIX
from emulator.network.topology.parts import TopologyError

COLUMNS = ("name", "rows", "columns")
"""Of a file of jobs."""


@dataclass(frozen=True, slots=True)
class Job:
    """Asks for boards."""

    name: str
    rows: int
    columns: int

    @property
    def boards(self) -> int:
        return self.rows * self.columns


@dataclass(frozen=True, slots=True)
class Placement:
    """A job on the boards where its rows and columns cross."""

    job: Job
    rows: tuple[int, ...]
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Heuristics:
    """What is tried where boards are not free as asked for, in this order, and how jobs are ordered."""

    transpose: bool = True
    aspect: bool = True
    """Other shapes of as many boards, the squarest ones first."""
    sort: bool = True
    """The largest jobs first; of equal ones as they come."""
    locality: bool = True
    """Columns under as few leaf switches as possible."""


@dataclass(slots=True)
class Allocation:
    """Of a grid of boards; jobs are placed and removed one by one."""

    grid: tuple[int, int]
    heuristics: Heuristics = field(default_factory=Heuristics)
    failed: frozenset[tuple[int, int]] = frozenset()
    leaf_boards: int = RADIX // 4
    """Boards of a row whose ports are at one leaf."""
    placements: dict[str, Placement] = field(default_factory=dict)
    _free: list[int] = field(init=False)
    """Of each row: a bit for each column."""

    def __post_init__(self) -> None:
        rows, columns = check_grid(self.grid)
        self._free = [(1 << columns) - 1] * rows
        for row, column in self.failed:
            if not (0 <= row < rows and 0 <= column < columns):
                raise TopologyError(f"there is no board {row}, {column} in a grid of {rows}x{columns}", ("failed",))
            self._free[row] &= ~(1 << column)

    @property
    def working(self) -> int:
        return self.grid[0] * self.grid[1] - len(self.failed)

    @property
    def utilization(self) -> float:
        """Boards of jobs to boards that work."""
        return sum(each.job.boards for each in self.placements.values()) / max(1, self.working)

    def place(self, jobs: Iterable[Job]) -> list[Job]:
        """Those that found no boards."""
        ordered = sorted(jobs, key=lambda job: -job.boards) if self.heuristics.sort else list(jobs)
        return [job for job in ordered if not self._place(job)]

    def remove(self, name: str) -> None:
        """Raises TopologyError for a job that has no boards."""
        if name not in self.placements:
            raise TopologyError(f"no job {name!r} has boards", ("jobs",))
        placement = self.placements.pop(name)
        for row in placement.rows:
            self._free[row] |= _bits(placement.columns)

    def _place(self, job: Job) -> bool:
        if job.name in self.placements:
            raise TopologyError(f"there are two jobs {job.name!r}", ("jobs", job.name, "name"))
        for rows, columns in self._shapes(job):
            found = self._search(rows, columns)
            if found is not None:
                chosen, common = found
                placement = Placement(job, chosen, self._cut(common, columns))
                self.placements[job.name] = placement
                for row in chosen:
                    self._free[row] &= ~_bits(placement.columns)
                return True
        return False

    def _shapes(self, job: Job) -> list[tuple[int, int]]:
        shapes = [(job.rows, job.columns)]
        if self.heuristics.transpose:
            shapes.append((job.columns, job.rows))
        if self.heuristics.aspect:
            factors = [(each, job.boards // each) for each in range(1, job.boards + 1) if job.boards % each == 0]
            shapes += sorted(factors, key=lambda shape: abs(shape[0] - shape[1]))
        return [s for s in dict.fromkeys(shapes) if s[0] <= self.grid[0] and s[1] <= self.grid[1]]

    def _search(self, rows: int, columns: int) -> tuple[tuple[int, ...], int] | None:
        """Rows and the columns that are free in all: from each row in turn, those after it that leave enough."""
        for start in range(len(self._free)):
            common, chosen = self._free[start], [start]
            if common.bit_count() < columns:
                continue
            for row in [*range(start + 1, len(self._free)), *range(start)]:
                if len(chosen) == rows:
                    break
                if (common & self._free[row]).bit_count() >= columns:
                    common &= self._free[row]
                    chosen.append(row)
            if len(chosen) == rows:
                return tuple(sorted(chosen)), common
        return None

    def _cut(self, common: int, columns: int) -> tuple[int, ...]:
        free = [column for column in range(self.grid[1]) if common >> column & 1]
        if self.heuristics.locality:
            leaves = [column // self.leaf_boards for column in free]
            enough = sorted({leaf for leaf in leaves if leaves.count(leaf) >= columns}, key=leaves.count)
            first = enough[0] if enough else max(leaves, key=leaves.count)
            free.sort(key=lambda c: (c // self.leaf_boards != first, -leaves.count(c // self.leaf_boards), c))
        return tuple(sorted(free[:columns]))


def check_grid(grid: tuple[int, int]) -> tuple[int, int]:
    """Raises TopologyError for more boards than topologies have nodes."""
    if grid[0] * grid[1] > MAX_NODES:
        raise TopologyError(f"{grid[0]}x{grid[1]} boards; at most {MAX_NODES:,}", ("grid",))
    return grid


def _bits(columns: Iterable[int]) -> int:
    return sum(1 << column for column in columns)


def random_failures(grid: tuple[int, int], count: int, seed: int) -> frozenset[tuple[int, int]]:
    """``count`` boards, drawn without repetition. Raises TopologyError for more than there are."""
    if not 0 <= count <= grid[0] * grid[1]:
        raise TopologyError(f"{count} failed boards; a grid of {grid[0]}x{grid[1]} has {grid[0] * grid[1]}", ("fail",))
    drawn = np.random.default_rng(seed).choice(grid[0] * grid[1], count, replace=False)
    return frozenset((int(each) // grid[1], int(each) % grid[1]) for each in drawn)


def random_jobs(grid: tuple[int, int], seed: int) -> list[Job]:
    """Enough to fill all boards, and no more: squares and flat meshes, most of them small. Half of the jobs have one
    board, a fourth two to four, an eighth five to sixteen, and so on, as nearly square as their number allows; the
    last one is cut to what is left."""
    check_grid(grid)
    random = np.random.default_rng(seed)
    jobs: list[Job] = []
    left = grid[0] * grid[1]
    while left:
        scale = min(int(random.geometric(0.5)) - 1, 3)
        boards = min(left, int(random.integers(4 ** (scale - 1) + 1 if scale else 1, 4**scale + 1)))
        rows = max(each for each in range(1, boards + 1) if boards % each == 0 and each * each <= boards)
        while rows <= boards and (rows > grid[0] or boards // rows > grid[1]):  # a prime longer than a row
            boards -= 1
            rows = max(each for each in range(1, boards + 1) if boards % each == 0 and each * each <= boards)
        jobs.append(Job(f"job{len(jobs)}", rows, boards // rows))
        left -= boards
    return jobs


def read_jobs(path: Path) -> list[Job]:
    """A CSV file with a line ``name,rows,columns`` and one for each job. Raises TopologyError with the line and
    field."""
    jobs: list[Job] = []
    try:
        with path.open(newline="") as file:
            rows: Sequence[dict[str, str]] = list(csv.DictReader(file, restkey="more", restval=""))
    except (OSError, UnicodeDecodeError) as error:
        raise TopologyError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if not rows:
        raise TopologyError(f"{path}: no jobs: the first line is {','.join(COLUMNS)}, each other one a job")
    for line, row in enumerate(rows, 2):
        for key in row:
            if key not in COLUMNS:
                raise TopologyError(f"{path}:{line}: {key}: unknown; columns are {','.join(COLUMNS)}")
        for key in COLUMNS:
            text = row.get(key, "")
            if not text or (key != "name" and not (text.isascii() and text.isdigit() and 0 < int(text) < 10**6)):
                what = "missing" if not text else f"{text!r} is not a positive number"
                raise TopologyError(f"{path}:{line}: {key}: {what}")
        if any(job.name == row["name"] for job in jobs):
            raise TopologyError(f"{path}:{line}: name: there are two jobs {row['name']!r}")
        jobs.append(Job(row["name"], int(row["rows"]), int(row["columns"])))
    return jobs
