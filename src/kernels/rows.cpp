// Rows of CSV as Python's csv.reader has them, which is the model (tests/tables/test_csv.py): cells are parted by commas, rows by
// a line feed, a carriage return or both; a quote at a cell's beginning makes commas and line ends part of it up to the next
// quote that is not doubled; a quote elsewhere is a character like any other.
#include "rows.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#if defined(__x86_64__) && !defined(SOUNDSUM_PORTABLE)
#include <emmintrin.h>
#endif

namespace soundsum {
namespace {

constexpr std::uint8_t comma = ',', quote = '"', feed = '\n', carriage_return = '\r';

bool ends_row(std::uint8_t byte) { return byte == feed || byte == carriage_return; }

constexpr auto ends_cell = [] {
    std::array<bool, 256> ends{};
    ends[comma] = ends[feed] = ends[carriage_return] = true;
    return ends;
}();

const std::uint8_t* find(const std::uint8_t* begin, const std::uint8_t* end, std::uint8_t byte) {
    const void* found = begin == end ? nullptr : std::memchr(begin, byte, static_cast<std::size_t>(end - begin));
    return found ? static_cast<const std::uint8_t*>(found) : end;
}

// Takes up the ends of rows in stretches outside quotes, one after another.
class Ends {
  public:
    Ends(const std::uint8_t* data, const std::uint8_t* end) : data_(data), end_(end) {}

    void take(const std::uint8_t* begin, const std::uint8_t* stop) {
        if (first == Scan::none)
            for (const std::uint8_t* p = begin; p < stop && first == Scan::none; ++p) first = end_at(p);
        for (const std::uint8_t* p = stop; p > begin;)
            if (const std::size_t found = end_at(--p); found != Scan::none) {
                last = found;
                return;
            }
    }

    std::size_t first = Scan::none, last = Scan::none;

  private:
    std::size_t end_at(const std::uint8_t* p) const {
        if (!ends_row(*p) || (*p == carriage_return && p + 1 == end_)) return Scan::none;
        return static_cast<std::size_t>(p - data_) + (*p == carriage_return && p[1] == feed ? 2 : 1);
    }

    const std::uint8_t *data_, *end_;
};

// Which of the 64 bytes from p on end a cell.
std::uint64_t cell_ends(const std::uint8_t* p) {
    std::uint64_t bits = 0;
#if defined(__x86_64__) && !defined(SOUNDSUM_PORTABLE)
    for (unsigned i = 0; i < 64; i += 16) {
        const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + i));
        const auto are = [&](std::uint8_t byte) { return _mm_cmpeq_epi8(some, _mm_set1_epi8(static_cast<char>(byte))); };
        const __m128i ends = _mm_or_si128(are(comma), _mm_or_si128(are(feed), are(carriage_return)));
        bits |= std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(ends))} << i;
    }
#else
    for (unsigned i = 0; i < 64; ++i) bits |= std::uint64_t{ends_cell[p[i]]} << i;
#endif
    return bits;
}

// Goes from one end of a cell to the next, 64 bytes at a time.
class CellEnds {
  public:
    explicit CellEnds(std::uint8_t* from) { go_to(from); }

    void go_to(std::uint8_t* from) { base_ = from, bits_ = cell_ends(from); }

    std::uint8_t* next() {
        while (!bits_) go_to(base_ + 64);
        std::uint8_t* const found = base_ + std::countr_zero(bits_);
        bits_ &= bits_ - 1;
        return found;
    }

  private:
    std::uint8_t* base_;
    std::uint64_t bits_;
};

// Copies a quoted cell to where it begins, without its quotes; p is after the first of them.
Cell unquote(std::uint8_t* data, std::uint8_t*& p, const std::uint8_t* end) {
    std::uint8_t *const begin = p, *out = p;
    for (;;) {
        std::uint8_t* stop = data + (find(p, end, quote) - data);
        const auto length = static_cast<std::size_t>(stop - p);
        if (out != p) std::memmove(out, p, length);
        out += length, p = stop;
        if (p == end) break;
        if (++p < end && *p == quote) {
            *out++ = quote, ++p;
            continue;
        }
        while (!ends_cell[*p]) *out++ = *p++;
        break;
    }
    return {static_cast<std::uint32_t>(begin - data), static_cast<std::uint32_t>(out - begin)};
}

}  // namespace

Scan scan_rows(const std::uint8_t* data, std::size_t size, At state) {
    if (!size) return {Scan::none, Scan::none, state};
    const std::uint8_t *p = data, *const end = data + size;
    Ends ends(data, end);
    if (state == At::Return) {
        ends.first = ends.last = *p == feed;
        p += *p == feed;
        state = At::Start;
    }
    bool quoted = state == At::Quoted;
    if (state == At::Quote) quoted = *p == quote, p += quoted;  // a second one goes on, anything else closes
    const auto opens = [&](const std::uint8_t* at) {
        return at == data ? state == At::Start : at[-1] == comma || ends_row(at[-1]);
    };
    while (p < end) {
        const std::uint8_t* const stop = find(p, end, quote);
        if (!quoted) {
            ends.take(p, stop);
            quoted = stop < end && opens(stop);
            p = stop + (stop < end);
        } else if (stop == end || stop + 1 == end) {
            return {ends.first, ends.last, stop == end ? At::Quoted : At::Quote};
        } else {
            quoted = stop[1] == quote;
            p = stop + 1 + quoted;
        }
    }
    if (quoted) return {ends.first, ends.last, At::Quoted};
    const std::uint8_t before = end[-1];
    const At then = before == carriage_return ? At::Return : before == comma || before == feed ? At::Start : At::Inside;
    return {ends.first, ends.last, then};
}

std::size_t find_row_end(const std::uint8_t* data, std::size_t size) {
    bool at_start = true, quoted = false;
    for (std::size_t i = 0; i < size; ++i) {
        if (quoted) {
            quoted = data[i] != quote || (i + 1 < size && data[i + 1] == quote);
            i += data[i] == quote && quoted;
        } else if (ends_row(data[i])) {
            return i;
        } else {
            quoted = at_start && data[i] == quote;
            at_start = data[i] == comma;
        }
    }
    return Scan::none;
}

std::vector<Cell> split_rows(std::uint8_t* data, std::size_t size, const std::vector<std::uint32_t>& place, std::size_t wanted,
                             std::size_t longest) {
    std::vector<Cell> cells;
    cells.reserve(wanted * (size / std::max<std::size_t>(16, place.size()) + 1));
    std::uint8_t *p = data, *const end = data + size;
    *end = feed;  // so that every search for a cell's end finds one
    CellEnds ends(data);
    while (p < end) {
        std::uint8_t* const row = p;
        const std::size_t kept = cells.size();
        cells.resize(kept + wanted);
        for (std::size_t column = 0;; ++p) {
            Cell cell{static_cast<std::uint32_t>(p - data), 0};
            if (*p == quote) {
                cell = unquote(data, ++p, end);
                ends.go_to(p), ends.next();
            } else {
                p = ends.next();
                cell.length = static_cast<std::uint32_t>(p - data) - cell.begin;
            }
            if (column < place.size() && place[column] != nowhere) cells[kept + place[column]] = cell;
            ++column;
            if (p < end && *p == comma) continue;
            const bool is_row = column == place.size() || p == row;
            if (!is_row || static_cast<std::size_t>(p - row) > longest) cells.resize(kept);
            break;
        }
        if (p == end) break;
        if (*p == carriage_return && p + 1 < end && p[1] == feed) p = ends.next();
        ++p;
    }
    return cells;
}

}  // namespace soundsum
