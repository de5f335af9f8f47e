// The Python module soundsum._kernels. Arguments are checked in soundsum.kernels, and again here wherever a wrong one could
// read or write outside an array. The GIL is released while a kernel runs.
#include <algorithm>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include "environment.hpp"
#include "exact.hpp"
#include "interrupt.hpp"
#include "keys.hpp"
#include "noise.hpp"
#include "ordered.hpp"
#include "prepare.hpp"
#include "records.hpp"

namespace nb = nanobind;
using namespace soundsum;

namespace {

template <class T> using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Values = nb::ndarray<nb::ro, nb::ndim<1>, nb::device::cpu>;

// Integers of several words, one to a row.
using Words = nb::ndarray<const std::uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<std::uint64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

// Keeps the arrays a kernel reads alive.
struct PyRecords : Records {
    Values values;
    std::optional<Array<std::uint8_t>> bitmap;
    std::optional<Array<std::int64_t>> pattern_lengths, pattern_repeats;

    PyRecords(Values array, const std::string& type_name) : values(std::move(array)) {
        type = type_name;
        std::size_t bytes = 0;
        with_type(type, [&]<class T>(T) { bytes = sizeof(T), aligned = is_aligned<T>(values.data()); });
        if (values.itemsize() != bytes)
            throw nb::value_error(("values are not stored as " + type + ": wrong item size").c_str());
        data = static_cast<const std::byte*>(values.data());
        size = values.shape(0);
        stride = values.stride(0);
    }
};

// A bitmap, checked for as many records; none if all are there.
Validity validity_of(const std::optional<Array<std::uint8_t>>& bitmap, std::size_t first_bit, std::size_t size) {
    if (!bitmap) return {};
    const std::size_t bits = 8 * bitmap->shape(0);
    if (first_bit > bits || size > bits - first_bit) throw nb::value_error("the validity bitmap is too short");
    return {bitmap->data(), first_bit};
}

PyRecords from_array(Values values, const std::string& type, std::optional<Array<std::uint8_t>> bitmap, std::size_t first_bit, bool nullable) {
    PyRecords records(std::move(values), type);
    records.bitmap = std::move(bitmap);
    records.validity = validity_of(records.bitmap, first_bit, records.size);
    records.nullable = nullable || records.bitmap;
    return records;
}

PyRecords from_runs(Values values, const std::string& type, Array<std::int64_t> lengths, Array<std::int64_t> repeats) {
    PyRecords records(std::move(values), type);
    if (records.stride != 1 && records.size > 1) throw nb::value_error("patterns must be contiguous");
    if (!records.aligned || !is_aligned<std::int64_t>(lengths.data()) || !is_aligned<std::int64_t>(repeats.data()))
        throw nb::value_error("patterns, lengths and counts must be aligned");
    if (lengths.shape(0) != repeats.shape(0)) throw nb::value_error("one count per pattern is needed");
    std::size_t left = records.size;  // counted down, so that no sum of lengths can wrap round to the right one
    for (std::size_t i = 0; i < lengths.shape(0); ++i) {
        if (lengths.data()[i] < 0 || repeats.data()[i] < 0) throw nb::value_error("a length or count is negative");
        if (static_cast<std::size_t>(lengths.data()[i]) > left) throw nb::value_error("the lengths exceed the number of values");
        left -= static_cast<std::size_t>(lengths.data()[i]);
    }
    if (left) throw nb::value_error("the lengths do not add up to the number of values");
    records.is_runs = true;
    records.parts = lengths.shape(0);
    records.lengths = lengths.data(), records.repeats = repeats.data();
    records.pattern_lengths = std::move(lengths), records.pattern_repeats = std::move(repeats);
    return records;
}

nb::object join(nb::object high, std::uint64_t low) {
    return (high << nb::int_(64)) + nb::int_(low);
}
nb::object to_python(i128 x) {
    if (x == static_cast<std::int64_t>(x)) return nb::int_(static_cast<std::int64_t>(x));
    return join(nb::int_(static_cast<std::int64_t>(x >> 64)), static_cast<std::uint64_t>(x));
}

i128 to_bound(const Records& records, nb::int_ bound) {
    return with_integer_type(records.type, [&]<class T>(T) { return i128{nb::cast<T>(bound)}; });
}

const Records& array_of(const PyRecords& records) {
    if (records.is_runs) throw nb::value_error("this kernel reads arrays; add up runs part by part");
    return records;
}

struct PyCodes : Codes {
    nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> array;

