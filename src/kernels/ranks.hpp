// Cells of numbers between ascending edges, and which rows of a person count where their order decides.
//
// Models: numpy's searchsorted (tests/kernels/test_ranks.py) and tests/engines/model.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lots.hpp"

namespace soundsum {

// The number of edges at or below each of `size` numbers; edges + 1 for NaN. Edges go up and are no NaN.
void find_cells(const double* numbers, std::size_t size, const double* edges, std::size_t count, std::int32_t* out, unsigned threads);
void find_cells(const std::int64_t* numbers, std::size_t size, const std::int64_t* edges, std::size_t count, std::int32_t* out,
                unsigned threads);

// A row that counts: its person, and its group times the number of cells plus its cell.
struct RankedRow {
    std::uint64_t person;
    std::int32_t code;
};

struct RankBounding {
    std::uint64_t cells, groups, max_rows, max_groups;
};

// Adds 1 to the cell of each row that counts. Of a person with m > max_rows rows in a group those at floor((j + u) m / max_rows)
// count, in the order of their cells, where u is half of the lot of the id and groups + group. Of the groups of a person the
// max_groups with most rows count; of equals those with the lowest lots. Sorts the rows.
void count_ranks(std::vector<RankedRow>& rows, const RankBounding&, const PersonIds&, std::int64_t* out);

}  // namespace soundsum
