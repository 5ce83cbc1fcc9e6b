// SPDX-License-Identifier: BSD-3-Clause
// What the members of a team do together between two of its calls: try multicast, measure messages,
// read clocks. All members do so before one and the same call, to which they have counted alike. So
// none waits for the others in vain.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tutti/tutti.h"

namespace tutti::engine {

class Duty {
  public:
    Duty() = default;
    Duty(const Duty&) = delete;
    Duty& operator=(const Duty&) = delete;
    virtual ~Duty() = default;

    // Before a call; none of the first track is under way, and the team stands. All members answer
    // alike.
    [[nodiscard]] virtual bool is_due() = 0;
    // All members are in it. What keeps the team from going on stays with the team as its error.
    virtual tutti_status run() = 0;
    // It is never due again.
    [[nodiscard]] virtual bool is_over() const { return false; }
    // It brings algorithms that calls could not run by before: tutti_team_force() needs it first.
    [[nodiscard]] virtual bool brings_ways() const { return false; }
};

class Agenda {
  public:
    // Duties are asked in the order in which they were added. Allocates.
    void add(std::unique_ptr<Duty> duty) { duties_.push_back(std::move(duty)); }
    [[nodiscard]] bool is_empty() const { return duties_.empty(); }
    // The first that is due, or nullptr.
    [[nodiscard]] Duty* due() const {
        return find([](Duty& one) { return one.is_due(); });
    }
    // The first that brings algorithms, or nullptr.
    [[nodiscard]] Duty* that_brings_ways() const {
        return find([](const Duty& one) { return one.brings_ways(); });
    }
    // After one has run.
    void drop_over() {
        std::erase_if(duties_, [](const auto& one) { return one->is_over(); });
    }

  private:
    template <class Is>
    [[nodiscard]] Duty* find(Is is) const {
        for (const auto& one : duties_) {
            if (is(*one)) return one.get();
        }
        return nullptr;
    }

    std::vector<std::unique_ptr<Duty>> duties_;
};

}  // namespace tutti::engine
