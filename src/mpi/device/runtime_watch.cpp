// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/device/runtime_watch.h"

#include <dlfcn.h>

#include <string>
#include <string_view>
#include <vector>

namespace tutti::mpi::device {

namespace {

link_map some_object{};

struct Objects {
    std::vector<std::string> paths;
    const link_map* last = nullptr;
};

// In dl_iterate_phdr's callback, since the list does not change in it. The callback is for one
// object only; the list itself begins with the program.
int remember_objects(dl_phdr_info*, size_t, void* user) {
    auto& [objects, first] = *static_cast<std::pair<Objects, const link_map*>*>(user);
    for (const link_map* object = first; object != nullptr; object = object->l_next) {
        if (object->l_name != nullptr) objects.paths.emplace_back(object->l_name);
        objects.last = object;
    }
    return 1;
}

link_map* map_of(void* handle) {
    link_map* map = nullptr;
    return dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&map)) == 0 ? map : nullptr;
}

// The program comes first in the list.
Objects loaded_objects() {
    std::pair<Objects, const link_map*> found{};
    void* program = dlopen(nullptr, RTLD_LAZY | RTLD_NOLOAD);
    if (program == nullptr) return {};
    found.second = map_of(program);
    dl_iterate_phdr(remember_objects, &found);
    dlclose(program);
    return std::move(found.first);
}

int remember_adds(dl_phdr_info* info, size_t, void* user) {
    *static_cast<uint64_t*>(user) = info->dlpi_adds;
    return 1;
}

uint64_t objects_added() {
    uint64_t adds = 0;
    dl_iterate_phdr(remember_adds, &adds);
    return adds;
}

// ".../libcuda.so.1" for "libcuda".
bool is_library(std::string_view path, std::string_view name) {
    const size_t slash = path.rfind('/');
    if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
    return path.starts_with(name) && path.substr(name.size()).starts_with(".so");
}

void* find_symbol(void* library, const char* name) { return dlsym(library, name); }

}  // namespace

link_map* const Watch::kNothing = nullptr;
link_map* const Watch::kAlways = &some_object;

void Watch::start() {
    const std::lock_guard lock(mutex_);
    holds_ = true;
    follow();
}

void Watch::let_go() {
    const std::lock_guard lock(mutex_);
    if (!holds_) return;
    holds_ = false;
    next_.store(&kAlways, std::memory_order_release);
    last_link_ = nullptr;
    for (void* handle : {held_, held_before_}) {
        if (handle != nullptr) dlclose(handle);
    }
    held_ = held_before_ = nullptr;
}

// Something was loaded, or there is a runtime already, or the last object cannot be held.
bool Watch::look() {
    const std::lock_guard lock(mutex_);
    if (has_news()) follow();
    return count_.load(std::memory_order_relaxed) > 0;
}

bool Watch::has_news() const {
    if (last_link_ == nullptr) return objects_added() != adds_;
    return __atomic_load_n(last_link_, __ATOMIC_ACQUIRE) != nullptr;
}

void Watch::follow() {
    adds_ = objects_added();
    // Others load and unload meanwhile, seldom again and again.
    constexpr int kTries = 3;
    bool is_held = false;
    for (int tries = 0; holds_ && tries < kTries && !is_held; ++tries) is_held = hold_last();
    search();
    const bool is_quiet = is_held && count_.load(std::memory_order_relaxed) == 0;
    next_.store(is_quiet ? last_link_ : &kAlways, std::memory_order_release);
}

// Before the search, so that what is loaded during it comes behind.
bool Watch::hold_last() {
    const Objects objects = loaded_objects();
    last_link_ = nullptr;
    if (objects.last == nullptr) return false;
    void* handle = dlopen(objects.paths.back().c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) return false;
    link_map* map = map_of(handle);
    if (map != objects.last) {  // unloaded in between
        dlclose(handle);
        return false;
    }
    if (held_before_ != nullptr) dlclose(held_before_);
    held_before_ = held_;
    held_ = handle;
    last_link_ = &map->l_next;
    return true;
}

// A runtime that was found stays: the handle on it is never closed.
void Watch::search() {
    ++looks_;
    const Objects objects = loaded_objects();
    for (Runtime* runtime : {&cuda(), &hip(), &level_zero()}) {
        const size_t count = count_.load(std::memory_order_relaxed);
        bool is_known = false;
        for (size_t i = 0; i < count; ++i) is_known = is_known || found_[i] == runtime;
        for (const std::string& path : objects.paths) {
            if (is_known || !is_library(path, runtime->library())) continue;
            void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
            if (handle == nullptr) continue;
            if (runtime->load(handle, find_symbol)) {
                found_[count] = runtime;
                count_.store(count + 1, std::memory_order_release);
                break;
            }
            dlclose(handle);
        }
    }
}

Runtime* Watch::find(const void* address, Owner& owner) {
    const size_t count = count_.load(std::memory_order_acquire);
    for (size_t i = 0; i < count; ++i) {
        owner = found_[i]->owner(address);
        if (owner.kind != MemoryKind::kHost) return found_[i];
    }
    return nullptr;
}

}  // namespace tutti::mpi::device
