// SPDX-License-Identifier: BSD-3-Clause
// The way to a file, one name after the other, so that nothing that another user has planted in a
// directory which everybody may write to (/tmp) leads anywhere.
#pragma once

#include <sys/stat.h>

#include <string>

namespace tutti::files {

// A file descriptor that closes itself; this room knows no other.
class Handle {
  public:
    explicit Handle(int descriptor = -1) : descriptor_(descriptor) {}
    Handle(Handle&& other) noexcept : descriptor_(other.descriptor_) { other.descriptor_ = -1; }
    Handle& operator=(Handle&& other) noexcept;
    ~Handle();
    [[nodiscard]] int get() const { return descriptor_; }
    [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }
    int release();

  private:
    int descriptor_;
};

// Where a path ends.
struct Target {
    Handle folder;            // open with O_PATH; what follows is done from here, by name
    std::string name;         // in that folder, no symbolic link; empty where the path ends in "/"
    bool is_there = false;    // something of that name
    struct stat info {};      // if it is there
    bool is_on_proc = false;  // a link of the kernel's to a pipe or device: to be followed
    bool is_strange = false;  // behind a directory of another user in one that all may write to
};

// Finds the target of a path, through symbolic links as usual. Three things are refused, as Linux
// does under fs.protected_symlinks, whether that is set or not:
// - a link of another user (but root) in a directory that everybody may write to and that is
// sticky;
// - any link at all behind a directory of another user in such a directory;
// - where `name` itself is a pipe or device there.
// `problem` is empty, or says what is wrong; `error` is then its errno, ELOOP for what is refused.
struct Walk {
    Target target;
    std::string problem;
    int error = 0;
    [[nodiscard]] bool is_good() const { return problem.empty(); }
};
Walk walk(const std::string& path);

}  // namespace tutti::files