    PyCodes(nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> codes, std::size_t size)
        : Codes{nullptr, nullptr}, array(std::move(codes)) {
        if (array.dtype() == nb::dtype<std::int64_t>()) wide = static_cast<const std::int64_t*>(array.data());
        else if (array.dtype() == nb::dtype<std::int32_t>()) narrow = static_cast<const std::int32_t*>(array.data());
        else throw nb::type_error("codes must be int32 or int64");
        if (array.shape(0) != size) throw nb::value_error("one code per record is needed");
        if (wide ? !is_aligned<std::int64_t>(wide) : !is_aligned<std::int32_t>(narrow)) throw nb::value_error("codes must be aligned");
    }
};

// Sums of 128 bits, as rows of two words.
Sums sums_of(const Rows& rows) {
    if (rows.shape(1) != 2 || !is_aligned<i128>(rows.data())) throw nb::value_error("sums must be aligned rows of two words");
    return {reinterpret_cast<i128*>(rows.data()), rows.shape(0)};
}

void require_groups(std::optional<std::int64_t> strange, const Sums& sums) {
    if (strange)
        throw nb::value_error((std::to_string(*strange) + " is not a group; codes are 0 to " +
                               std::to_string(static_cast<std::int64_t>(sums.groups) - 1)).c_str());
}

Grid grid_of(double base, double scale, double more_scale, std::int64_t low, std::int64_t high) {
    constexpr std::int64_t most = std::int64_t{1} << 51;
    if (low > high || low < -most || high > most) throw nb::value_error("grid integers must be within 2^51, low <= high");
    return {base, scale, more_scale, low, high};
}

// A new array of n elements, owned by Python.
template <class T> nb::ndarray<nb::numpy, T, nb::ndim<1>> new_array(std::size_t n) {
    auto* data = new T[n];
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return {data, {n}, owner};
}

template <class T> nb::object clean_array(const Records& records, double lower, double upper, double shift) {
    auto array = new_array<T>(records.size);
    {
        nb::gil_scoped_release release;
        clean(records, lower, upper, shift, array.data());
    }
    return nb::cast(std::move(array));
}

// What Python code runs under where it must add as NumPy means to: to nearest, subnormals kept.
struct PyEnvironment {
    std::optional<FloatEnvironment> set;
};

// Noise: `parameters` are so many integers of 1, 2 or 8 words each, none of them 0; samples go to the rows of `out`.
Samples samples_of(const Words& parameters, std::size_t integers, const Rows& out) {
    const std::size_t limbs = parameters.shape(1), words = out.shape(1);
    if (parameters.shape(0) != integers) throw nb::value_error("wrong number of parameters");
    if (limbs != 1 && limbs != 2 && limbs != 8) throw nb::value_error("parameters have 1, 2 or 8 words");
    if (words != 1 && words != limbs) throw nb::value_error("samples have 1 word, or as many as the parameters");
    for (std::size_t i = 0; i < integers; ++i)
        if (std::all_of(&parameters(i, 0), &parameters(i, 0) + limbs, [](std::uint64_t word) { return word == 0; }))
            throw nb::value_error("parameters are above 0");
    return {out.data(), out.shape(0), words};
}

// Lets Python run its signal handlers; what they raise (KeyboardInterrupt) goes through the kernel to the caller.
void check_signals() {
    nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals()) throw nb::python_error();
}

template <class F> auto released(F&& f) {
    interrupt_check = check_signals;
    nb::gil_scoped_release release;
    return f();
}

}  // namespace

void bind_persons(nb::module_&);  // module_persons.cpp
void bind_cells(nb::module_&);    // module_cells.cpp
void bind_gradients(nb::module_&);  // module_gradients.cpp

