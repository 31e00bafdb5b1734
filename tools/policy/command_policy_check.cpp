#include "tools/policy/command_policy_check.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "tools/policy/command_policy_schedule.hpp"
#include "tools/policy/command_policy_shape.hpp"

namespace penstock::tools {
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
    std::error_code unknown;  // A broken link is a file that cannot be read, and is reported as such.
    if (each->path().extension() == ".json" && !each->is_directory(unknown)) found.push_back(each->path().string());
  }
  if (failure) return Error{ErrorCode::NotFound, path, "cannot be read: " + failure.message(), {}};
  if (found.empty())
    return Error{ErrorCode::NotFound, path, "there is no case file in this folder or below",
                 "give a folder of `.json` files"};
  std::sort(found.begin(), found.end());
  return found;
}

/// Runs a case with the right shape; for another one, lists its mistakes.
template <class Run>
void run_case(const ShapeSubject& subject, CaseFormat format, const CaseVerdict& name, Run run,
              std::vector<CaseVerdict>& verdicts) {
  ShapeFindings shape = check_shape(subject, format);
  const std::size_t first = verdicts.size();
  if (shape.mistakes.empty())
    run();
  else
    verdicts.push_back({name.id, name.kind, std::move(shape.mistakes), {}});
  if (verdicts.size() == first) return;
  std::vector<std::string>& remarks = verdicts[first].remarks;
  std::move(shape.unknown.begin(), shape.unknown.end(), std::back_inserter(remarks));
}

/// In an account tree each level is a table within a list, so this is more than 500 levels.
constexpr std::uint32_t kCaseDepthMax = 1024;

/// The items of these lists of a file are cases of their own: a mistake in one fails that one.
constexpr std::string_view kCaseLists[] = {"cases", "scenarios", "flux_cases", "queue_order_cases", "rejections"};

/// Removes the malformed cases from the file and records their mistakes. Returns the file without its cases.
cli::DocumentValue take_out_misshapen(cli::DocumentValue& file, const CaseVerdict& name, const std::string& path,
                                      std::vector<CaseVerdict>& verdicts, std::vector<std::string>& unknown) {
  cli::DocumentValue around;
  around.kind = file.kind;
  around.place = file.place;
  for (cli::DocumentField& field : file.fields) {
    if (std::find(std::begin(kCaseLists), std::end(kCaseLists), field.name) == std::end(kCaseLists) ||
        !field.value.is_list()) {
      around.fields.push_back(field);
      continue;
    }
    std::vector<cli::DocumentValue> good;
    for (std::size_t i = 0; i < field.value.items.size(); ++i) {
      cli::DocumentValue& item = field.value.items[i];
      const std::string place = field.name + "[" + std::to_string(i) + "]";
      ShapeFindings shape = check_shape({item, place, path, field.name + "[]"}, CaseFormat::Factors);
      if (shape.mistakes.empty()) {
        std::move(shape.unknown.begin(), shape.unknown.end(), std::back_inserter(unknown));
        good.push_back(std::move(item));
      } else {
        verdicts.push_back({name.id + "/" + text_of(item, "id", place), name.kind, std::move(shape.mistakes),
                            std::move(shape.unknown)});
      }
    }
    field.value.items = std::move(good);
  }
  return around;
}

Result<void> check_factor_file(cli::DocumentValue& file, const CaseVerdict& name, const std::string& path,
                               std::vector<CaseVerdict>& verdicts) {
  const Error no_format{ErrorCode::Unsupported, path, "is no reference case of a known format",
                        "see docs/policy.md for the formats"};
  if (name.kind.empty()) return no_format;
  std::vector<std::string> unknown;
  const cli::DocumentValue around = take_out_misshapen(file, name, path, verdicts, unknown);
  const std::size_t first = verdicts.size();
  ShapeFindings shape = check_shape({around, {}, path}, CaseFormat::Factors);
  if (!shape.mistakes.empty())
    verdicts.push_back({name.id, name.kind, std::move(shape.mistakes), {}});
  else if (!check_factor_cases(file, name.id, verdicts))
    return no_format;
  if (verdicts.size() == first) return {};
  std::vector<std::string>& remarks = verdicts[first].remarks;
  std::move(shape.unknown.begin(), shape.unknown.end(), std::back_inserter(remarks));
  std::move(unknown.begin(), unknown.end(), std::back_inserter(remarks));
  return {};
}

void check_quota_file(const cli::DocumentValue& file, const std::string& name, const std::string& path,
                      std::vector<CaseVerdict>& verdicts) {
  ShapeFindings around = check_shape({file, {}, path}, CaseFormat::QuotaFile);
  if (!around.mistakes.empty()) return verdicts.push_back({name, "quota", std::move(around.mistakes), {}});
  const std::vector<cli::DocumentValue>& cases = field_of(file, "cases").items;
  const std::size_t first = verdicts.size();
  if (cases.empty()) verdicts.push_back({name, "quota", {path + ": the file has no list of `cases`"}, {}});
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string id = name + "/" + text_of(cases[i], "id", std::to_string(i));
    run_case(
        {cases[i], "cases[" + std::to_string(i) + "]", path}, CaseFormat::Quotas,
        {id, text_of(cases[i], "kind", "quota"), {}, {}},
        [&] {
          verdicts.push_back(has_field(cases[i], "kind") ? check_quota_table(cases[i], id)
                                                         : check_quota_scenario(file, cases[i], id));
        },
        verdicts);
  }
  std::vector<std::string>& remarks = verdicts[first].remarks;
  std::move(around.unknown.begin(), around.unknown.end(), std::back_inserter(remarks));
}

Result<void> check_file(const std::string& path, std::vector<CaseVerdict>& verdicts) {
  const Result<std::string> text = cli::read_text_file(path);
  if (!text) return text.error();
  Result<cli::DocumentValue> file = cli::parse_document(*text, cli::DocumentFormat::Json, path, kCaseDepthMax);
  if (!file) return file.error();
  const std::string name = files::path{path}.stem().string();
  const std::string kind = text_of(*file, "kind");
  if (text_of(*file, "schema") == "cluster-policy-scenario/1") {
    run_case(
        {*file, {}, path}, CaseFormat::Slots, {name, kind, {}, {}},
        [&] {
          verdicts.push_back(kind == "desired_agents" ? check_desired_workers(*file, name)  // tidy: foreign
                             : kind != "schedule"     ? check_slot_table(*file, name)
                             : runs_as_jobs(*file)    ? check_schedule_case(*file, name)
                                                      : check_oversized_case(*file, name));
        },
        verdicts);
    return {};
  }
  if (text_of(*file, "format") == "kai-scenarios/1") {
    check_quota_file(*file, name, path, verdicts);
    return {};
  }
  return check_factor_file(*file, {name, kind, {}, {}}, path, verdicts);
}

}  // namespace

Result<std::vector<CaseVerdict>> check_policy_cases(const std::string& path) {
  const Result<std::vector<std::string>> found = case_files(path);
  if (!found) return found.error();
  std::vector<CaseVerdict> verdicts;
  for (const std::string& file : *found) {
    const std::size_t before = verdicts.size();
    const Result<void> checked = check_file(file, verdicts);
    if (!checked)
      verdicts.push_back({file, "file", {to_string(checked.error())}, {}});
    else if (verdicts.size() == before)
      verdicts.push_back({file, "file", {file + ": there is no case in it"}, {}});
  }
  return verdicts;
}

}  // namespace penstock::tools
