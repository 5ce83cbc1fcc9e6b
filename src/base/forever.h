// SPDX-License-Identifier: BSD-3-Clause
// A value that lives until the process ends. MPI functions are called from destructors of static
// objects and from handlers of exit(), by when a plain static of ours could be gone.
#pragma once

#include <cstddef>
#include <new>

namespace tutti {

// static const Forever<T> value([] { return T(...); });
template <class T>
class Forever {
  public:
    template <class Make>
    explicit Forever(Make make) {
        new (memory_) T(make());
    }
    const T& operator*() const { return *std::launder(reinterpret_cast<const T*>(memory_)); }
    const T* operator->() const { return &**this; }

  private:
    alignas(T) std::byte memory_[sizeof(T)];
};

}  // namespace tutti
