// The limit of open files of this process.
#pragma once

#include <cstddef>

namespace penstock {

/// Raises the limit of open files to the host's maximum, at most `kOpenFilesMax`, and returns the new limit: each large
/// datum, connection and runner takes descriptors, and the usual limit of 1024 exists for programs that use `select`.
/// Programs that this process starts inherit it.
std::size_t raise_open_files_limit();

/// A higher limit is not requested: programs that close all descriptors they might have inherited would take seconds to
/// start.
constexpr std::size_t kOpenFilesMax = 65536;

}  // namespace penstock
