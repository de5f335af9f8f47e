#pragma once

#include <string>

#include "types.hpp"

namespace soundsum {

struct Records;

// how: iterated, pairwise, kahan or toward_zero; arithmetic: the float type every addition is rounded to.
double float_sum(const Records&, const std::string& how, const std::string& arithmetic, double lower, double upper, bool drop);

#ifdef SOUNDSUM_QUAD
// The bits of a sum of which every addition is rounded to binary128, to nearest.
u128 quad_sum(const Records&, const std::string& how, double lower, double upper, bool drop);
#endif

// In the type of the records, each partial sum held at its limits.
i128 saturating_sum(const Records&, i128 lower, i128 upper, bool drop);

}  // namespace soundsum
