// SPDX-License-Identifier: BSD-3-Clause
// Result<T>: a value, or an operating error, which is a code and one line that says what and where.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/assert.h"

namespace tutti {

enum class ErrorCode { kArgument, kMemory, kNode, kBootstrap, kSystem, kOff, kNetwork };

struct Error {
    ErrorCode code;
    std::string message;
};

template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : value_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
    Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
    explicit operator bool() const { return value_.has_value(); }
    T& value() {
        TUTTI_ASSERT(value_.has_value(), "value of a failed Result");
        return *value_;
    }
    const T& value() const {
        TUTTI_ASSERT(value_.has_value(), "value of a failed Result");
        return *value_;
    }
    // To be moved out of, where a copy might find no memory.
    Error& error() {
        TUTTI_ASSERT(!value_.has_value(), "error of a successful Result");
        return error_;
    }
    const Error& error() const {
        TUTTI_ASSERT(!value_.has_value(), "error of a successful Result");
        return error_;
    }

  private:
    std::optional<T> value_;
    Error error_{};
};

// Success without a value.
struct Done {};

}  // namespace tutti
