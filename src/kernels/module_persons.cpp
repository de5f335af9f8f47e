// Persons for Python: their sums, and texts as their ids. Arguments are checked here wherever a wrong one could read or write
// outside an array.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "keys.hpp"
#include "lots.hpp"
#include "parallel.hpp"
#include "persons.hpp"
#include "ranks.hpp"
#include "records.hpp"
#include "sha256.hpp"
#include "texts.hpp"

namespace nb = nanobind;
using namespace soundsum;

namespace {

template <class T> using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using Written = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Words = nb::ndarray<const std::uint64_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Totals = nb::ndarray<std::uint64_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

template <class A> void require(const A& array, std::size_t size) {
    if (array.shape(0) != size) throw nb::value_error("one entry per row is needed");
    if (reinterpret_cast<std::uintptr_t>(array.data()) % array.itemsize()) throw nb::value_error("arrays must be aligned");
}

const std::uint8_t* seed_of(const nb::bytes& seed) {
    if (seed.size() != Hashing::seed_size) throw nb::value_error("the seed has another size");
    return static_cast<const std::uint8_t*>(seed.data());
}

i128 number_at(const Words& words, std::size_t row, std::size_t column) {
    return static_cast<i128>(u128{words(row, column, 1)} << 64 | words(row, column, 0));
}

struct PyPersonSums {
    std::size_t groups;
    bool is_grouped;  // whether rows have a code, however many groups are left
    int powers;
    std::unique_ptr<PersonSums> sums;

    PyPersonSums(std::size_t groups, int powers, const nb::bytes& seed)
        : groups(groups), is_grouped(groups > 1), powers(powers), sums(make_person_sums(groups, powers, seed_of(seed))) {}

    void add(Array<std::uint64_t> persons, Array<std::uint8_t> counts, std::optional<Array<std::int32_t>> codes,
             std::optional<Array<std::int64_t>> integers, bool is_unsigned, unsigned threads) {
        const std::size_t size = persons.shape(0);
        require(persons, size), require(counts, size);
        if (codes) require(*codes, size);
        if (integers) require(*integers, size);
        if (is_grouped && !codes) throw nb::value_error("groups need a code per row");
        if (powers > 0 && !integers) throw nb::value_error("sums need an integer per row");
        const PersonRows rows{size, persons.data(), counts.data(), codes ? codes->data() : nullptr,
                              integers ? integers->data() : nullptr, is_unsigned};
        nb::gil_scoped_release release;
        sums->add(rows, std::max(1u, threads));
    }

    void add_pairs(Array<std::uint64_t> persons, Array<std::int32_t> codes, Array<std::uint64_t> rows, Array<std::uint64_t> words) {
        const std::size_t size = persons.shape(0);
        require(persons, size), require(codes, size), require(rows, size), require(words, 2 * static_cast<std::size_t>(powers) * size);
        bool within = true;
        for (std::size_t i = 0; i < size; ++i)
            within &= static_cast<std::uint32_t>(codes.data()[i]) < groups && rows.data()[i] > 0;
        if (!within) throw nb::value_error("pairs have a group and rows");
        nb::gil_scoped_release release;
        sums->add_pairs({size, persons.data(), codes.data(), rows.data(), words.data()});
    }

    void list(Written<std::uint64_t> persons, Written<std::int32_t> codes, Written<std::uint64_t> rows, Written<std::uint64_t> words) {
        const std::size_t size = sums->pairs();
        require(persons, size), require(codes, size), require(rows, size), require(words, 2 * static_cast<std::size_t>(powers) * size);
        nb::gil_scoped_release release;
        sums->list({size, persons.data(), codes.data(), rows.data(), words.data()});
    }

