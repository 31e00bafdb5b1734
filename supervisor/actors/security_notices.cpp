#include "supervisor/actors/security_notices.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "common/host/log.hpp"

namespace penstock::supervisor {
namespace {

/// Null, and a line in the log, if there is none: the runs of the user are without one.
std::shared_ptr<const RunCredential> credential_of(const std::string& user, const ToldCredentials::Source& source) {
  Result<std::shared_ptr<const RunCredential>> found = source(user);
  if (found) return std::move(found).value();
  log_error(LogLevel::Error, "runs have no certificate", found.error());
  return nullptr;
}

}  // namespace

std::vector<FramePayloadPtr> revocation_notices(const std::vector<std::string>& revoked) {
  std::vector<FramePayloadPtr> frames;
  for (std::size_t first = 0; first < revoked.size(); first += kRevokedInNotice) {
    const auto begin = revoked.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(kRevokedInNotice, revoked.size() - first));
    frames.push_back(encode(Introduction{SecurityNotice{{begin, end}, {}}}));
  }
  return frames;
}

std::vector<RunCredential> ToldCredentials::take_new(const std::vector<ToWorker>& messages, const std::string& own,
                                                     const Source& source) {
  std::vector<RunCredential> fresh;
  for (const ToWorker& message : messages) {
    const auto* batch = std::get_if<AssignBatch>(&message);
    if (batch == nullptr || batch->owner.empty() || batch->owner == own || told_.contains(batch->owner)) continue;
    const std::shared_ptr<const RunCredential> credential = credential_of(batch->owner, source);
    if (credential == nullptr) continue;
    told_[batch->owner] = credential;
    fresh.push_back(*credential);
  }
  return fresh;
}

std::vector<RunCredential> ToldCredentials::take_replaced(const Source& source) {
  std::vector<RunCredential> replaced;
  for (auto& [user, credential] : told_) {
    const std::shared_ptr<const RunCredential> present = credential_of(user, source);
    if (present == nullptr || present == credential) continue;
    credential = present;
    replaced.push_back(*present);
  }
  return replaced;
}

std::vector<RunCredential> ToldCredentials::all() const {
  std::vector<RunCredential> all;
  for (const auto& [user, credential] : told_) all.push_back(*credential);
  return all;
}

}  // namespace penstock::supervisor
