#pragma once

#include "exact.hpp"

namespace soundsum {

// Records of a float type brought into [lower, upper], missing ones as 0 first; then less `shift`, rounded to the type.
// Rounding is monotone, so they end in [lower - shift, upper - shift], both rounded. `out` has room for records.size elements of the type.
void clean(const Records&, double lower, double upper, double shift, void* out);

}  // namespace soundsum
