// Seals the secrets of jobs, so that they stand in no journal, backup or answer in clear.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include "common/base/result.hpp"

namespace penstock {

/// Seals texts by AES-256-GCM with a key that lives beside the state that it protects. The name of a secret is
/// authenticated with it, so one cannot stand for another. Nonces are drawn (96 bits, NIST SP 800-38D 8.2.2: up to 2^32
/// texts of one key). Immutable, so any thread may use it.
class SecretBox {
 public:
  static constexpr std::size_t kKeyBytes = 32;
  /// With the key in this file (mode 0600), which is made if it is not there. Errors: InvalidArgument, StorageFull.
  static Result<std::shared_ptr<const SecretBox>> open(const std::string& file);

  /// Error: Internal.
  Result<std::string> seal(const std::string& name, const std::string& value) const;
  /// Error: InvalidArgument: it was not sealed with this key and under this name.
  Result<std::string> unseal(const std::string& name, const std::string& sealed) const;

 private:
  using Key = std::array<unsigned char, kKeyBytes>;
  explicit SecretBox(const Key& key) : key_(key) {}
  Key key_;
};

}  // namespace penstock
