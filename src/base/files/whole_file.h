// SPDX-License-Identifier: BSD-3-Clause
// Writes a file whole or not at all: reports, drawings, measurements. Where another user has
// planted a link, a directory or a pipe in a place like /tmp, nothing is written (walk.h).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tutti::files {

// Empty, or why not. A regular file is replaced in one step, through symbolic links, and keeps its
// permissions; a reader meanwhile sees the old one or the new one. What is no regular file (a
// device, a pipe, /dev/stdout) is written to as it is.
std::string write_whole(const std::string& path, std::string_view text);

// What will keep write_whole from working, as far as can be told without writing, or empty.
std::string obstacle(const std::string& path);

struct NamedText {
    std::string name;  // in its folder
    std::string text;
};

// A new folder with these files: whole or not at all. Empty, or why not. Nothing may be there under
// that name, but a symbolic link to where nothing is: the folder is then made there.
std::string write_whole_folder(const std::string& path, std::span<const NamedText> texts);

// As obstacle().
std::string folder_obstacle(const std::string& path);

// A new directory for this user alone. Empty, or why there is none. It is not made behind a
// directory that another user has put where everybody may write.
std::string make_private_folder(const std::string& parent, std::string& path);

// An empty file in a directory that belongs to this user and that nobody else may write to. Empty,
// or why not: the same name on another host may be anybody's.
std::string make_mark(const std::string& path);

}  // namespace tutti::files
