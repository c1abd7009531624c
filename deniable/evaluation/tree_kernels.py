"""Compiled decision trees on codes: how they grow, and how their leaves vote.

Values are small integers, so that a node's records are counted instead of sorted. The records to be predicted pass
through a tree while it grows, and no tree is kept. What learns from which records belongs to `classifiers`.
"""

# numba infers the types of kernels
# mypy: disallow-untyped-defs=False, disallow-untyped-calls=False, disallow-untyped-decorators=False

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.kernels import inner_kernel, kernel

_STEP = np.uint64(0x9E3779B97F4A7C15)
"""The difference of successive states of SplitMix64."""

_BLOCK = 64
"""Number of cells that are searched together for those that occur in a node."""


class Cells(NamedTuple):
    """A training table, of which each attribute is joined with the label: a cell is a value and a label that occur.

    Attributes:
        of_row: the cell of each attribute and row, shape (m, rows); an attribute's cells are in the order of values.
        start: number of the first cell of each attribute, and the number of all, shape (m + 1,).
        value: value of each cell.
        label: label of each cell.
    """

    of_row: NDArray[np.uint32]
    start: NDArray[np.int64]
    value: NDArray[np.int64]
    label: NDArray[np.int64]


class _Room(NamedTuple):
    """Work space of a tree: what is zero between nodes (counts, blocks, of_label, left), and what a node fills."""

    counts: NDArray[np.int64]
    blocks: NDArray[np.bool_]
    of_label: NDArray[np.int64]
    left: NDArray[np.int64]
    present: NDArray[np.int64]
    occupied: NDArray[np.int64]
    attributes: NDArray[np.int64]


@kernel
def fill_cells(columns, labels, number_of_labels, of_row, start, value, label):  # pragma: no cover
    """Number the cells of each attribute, by two passes of counting sort: by label, then by value."""
    m, rows = columns.shape
    place = np.zeros(number_of_labels + 1, np.int64)
    for r in range(rows):
        place[labels[r] + 1] += 1
    for k in range(number_of_labels):
        place[k + 1] += place[k]
    by_label = np.empty(rows, np.int64)
    for r in range(rows):
        by_label[place[labels[r]]] = r
        place[labels[r]] += 1
    order = np.empty(rows, np.int64)
    cells = 0
    for j in range(m):
        column = columns[j]
        place = np.zeros(np.int64(column.max()) + 2, np.int64)
        for r in range(rows):
            place[column[r] + 1] += 1
        for v in range(len(place) - 1):
            place[v + 1] += place[v]
        for i in range(rows):
            r = by_label[i]
            order[place[column[r]]] = r
            place[column[r]] += 1
        start[j] = cells
        for i in range(rows):
            r = order[i]
            if i == 0 or column[r] != value[cells - 1] or labels[r] != label[cells - 1]:
                value[cells], label[cells] = column[r], labels[r]
                cells += 1
            of_row[j, r] = cells - 1
    start[m] = cells


