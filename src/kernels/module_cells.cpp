// Cells of text for Python, as numbers and as texts. Arguments are checked here wherever a wrong one could read or write
// outside an array.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include "parse.hpp"

namespace nb = nanobind;
using namespace soundsum;

namespace {

template <class T> using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Written = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bitmap = std::optional<Array<std::uint8_t>>;

Cells cells_of(const Array<std::int32_t>& offsets, const Array<std::uint8_t>& data, const Bitmap& bitmap, std::size_t first_bit,
               std::size_t size) {
    if (offsets.shape(0) != size + 1) throw nb::value_error("one offset more than cells is needed");
    if (reinterpret_cast<std::uintptr_t>(offsets.data()) % 4) throw nb::value_error("offsets must be aligned");
    bool in_order = offsets.data()[0] >= 0 && static_cast<std::size_t>(offsets.data()[size]) <= data.shape(0);
    for (std::size_t i = 0; i < size; ++i) in_order &= offsets.data()[i] <= offsets.data()[i + 1];
    if (!in_order) throw nb::value_error("offsets go up, within the data");
    Validity validity;
    if (bitmap) {
        const std::size_t bits = 8 * bitmap->shape(0);
        if (first_bit > bits || size > bits - first_bit) throw nb::value_error("the validity bitmap is too short");
        validity = {bitmap->data(), first_bit};
    }
    return {offsets.data(), data.data(), validity, size};
}

template <class T> void require(const Written<T>& out, std::size_t size) {
    if (out.shape(0) != size || reinterpret_cast<std::uintptr_t>(out.data()) % sizeof(T)) throw nb::value_error("one aligned entry per cell is needed");
}

template <class Float> void bind_floats(nb::module_& m) {
    m.def("parse_floats", [](Array<std::int32_t> offsets, Array<std::uint8_t> data, Bitmap bitmap, std::size_t first_bit, Written<Float> out,
                             Written<std::uint8_t> flags, unsigned threads) {
        require(out, flags.shape(0));
        const Cells cells = cells_of(offsets, data, bitmap, first_bit, flags.shape(0));
        nb::gil_scoped_release release;
        parse_floats(cells, out.data(), flags.data(), std::max(1u, threads));
    }, nb::arg("offsets"), nb::arg("data"), nb::arg("validity").none(), nb::arg("first_bit"), nb::arg("out").noconvert(),
       nb::arg("flags").noconvert(), nb::arg("threads"));
}

}  // namespace

void bind_cells(nb::module_& m) {
    bind_floats<double>(m);
    bind_floats<float>(m);
    m.def("parse_integers", [](Array<std::int32_t> offsets, Array<std::uint8_t> data, Bitmap bitmap, std::size_t first_bit, std::int64_t low,
                               std::int64_t high, Written<std::int64_t> out, Written<std::uint8_t> flags, unsigned threads) {
        require(out, flags.shape(0));
        const Cells cells = cells_of(offsets, data, bitmap, first_bit, flags.shape(0));
        nb::gil_scoped_release release;
        parse_integers(cells, low, high, out.data(), flags.data(), std::max(1u, threads));
    }, nb::arg("offsets"), nb::arg("data"), nb::arg("validity").none(), nb::arg("first_bit"), nb::arg("low"), nb::arg("high"),
       nb::arg("out").noconvert(), nb::arg("flags").noconvert(), nb::arg("threads"));
    m.def("check_texts", [](Array<std::int32_t> offsets, Array<std::uint8_t> data, Bitmap bitmap, std::size_t first_bit,
                            Written<std::uint8_t> flags, unsigned threads) {
        const Cells cells = cells_of(offsets, data, bitmap, first_bit, flags.shape(0));
        nb::gil_scoped_release release;
        check_texts(cells, flags.data(), std::max(1u, threads));
    }, nb::arg("offsets"), nb::arg("data"), nb::arg("validity").none(), nb::arg("first_bit"), nb::arg("flags").noconvert(), nb::arg("threads"));
}
