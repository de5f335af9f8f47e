// Ctrl-C in the middle of a long sum: whoever adds in order asks now and then whether to go on. The module says how, for
// the thread that called it; on other threads, and without the module, nobody interrupts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "environment.hpp"

namespace soundsum {

inline thread_local void (*interrupt_check)() = nullptr;  // throws to stop

class Interruptible {
  public:
    // To be told of every block; asks about every 2^24 records, some ten times a second.
    void passed(std::size_t records) {
        since_ += records;
        if (since_ >= (std::uint64_t{1} << 24)) ask();
    }

  private:
    // Apart, so that the loops around it keep their sums in registers.
    __attribute__((noinline, cold)) void ask() {
        since_ = 0;
        if (!interrupt_check) return;
        FloatEnvironment environment(Rounding::Nearest);  // Python's own, should it run a handler
        interrupt_check();
    }

    std::uint64_t since_ = 0;
};

}  // namespace soundsum
