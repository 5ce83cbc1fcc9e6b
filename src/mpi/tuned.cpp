// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/tuned.h"

#include "mpi/front.h"

namespace tutti::mpi {

void add_tuned(std::vector<std::string>& entries, Trouble& trouble) {
    std::vector<char> version(abi::kLibraryVersionMax + 1);
    int length = 0;
    front.host.get_library_version(version.data(), &length);
    std::vector<const char*> settings;
    for (const std::string& entry : entries) settings.push_back(entry.c_str());
    std::vector<std::string> found;
    const auto take = [](void* user, const char* entry) {
        static_cast<std::vector<std::string>*>(user)->emplace_back(entry);
    };
    char message[512] = {};
    const tutti_status status = tutti_tuned_find(settings.data(), settings.size(), version.data(),
                                                 take, &found, message, sizeof message);
    if (status == TUTTI_ERR_MEMORY) throw std::bad_alloc();
    if (status != TUTTI_OK) {
        const bool is_setting = status == TUTTI_ERR_ARGUMENT;
        return trouble.add(is_setting ? Trouble::Kind::kEnds : Trouble::Kind::kStays, message);
    }
    if (message[0] != '\0') print_line(message);
    entries.insert(entries.end(), found.begin(), found.end());
}

}  // namespace tutti::mpi
