// Rows of CSV in a block of bytes, and the cells of those columns that somebody wants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace soundsum {

// Bytes of a block that are one cell, what was written as two quotes written as one.
struct Cell {
    std::uint32_t begin = 0, length = 0;
};

// Where a scan is: at the beginning of a cell, within one, within its quotes, after a quote in quotes, or after a carriage
// return that ends a row if no line feed follows.
enum class At : std::uint8_t { Start, Inside, Quoted, Quote, Return };

// The ends of the first and of the last whole row in a block, if there is one, and where its last byte leads. A row that
// ends with a carriage return is whole when the next byte is known, as that may be its line feed.
struct Scan {
    static constexpr std::size_t none = ~std::size_t{0};
    std::size_t first_end = none, last_end = none;
    At state = At::Start;
};
Scan scan_rows(const std::uint8_t* data, std::size_t size, At state);

// Where the first row's line end is, or `none`. No byte after it is looked at: the first row of a file is its header, which is
// public, and the next are records.
std::size_t find_row_end(const std::uint8_t* data, std::size_t size);

// The cells of whole rows, row after row; `spare` bytes after them are there to be written and read. A row that has not
// so many columns, or more than `longest` bytes, is left out; an empty line is a row of empty cells. `place` says for every column where its cell
// goes among the `wanted` ones of a row, or `nowhere`.
constexpr std::size_t spare = 64;
constexpr std::uint32_t nowhere = ~std::uint32_t{0};
std::vector<Cell> split_rows(std::uint8_t* data, std::size_t size, const std::vector<std::uint32_t>& place, std::size_t wanted,
                             std::size_t longest);

}  // namespace soundsum
