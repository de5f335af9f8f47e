#pragma once

#include <string>

#include "types.hpp"

namespace soundsum {

struct Records;

// how: iterated, pairwise, kahan or toward_zero; arithmetic: the float type every addition is rounded to.
double float_sum(const Records&, const std::string& how, const std::string& arithmetic, double lower, double upper, bool drop);

// In the type of the records, each partial sum held at its limits.
i128 saturating_sum(const Records&, i128 lower, i128 upper, bool drop);

}  // namespace soundsum
