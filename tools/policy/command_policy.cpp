// `penstock-lab policy`: the cluster policy without a cluster.
#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include "cli/commands/command.hpp"
#include "tools/commands.hpp"
#include "tools/policy/command_policy_check.hpp"
#include "tools/policy/command_policy_fill.hpp"
#include "tools/policy/command_policy_simulate.hpp"

namespace penstock::tools {
namespace {

struct CheckCommand {
  std::vector<std::string> paths;
  bool failed_only = false;
  bool strict = false;
  bool live = false;
};

std::string way_word(CaseWay way) {
  return way == CaseWay::Cluster ? "cluster" : way == CaseWay::Pass ? "pass" : "function";
}

/// Where cases with jobs and slots must run on a cluster, a pass alone counts as different.
void judge(CaseVerdict& verdict, const CheckCommand& command) {
  if (command.strict)
    verdict.differences.insert(verdict.differences.end(), verdict.remarks.begin(), verdict.remarks.end());
  if (command.live && verdict.way == CaseWay::Pass)
    verdict.differences.emplace_back("runs by a pass over a snapshot, not on a cluster");
}

Result<int> check(const cli::Invocation& invocation, const CheckCommand& command) {
  std::vector<CaseVerdict> verdicts;
  std::optional<Error> missing;  // Reported at the end: the existing files are checked nevertheless.
  for (const std::string& path : command.paths) {
    Result<std::vector<CaseVerdict>> found = check_policy_cases(path);
    if (!found) {
      if (!missing) missing = found.error();
      continue;
    }
    std::move(found->begin(), found->end(), std::back_inserter(verdicts));
  }
  if (missing && verdicts.empty()) return *missing;
  std::size_t passed = 0;
  std::map<std::string, std::uint64_t> by_way{{"cluster", 0}, {"pass", 0}, {"function", 0}};
  Value::List rows;
  for (CaseVerdict& verdict : verdicts) {
    judge(verdict, command);
    passed += verdict.passed() ? 1 : 0;
    ++by_way[way_word(verdict.way)];
    if (invocation.json) {
      const Value::List differences{verdict.differences.begin(), verdict.differences.end()};
      const Value::List remarks{verdict.remarks.begin(), verdict.remarks.end()};
      rows.push_back(Value::Record{{"case", verdict.id},
                                   {"kind", verdict.kind},
                                   {"runs_by", way_word(verdict.way)},
                                   {"passed", verdict.passed()},
                                   {"differences", differences},
                                   {"remarks", remarks}});
      continue;
    }
    if (verdict.passed() && command.failed_only) continue;
    std::cout << (verdict.passed() ? "pass " : "FAIL ") << verdict.id << " (" << verdict.kind << ")\n";
    for (const std::string& difference : verdict.differences) std::cout << "     " << difference << '\n';
    if (!command.strict)
      for (const std::string& remark : verdict.remarks) std::cout << "     note: " << remark << '\n';
  }
  if (invocation.json)
    cli::print(invocation, Value::Record{{"cases", rows},
                                         {"passed", std::uint64_t{passed}},
                                         {"on_cluster", by_way["cluster"]},
                                         {"by_pass", by_way["pass"]},
                                         {"of_function", by_way["function"]},
                                         {"failed", std::uint64_t{verdicts.size() - passed}}});
  else
    std::cout << passed << " of " << verdicts.size() << " cases passed: " << by_way["cluster"]
              << " on a cluster of the production cores, " << by_way["pass"] << " by a pass over a snapshot, "
              << by_way["function"] << " of one function\n";
  if (missing) return *missing;
  return passed == verdicts.size() ? int{cli::kSuccess} : int{cli::kJobFailed};
}

}  // namespace

void add_policy_command(CLI::App& app, cli::Invocation& invocation) {
  CLI::App* family = app.add_subcommand(
      "policy", "Try the cluster policy without a cluster: check it against reference cases, replay traces");
  family->require_subcommand(1);
  auto options = std::make_shared<CheckCommand>();
  CLI::App* command = family->add_subcommand(
      "check", "Run reference cases through the production policy; exit code 1 if any comes out differently");
  command->add_option("PATH", options->paths, "Case files, or folders of them")->required()->type_name("PATH");
  command->add_flag("--failed", options->failed_only, "Print a line only for cases that differ");
  command->add_flag("--strict", options->strict, "Report fields that the format lacks as differences, not as notes");
  command->add_flag("--live", options->live, "Report cases that run by a pass over a snapshot as differences");
  cli::add_json_option(*command, invocation);
  command->callback(
      [&invocation, options] { invocation.chosen = [&invocation, options] { return check(invocation, *options); }; });
  add_policy_simulation(*family, invocation);
  add_policy_fill(*family, invocation);
}

}  // namespace penstock::tools
