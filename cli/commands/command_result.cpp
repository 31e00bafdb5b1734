// `penstock result`: the outputs of a job of the cluster.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>

#include "cli/commands/command.hpp"
#include "cli/commands/commands.hpp"
#include "cli/show/render.hpp"
#include "cli/show/result_text.hpp"
#include "cli/show/terminal.hpp"
#include "client/abi/cluster.hpp"
#include "common/json/json_text.hpp"

namespace penstock::cli {
namespace {

struct ResultCommand {
  std::string job;
  std::string subtask;
  std::uint16_t output = 0;
  std::uint32_t limit = 1000;
};

struct Row {
  std::string key;
  std::uint64_t bytes = 0;
  std::int64_t output = 0;
  abi::ResultFetcher::Wanted wanted;
};

/// None if the supervisor's answer has an unknown form.
std::optional<Row> read_row(JobId job, const JobIdentity& identity, const Value& value) {
  const std::int64_t* subtask = value["subtask"].integer();
  const std::int64_t* output = value["output"].integer();
  const std::int64_t* bytes = value["bytes"].integer();
  const std::string* key = value["key"].text();
  const std::string* address = value["address"].text();
  if (subtask == nullptr || output == nullptr || bytes == nullptr || key == nullptr || address == nullptr) return {};
  const DataKey wanted{{job, SubtaskIndex{static_cast<std::uint32_t>(*subtask)}}, static_cast<std::uint16_t>(*output)};
  return Row{*key, static_cast<std::uint64_t>(*bytes), *output, {wanted, *address, identity}};
}

std::vector<Row> read_rows(const Value& answer) {
  std::vector<Row> rows;
  const std::string* job = answer["job"].text();
  const Value::List* list = answer["results"].list();
  if (job == nullptr || list == nullptr) return rows;
  const JobSelector selector = job_selector_of(*job);
  const std::string* said = answer["identity"].text();
  const JobIdentity identity = said == nullptr ? JobIdentity{} : parse_identity(*said);
  for (const Value& each : *list)
    if (std::optional<Row> row = read_row(selector.id, identity, each); row.has_value())
      rows.push_back(std::move(*row));
  return rows;
}

/// Writes the bytes of one subtask unchanged, for files and pipes.
Result<int> write_one(const Invocation& invocation, const ResultCommand& command, const std::vector<Row>& rows) {
  Result<std::unique_ptr<abi::ResultFetcher>> fetcher = abi::ResultFetcher::open();
  if (!fetcher) return std::move(fetcher).error();
  worker::BlobPtr blob;
  for (const Row& row : rows) {
    const Result<std::vector<worker::BlobPtr>> fetched = (*fetcher)->fetch({row.wanted});
    if (!fetched) return fetched.error();
    blob = fetched->front();
  }
  const std::span<const std::byte> bytes = blob == nullptr ? std::span<const std::byte>{} : blob->bytes();
  if (invocation.json) {
    std::cout << to_json(describe_result(command.subtask, bytes.size(), bytes), -1) << std::endl;
    return int{kSuccess};
  }
  if (is_terminal(1) && !is_printable(bytes))
    return Error{ErrorCode::InvalidArgument, "subtask '" + command.subtask + "'",
                 "has made " + std::to_string(bytes.size()) + " bytes that are no text",
                 "write them to a file: penstock result " + command.job + " " + command.subtask + " > FILE"};
  std::cout.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return int{kSuccess};
}

/// Lists all outputs: the first ones that are short text, and the size of the others.
Result<int> list_all(const Invocation& invocation, const Value& answer, const std::vector<Row>& rows) {
  Result<std::unique_ptr<abi::ResultFetcher>> fetcher = abi::ResultFetcher::open();
  if (!fetcher) return std::move(fetcher).error();
  Value::List results;
  std::size_t shown = 0;
  for (const Row& row : rows) {
    worker::BlobPtr blob;
    if (shown < kResultsShown && row.bytes <= kResultBytesShown) {
      Result<std::vector<worker::BlobPtr>> fetched = (*fetcher)->fetch({row.wanted});
      if (!fetched) return fetched.error();
      blob = std::move(fetched->front());
      ++shown;
    }
    const std::string key = row.output == 0 ? row.key : row.key + " --output " + std::to_string(row.output);
    results.emplace_back(
        describe_result(key, row.bytes, blob == nullptr ? std::span<const std::byte>{} : blob->bytes()));
  }
  if (invocation.json) {
    Value::Record whole{{"job", answer["job"]}, {"name", answer["name"]}, {"state", answer["state"]}};
    whole.emplace_back("more", answer["more"]);
    whole.emplace_back("results", std::move(results));
    std::cout << to_json(whole, -1) << std::endl;
    return int{kSuccess};
  }
  print_results(std::cout, results);
  std::cout << std::flush;
  const std::int64_t* more = answer["more"].integer();
  if (more != nullptr && *more > 0) std::cerr << "and " << *more << " more\n";
  const std::string* state = answer["state"].text();
  if (results.empty() && state != nullptr)
    std::cerr << "nothing: the job is " << harmless(*state) << ", and has no output that is kept and not empty\n";
  return int{kSuccess};
}

Result<int> result(Invocation& invocation, const ResultCommand& command) {
  std::vector<std::string> arguments{command.job};
  if (!command.subtask.empty()) {
    arguments.push_back(command.subtask);
    arguments.push_back("--output=" + std::to_string(command.output));
  }
  arguments.push_back("--limit=" + std::to_string(command.limit));
  const Result<Value> answer = ask(invocation, "results", arguments);
  if (!answer) return answer.error();
  const std::vector<Row> rows = read_rows(*answer);
  return command.subtask.empty() ? list_all(invocation, *answer, rows) : write_one(invocation, command, rows);
}

}  // namespace

void add_result_command(CLI::App& app, Invocation& invocation) {
  auto options = std::make_shared<ResultCommand>();
  CLI::App* command = app.add_subcommand(
      "result",
      "List the kept outputs of a job, those without a reader or the `wanted` ones; or write the bytes of one subtask");
  command->add_option("JOB", options->job, "Number (`job-3` or `3`) or name of the job")->required();
  command->add_option(
      "SUBTASK", options->subtask,
      "Write the output of this subtask, by key or number, e.g. `> FILE`; left out: a list, with short texts");
  command->add_option("--output", options->output, "Number of the output of a subtask with several, from 0")
      ->needs("SUBTASK");
  command->add_option("--limit", options->limit, "List at most so many")->check(CLI::Range(1U, 1000U));
  add_supervisor_option(*command, invocation);
  add_json_option(*command, invocation);
  command->callback(
      [&invocation, options] { invocation.chosen = [&invocation, options] { return result(invocation, *options); }; });
}

}  // namespace penstock::cli