    // A row for each part: its three weights, its least and its most, two words each.
    void total(Words parts, std::uint64_t max_rows, std::uint64_t max_groups, bool in_proportion, const PersonIds& ids, Totals out,
               unsigned threads) {
        if (parts.shape(1) != 5 || parts.shape(2) != 2) throw nb::value_error("a part is five numbers of two words");
        if (out.shape(0) != parts.shape(0) || out.shape(1) != groups || out.shape(2) != 2 || !is_aligned<i128>(out.data()))
            throw nb::value_error("totals must be aligned, two words for each part and group");
        if (max_rows == 0 || max_rows >> 63) throw nb::value_error("max_rows is 1 to 2^63 - 1");
        std::vector<PersonPart> asked;
        std::vector<Sums> totals;
        for (std::size_t p = 0; p < parts.shape(0); ++p) {
            asked.push_back({{number_at(parts, p, 0), number_at(parts, p, 1), number_at(parts, p, 2)}, number_at(parts, p, 3), number_at(parts, p, 4)});
            if (asked.back().least > asked.back().most) throw nb::value_error("a part's least is above its most");
            totals.push_back({reinterpret_cast<i128*>(out.data()) + p * groups, groups});
        }
        nb::gil_scoped_release release;
        sums->total(asked, {max_rows, max_groups, in_proportion}, ids, totals, std::max(1u, threads));
    }

    // How many persons count in each group, each in at most `max_groups` of theirs.
    void count(std::uint64_t max_groups, const PersonIds& ids, const KeyNames& names, Written<std::int64_t> out, unsigned threads) {
        nb::gil_scoped_release release;
        sums->count(max_groups, ids, names, out.data(), out.shape(0), std::max(1u, threads));
    }