NB_MODULE(_kernels, m) {
    bind_persons(m), bind_cells(m), bind_gradients(m);
    m.doc() = "Summation kernels. Use soundsum.kernels, which checks its arguments.";
    nb::class_<PyRecords>(m, "Records")
        .def_static("of_array", &from_array, nb::arg("values"), nb::arg("type"), nb::arg("validity").none(), nb::arg("first_bit"),
                    nb::arg("nullable") = false)
        .def_static("of_runs", &from_runs, nb::arg("values"), nb::arg("type"), nb::arg("lengths"), nb::arg("repeats"));

    nb::class_<PyEnvironment>(m, "Environment")
        .def(nb::init<>())
        .def("__enter__", [](PyEnvironment& e) { e.set.emplace(Rounding::Nearest); })
        .def("__exit__", [](PyEnvironment& e, nb::args) { e.set.reset(); });

    m.def("clean", [](const PyRecords& records, double lower, double upper, double shift) -> nb::object {
        const Records& array = array_of(records);
        if (array.type == "float64") return clean_array<double>(array, lower, upper, shift);
        if (array.type == "float32") return clean_array<float>(array, lower, upper, shift);
        if (array.type == "float16" || array.type == "bfloat16") return clean_array<std::uint16_t>(array, lower, upper, shift);
        throw nb::value_error("only float records are cleaned");
    });
    m.def("grid_integers", [](const PyRecords& records, double base, double scale, double more_scale, std::int64_t low,
                              std::int64_t high, std::int64_t fill, unsigned threads) {
        const Grid grid = grid_of(base, scale, more_scale, low, high);
        auto integers = new_array<std::int64_t>(array_of(records).size);
        released([&] { grid_integers(records, grid, fill, integers.data(), std::max(1u, threads)); });
        return integers;
    });
    m.def("wide_integers", [](const PyRecords& records, nb::int_ lower, nb::int_ upper, unsigned threads) {
        const i128 low = to_bound(records, lower), high = to_bound(records, upper);
        if (low > high) throw nb::value_error("lower is above upper");
        auto integers = new_array<std::int64_t>(array_of(records).size);
        released([&] { wide_integers(records, low, high, integers.data(), std::max(1u, threads)); });
        return integers;
    });
    m.def("find_present", [](const PyRecords& records) {
        auto flags = new_array<std::uint8_t>(array_of(records).size);
        released([&] { find_present(records, flags.data()); });
        return flags;
    });
    m.def("expand_validity", [](std::optional<Array<std::uint8_t>> bitmap, std::size_t first_bit, std::size_t size) {
        const Validity validity = validity_of(bitmap, first_bit, size);
        auto flags = new_array<std::uint8_t>(size);
        released([&] { validity.expand(0, size, flags.data()); });
        return flags;
    }, nb::arg("validity").none(), nb::arg("first_bit"), nb::arg("size"));
    m.def("float_sum", [](const PyRecords& records, const std::string& how, const std::string& arithmetic, double lower,
                          double upper, bool drop) {
        return released([&] { return float_sum(records, how, arithmetic, lower, upper, drop); });
    });
#ifdef SOUNDSUM_QUAD
    m.def("quad_sum", [](const PyRecords& records, const std::string& how, double lower, double upper, bool drop) {
        const u128 bits = released([&] { return quad_sum(records, how, lower, upper, drop); });
        return std::pair(static_cast<std::uint64_t>(bits >> 64), static_cast<std::uint64_t>(bits));
    });
#else
    m.attr("quad_sum") = nb::none();
#endif
    m.def("saturating_sum", [](const PyRecords& records, nb::int_ lower, nb::int_ upper, bool drop) {
        const i128 low = to_bound(records, lower), high = to_bound(records, upper);
        return to_python(released([&] { return saturating_sum(records, low, high, drop); }));
    });
    m.def("wide_sum", [](const PyRecords& records, nb::int_ lower, nb::int_ upper, unsigned threads) {
        const i128 low = to_bound(records, lower), high = to_bound(records, upper);
        return to_python(released([&] { return wide_sum(array_of(records), low, high, std::max(1u, threads)); }));
    });
    m.def("square_sum", [](const PyRecords& records, nb::int_ lower, nb::int_ upper) {
        const i128 low = to_bound(records, lower), high = to_bound(records, upper);
        const u192 sum = released([&] { return square_sum(array_of(records), low, high); });
        return join(join(nb::int_(sum.high), sum.middle), sum.low);
    });
    m.def("grid_sum", [](const PyRecords& records, double base, double scale, double more_scale, std::int64_t low,
                         std::int64_t high, unsigned threads) {
        const Grid grid = grid_of(base, scale, more_scale, low, high);
        return to_python(released([&] { return grid_sum(array_of(records), grid, std::max(1u, threads)); }));
    });
    m.def("missing_count", [](const PyRecords& records) { return released([&] { return missing_count(array_of(records)); }); });
    m.def("grouped_wide_sum", [](const PyRecords& records, nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> codes,
                                 Rows into, nb::int_ lower, nb::int_ upper, nb::int_ fill, unsigned threads) {
        const i128 low = to_bound(records, lower), high = to_bound(records, upper), missing = to_bound(records, fill);
        const PyCodes checked(std::move(codes), array_of(records).size);
        const Sums sums = sums_of(into);
        require_groups(released([&] { return grouped_wide_sum(records, checked, sums, low, high, missing, std::max(1u, threads)); }), sums);
    }, nb::arg("records"), nb::arg("codes"), nb::arg("into").noconvert(), nb::arg("lower"), nb::arg("upper"), nb::arg("fill"), nb::arg("threads"));
    m.def("grouped_grid_sum", [](const PyRecords& records, nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> codes,
                                 Rows into, double base, double scale, double more_scale, std::int64_t low,
                                 std::int64_t high, std::int64_t fill, unsigned threads) {
        const Grid grid = grid_of(base, scale, more_scale, low, high);
        const PyCodes checked(std::move(codes), array_of(records).size);
        const Sums sums = sums_of(into);
        require_groups(released([&] { return grouped_grid_sum(records, checked, sums, grid, fill, std::max(1u, threads)); }), sums);
    }, nb::arg("records"), nb::arg("codes"), nb::arg("into").noconvert(), nb::arg("base"), nb::arg("scale"), nb::arg("more_scale"),
       nb::arg("low"), nb::arg("high"), nb::arg("fill"), nb::arg("threads"));
    nb::class_<Places>(m, "Places")
        .def("__init__", [](Places* self, Array<std::int64_t> listed) {
            if (listed.shape(0) >= std::size_t{1} << 30) throw nb::value_error("at most 2^30 groups can be listed");
            new (self) Places(listed.data(), listed.shape(0));
        })
        .def("find", [](const Places& places, Array<std::int64_t> keys, std::optional<Array<std::uint8_t>> bitmap,
                        std::size_t first_bit, unsigned threads) {
            const Validity validity = validity_of(bitmap, first_bit, keys.shape(0));
            auto found = new_array<std::int32_t>(keys.shape(0));
            released([&] { places.find(keys.data(), validity, keys.shape(0), found.data(), std::max(1u, threads)); });
            return found;
        }, nb::arg("keys"), nb::arg("validity").none(), nb::arg("first_bit"), nb::arg("threads"));
    m.def("discrete_laplace", [](Words t, std::uint64_t s, nb::bytes bytes, Rows out) {
        const Samples samples = samples_of(t, 1, out);
        if (s == 0) throw nb::value_error("parameters are above 0");
        const auto* data = static_cast<const std::uint8_t*>(bytes.data());
        const Drawn drawn = released([&] { return discrete_laplace(t.data(), t.shape(1), s, data, bytes.size(), samples); });
        return std::pair(drawn.samples, drawn.bytes);
    }, nb::arg("t"), nb::arg("s"), nb::arg("bytes"), nb::arg("out").noconvert());
    m.def("discrete_gaussian", [](Words parameters, nb::bytes bytes, Rows out) {
        const Samples samples = samples_of(parameters, 4, out);
        const auto* data = static_cast<const std::uint8_t*>(bytes.data());
        const Drawn drawn = released([&] { return discrete_gaussian(parameters.data(), parameters.shape(1), data, bytes.size(), samples); });
        return std::pair(drawn.samples, drawn.bytes);
    }, nb::arg("parameters"), nb::arg("bytes"), nb::arg("out").noconvert());
}
