// Numbers as they are spelled in CSV: [+-] digits [. digits] [e [+-] digits], inf, infinity, nan, in any case; integers are
// [+-] and up to 37 digits. Whatever else there is makes a cell missing and nothing more. Model: tests/tables/test_cells.py. Dates and
// times are as ISO 8601 has them.
#include "parse.hpp"

#include <charconv>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>
#include <string>
#include <type_traits>

#if defined(__APPLE__)
#include <xlocale.h>
#endif

#include "environment.hpp"

namespace soundsum {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The length of the white space a text begins with, one character of it, as Unicode has it; 0 if it does not.
std::size_t leading_space(std::string_view text) {
    const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    if (text.empty()) return 0;
    if (at(0) == ' ' || (at(0) >= 0x09 && at(0) <= 0x0d) || (at(0) >= 0x1c && at(0) <= 0x1f)) return 1;
    if (at(0) == 0xc2 && (at(1) == 0x85 || at(1) == 0xa0)) return 2;
    if (at(0) == 0xe1 && at(1) == 0x9a && at(2) == 0x80) return 3;
    if (at(0) == 0xe2 && at(1) == 0x80 && ((at(2) >= 0x80 && at(2) <= 0x8a) || at(2) == 0xa8 || at(2) == 0xa9 || at(2) == 0xaf)) return 3;
    if (at(0) == 0xe2 && at(1) == 0x81 && at(2) == 0x9f) return 3;
    if (at(0) == 0xe3 && at(1) == 0x80 && at(2) == 0x80) return 3;
    return 0;
}

std::string_view trim(std::string_view text) {
    const auto is_plain = [](char c) { return c > ' ' && static_cast<unsigned char>(c) < 0x80; };
    if (!text.empty() && is_plain(text.front()) && is_plain(text.back())) return text;
    while (const std::size_t space = leading_space(text)) text.remove_prefix(space);
    for (bool trimmed = true; trimmed;) {
        trimmed = false;
        for (std::size_t length = 1; length <= 3 && length <= text.size(); ++length)
            if (leading_space(text.substr(text.size() - length)) == length) {
                text.remove_suffix(length), trimmed = true;
                break;
            }
    }
    return text;
}

bool is_word(std::string_view text, std::string_view word) {
    if (text.size() != word.size()) return false;
    for (std::size_t i = 0; i < text.size(); ++i)
        if ((text[i] | 0x20) != word[i]) return false;
    return true;
}

// An unsigned text that is digits with a point somewhere and an exponent, and nothing else.
struct Decimal {
    bool is_one = false;
    std::uint64_t digits = 0;  // without the point, if there are no more than 19 from the first that is not 0
    int count = 0;             // of these
    long power = 0;            // of ten to multiply them with
};

Decimal read_decimal(std::string_view text) {
    Decimal found;
    std::size_t i = 0;
    const auto read_digits = [&] {
        const std::size_t begin = i;
        for (; i < text.size() && is_digit(text[i]); ++i) {
            found.digits = 10 * found.digits + static_cast<std::uint64_t>(text[i] - '0');  // wraps only if there are too many
            found.count += found.count || text[i] != '0';
        }
        return i - begin;
    };
    std::size_t some = read_digits();
    if (i < text.size() && text[i] == '.') {
        ++i;
        const std::size_t after_point = read_digits();
        some += after_point, found.power = -static_cast<long>(after_point);
    }
    if (i < text.size() && some && (text[i] | 0x20) == 'e') {
        ++i;
        const bool negative = i < text.size() && text[i] == '-';
        if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
        long exponent = 0;
        some = 0;
        for (; i < text.size() && is_digit(text[i]); ++i, ++some)
            if (exponent < 100000) exponent = 10 * exponent + (text[i] - '0');
        found.power += negative ? -exponent : exponent;
    }
    found.is_one = some && i == text.size();
    return found;
}

// Digits below 2^53 and powers of ten up to 10^22 are doubles, so one operation rounds once (Clinger 1990). Rounding is to
// nearest, as each_cell has it.
constexpr double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// Of a number that is beyond the type's range, whether it is too large: where its first digit other than 0 stands.
[[maybe_unused]] bool is_large(std::string_view text) {
    long point = 0, first = 0;
    bool after_point = false, found = false;
    std::size_t i = 0;
    for (; i < text.size() && (text[i] | 0x20) != 'e'; ++i) {
        if (text[i] == '.') after_point = true;
        else {
            found = found || text[i] != '0';
            if (found && !after_point) ++first;
            if (!found && after_point) --point;
        }
    }
    long exponent = 0;
    const bool negative = i + 1 < text.size() && text[i + 1] == '-';
    for (; i < text.size(); ++i)
        if (is_digit(text[i]) && exponent < 1L << 40) exponent = 10 * exponent + (text[i] - '0');
    return first + point + (negative ? -exponent : exponent) > 0;
}

// A text that read_decimal took, to the nearest Float; 0 or infinity beyond its range. The standard library of older macOS
// has no from_chars for floats, but a strtod that rounds as well and can be told to leave the user's locale alone.
#if defined(__cpp_lib_to_chars) && !defined(SOUNDSUM_PORTABLE)
template <class Float> Float round_decimal(std::string_view text) {
    Float magnitude = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude);
    if (error == std::errc::result_out_of_range) return is_large(text) ? std::numeric_limits<Float>::infinity() : Float{0};
    return magnitude;
}
#else
template <class Float> Float round_decimal(std::string_view text) {
    static const locale_t plain = newlocale(LC_ALL_MASK, "C", nullptr);
    const std::string ended(text);
    if constexpr (std::is_same_v<Float, float>) return strtof_l(ended.c_str(), nullptr, plain);
    else return strtod_l(ended.c_str(), nullptr, plain);
}
#endif

