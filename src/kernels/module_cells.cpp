// Rows and cells of CSV for Python, as numbers and as texts. Arguments are checked here wherever a wrong one could read or
// write outside an array.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>

#include "parse.hpp"
#include "rows.hpp"

namespace nb = nanobind;
using namespace soundsum;

namespace {

using Block = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Written = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Pairs = nb::ndarray<const std::uint32_t, nb::shape<-1, 2>, nb::device::cpu>;

static_assert(sizeof(Cell) == 2 * sizeof(std::uint32_t));

Cells cells_of(const Block& block, const Pairs& pairs, std::size_t size) {
    if (pairs.shape(0) != size) throw nb::value_error("one entry per cell is needed");
    if (size == 0) return {block.data(), nullptr, 0, 1};
    if (pairs.stride(1) != 1 || pairs.stride(0) % 2 || pairs.stride(0) < 2 || reinterpret_cast<std::uintptr_t>(pairs.data()) % 4)
        throw nb::value_error("a cell is where it begins and its length, one beside the other");
    const Cells cells{block.data(), reinterpret_cast<const Cell*>(pairs.data()), size, static_cast<std::size_t>(pairs.stride(0)) / 2};
    bool within = true;
    for (std::size_t i = 0; i < size; ++i) {
        const Cell& cell = cells.first[i * cells.step];
        within &= std::uint64_t{cell.begin} + cell.length <= block.shape(0);
    }
    if (!within) throw nb::value_error("a cell is within its block");
    return cells;
}

template <class T> void require(const Written<T>& out, std::size_t size) {
    if (out.shape(0) != size || reinterpret_cast<std::uintptr_t>(out.data()) % sizeof(T)) throw nb::value_error("one aligned entry per cell is needed");
}

template <class Float> void bind_floats(nb::module_& m) {
    m.def("parse_floats", [](Block block, Pairs pairs, Written<Float> out, Written<std::uint8_t> flags) {
        require(out, flags.shape(0));
        const Cells cells = cells_of(block, pairs, flags.shape(0));
        nb::gil_scoped_release release;
        parse_floats(cells, out.data(), flags.data());
    }, nb::arg("block"), nb::arg("cells"), nb::arg("out").noconvert(), nb::arg("flags").noconvert());
}

std::optional<std::size_t> place(std::size_t end) { return end == Scan::none ? std::nullopt : std::optional(end); }

}  // namespace

void bind_cells(nb::module_& m) {
    m.attr("LONGEST_CELL") = longest_cell;
    m.def("find_row_end", [](Block block) {
        nb::gil_scoped_release release;
        return place(find_row_end(block.data(), block.shape(0)));
    }, nb::arg("block"));
    m.def("scan_rows", [](Block block, unsigned state) {
        if (state > static_cast<unsigned>(At::Return)) throw nb::value_error("no such state");
        Scan scan;
        {
            nb::gil_scoped_release release;
            scan = scan_rows(block.data(), block.shape(0), static_cast<At>(state));
        }
        return std::tuple(place(scan.first_end), place(scan.last_end), static_cast<unsigned>(scan.state));
    }, nb::arg("block"), nb::arg("state"));
    m.def("split_rows", [](Written<std::uint8_t> block, std::size_t size, const std::vector<std::uint32_t>& place, std::size_t wanted,
                           std::size_t longest) {
        if (block.shape(0) < spare || size > block.shape(0) - spare || size >= std::uint64_t{1} << 31)
            throw nb::value_error("a block has 64 bytes more than its rows, and under 2^31");
        for (const std::uint32_t at : place)
            if (at != nowhere && at >= wanted) throw nb::value_error("a column goes to a place among those wanted");
        if (wanted == 0) throw nb::value_error("at least one column is wanted");
        auto* cells = new std::vector<Cell>;
        nb::capsule owner(cells, [](void* made) noexcept { delete static_cast<std::vector<Cell>*>(made); });
        {
            nb::gil_scoped_release release;
            *cells = split_rows(block.data(), size, place, wanted, longest);
        }
        return nb::ndarray<nb::numpy, std::uint32_t>(cells->data(), {cells->size() / wanted, wanted, 2}, owner);
    }, nb::arg("block").noconvert(), nb::arg("size"), nb::arg("place"), nb::arg("wanted"), nb::arg("longest"));
    bind_floats<double>(m);
    bind_floats<float>(m);
    m.def("parse_integers", [](Block block, Pairs pairs, std::int64_t low, std::int64_t high, Written<std::int64_t> out,
                               Written<std::uint8_t> flags) {
        require(out, flags.shape(0));
        const Cells cells = cells_of(block, pairs, flags.shape(0));
        nb::gil_scoped_release release;
        parse_integers(cells, low, high, out.data(), flags.data());
    }, nb::arg("block"), nb::arg("cells"), nb::arg("low"), nb::arg("high"), nb::arg("out").noconvert(), nb::arg("flags").noconvert());
    m.def("parse_truths", [](Block block, Pairs pairs, Written<std::uint8_t> out, Written<std::uint8_t> flags) {
        require(out, flags.shape(0));
        const Cells cells = cells_of(block, pairs, flags.shape(0));
        nb::gil_scoped_release release;
        parse_truths(cells, out.data(), flags.data());
    }, nb::arg("block"), nb::arg("cells"), nb::arg("out").noconvert(), nb::arg("flags").noconvert());
    m.def("parse_moments", [](Block block, Pairs pairs, bool instants, bool times, Written<std::int64_t> out, Written<std::uint8_t> flags) {
        require(out, flags.shape(0));
        const Cells cells = cells_of(block, pairs, flags.shape(0));
        nb::gil_scoped_release release;
        parse_moments(cells, instants, times, out.data(), flags.data());
    }, nb::arg("block"), nb::arg("cells"), nb::arg("instants"), nb::arg("times"), nb::arg("out").noconvert(), nb::arg("flags").noconvert());
    m.def("copy_cells", [](Block block, Pairs pairs, bool are_texts, Written<std::int32_t> offsets, Written<std::uint8_t> out,
                           Written<std::uint8_t> flags) {
        const Cells cells = cells_of(block, pairs, flags.shape(0));
        require(offsets, flags.shape(0) + 1);
        if (bytes_of(cells) > out.shape(0) || out.shape(0) >= std::uint64_t{1} << 31) throw nb::value_error("out has the cells' bytes, and under 2^31");
        nb::gil_scoped_release release;
        copy_cells(cells, are_texts, offsets.data(), out.data(), flags.data());
    }, nb::arg("block"), nb::arg("cells"), nb::arg("are_texts"), nb::arg("offsets").noconvert(), nb::arg("out").noconvert(),
       nb::arg("flags").noconvert());
}