    // Leaves the pairs of some groups, each of which gets a number of its own; -1 for the others.
    void renumber(Array<std::int32_t> numbers, std::size_t left, unsigned threads) {
        require(numbers, numbers.shape(0));
        if (!is_grouped) throw nb::value_error("there are no groups");
        if (left == 0 || left > groups) throw nb::value_error("at least one group is left, and none is new");
        std::vector<bool> taken(left, false);
        for (std::size_t i = 0; i < numbers.shape(0); ++i) {
            const std::int64_t number = numbers.data()[i];
            if (number < 0) continue;
            if (number >= static_cast<std::int64_t>(left)) throw nb::value_error("numbers are below that of groups");
            if (taken[static_cast<std::size_t>(number)]) throw nb::value_error("each group has a number of its own");
            taken[static_cast<std::size_t>(number)] = true;
        }
        {
            nb::gil_scoped_release release;
            sums->renumber(numbers.data(), numbers.shape(0), left, std::max(1u, threads));
        }
        groups = left;
    }
};

struct PyKeyNames {
    std::vector<nb::object> held;  // which must live as long
    KeyNames names;
};

PyKeyNames make_key_names(const nb::list& columns, const nb::object& tuples) {
    PyKeyNames made;
    for (nb::handle column : columns) {
        const auto [codes, letter] = nb::cast<std::pair<nb::object, std::string>>(column);
        KeyNames::Kind kind = KeyNames::Kind::integers;
        if (letter == "s") kind = KeyNames::Kind::texts;
        if (letter == "u") kind = KeyNames::Kind::naturals;
        if (letter == "o") kind = KeyNames::Kind::objects;
        if (letter.size() != 1) throw nb::value_error("a letter says of which type keys are");
        const char spelled = kind == KeyNames::Kind::naturals ? 'i' : letter[0];
        const bool is_text = kind == KeyNames::Kind::texts || kind == KeyNames::Kind::objects;
        made.held.push_back(codes);
        made.names.columns.push_back({is_text ? &nb::cast<Texts&>(codes) : nullptr, is_text ? nullptr : &nb::cast<IntegerCodes&>(codes), kind,
                                      static_cast<std::uint8_t>(spelled)});
    }
    made.held.push_back(tuples);
    made.names.tuples = tuples.is_none() ? nullptr : &nb::cast<Texts&>(tuples);
    if (!made.names.tuples && made.names.columns.size() != 1) throw nb::value_error("several columns have tuples");
    return made;
}

// The code of every text, -1 for those that do not count.
void number_codes(Texts& texts, Array<std::int64_t> offsets, Array<std::uint8_t> data, Array<std::uint8_t> counts,
                  Written<std::uint64_t> out, std::optional<Written<std::int32_t>> codes, unsigned threads) {
    const std::size_t size = counts.shape(0);
    require(offsets, size + 1), require(out, size);
    if (codes) require(*codes, size);
    bool in_order = offsets.data()[0] >= 0 && static_cast<std::size_t>(offsets.data()[size]) <= data.shape(0);
    for (std::size_t i = 0; i < size; ++i) in_order &= offsets.data()[i] <= offsets.data()[i + 1];
    if (!in_order) throw nb::value_error("offsets go up, within the data");
    nb::gil_scoped_release release;
    texts.number(offsets.data(), data.data(), counts.data(), size, out.data(), codes ? codes->data() : nullptr, std::max(1u, threads));
}

// The texts of words or codes one behind the other, and where each begins and ends.
template <class T, class Find> nb::bytes list_texts(Array<T> numbers, Written<std::int64_t> offsets, Find&& find) {
    require(numbers, numbers.shape(0)), require(offsets, numbers.shape(0) + 1);
    std::vector<std::uint8_t> data;
    offsets.data()[0] = 0;
    for (std::size_t i = 0; i < numbers.shape(0); ++i) {
        const auto [text, size] = find(numbers.data()[i]);
        if (size > 0) data.insert(data.end(), text, text + size);
        offsets.data()[i + 1] = static_cast<std::int64_t>(data.size());
    }
    return nb::bytes(reinterpret_cast<const char*>(data.data()), data.size());
}

// The code of every integer, -1 for those that do not count.
void number_integers(IntegerCodes& numbers, Array<std::int64_t> keys, Array<std::uint8_t> counts, Written<std::int32_t> codes, unsigned threads) {
    const std::size_t size = counts.shape(0);
    require(keys, size), require(codes, size);
    nb::gil_scoped_release release;
    numbers.number(keys.data(), counts.data(), size, codes.data(), std::max(1u, threads));
}

// The shard of every word's id, of so many.
void draw_shards(const PersonIds& ids, Array<std::uint64_t> words, std::uint64_t shards, Written<std::uint64_t> out, unsigned threads) {
    require(words, words.shape(0)), require(out, words.shape(0));
    if (shards == 0) throw nb::value_error("there is 1 shard or more");
    nb::gil_scoped_release release;
    in_parallel(words.shape(0), std::max(1u, threads), [&](unsigned, std::size_t begin, std::size_t end) {
        Spelled id;
        for (std::size_t i = begin; i < end; ++i) ids.spell(words.data()[i], id), out.data()[i] = draw_shard(id) % shards;
    });
}

// Adds 1 for every row that counts, in the place of its code; rows beyond `out` do not count.
void count_codes(Array<std::int32_t> codes, Array<std::uint8_t> counts, Written<std::int64_t> out) {
    const std::size_t size = codes.shape(0), places = out.shape(0);
    require(counts, size);
    for (std::size_t i = 0; i < size; ++i) {
        const auto code = static_cast<std::uint32_t>(codes.data()[i]);
        if (code < places) out.data()[code] += counts.data()[i] != 0;
    }
}

template <class T> void bind_find_cells(nb::module_& m) {
    m.def("find_cells", [](Array<T> numbers, Array<T> edges, Written<std::int32_t> out, unsigned threads) {
        require(numbers, numbers.shape(0)), require(edges, edges.shape(0)), require(out, numbers.shape(0));
        if (edges.shape(0) >= std::size_t{1} << 30) throw nb::value_error("too many edges");
        bool in_order = true;
        for (std::size_t i = 1; i < edges.shape(0); ++i) in_order &= edges.data()[i - 1] < edges.data()[i];
        if (!in_order) throw nb::value_error("edges go up");
        nb::gil_scoped_release release;
        find_cells(numbers.data(), numbers.shape(0), edges.data(), edges.shape(0), out.data(), std::max(1u, threads));
    }, nb::arg("numbers"), nb::arg("edges"), nb::arg("out").noconvert(), nb::arg("threads"));
}

// Adds 1 in the place of every code; all of them must be within `out`.
void count_rows(Array<std::int32_t> codes, Written<std::int64_t> out) {
    require(codes, codes.shape(0)), require(out, out.shape(0));
    const auto size = static_cast<std::int64_t>(out.shape(0));
    bool within = true;
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < codes.shape(0); ++i) {
        const std::int64_t code = codes.data()[i];
        const bool is_one = code >= 0 && code < size;
        within &= is_one;
        if (is_one) ++out.data()[code];
    }
    nb::gil_scoped_acquire acquire;
    if (!within) throw nb::value_error("codes are within the counts");
}

