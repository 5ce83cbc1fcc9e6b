// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/switches_of_job.h"

#include <climits>
#include <cstdio>
#include <cstring>
#include <memory>

#include "mpi/agreement.h"
#include "mpi/front.h"

namespace tutti::mpi {
namespace {

constexpr size_t kHostBytes = 256;
constexpr const char* kWhat = "switches";

void say(const char* why) {
    if (*why == '\0') return;
    char line[640];
    snprintf(line, sizeof line, "%s: %s", kWhat, why);
    print_line(line);
}

// The file, or an empty text.
std::string find_file(const std::vector<std::string>& held) {
    std::vector<const char*> settings;
    for (const std::string& entry : held) settings.push_back(entry.c_str());
    char file[PATH_MAX] = {};
    char why[512] = {};
    if (tutti_fabric_find(settings.data(), settings.size(), file, sizeof file, why, sizeof why) ==
        TUTTI_OK) {
        return file;
    }
    say(why);
    return {};
}

// names: kHostBytes a rank.
std::string read_part(const std::string& file, const char* names) {
    std::vector<const char*> hosts;
    for (int rank = 0; rank < front.world.size; ++rank) {
        const char* name = names + static_cast<size_t>(rank) * kHostBytes;
        // Ranks of a host mostly follow each other.
        if (hosts.empty() || strcmp(hosts.back(), name) != 0) hosts.push_back(name);
    }
    std::string text;
    char why[512] = {};
    const auto take = [](void* user, const char* part) { *static_cast<std::string*>(user) = part; };
    tutti_fabric_part(file.c_str(), hosts.data(), hosts.size(), take, &text, why, sizeof why);
    // Nobody meant a tuned file's part of the cluster to be all of it.
    const char* tuned = tutti_context_setting(front.context, "TUTTI_TUNED_NAME");
    const bool is_tuned = tuned != nullptr && file == tuned;
    if (!is_tuned || !text.empty()) say(why);
    return text;
}

}  // namespace

void share_fabric(const std::vector<std::string>& held) {
    Trouble trouble;  // of this rank: all go without, if any has some
    std::string file;
    if (front.world.rank == 0) {
        attempt(trouble, [&] { file = find_file(held); });
        say(trouble.text);  // and has no file
    }
    // All that a job without a description pays.
    if (!any_of_all(!file.empty())) return;
    char own[kHostBytes] = {};
    tutti_context_host(front.context, own, sizeof own);
    std::unique_ptr<char[]> names;
    if (front.world.rank == 0) {
        attempt(trouble, [&] {
            names = std::make_unique<char[]>(static_cast<size_t>(front.world.size) * kHostBytes);
        });
    }
    // Rank 0 needs room for what comes.
    if (any_fails(trouble, kWhat)) return;
    const abi::Datatype bytes = front.host.handles.type[abi::kTypeByte];
    front.host.gather(own, kHostBytes, bytes, names.get(), kHostBytes, bytes, 0,
                      front.host.handles.comm_world);
    std::string text;
    if (front.world.rank == 0) attempt(trouble, [&] { text = read_part(file, names.get()); });
    hand_out(text, trouble);
    attempt(trouble, [&] {
        char why[512] = {};
        if (tutti_context_set_fabric(front.context, text.c_str(), why, sizeof why) != TUTTI_OK) {
            trouble.add(Trouble::Kind::kStays, why);
        }
    });
    if (any_fails(trouble, kWhat)) {
        tutti_context_set_fabric(front.context, nullptr, nullptr, 0);
    } else if (!text.empty()) {
        snprintf(front.world.fabric_file, sizeof front.world.fabric_file, "%s", file.c_str());
    }
}

}  // namespace tutti::mpi
