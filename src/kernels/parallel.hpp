#pragma once

#include <algorithm>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace soundsum {

// Splits [0, size) into one stretch per thread and runs part(thread, begin, end) on each, here if no thread can start.
template <class Part> void in_parallel(std::size_t size, unsigned threads, Part&& part) {
    std::vector<std::thread> running;
    const std::size_t stretch = size / threads + 1;
    for (unsigned t = 1; t < threads; ++t) {
        const std::size_t begin = std::min(size, t * stretch), end = std::min(size, begin + stretch);
        try {
            running.emplace_back([&part, t, begin, end] { part(t, begin, end); });
        } catch (const std::system_error&) {
            part(t, begin, end);
        }
    }
    part(0, 0, std::min(size, stretch));
    for (auto& thread : running) thread.join();
}

}  // namespace soundsum