template <class Float> bool parse_float(std::string_view cell, Float& out) {
    std::string_view text = trim(cell);
    const bool negative = !text.empty() && text[0] == '-';
    if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
    Float magnitude = 0;
    const Decimal decimal = read_decimal(text);
    if (std::is_same_v<Float, double> && decimal.is_one && decimal.count <= 19 && decimal.digits < std::uint64_t{1} << 53 &&
        decimal.power >= -22 && decimal.power <= 22) {
        const auto digits = static_cast<double>(decimal.digits);
        magnitude = static_cast<Float>(decimal.power < 0 ? digits / powers_of_ten[-decimal.power] : digits * powers_of_ten[decimal.power]);
    } else if (decimal.is_one) {
        magnitude = round_decimal<Float>(text);
    } else if (is_word(text, "inf") || is_word(text, "infinity")) {
        magnitude = std::numeric_limits<Float>::infinity();
    } else if (is_word(text, "nan")) {
        magnitude = std::numeric_limits<Float>::quiet_NaN();
    } else {
        return false;
    }
    out = negative ? -magnitude : magnitude;
    return true;
}

bool parse_truth(std::string_view cell, std::uint8_t& out) {
    const std::string_view text = trim(cell);
    out = text == "1" || is_word(text, "true");
    return out || text == "0" || is_word(text, "false");
}

bool parse_integer(std::string_view cell, std::int64_t& out) {
    std::string_view text = trim(cell);
    const std::string_view digits = !text.empty() && (text[0] == '+' || text[0] == '-') ? text.substr(1) : text;
    if (digits.empty() || digits.size() > 37) return false;
    for (const char c : digits)
        if (!is_digit(c)) return false;
    if (text[0] == '+') text = digits;
    return std::from_chars(text.data(), text.data() + text.size(), out).ec == std::errc{};
}

// Days from 1970-01-01 to a date, in years that begin in March, so that the day that some of them lack is the last.
std::int64_t days_to(std::int64_t year, std::int64_t month, std::int64_t day) {
    const std::int64_t y = month > 2 ? year : year - 1, m = (month + 9) % 12;
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719468;
}

// The grammar is TEXT in soundsum/tables/timestamps.py, and second_of there the model.
bool parse_moment(std::string_view cell, bool instants, bool times, std::int64_t& out) {
    std::string_view text = trim(cell);
    bool fits = true;
    const auto number = [&](std::size_t digits) {
        std::int64_t value = 0;
        fits &= text.size() >= digits;
        for (; digits && !text.empty(); --digits, text.remove_prefix(1)) {
            fits &= is_digit(text[0]);
            value = 10 * value + (text[0] - '0');
        }
        return value;
    };
    const auto skip = [&](char c) {
        const bool is_there = !text.empty() && text[0] == c;
        if (is_there) text.remove_prefix(1);
        return is_there;
    };
    const std::int64_t year = number(4);
    fits &= skip('-');
    const std::int64_t month = number(2);
    fits &= skip('-');
    const std::int64_t day = number(2);
    std::int64_t hour = 0, minute = 0, second = 0, sign = 0, hours = 0, minutes = 0, seconds = 0;
    const bool has_time = skip('T') || skip(' ');
    bool has_offset = false;
    if (has_time) {
        hour = number(2);
        if (skip(':')) {
            minute = number(2);
            if (skip(':')) {
                second = number(2);
                if (skip('.') || skip(',')) {
                    number(1);
                    while (!text.empty() && is_digit(text[0])) text.remove_prefix(1);
                }
            }
        }
        sign = skip('+') ? 1 : skip('-') ? -1 : 0;
        has_offset = sign || skip('Z');
        if (sign) {
            hours = number(2);
            if (!text.empty()) skip(':'), minutes = number(2);
            if (!text.empty()) skip(':'), seconds = number(2);
        }
    }
    fits &= text.empty() && year >= 1 && month >= 1 && month <= 12 && day >= 1 && hour < 24 && minute < 60 && second < 60;
    fits &= hours < 24 && minutes < 60 && seconds < 60;
    fits = fits && day <= days_to(year + (month == 12), month % 12 + 1, 1) - days_to(year, month, 1);
    if (!fits || (instants && !has_offset) || (times && !has_time)) return false;
    out = 86400 * days_to(year, month, day) + 3600 * hour + 60 * minute + second - sign * (3600 * hours + 60 * minutes + seconds);
    return true;
}

