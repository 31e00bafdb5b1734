#include "common/protocol/labels.hpp"

#include <algorithm>
#include <utility>

#include "common/protocol/graph.hpp"
#include "common/protocol/handshake.hpp"
#include "common/protocol/policy_config.hpp"

namespace penstock {
namespace {

bool have_one(const std::vector<std::string>& labels, const std::vector<std::string>& wanted) {
  return std::any_of(wanted.begin(), wanted.end(), [&](const std::string& each) {
    return std::find(labels.begin(), labels.end(), each) != labels.end();
  });
}

}  // namespace

std::vector<LabelLimit> label_limits_of(const PolicyConfig& config, const JobPolicy& wishes) {
  std::vector<LabelLimit> limits;
  if (!wishes.labels.empty()) limits.push_back({"it", wishes.labels});
  std::int64_t at = wishes.project.empty() ? -1 : find_project(config, wishes.project);
  while (at >= 0) {
    const ProjectConfig& project = config.projects[static_cast<std::size_t>(at)];
    const auto& labels = wishes.kind == JobKind::Training ? project.training_labels : project.interactive_labels;
    if (!labels.empty())
      limits.push_back({(project.is_department ? "department '" : "project '") + project.name + "'", labels});
    at = project.department.empty() ? -1 : find_project(config, project.department);
  }
  return limits;
}

bool runs_jobs_of(const Register& worker, const std::string& user) {
  return worker.users.empty() || std::find(worker.users.begin(), worker.users.end(), user) != worker.users.end();
}

bool allow(const std::vector<LabelLimit>& limits, const Register& worker) {
  return std::all_of(limits.begin(), limits.end(), [&](const LabelLimit& limit) {
    return limit.user.empty() ? have_one(worker.labels, limit.labels) : runs_jobs_of(worker, limit.user);
  });
}

std::string text_of(const std::vector<LabelLimit>& limits) {
  std::string text;
  for (const LabelLimit& limit : limits) {
    text += (text.empty() ? "" : ", and ") + limit.whose + (text.empty() ? " runs on " : " on ");
    for (std::size_t i = 0; i < limit.labels.size(); ++i) text += (i == 0 ? "'" : " or '") + limit.labels[i] + "'";
    if (!limit.user.empty()) text += "workers that run jobs of user '" + limit.user + "'";
    text += " only";
  }
  return text;
}

Result<void> check_labels(const std::string& subject, const std::vector<std::string>& labels) {
  if (labels.size() > kLabelsMax)
    return Error{ErrorCode::LimitExceeded, subject, "has more than " + std::to_string(kLabelsMax) + " labels", {}};
  for (auto label = labels.begin(); label != labels.end(); ++label) {
    if (label->empty() || label->size() > 255)
      return Error{ErrorCode::InvalidArgument, subject, "has a label that is not of 1 to 255 bytes", {}};
    if (std::find(labels.begin(), label, *label) != label)
      return Error{ErrorCode::InvalidArgument, subject, "has the label '" + *label + "' twice", "name it once"};
  }
  return {};
}

}  // namespace penstock
