// SPDX-License-Identifier: BSD-3-Clause
// Where handles cross into the host. Towards a register, ABIs differ in one thing: handles are ints
// or pointers. So the border stands here twice, for all ABIs.
#pragma once

#include <cstdint>
#include <type_traits>

#include "mpi/abi/handles.h"

namespace tutti::mpi::abi {

// `Raw` is what the host takes for a handle: int or void*.
template <class Raw>
Raw to_raw(uintptr_t bits) {
    if constexpr (std::is_pointer_v<Raw>) {
        return reinterpret_cast<Raw>(bits);
    } else {
        return static_cast<Raw>(bits);
    }
}
inline uintptr_t to_bits(int raw) { return static_cast<uint32_t>(raw); }
inline uintptr_t to_bits(const void* raw) { return reinterpret_cast<uintptr_t>(raw); }

// An argument on its way: as it is, but for handles and places of handles.
template <class Raw, class T>
struct Passed {
    using Type = T;
    T value;
    operator T() const { return value; }  // NOLINT(google-explicit-constructor): it stands for a T
};

template <class Raw, class Tag>
struct Passed<Raw, Handle<Tag>> {
    using Type = Raw;
    Handle<Tag> handle;
    // NOLINTNEXTLINE(google-explicit-constructor)
    operator Raw() const { return to_raw<Raw>(handle.bits); }
};

// In and out: written back when the call has ended.
template <class Raw, class Tag>
struct Passed<Raw, Handle<Tag>*> {
    using Type = Raw*;
    explicit Passed(Handle<Tag>* place) : handle(place), raw(to_raw<Raw>(place->bits)) {}
    ~Passed() { handle->bits = to_bits(raw); }
    Passed(const Passed&) = delete;
    Passed& operator=(const Passed&) = delete;
    operator Raw*() { return &raw; }  // NOLINT(google-explicit-constructor)
    Handle<Tag>* handle;
    Raw raw;
};

template <class Signature>
class HostFunction;

// A function of the host, under the parameters that functions.inc names.
template <class... Parameters>
class HostFunction<int(Parameters...)> {
  public:
    void set(void* address, bool handles_are_ints) {
        address_ = address;
        handles_are_ints_ = handles_are_ints;
    }
    explicit operator bool() const { return address_ != nullptr; }
    int operator()(Parameters... arguments) const {
        return handles_are_ints_ ? call<int>(arguments...) : call<void*>(arguments...);
    }

  private:
    template <class Raw>
    int call(Parameters... arguments) const {
        // The host's own type of it, but for structs behind pointers.
        using Function = int(typename Passed<Raw, Parameters>::Type...);
        return reinterpret_cast<Function*>(address_)(Passed<Raw, Parameters>{arguments}...);
    }

    void* address_ = nullptr;
    bool handles_are_ints_ = false;
};

}  // namespace tutti::mpi::abi
