// SPDX-License-Identifier: BSD-3-Clause
// Schedules as anybody may write them: either they are read, and then print and parse to the same
// again and can be proved or refuted, or one line says where they are wrong.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lab/check/count.h"
#include "lab/check/prove.h"
#include "plan/sched/goal.h"
#include "plan/sched/list_program.h"
#include "plan/sched/operation_kinds.h"
#include "plan/sched/program_text.h"

namespace {

void demand(bool condition) {
    if (!condition) std::abort();
}

// Rounds are read one by one, so a great many of them, though right, take long.
constexpr uint64_t kRoundsMax = 256;
constexpr uint32_t kRanksMax = 4;

// The same, but every multicast is one that the first rank sends.
std::unique_ptr<tutti::sched::Program> other_ends(const tutti::sched::Program& program) {
    namespace sched = tutti::sched;
    const sched::Extent extent = program.extent();
    auto other = std::make_unique<sched::ListProgram>("other", extent);
    sched::Round round;
    for (uint64_t lane = 0; lane < extent.lanes; ++lane) {
        for (uint64_t k = 0; k < extent.rounds; ++k) {
            program.read(lane, k, round);
            for (const sched::Operation& op : round) {
                const bool is_end = sched::is_multicast_send(op);
                other->add(lane, k,
                           is_end ? sched::recv_multicast(0, op.order, op.left, op.after) : op);
            }
        }
    }
    return other;
}

// Every rank does what the text says, only that what one multicasts the others receive: hardly ever
// right, and so all that tells people what is wrong is tried.
void try_checks(const tutti::sched::ParsedProgram& parsed, std::string_view text) {
    namespace check = tutti::check;
    namespace sched = tutti::sched;
    std::vector<std::unique_ptr<sched::Program>> programs;
    for (uint32_t r = 0; r < parsed.shape.ranks; ++r) {
        auto again = sched::parse(text, "again");
        demand(static_cast<bool>(again));
        programs.push_back(r == 0 ? std::move(again.value()) : other_ends(*again.value()));
    }
    for (const uint32_t nodes : {1u, parsed.shape.ranks}) {
        const auto placement = tutti::topo::Placement::blocks(parsed.shape.ranks, nodes);
        const check::Faults faults = check::prove(parsed.shape, placement, programs);
        for (const std::string& line : faults.lines) {
            demand(!line.empty() && line.find('\n') == std::string::npos);
        }
        if (faults.lines.empty()) static_cast<void>(check::steps(placement, programs));
    }
    static_cast<void>(sched::print_goal(programs, 1.0, 1.0));
}

// So many multicasts the header must announce.
size_t multicasts_in(std::string_view text) {
    const std::string_view word = "multicast";
    size_t count = 0;
    for (size_t at = 0; (at = text.find(word, at)) != std::string_view::npos; at += word.size()) {
        ++count;
    }
    return count;
}

// What a header says of the call; @0 to @3 in front of the text choose another than the first.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kCalls = {
    {{"allreduce", "16"},
     {"allgatherv", "16 lengths 16 8"},
     {"reduce_scatter", "16 lengths 0 16"},
     {"alltoallv", "16"},
     {"scan", "16"}}};

// Most of the input should get past it.
std::string with_header(std::string text) {
    size_t which = 0;
    if (text.size() >= 2 && text[0] == '@') {
        which = 1 + static_cast<uint8_t>(text[1]) % (kCalls.size() - 1);
        text.erase(0, 2);
    }
    return "schedule 1\ncollective " + std::string(kCalls[which].first) +
           "\nranks 2\nroot 0\nbytes " + std::string(kCalls[which].second) +
           "\nelement 8\nrank 0\nname a\nlanes 2\nin_flight 1\nrounds 3\nscratch 16\nmulticasts " +
           std::to_string(multicasts_in(text)) + "\nlane 0\nround 0\n" + text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
    std::string text(reinterpret_cast<const char*>(data), bytes);
    if (!text.starts_with("schedule")) text = with_header(text);
    const auto parsed = tutti::sched::parse_program(text, "fuzz");
    if (!parsed) {
        demand(parsed.error().message.starts_with("fuzz:"));
        demand(parsed.error().message.find('\n') == std::string::npos);
        return 0;
    }
    const tutti::sched::ParsedProgram& found = parsed.value();
    const auto extent = found.program->extent();
    if (extent.lanes > kRoundsMax || extent.rounds > kRoundsMax) return 0;
    const std::string printed = print(*found.program, found.rank, found.shape);
    const auto again = tutti::sched::parse_program(printed, "printed");
    demand(static_cast<bool>(again));
    demand(print(*again.value().program, again.value().rank, again.value().shape) == printed);
    static_cast<void>(tutti::check::count(*found.program));
    if (found.shape.ranks <= kRanksMax) try_checks(found, printed);
    return 0;
}
