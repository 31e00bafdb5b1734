// The effect of another weight, or of the end of other jobs, on a job's fair share. Pure; for `explain`.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/ids.hpp"
#include "supervisor/policy/sharing/limited_targets.hpp"

namespace penstock::supervisor {

/// The weight of a job in its project, at least 1, in thousandths. `weights`: of all jobs of the project.
std::int64_t weight_in_project(std::int64_t project, std::int64_t own, std::int64_t weights);

/// A pool that is shared fairly, as the next pass would divide it. Amounts are slots of that pass.
struct ShareView {
  struct Sharer {
    JobId job;
    policy::ShareGroup group;    ///< Its weight is computed from those below.
    std::int64_t weight = 1000;  ///< Its own.
    std::size_t project = 0;     ///< Position in `projects`; none there: it has none.
  };
  struct Project {
    std::int64_t weight = 1000;
    std::int64_t jobs = 0;  ///< Weights of all its jobs, also of those elsewhere.
  };
  bool max_min = false;
  std::int64_t capacity = 0;
  std::vector<Sharer> sharers;  ///< Oldest first.
  std::vector<Project> projects;
  /// Of groups that may use certain bands only; groups are positions in `sharers`. Slots that a job outside may not be
  /// made to leave count as lost to them even if it ends: the answer is rather too little.
  std::vector<policy::ShareLimit> limits;
  std::size_t subject = 0;  ///< The job in question: position in `sharers`.
  std::int64_t need = 0;    ///< The share that it needs.

  std::int64_t share() const;
  bool suffices() const { return share() >= need; }
  /// The same if that one had this weight, and if these, by position, had ended.
  ShareView with_weight(std::int64_t weight) const;
  ShareView without(const std::vector<std::size_t>& ended) const;
  /// The same with so many more slots. A job that could use all of the capacity could use those as well; so could all
  /// jobs that may use certain bands only, as far as is known.
  ShareView with_more(std::int64_t slots) const;
};

/// The smallest weight above its own, up to `most`, that a search by halves finds enough; none if not even `most` is.
/// Cost: that of some twenty divisions.
std::optional<std::int64_t> weight_that_suffices(const ShareView& view, std::int64_t most);

/// Up to `rows_max` jobs that are each enough by their end. If there is none: the first of `candidates` that are enough
/// together, or the last of these if it is enough alone; none if not even all are. Cost: a division for each of the
/// first `looks_max` candidates.
std::vector<std::vector<std::size_t>> ends_that_suffice(const ShareView& view,
                                                        const std::vector<std::size_t>& candidates,
                                                        std::size_t rows_max, std::size_t budget_max);

}  // namespace penstock::supervisor
