// Proofs of users by MUNGE, which the hosts of a Slurm site have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/result.hpp"

namespace penstock {

/// The user of a process on a host with the same key of MUNGE.
struct MungeProof {
  std::uint32_t uid = 0;
  std::string content;  ///< The text that the process has sealed.
};

/// Seals a text as this user, for one opening within some minutes. Calls the daemon of this host. Errors: Unsupported:
/// this host has no libmunge.so.2; Unreachable: the daemon says why.
Result<std::string> munge_seal(std::string_view content);
/// Opens a credential of `munge_seal`, of any host with the same key. Errors: the same; PermissionDenied: the text
/// is no such one, is too old or was opened before.
Result<MungeProof> munge_open(const std::string& credential);

}  // namespace penstock
