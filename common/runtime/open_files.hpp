// How many files this process may have open at once.
#pragma once

#include <cstddef>

namespace penstock {

/// Raises the limit of open files to what the host allows, `kOpenFilesMax` at most, and returns what it is now: each
/// large datum, connection and runner takes descriptors, and the usual limit of 1024 is there for programs that know
/// only `select`. What this process starts inherits it.
std::size_t raise_open_files_limit();

/// A limit beyond it is not asked for: programs that close all they might have inherited would take seconds to start.
constexpr std::size_t kOpenFilesMax = 65536;

}  // namespace penstock