// By the table of well-formed byte sequences in the Unicode standard (3-7).
bool is_utf8(std::string_view text) {
    const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    for (std::size_t i = 0; i < text.size();) {
        const unsigned lead = at(i), next = at(i + 1);
        std::size_t more = 0;
        if (lead < 0x80) more = 0;
        else if (lead >= 0xc2 && lead <= 0xdf) more = 1;
        else if (lead >= 0xe0 && lead <= 0xef) {
            if ((lead == 0xe0 && next < 0xa0) || (lead == 0xed && next > 0x9f)) return false;
            more = 2;
        } else if (lead >= 0xf0 && lead <= 0xf4) {
            if ((lead == 0xf0 && next < 0x90) || (lead == 0xf4 && next > 0x8f)) return false;
            more = 3;
        } else return false;
        for (std::size_t k = 1; k <= more; ++k)
            if ((at(i + k) & 0xc0) != 0x80) return false;
        i += more + 1;
    }
    return true;
}

template <class Each> void each_cell(const Cells& cells, std::uint8_t* flags, Each&& each) {
    FloatEnvironment environment(Rounding::Nearest);
    for (std::size_t i = 0; i < cells.size; ++i) {
        const Cell& cell = cells.first[i * cells.step];
        flags[i] = each(i, std::string_view(reinterpret_cast<const char*>(cells.data) + cell.begin, cell.length));
    }
}

// The same for what cells spell: one that is too long is as good as empty, which spells nothing.
template <class Each> void each_spelled(const Cells& cells, std::uint8_t* flags, Each&& each) {
    each_cell(cells, flags, [&](std::size_t i, std::string_view cell) { return each(i, cell.substr(0, cell.size() <= longest_cell ? cell.size() : 0)); });
}

}  // namespace

template <class Float> void parse_floats(const Cells& cells, Float* out, std::uint8_t* flags) {
    each_spelled(cells, flags, [&](std::size_t i, std::string_view cell) {
        out[i] = 0;
        return parse_float(cell, out[i]);
    });
}
template void parse_floats(const Cells&, double*, std::uint8_t*);
template void parse_floats(const Cells&, float*, std::uint8_t*);

void parse_integers(const Cells& cells, std::int64_t low, std::int64_t high, std::int64_t* out, std::uint8_t* flags) {
    each_spelled(cells, flags, [&](std::size_t i, std::string_view cell) {
        out[i] = 0;
        const bool found = parse_integer(cell, out[i]) && low <= out[i] && out[i] <= high;
        out[i] = found ? out[i] : 0;
        return found;
    });
}

void parse_truths(const Cells& cells, std::uint8_t* out, std::uint8_t* flags) {
    each_spelled(cells, flags, [&](std::size_t i, std::string_view cell) { return parse_truth(cell, out[i]); });
}

void parse_moments(const Cells& cells, bool instants, bool times, std::int64_t* out, std::uint8_t* flags) {
    each_spelled(cells, flags, [&](std::size_t i, std::string_view cell) {
        out[i] = 0;
        return parse_moment(cell, instants, times, out[i]);
    });
}

void copy_cells(const Cells& cells, bool are_texts, std::int32_t* offsets, std::uint8_t* out, std::uint8_t* flags) {
    offsets[0] = 0;
    each_cell(cells, flags, [&](std::size_t i, std::string_view cell) {
        if (!cell.empty()) std::memcpy(out + offsets[i], cell.data(), cell.size());
        offsets[i + 1] = offsets[i] + static_cast<std::int32_t>(cell.size());
        return !cell.empty() && (!are_texts || is_utf8(cell));
    });
}

std::size_t bytes_of(const Cells& cells) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < cells.size; ++i) bytes += cells.first[i * cells.step].length;
    return bytes;
}

}  // namespace soundsum