@inner_kernel
def _mixed(state):  # pragma: no cover
    """The output of SplitMix64 for a state (Steele, Lea, Flood 2014, Fast splittable pseudorandom generators)."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@inner_kernel
def _below(bound, state):  # pragma: no cover
    """A number below a bound, of at most 31 bits."""
    return np.int64(((_mixed(state) >> np.uint64(33)) * np.uint64(bound)) >> np.uint64(31))


@inner_kernel
def _some_rows(rows, number, state, chosen):  # pragma: no cover
    """Choose rows uniformly without replacement, in order (Knuth, The Art of Computer Programming 2, algorithm S)."""
    taken = 0
    for r in range(rows):
        state += _STEP
        if _below(rows - r, state) < number - taken:
            chosen[taken] = r
            taken += 1


@inner_kernel
def _count(cells, j, rows, room):  # pragma: no cover
    """Count a node's rows by their cells of attribute j, and return the cells that occur, in order, and their counts.

    Only blocks of cells in which one occurs are searched, so that a small node costs little whatever the number of
    values.
    """
    of_row, counts, blocks, occupied = cells.of_row[j], room.counts, room.blocks, room.occupied
    for r in rows:
        counts[of_row[r]] += 1
        blocks[of_row[r] // np.uint32(_BLOCK)] = True
    found = 0
    for block in range(cells.start[j] // _BLOCK, (cells.start[j + 1] - 1) // _BLOCK + 1):
        if not blocks[np.uint64(block)]:
            continue
        blocks[np.uint64(block)] = False
        for cell in range(block * _BLOCK, block * _BLOCK + _BLOCK):
            count = counts[np.uint64(cell)]
            if count:
                occupied[found, 0], occupied[found, 1] = cell, count
                counts[np.uint64(cell)] = 0
                found += 1
    return occupied[:found]


@inner_kernel
def _purest_cut(occupied, cells, of_label, left, rows, squares, least):  # pragma: no cover
    """Find the cut of one attribute that leaves the purest parts, by Gini's index.

    Args:
        occupied: the node's cells of the attribute in order, and their counts.
        cells: the training table.
        of_label: number of the node's rows with each label.
        left: zero for each label of the node, before and after.
        rows: number of the node's rows.
        squares: sum of the squares of `of_label`.
        least: the smallest number of rows of a part.

    Returns:
        The purity of the parts, the first cell of the right part, and the sum of the two values that are separated; a
        purity of -1 if no cut is allowed.
    """
    best, cut, between = -1.0, np.int64(0), np.int64(0)
    squares_left, squares_right, number = np.int64(0), squares, np.int64(0)
    for i in range(len(occupied)):
        cell, count = occupied[i, 0], occupied[i, 1]
        value, label = cells.value[cell], cells.label[cell]
        if i and value != cells.value[occupied[i - 1, 0]] and number >= least and rows - number >= least:
            purity = squares_left / number + squares_right / (rows - number)
            if purity > best:
                best, cut, between = purity, cell, value + cells.value[occupied[i - 1, 0]]
        squares_left += count * (2 * left[label] + count)
        squares_right -= count * (2 * (of_label[label] - left[label]) - count)
        left[label] += count
        number += count
    for i in range(len(occupied)):
        left[cells.label[occupied[i, 0]]] = 0
    return best, cut, between


@inner_kernel
def _part(rows, first, last, column, bound, moved):  # pragma: no cover
    """Put those of some rows whose number in a column is below a bound first, and return where the others start."""
    kept = others = np.uint64(0)
    start, one = np.uint64(first), np.uint64(1)
    for i in range(np.uint64(last - first)):
        # Both are written, so that no branch has to be predicted.
        row = rows[start + i]
        rows[start + kept] = moved[others] = row
        goes_left = np.uint64(np.int64(column[row]) < bound)
        kept += goes_left
        others += one - goes_left
    for i in range(others):
        rows[start + kept + i] = moved[i]
    return first + np.int64(kept)


@inner_kernel
def _wait(waiting, height, start, end, first, last):  # pragma: no cover
    """Put a part of a tree on the stack, if there are records to predict in it, and return the stack's new height."""
    if first == last:
        return height
    waiting[height, 0], waiting[height, 1], waiting[height, 2], waiting[height, 3] = start, end, first, last
    return height + 1


@inner_kernel
def _label_counts(occupied, label, of_label, present):  # pragma: no cover
    """Count a node's rows by label, and return the number of labels that occur, which `present` receives."""
    found = 0
    for i in range(len(occupied)):
        k = label[occupied[i, 0]]
        if of_label[k] == 0:
            present[found] = k
            found += 1
        of_label[k] += occupied[i, 1]
    return found


@inner_kernel
def _drawn(attributes, seen, state):  # pragma: no cover
    """Draw an attribute that was not seen yet, and put it behind those that were."""
    other = seen + _below(len(attributes) - seen, state)
    j = attributes[other]
    attributes[other] = attributes[seen]
    attributes[seen] = j
    return j


