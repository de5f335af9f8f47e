// Gradients for Python. Arguments are checked here wherever a wrong one could read or write outside an array. Nothing knows of
// torch: tensors come as arrays that share their memory, 16-bit floats as 16-bit integers with the type's name.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>

#include "gradients.hpp"
#include "types.hpp"

namespace nb = nanobind;
using namespace soundsum;

namespace {

using Matrix = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Written = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// One (array, type name) for each tensor, all with as many rows.
std::vector<Gradients> gradients_of(const std::vector<Matrix>& arrays, const std::vector<std::string>& types) {
    if (arrays.empty() || arrays.size() != types.size()) throw nb::value_error("one type per tensor is needed, and a tensor");
    std::vector<Gradients> tensors;
    for (std::size_t i = 0; i < arrays.size(); ++i) {
        std::size_t bytes = 0, misaligned = 0;
        with_float_type(types[i], [&]<class T>(T) { bytes = sizeof(T), misaligned = reinterpret_cast<std::uintptr_t>(arrays[i].data()) % alignof(T); });
        if (arrays[i].itemsize() != bytes || misaligned) throw nb::value_error("a tensor is not stored as its type says");
        if (arrays[i].shape(0) != arrays[0].shape(0)) throw nb::value_error("tensors have different numbers of rows");
        tensors.push_back({arrays[i].data(), arrays[i].shape(0), arrays[i].shape(1), types[i]});
    }
    return tensors;
}

template <class A> void require(const A& array, std::size_t size) {
    if (array.shape(0) != size) throw nb::value_error("an array has the wrong size");
}

}  // namespace

void bind_gradients(nb::module_& m) {
    m.def("measure_gradients", [](const std::vector<Matrix>& arrays, const std::vector<std::string>& types, const std::vector<std::int64_t>& rows,
                                  Array<double> scale, Written<std::uint64_t> top, Written<std::uint64_t> low, Written<std::uint64_t> high,
                                  unsigned threads) {
        const auto tensors = gradients_of(arrays, types);
        for (const std::int64_t row : rows)
            if (row < 0 || static_cast<std::size_t>(row) >= tensors[0].rows) throw nb::value_error("no such row");
        require(scale, rows.size()), require(top, rows.size()), require(low, rows.size()), require(high, rows.size());
        nb::gil_scoped_release release;
        measure_gradients(tensors, rows, scale.data(), {top.data(), low.data(), high.data()}, std::max(1u, threads));
    }, nb::arg("arrays"), nb::arg("types"), nb::arg("rows"), nb::arg("scale"), nb::arg("top").noconvert(), nb::arg("low").noconvert(),
       nb::arg("high").noconvert(), nb::arg("threads"));
    m.def("add_gradients", [](const std::vector<Matrix>& arrays, const std::vector<std::string>& types, Array<double> scale,
                              Array<std::uint64_t> top, Array<std::int32_t> factor, Array<std::int32_t> shift,
                              const std::vector<Written<std::int64_t>>& into, unsigned threads) {
        const auto tensors = gradients_of(arrays, types);
        const std::size_t rows = tensors[0].rows;
        require(scale, rows), require(top, rows), require(factor, rows), require(shift, rows);
        for (std::size_t i = 0; i < rows; ++i)
            if (factor.data()[i] < 0 || shift.data()[i] < 31) throw nb::value_error("factors are below 2^31, shifts 31 and more");
        if (into.size() != tensors.size()) throw nb::value_error("one sum per tensor is needed");
        std::vector<std::int64_t*> out;
        for (std::size_t i = 0; i < into.size(); ++i) require(into[i], tensors[i].columns), out.push_back(into[i].data());
        nb::gil_scoped_release release;
        add_gradients(tensors, {scale.data(), top.data(), factor.data(), shift.data()}, out, std::max(1u, threads));
    }, nb::arg("arrays"), nb::arg("types"), nb::arg("scale"), nb::arg("top"), nb::arg("factor"), nb::arg("shift"), nb::arg("into").noconvert(),
       nb::arg("threads"));
    m.def("add_rounded_normal", [](nb::bytes key, Array<std::uint64_t> table, std::uint64_t sigma, std::uint64_t first,
                                   Written<std::int64_t> into, unsigned threads) {
        if (key.size() != sizeof(Key)) throw nb::value_error("a key has 32 bytes");
        require(table, normal_cells);
        if (sigma >= std::uint64_t{1} << 56) throw nb::value_error("sigma is below 2^56");
        Key words;
        std::memcpy(words.words, key.data(), sizeof(Key));
        nb::gil_scoped_release release;
        return add_rounded_normal(words, table.data(), sigma, first, into.data(), into.shape(0), std::max(1u, threads));
    }, nb::arg("key"), nb::arg("table"), nb::arg("sigma"), nb::arg("first"), nb::arg("into").noconvert(), nb::arg("threads"));
}
