#include "cli/command_policy_check.hpp"

#include <algorithm>
#include <filesystem>

#include "cli/command_policy_shape.hpp"

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

/// Runs a case whose shape is right; of another one, says what is wrong with it.
template <class Run>
void run_case(const ShapeSubject& subject, CaseFormat format, const CaseVerdict& name, Run run,
              std::vector<CaseVerdict>& verdicts) {
  ShapeFindings shape = check_shape(subject, format);
  const std::size_t first = verdicts.size();
  if (shape.mistakes.empty())
    run();
  else
    verdicts.push_back({name.id, name.kind, std::move(shape.mistakes), {}});
  if (verdicts.size() > first) verdicts[first].remarks = std::move(shape.unknown);
}

Result<void> check_file(const std::string& path, std::vector<CaseVerdict>& verdicts) {
  const Result<std::string> text = read_text_file(path);
  if (!text) return text.error();
  const Result<DocumentValue> file = parse_document(*text, DocumentFormat::Json, path);
  if (!file) return file.error();
  const std::string name = files::path{path}.stem().string();
  const std::string kind = text_of(*file, "kind");
  if (text_of(*file, "schema") == "cluster-policy-scenario/1") {
    const bool steps = kind == "schedule" || kind == "desired_agents";  // tidy: foreign
    run_case(
        {*file, {}, path}, CaseFormat::Slots, {name, kind, {}, {}},
        [&] { verdicts.push_back(steps ? check_slot_case(*file, name) : check_slot_table(*file, name)); }, verdicts);
    return {};
  }
  if (text_of(*file, "format") == "kai-scenarios/1") {
    const std::vector<DocumentValue>& cases = field_of(*file, "cases").items;
    if (cases.empty()) verdicts.push_back({name, "quota", {path + ": the file has no list of `cases`"}, {}});
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const std::string id = name + "/" + text_of(cases[i], "id", std::to_string(i));
      run_case(
          {cases[i], "cases[" + std::to_string(i) + "]", path}, CaseFormat::Quotas,
          {id, text_of(cases[i], "kind", "quota"), {}, {}},
          [&] {
            verdicts.push_back(has_field(cases[i], "kind") ? check_quota_table(cases[i], id)
                                                           : check_quota_scenario(*file, cases[i], id));
          },
          verdicts);
    }
    return {};
  }
  bool known = true;
  run_case(
      {*file, {}, path}, CaseFormat::Factors, {name, kind, {}, {}},
      [&] { known = check_factor_cases(*file, name, verdicts); }, verdicts);
  if (known && !kind.empty()) return {};
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
