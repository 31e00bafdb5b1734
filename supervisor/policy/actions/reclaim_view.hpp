// Facts about a search for victims that are known before it begins, so that most searches need not be made.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "supervisor/policy/quota_pass.hpp"

namespace penstock::policy {

/// The cluster between two searches of `reclaim`. A failed search leaves the cluster as it was, so that all of this is
/// counted once for each search that succeeds. Cost: O(bands and projects) to look again, and O(jobs that hold
/// something) of the projects that have changed; a question about a project, O(such jobs of projects that may lose).
class ReclaimView {
 public:
  explicit ReclaimView(QuotaPass& pass);
  /// The trial has changed for good.
  void look_again();

  /// The sums before anything is taken.
  const std::vector<Owner>& owners() const { return owners_; }
  /// Thousandths of devices that are free or will be.
  std::int64_t free_devices() const { return free_devices_; }
  /// By project, whether `project` could take anything from it at all: a project that holds less can only be safer.
  const std::vector<bool>& may_lose(std::uint32_t project);
  /// Devices that could come free on one band if all jobs there that may lose theirs went. A search finds room only in
  /// these and in what is free.
  std::int64_t most_on_a_band(std::uint32_t project);

 private:
  void look_at(std::uint32_t project);

  struct OnBand {
    std::uint32_t band = kNone;
    std::int64_t devices = 0;
  };

  QuotaPass& pass_;
  std::size_t mark_ = 0;  ///< Of the trial, when it was looked at last.
  std::vector<Owner> owners_;
  std::int64_t free_devices_ = 0;
  std::vector<std::vector<OnBand>> held_;    ///< By project: holdings of its preemptible jobs.
  std::vector<std::vector<bool>> may_lose_;  ///< By project that reclaims; empty: not asked yet.
  std::vector<std::int64_t> sums_;           ///< By band; all 0 between questions.
};

}  // namespace penstock::policy
