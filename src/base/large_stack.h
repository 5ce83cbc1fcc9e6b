// SPDX-License-Identifier: BSD-3-Clause
// Programs call MPI on threads and fibres with stacks of 24 KiB and less. What is done once, as
// making a team or planning a call, takes more than that and has a stack of its own meanwhile.
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

namespace tutti {

// Calls run(user) on a stack of 1 MiB, of which only what is touched takes memory. Exceptions pass.
// On the caller's own stack where there is no memory, on processors other than x86-64, and under
// sanitizers, which know no stack but the thread's.
void call_on_large_stack(void (*run)(void* user), void* user);

template <class Work>
auto on_large_stack(Work&& work) {
    std::optional<std::invoke_result_t<Work&>> result;
    auto run = [&] { result.emplace(work()); };
    call_on_large_stack([](void* user) { (*static_cast<decltype(run)*>(user))(); }, &run);
    return std::move(*result);
}

}  // namespace tutti
