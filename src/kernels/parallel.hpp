#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <system_error>
#include <thread>
#include <vector>

namespace soundsum {

// Splits [0, size) into one stretch per thread and runs part(thread, begin, end) on each, here if no thread can start. What
// a part throws, as where there is no memory, is thrown when all have come to their end.
template <class Part> void in_parallel(std::size_t size, unsigned threads, Part&& part) {
    std::vector<std::exception_ptr> thrown(threads);
    std::vector<std::thread> running;
    running.reserve(threads);
    const std::size_t stretch = size / threads + 1;
    const auto run = [&](unsigned t) {
        const std::size_t begin = std::min(size, t * stretch), end = std::min(size, begin + stretch);
        try {
            part(t, begin, end);
        } catch (...) {
            thrown[t] = std::current_exception();
        }
    };
    for (unsigned t = 1; t < threads; ++t) {
        try {
            running.emplace_back(run, t);
        } catch (const std::system_error&) {
            run(t);
        }
    }
    run(0);
    for (auto& thread : running) thread.join();
    for (const auto& one : thrown)
        if (one) std::rethrow_exception(one);
}

}  // namespace soundsum