@inner_kernel
def _search(cells, rows, state, tried, least, room):  # pragma: no cover
    """Find the purest cut of a node among some attributes, drawn until one of them has several values.

    Args:
        cells: the training table.
        rows: the node's rows.
        state: the node's random numbers.
        tried: number of attributes to try.
        least: the smallest number of rows of a part.
        room: the tree's work space.

    Returns:
        The number of labels that occur, the attribute, the first cell of the right part, and the sum of the two values
        that are separated; an attribute of -1 if no cut is allowed.
    """
    best, attribute, cut, between = -1.0, -1, np.int64(0), np.int64(0)
    varied, seen, found, squares = False, 0, 0, np.int64(0)
    for j in range(len(room.attributes)):
        room.attributes[j] = j
    while seen < len(room.attributes) and (seen < tried or not varied):
        state += _STEP
        j = _drawn(room.attributes, seen, state)
        occupied = _count(cells, j, rows, room)
        if seen == 0:
            found = _label_counts(occupied, cells.label, room.of_label, room.present)
            if found == 1 or len(rows) < 2 * least:
                break
            for i in range(found):
                k = room.present[i]
                squares += room.of_label[k] * room.of_label[k]
        seen += 1
        if cells.value[occupied[0, 0]] == cells.value[occupied[-1, 0]]:
            continue
        varied = True
        purity, at, values = _purest_cut(occupied, cells, room.of_label, room.left, len(rows), squares, least)
        if purity > best:
            best, attribute, cut, between = purity, j, at, values
    return found, attribute, cut, between


