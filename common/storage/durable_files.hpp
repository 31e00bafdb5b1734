// Files and directories that are on the disk when a call returns, and change places in one step.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.hpp"

namespace penstock {

/// Syncs a file or a directory. Errors: StorageFull, Internal.
Result<void> sync_path(const std::string& path);

/// How to put another file beside the first under another name.
enum class Share : std::uint8_t {
  Nothing,  ///< Every byte is copied.
  Tables,   ///< Sorted files, which nobody ever writes to again, are hard links where the file system has them.
};
/// Copies the files of a directory, without its subdirectories, into `to`, which is made; synced. Files that are locks and
/// names of holders stay away. In the order of names backwards: lists of files and anchors, whose names are letters, before
/// what they tell of, so that of a directory in use the copy never lacks what they had told. Errors: StorageFull, Internal, NotFound: a file was removed meanwhile.
Result<void> copy_directory(const std::string& from, const std::string& to, Share share);

/// Where the next content of `directory` is put together.
std::string fresh_beside(const std::string& directory);
/// Puts what is in `fresh_beside(directory)`, which is complete, in the place of `directory`; what was there is kept beside
/// it under a name with `kept_as`, which is returned (empty: nothing was there). One step: a kill at any instant leaves the
/// old content or the new one in the place. The next user calls `finish_replacement`.
Result<std::string> replace_directory(const std::string& directory, const std::string& kept_as);
/// Clears away what a kill during a replacement has left, before anything else is done with `directory`. REQUIRES: nobody
/// else uses it. Errors: StorageFull, Internal.
Result<void> finish_replacement(const std::string& directory);

/// Gives each file that somebody who still lives may write to another inode, and takes their locks away. What they write
/// from then on reaches files without a name. Errors: StorageFull, Internal.
Result<void> orphan_open_files(const std::string& directory);

}  // namespace penstock
