// SPDX-License-Identifier: BSD-3-Clause
// Experiments of a survey (docs/survey.md) among the job's hosts, over your MPI's own messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "lab/bench/bench_mpi.h"
#include "lab/survey/survey.h"

namespace tutti::bench {

struct SurveyTimes {
    // What takes longer is told as missing; and who has waited so many times as long in one
    // experiment gives up.
    uint64_t transfer_ns_max = survey::Limits().missing_ns;
    uint32_t patience = 6;
};

// Of the ranks that send and receive. After an error messages may still be under way, from and into
// these: they are to live until the job ends.
struct SurveyBuffers {
    std::vector<std::byte> send;
    std::vector<std::byte> receive;
};

// Made by all ranks with the same arguments; of `rank_of_host`, one rank a host, the first decides.
// It calls make() as often as it likes, then end(); the others serve(). Once a rank gives up, all
// get an error, and the job has to be ended: messages are left over. One that is gone for good
// holds up all others in the MPI's own calls.
class Experiments {
  public:
    // bytes_max: of a transfer. before_each: is called on all ranks before each experiment.
    Experiments(
        BenchMpi& mpi, std::span<const uint32_t> rank_of_host, uint64_t bytes_max,
        const SurveyTimes& times, Clock& clock, SurveyBuffers& buffers,
        std::function<void()> before_each = [] {});

    [[nodiscard]] bool decides() const { return mpi_.place().rank == rank_of_host_.front(); }
    // By transfer: its time, or survey::kMissingNs.
    Result<std::vector<uint64_t>> make(const survey::Experiment& experiment);
    void end();
    Result<Done> serve();

  private:
    struct Order;
    struct Part;
    Result<std::vector<double>> play(const Order& order, std::span<const survey::Transfer> list);
    [[nodiscard]] Part part_of(std::span<const survey::Transfer> list) const;
    Result<Done> transfer(const Order& order, const Part& part, uint64_t piece,
                          std::vector<double>& ns);
    Result<Done> go_round(const Order& order, const Part& part, std::vector<double>& ns);
    Result<Done> post(const Order& order, const Part& part, std::vector<double>& ns);
    Result<Done> send_unasked(const Order& order, const Part& part, std::vector<double>& ns);
    bool wait(uint32_t number, uint64_t start_ns);
    [[nodiscard]] double counted(uint64_t ns) const;
    [[nodiscard]] bool gives_up(uint64_t start_ns) const;
    [[nodiscard]] Error late(uint32_t peer) const;

    BenchMpi& mpi_;
    std::span<const uint32_t> rank_of_host_;
    const SurveyTimes times_;
    Clock& clock_;
    std::vector<std::byte>& send_;
    std::vector<std::byte>& receive_;
    std::function<void()> before_each_;
};

// A whole survey, by the one that decides.
Result<survey::Found> find_groups(Experiments& experiments, uint32_t hosts,
                                  const survey::Limits& limits, const SurveyTimes& times);

}  // namespace tutti::bench