void count_all_ranks(Array<std::uint64_t> persons, Array<std::int32_t> codes, std::uint64_t cells, std::uint64_t groups,
                     std::uint64_t max_rows, std::uint64_t max_groups, const PersonIds& ids, Written<std::int64_t> out) {
    require(persons, codes.shape(0)), require(codes, codes.shape(0));
    if (cells == 0 || groups == 0 || max_rows == 0 || max_rows >> 31 || max_groups == 0) throw nb::value_error("limits are 1 or more");
    if (cells >> 31 || groups >> 31 || cells * groups >> 31) throw nb::value_error("too many cells");
    require(out, cells * groups);
    nb::gil_scoped_release release;
    bool within = true;
    std::vector<RankedRow> rows(codes.shape(0));
    for (std::size_t i = 0; i < rows.size(); ++i) {
        rows[i] = {persons.data()[i], codes.data()[i]};
        within &= codes.data()[i] >= 0 && static_cast<std::uint64_t>(codes.data()[i]) < cells * groups;
    }
    if (within) count_ranks(rows, {cells, groups, max_rows, max_groups}, ids, out.data());
    nb::gil_scoped_acquire acquire;
    if (!within) throw nb::value_error("codes are within the counts");
}

}  // namespace

void bind_persons(nb::module_& m) {
    m.attr("SEED_SIZE") = Hashing::seed_size;
    nb::class_<PyPersonSums>(m, "PersonSums")
        .def(nb::init<std::size_t, int, const nb::bytes&>(), nb::arg("groups"), nb::arg("powers"), nb::arg("seed"))
        .def("add", &PyPersonSums::add, nb::arg("persons"), nb::arg("counts"), nb::arg("codes").none(), nb::arg("integers").none(),
             nb::arg("is_unsigned"), nb::arg("threads"))
        .def("add_pairs", &PyPersonSums::add_pairs, nb::arg("persons"), nb::arg("codes"), nb::arg("rows"), nb::arg("words"))
        .def("list", &PyPersonSums::list, nb::arg("persons").noconvert(), nb::arg("codes").noconvert(), nb::arg("rows").noconvert(),
             nb::arg("words").noconvert())
        .def("total", &PyPersonSums::total, nb::arg("parts"), nb::arg("max_rows"), nb::arg("max_groups"), nb::arg("in_proportion"),
             nb::arg("ids"), nb::arg("out").noconvert(), nb::arg("threads"))
        .def("count", [](PyPersonSums& self, std::uint64_t max_groups, const PersonIds& ids, const PyKeyNames& names,
                         Written<std::int64_t> out, unsigned threads) { self.count(max_groups, ids, names.names, out, threads); },
             nb::arg("max_groups"), nb::arg("ids"), nb::arg("names"), nb::arg("out").noconvert(), nb::arg("threads"))
        .def("renumber", &PyPersonSums::renumber, nb::arg("numbers"), nb::arg("groups"), nb::arg("threads"))
        .def_prop_ro("pairs", [](PyPersonSums& self) { return self.sums->pairs(); })
        .def_prop_ro("held", [](const PyPersonSums& self) { return self.sums->held(); })
        .def_prop_ro("bytes", [](const PyPersonSums& self) { return self.sums->bytes(); });
    nb::class_<Texts>(m, "Texts")
        .def("__init__", [](Texts* self, const nb::bytes& seed) { new (self) Texts(seed_of(seed)); })
        .def("number", number_codes, nb::arg("offsets"), nb::arg("data"), nb::arg("counts"), nb::arg("out").noconvert(),
             nb::arg("codes").noconvert().none(), nb::arg("threads"))
        .def("list", [](const Texts& texts, Array<std::uint64_t> words, Written<std::int64_t> offsets) {
            return list_texts(words, offsets, [&](std::uint64_t word) { return texts.find(word); });
        }, nb::arg("words"), nb::arg("offsets").noconvert())
        .def("index", &Texts::index)
        .def("list_codes", [](const Texts& texts, Array<std::int32_t> codes, Written<std::int64_t> offsets) {
            return list_texts(codes, offsets, [&](std::int32_t code) { return texts.at(static_cast<std::uint32_t>(code)); });
        }, nb::arg("codes"), nb::arg("offsets").noconvert())
        .def_prop_ro("codes", &Texts::codes)
        .def_prop_ro("bytes", &Texts::bytes);
    nb::class_<IntegerCodes>(m, "IntegerCodes")
        .def("__init__", [](IntegerCodes* self, const nb::bytes& seed) { new (self) IntegerCodes(seed_of(seed)); })
        .def("number", number_integers, nb::arg("keys"), nb::arg("counts"), nb::arg("codes").noconvert(), nb::arg("threads"))
        .def("list", [](const IntegerCodes& numbers, Array<std::int32_t> codes, Written<std::int64_t> out) {
            require(codes, codes.shape(0)), require(out, codes.shape(0));
            for (std::size_t i = 0; i < codes.shape(0); ++i) out.data()[i] = numbers.at(static_cast<std::uint32_t>(codes.data()[i]));
        }, nb::arg("codes"), nb::arg("out").noconvert())
        .def_prop_ro("codes", &IntegerCodes::codes)
        .def_prop_ro("bytes", &IntegerCodes::bytes);
    bind_find_cells<double>(m);
    bind_find_cells<std::int64_t>(m);
    m.def("count_rows", count_rows, nb::arg("codes"), nb::arg("out").noconvert());
    m.def("count_ranks", count_all_ranks, nb::arg("persons"), nb::arg("codes"), nb::arg("cells"), nb::arg("groups"),
          nb::arg("max_rows"), nb::arg("max_groups"), nb::arg("ids"), nb::arg("out").noconvert());
    m.def("start_of_sha256", [](const nb::bytes& given, bool plain) {
        const auto* text = static_cast<const std::uint8_t*>(given.data());
        std::vector<std::uint8_t> message(text, text + given.size());
        return start_of_sha256(message, plain);
    }, nb::arg("message"), nb::arg("plain"));
    m.def("draw_shards", draw_shards, nb::arg("ids"), nb::arg("words"), nb::arg("shards"), nb::arg("out").noconvert(), nb::arg("threads"));
    m.def("count_codes", count_codes, nb::arg("codes"), nb::arg("counts"), nb::arg("out").noconvert());
    nb::class_<PyKeyNames>(m, "KeyNames")
        .def("__init__", [](PyKeyNames* self, const nb::list& columns, const nb::object& tuples) {
            new (self) PyKeyNames(make_key_names(columns, tuples));
        }, nb::arg("columns"), nb::arg("tuples").none())
        .def("spell", [](const PyKeyNames& self, std::uint32_t code) {
            Spelled out;
            self.names.spell(code, out);
            return nb::bytes(reinterpret_cast<const char*>(out.data()), out.size());
        }, nb::arg("code"));
    nb::class_<PersonIds>(m, "PersonIds")
        .def_static("integers", [](std::uint32_t worth) { return PersonIds{.unit = worth}; }, nb::arg("worth") = 1)
        .def_static("naturals", [] { return PersonIds{.kind = PersonIds::Kind::naturals}; })
        .def_static("floats", [] { return PersonIds{.kind = PersonIds::Kind::floats}; })
        .def_static("texts", [](const Texts& texts) { return PersonIds{.kind = PersonIds::Kind::texts, .texts = &texts}; },
                    nb::arg("texts"), nb::keep_alive<0, 1>())
        .def_static("decimals", [](const Texts& texts, unsigned scale) {
            if (scale > 38) throw nb::value_error("decimals of 128 bits have at most 38 places");
            PersonIds ids{.kind = PersonIds::Kind::decimals, .texts = &texts};
            while (scale--) ids.unit *= 10;
            return ids;
        }, nb::arg("texts"), nb::arg("scale"), nb::keep_alive<0, 1>())
        .def_static("listed", [](const std::vector<nb::bytes>& spelled) {
            PersonIds ids{.kind = PersonIds::Kind::listed};
            for (const nb::bytes& one : spelled) {
                const auto* text = static_cast<const std::uint8_t*>(one.data());
                ids.data.insert(ids.data.end(), text, text + one.size());
                ids.offsets.push_back(static_cast<std::int64_t>(ids.data.size()));
            }
            return ids;
        }, nb::arg("spelled"));
}