@kernel
def vote(cells, testing, seeds, number, tried, least, votes):  # pragma: no cover
    """Grow a tree for each seed, and add the shares of labels in the leaf of each record that is predicted.

    A node's random numbers depend on its place in the tree only, so that parts without records need not be grown.

    Args:
        cells: the training table.
        testing: codes to predict, shape (m, others).
        seeds: one for each tree.
        number: number of rows from which each tree learns.
        tried: number of attributes tried at each node.
        least: the smallest number of rows of a leaf.
        votes: receives the votes, shape (others, labels).
    """
    m, all_rows = cells.of_row.shape
    others, labels = votes.shape
    blocks = cells.start[m] // _BLOCK + 1
    room = _Room(
        np.zeros(blocks * _BLOCK, np.int64),
        np.zeros(blocks, np.bool_),
        np.zeros(labels, np.int64),
        np.zeros(labels, np.int64),
        np.empty(labels, np.int64),
        np.empty((number, 2), np.int64),
        np.empty(m, np.int64),
    )
    chosen, tested = np.empty(number, np.uint32), np.empty(others, np.uint32)
    moved = np.empty(max(number, others) + 1, np.uint32)
    waiting, states = np.empty((number + 1, 4), np.int64), np.empty(number + 1, np.uint64)
    for seed in seeds:
        _some_rows(all_rows, number, seed, chosen)
        for r in range(others):
            tested[r] = r
        states[0] = _mixed(seed)
        height = _wait(waiting, 0, 0, number, 0, others)
        while height:
            height -= 1
            start, end, first, last = waiting[height, 0], waiting[height, 1], waiting[height, 2], waiting[height, 3]
            state = states[height]
            found, attribute, cut, between = _search(cells, chosen[start:end], state, tried, least, room)
            for i in range(found):
                k = room.present[i]
                share = room.of_label[k] / (end - start)
                room.of_label[k] = 0
                if attribute < 0:
                    for r in range(first, last):
                        votes[tested[r], k] += share
            if attribute >= 0:
                middle = _part(chosen, start, end, cells.of_row[attribute], cut, moved)
                # Twice a value is at most the sum of two values if the value is at most half of the sum, rounded down.
                parted = _part(tested, first, last, testing[attribute], between // 2 + 1, moved)
                states[height] = _mixed(state + _STEP)
                height = _wait(waiting, height, start, middle, first, parted)
                states[height] = _mixed(state + _STEP + _STEP)
                height = _wait(waiting, height, middle, end, parted, last)


@kernel
def purest_stump(cells, of_cell, of_label, left, whole):  # pragma: no cover
    """Find the purest cut of all rows by the weights of cells, as `_purest_cut` does by counts."""
    best, attribute, cut, between = -1.0, -1, np.int64(0), np.int64(0)
    squares = 0.0
    for k in range(len(of_label)):
        squares += of_label[k] * of_label[k]
    for j in range(len(cells.of_row)):
        for k in range(len(of_label)):
            left[k] = 0
        squares_left, squares_right, weight = 0.0, squares, 0.0
        for cell in range(cells.start[j], cells.start[j + 1]):
            value, label = cells.value[cell], cells.label[cell]
            # A part whose weight is lost in rounding is none.
            if cell > cells.start[j] and value != cells.value[cell - 1] and 0 < weight < whole:
                purity = squares_left / weight + squares_right / (whole - weight)
                if purity > best:
                    best, attribute, cut, between = purity, j, np.int64(cell), value + cells.value[cell - 1]
            own = of_cell[cell]
            squares_left += own * (2 * left[label] + own)
            squares_right -= own * (2 * (of_label[label] - left[label]) - own)
            left[label] += own
            weight += own
    return attribute, cut, between


@inner_kernel
def _weigh(of_row, labels, weights, of_cell, of_label):  # pragma: no cover
    """Add up the weights of rows by cell, by label, and of all."""
    for cell in range(len(of_cell)):
        of_cell[cell] = 0
    for k in range(len(of_label)):
        of_label[k] = 0
    whole = 0.0
    for r in range(len(labels)):
        whole += weights[r]
        of_label[labels[r]] += weights[r]
        for j in range(of_row.shape[1]):
            of_cell[of_row[r, j]] += weights[r]
    return whole


@inner_kernel
def _heaviest(cells, of_cell, of_label, left, first, cut):  # pragma: no cover
    """Return the heaviest label of each part of a cut: of the cells from the first to the cut, and of all others."""
    low, high = 0, 0
    for k in range(len(of_label)):
        left[k] = 0
    for cell in range(first, cut):
        left[cells.label[cell]] += of_cell[cell]
    for k in range(len(of_label)):
        if left[k] > left[low]:
            low = k
        if of_label[k] - left[k] > of_label[high] - left[high]:
            high = k
    return low, high


@kernel
def boost(of_row, cells, labels, testing, rounds, votes):  # pragma: no cover
    """Fit trees of one cut to reweighted rows, and add the votes of each for the records that are predicted.

    Args:
        of_row: the cells of each row, shape (rows, m).
        cells: the training table.
        labels: number of the label of each of its rows.
        testing: codes to predict, shape (m, others).
        rounds: the largest number of trees.
        votes: receives the votes, shape (others, labels).
    """
    rows, kinds = len(labels), votes.shape[1]
    weights, of_cell = np.empty(rows), np.empty(cells.start[-1])
    of_label, left = np.empty(kinds), np.empty(kinds)
    for r in range(rows):
        weights[r] = 1 / rows
    for _ in range(rounds):
        whole = _weigh(of_row, labels, weights, of_cell, of_label)
        attribute, cut, between = purest_stump(cells, of_cell, of_label, left, whole)
        # Without a cut, all cells are in the right part.
        j = max(attribute, 0)
        bound = between // 2 + 1 if attribute >= 0 else 0
        low, high = _heaviest(cells, of_cell, of_label, left, cells.start[j], cut)
        error = 0.0
        for r in range(rows):
            if labels[r] != (low if of_row[r, j] < cut else high):
                error += weights[r] / whole
        if error >= 1 - 1 / kinds:
            break
        said = np.log((1 - error) / error) + np.log(kinds - 1.0) if error > 0 else 1.0
        for r in range(testing.shape[1]):
            votes[r, low if testing[j, r] < bound else high] += said
        if error <= 0:
            break
        factor = np.exp(said)
        for r in range(rows):
            weights[r] /= whole
            if labels[r] != (low if of_row[r, j] < cut else high):
                weights[r] *= factor
