// Files and directories that are on the disk when a call returns, and are exchanged in one step.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.hpp"

namespace penstock {

/// Syncs a file or a directory. Errors: StorageFull, Internal.
Result<void> sync_path(const std::string& path);

/// How a copy of a file is made.
enum class Share : std::uint8_t {
  Nothing,  ///< Every byte is copied.
  Tables,   ///< Sorted files, which are never written again, are hard links where the file system has them.
};
/// Copies the files of a directory, without its subdirectories, into `to`, which is made; synced. Locks and names of
/// holders are left out. Files are copied in descending order of names, so that lists of files and anchors, with names
/// of letters, come before the files that they list: a copy of a directory in use never lacks a file that its list
/// names. Errors: StorageFull, Internal, NotFound: a file was removed meanwhile.
Result<void> copy_directory(const std::string& from, const std::string& to, Share share);

/// The directory in which the next content of `directory` is put together.
std::string fresh_beside(const std::string& directory);
/// Puts the complete content of `fresh_beside(directory)` in the place of `directory`; the old content is kept beside
/// it under a name with `kept_as`, which is returned (empty: there was none). One step: a kill at any instant leaves
/// the old content or the new one in the place. The next user calls `finish_replacement`.
Result<std::string> replace_directory(const std::string& directory, const std::string& kept_as);
/// Clears away the remains of a replacement that was killed, before anything else is done with `directory`. REQUIRES:
/// no other user. Errors: StorageFull, Internal.
Result<void> finish_replacement(const std::string& directory);

/// Gives each file that a former holder may still write to a new inode, and removes the holder's locks. Its writes from
/// then on reach files without a name. Errors: StorageFull, Internal.
Result<void> orphan_open_files(const std::string& directory);

}  // namespace penstock
