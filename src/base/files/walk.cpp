// SPDX-License-Identifier: BSD-3-Clause
#include "base/files/walk.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>
#include <utility>

namespace tutti::files {
namespace {

constexpr int kLinksMax = 40;  // as Linux

bool is_ours(const struct stat& info) { return info.st_uid == geteuid() || info.st_uid == 0; }

// Whoever owns what, everybody may put something in, and only its owner can take it away.
bool is_open_to_all(const struct stat& folder) {
    return (folder.st_mode & S_ISVTX) != 0 && (folder.st_mode & S_IWOTH) != 0;
}

bool is_on_proc(int folder) {
    struct statfs system {};
    return fstatfs(folder, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

std::string link_text(int folder, const char* name) {
    char text[PATH_MAX];
    const ssize_t length = readlinkat(folder, name, text, sizeof text);
    return length > 0 ? std::string(text, static_cast<size_t>(length)) : std::string();
}

class Walker {
  public:
    explicit Walker(const std::string& path) : rest_(path) {}
    Walk run();

  private:
    bool fail(int error);
    bool refuse(std::string_view what, const struct stat& info);
    bool start(std::string_view path);
    // The next name of what is left, slashes behind it taken too; `is_last` where only those were.
    std::string next(bool& is_last);
    bool take(const std::string& name, bool is_last);
    bool follow(const std::string& name, const struct stat& info, bool is_last);
    bool enter(const std::string& name);
    bool end_at(const std::string& name, const struct stat& info);

    std::string rest_;
    Walk walk_;
    Handle here_;
    struct stat here_info_ {};
    bool is_strange_ = false;  // behind a directory that another user put where all may
    bool is_done_ = false;
    int links_ = 0;
};

bool Walker::fail(int error) {
    walk_.error = error;
    walk_.problem = std::strerror(error);
    return false;
}

bool Walker::refuse(std::string_view what, const struct stat& info) {
    walk_.error = ELOOP;
    const std::string where =
        link_text(AT_FDCWD, ("/proc/self/fd/" + std::to_string(here_.get())).c_str());
    walk_.problem = "refused: " + std::string(what) + " of user " + std::to_string(info.st_uid) +
                    " in " + (where.empty() ? "a directory" : where) +
                    (is_strange_ ? ", which another user made where everybody may write"
                                 : ", where everybody may write");
    return false;
}

bool Walker::start(std::string_view path) {
    if (path.empty()) return fail(ENOENT);
    if (path[0] != '/' && here_.is_open()) return true;
    here_ = Handle(open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!here_.is_open() || fstat(here_.get(), &here_info_) != 0) return fail(errno);
    return true;
}

std::string Walker::next(bool& is_last) {
    const size_t begin = rest_.find_first_not_of('/');
    if (begin == std::string::npos) {
        rest_.clear();
        is_last = true;
        return {};
    }
    const size_t end = rest_.find('/', begin);
    std::string name = rest_.substr(begin, end == std::string::npos ? end : end - begin);
    rest_ = end == std::string::npos ? std::string() : rest_.substr(end);
    is_last = rest_.empty();
    return name;
}

bool Walker::enter(const std::string& name) {
    const bool by_kernel = is_on_proc(here_.get());
    const int links = by_kernel ? 0 : O_NOFOLLOW;
    Handle inner(openat(here_.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | links));
    struct stat info {};
    if (!inner.is_open() || fstat(inner.get(), &info) != 0) return fail(errno);
    if (name != ".." && is_open_to_all(here_info_) && !is_ours(info)) is_strange_ = true;
    here_ = std::move(inner);
    here_info_ = info;
    return true;
}

bool Walker::follow(const std::string& name, const struct stat& info, bool is_last) {
    if (is_strange_ || (is_open_to_all(here_info_) && !is_ours(info))) {
        return refuse("the link " + name, info);
    }
    if (++links_ > kLinksMax) return fail(ELOOP);
    if (is_on_proc(here_.get())) {
        // The text of such a link (pipe:[7]) need not be a path.
        if (!is_last) return enter(name);
        struct stat target {};
        if (fstatat(here_.get(), name.c_str(), &target, 0) != 0) return fail(errno);
        walk_.target.is_on_proc = !S_ISREG(target.st_mode) && !S_ISDIR(target.st_mode);
        if (walk_.target.is_on_proc) return end_at(name, target);
    }
    const std::string target = link_text(here_.get(), name.c_str());
    if (target.empty()) return fail(errno != 0 ? errno : ENOENT);
    rest_ = target + rest_;
    return start(target);
}

bool Walker::end_at(const std::string& name, const struct stat& info) {
    const bool is_open_place = is_strange_ || is_open_to_all(here_info_);
    const bool is_plain = S_ISREG(info.st_mode) || S_ISDIR(info.st_mode);
    if (!is_plain && is_open_place && !is_ours(info)) {
        return refuse("the pipe or device " + name, info);
    }
    walk_.target.name = name;
    walk_.target.is_there = true;
    walk_.target.info = info;
    is_done_ = true;
    return true;
}

bool Walker::take(const std::string& name, bool is_last) {
    if (name.empty() || name == "." || name == "..") {
        if (name == ".." && !enter(name)) return false;
        is_done_ = is_last;  // a directory, by whatever name
        return true;
    }
    struct stat info {};
    if (fstatat(here_.get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
        if (errno != ENOENT || !is_last) return fail(errno);
        walk_.target.name = name;
        is_done_ = true;
        return true;
    }
    if (S_ISLNK(info.st_mode)) return follow(name, info, is_last);
    return is_last ? end_at(name, info) : enter(name);
}

Walk Walker::run() {
    if (!start(rest_)) return std::move(walk_);
    while (!is_done_) {
        bool is_last = false;
        const std::string name = next(is_last);
        if (!take(name, is_last)) return std::move(walk_);
    }
    walk_.target.folder = std::move(here_);
    walk_.target.is_strange = is_strange_;
    return std::move(walk_);
}

}  // namespace

Handle& Handle::operator=(Handle&& other) noexcept {
    if (this != &other) {
        if (descriptor_ >= 0) close(descriptor_);
        descriptor_ = other.release();
    }
    return *this;
}

Handle::~Handle() {
    if (descriptor_ >= 0) close(descriptor_);
}

int Handle::release() { return std::exchange(descriptor_, -1); }

Walk walk(const std::string& path) { return Walker(path).run(); }

}  // namespace tutti::files
