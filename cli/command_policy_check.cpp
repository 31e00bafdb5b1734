#include "cli/command_policy_check.hpp"

#include <algorithm>
#include <filesystem>

namespace penstock::cli {
namespace {

namespace files = std::filesystem;

Result<std::vector<std::string>> case_files(const std::string& path) {
  std::error_code failure;
  if (!files::exists(path, failure))
    return Error{ErrorCode::NotFound, path, "there is no such file or directory",
                 "give a case file or a folder of them"};
  if (!files::is_directory(path, failure)) return std::vector<std::string>{path};
  std::vector<std::string> found;
  for (auto each = files::recursive_directory_iterator{path, failure}; each != files::recursive_directory_iterator{};
       each.increment(failure)) {
    if (failure) break;
    if (each->path().extension() == ".json") found.push_back(each->path().string());
  }
  if (failure) return Error{ErrorCode::NotFound, path, "cannot be read: " + failure.message(), {}};
  std::sort(found.begin(), found.end());
  return found;
}

Result<void> check_file(const std::string& path, std::vector<CaseVerdict>& verdicts) {
  const Result<std::string> text = read_text_file(path);
  if (!text) return text.error();
  const Result<DocumentValue> file = parse_document(*text, DocumentFormat::Json, path);
  if (!file) return file.error();
  const std::string name = files::path{path}.stem().string();
  if (text_of(*file, "schema") == "cluster-policy-scenario/1") {
    const bool steps =
        text_of(*file, "kind") == "schedule" || text_of(*file, "kind") == "desired_agents";  // tidy: foreign
    verdicts.push_back(steps ? check_slot_case(*file, name) : check_slot_table(*file, name));
    return {};
  }
  if (text_of(*file, "format") == "kai-scenarios/1") {
    check_quota_cases(*file, name, verdicts);
    return {};
  }
  if (check_factor_cases(*file, name, verdicts)) return {};
  return Error{ErrorCode::Unsupported, path, "is no reference case of a known format",
               "see docs/policy.md for the formats"};
}

}  // namespace

Result<std::vector<CaseVerdict>> check_policy_cases(const std::string& path) {
  const Result<std::vector<std::string>> found = case_files(path);
  if (!found) return found.error();
  std::vector<CaseVerdict> verdicts;
  for (const std::string& file : *found) PENSTOCK_TRY(check_file(file, verdicts));
  return verdicts;
}

}  // namespace penstock::cli
