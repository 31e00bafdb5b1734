#include "client/abi/last_error.hpp"

#include "common/protocol/handshake.hpp"

namespace penstock::abi {
namespace {

struct LastError {
  Error error;
  std::string name;
  bool any = false;
};

// One for each thread, not shared.
LastError& last() {
  thread_local LastError error;
  return error;
}

}  // namespace

void set_last_error(Error error) {
  last().name = std::string{to_string(error.code)};
  last().error = std::move(error);
  last().any = true;
}

}  // namespace penstock::abi

using penstock::abi::last;

penstock_error penstock_last_error(void) {
  if (!last().any) return {0, "", "", "", ""};
  const penstock::Error& error = last().error;
  return {static_cast<std::uint32_t>(error.code), last().name.c_str(), error.subject.c_str(), error.message.c_str(),
          error.remedy.c_str()};
}

uint32_t penstock_abi(void) { return PENSTOCK_ABI; }
const char* penstock_version(void) { return penstock::kSoftwareVersion.data(); }
