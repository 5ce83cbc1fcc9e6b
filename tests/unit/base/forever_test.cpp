// SPDX-License-Identifier: BSD-3-Clause
#include "base/forever.h"

#include <gtest/gtest.h>

#include <string>

namespace tutti {
namespace {

struct Watched {
    Watched(std::string what, int& count) : text(std::move(what)), destroyed(count) {}
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;
    ~Watched() { ++destroyed; }
    std::string text;
    int& destroyed;
};

TEST(Forever, IsMadeOnceInPlaceAndNeverDestroyed) {
    int made = 0, destroyed = 0;
    {
        const Forever<Watched> value([&] {
            ++made;
            return Watched("x", destroyed);
        });
        EXPECT_EQ((*value).text, "x");
        EXPECT_EQ(value->text, "x");
    }
    EXPECT_EQ(made, 1);
    EXPECT_EQ(destroyed, 0);
}

}  // namespace
}  // namespace tutti
