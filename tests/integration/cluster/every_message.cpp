#include "tests/integration/cluster/every_message.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "common/json/json_text.hpp"
#include "common/protocol/external_input.hpp"
#include "tests/support/source_text.hpp"

namespace penstock {
namespace {

// One for each alternative of a union: a message that is new does not compile before it has one.
template <class Message>
std::vector<FromClient> of_client(const Subject& job) = delete;
template <class Message>
std::vector<FromWorker> of_worker(const Subject& job, const std::string& other) = delete;

/// A graph of one subtask, which borrows the first output of the job.
SubmitChunk borrower_of(const Subject& job, const JobIdentity& identity) {
  SubmitChunk chunk;
  chunk.first = chunk.last = true;
  chunk.spec.owner = "ada";  // A claim, which must not count.
  chunk.graph.templates.resize(1);
  chunk.graph.templates[0].program = kAliasOperator;
  chunk.graph.template_of = {0};
  chunk.graph.input_offsets = {0, 0};
  chunk.graph.payloads = external_datum_payload({{job.id, SubtaskIndex{0}}, 0, identity});
  chunk.graph.payload_offsets = {0, static_cast<std::uint32_t>(chunk.graph.payloads.size())};
  chunk.whole = totals_of(chunk.graph);
  return chunk;
}

template <>
std::vector<FromClient> of_client<SubmitChunk>(const Subject& job) {
  SubmitChunk of_run = borrower_of(job, job.identity);
  ParentRun& run = of_run.spec.parent.edit();
  run.id = {job.id, SubtaskIndex{0}};
  run.attempt = Attempt{1};
  run.identity = job.identity;
  return {borrower_of(job, {}), borrower_of(job, job.identity), of_run};
}

template <>
std::vector<FromClient> of_client<SubmitAgain>(const Subject& job) {
  SubmitAgain by_name;
  by_name.like.name = job.name;
  SubmitAgain by_number;
  by_number.like.id = job.id;
  return {by_name, by_number};
}

template <>
std::vector<FromClient> of_client<AttachJob>(const Subject& job) {
  return {AttachJob{0, {JobId::none(), job.name}, {}}, AttachJob{0, {job.id, ""}, {}},
          AttachJob{0, {job.id, ""}, job.identity}};
}

template <>
std::vector<FromClient> of_client<ReleaseJob>(const Subject& job) {
  return {ReleaseJob{job.id, {}}, ReleaseJob{job.id, job.identity}};
}

template <>
std::vector<FromClient> of_client<UnfollowJob>(const Subject& job) {
  return {UnfollowJob{job.id, {}}, UnfollowJob{job.id, job.identity}};
}

template <>
std::vector<FromClient> of_client<ReleaseOutputs>(const Subject& job) {
  const std::vector<SubtaskRange> first{{SubtaskIndex{0}, SubtaskIndex{0}}};
  return {ReleaseOutputs{job.id, {}, first}, ReleaseOutputs{job.id, job.identity, first}};
}

/// How each command is called about a job. A command that the sources have and this table has not fails the test.
const std::map<std::string, std::vector<std::vector<std::string>>>& calls() {
  static const std::map<std::string, std::vector<std::vector<std::string>>> all{
      {"audit", {{}}},
      {"bands", {{}}},
      {"cancel", {{"JOB"}, {"JOB", "0"}, {"JOB", "--kill-after-ms=0"}}},
      {"counters", {{}, {"w1"}}},
      {"data", {{"--job=JOB"}, {"--by=owner"}}},
      {"drain", {{"w1"}}},
      {"explain", {{"JOB"}, {"JOB", "0"}, {"JOB:0"}}},
      {"explain-data", {{"JOB", "0"}}},
      {"hold", {{"JOB"}}},
      {"job", {{"JOB"}}},
      {"jobs", {{}, {"--all"}}},
      {"keep", {{"JOB"}}},
      {"kept", {{"JOB", "0"}}},
      {"limits", {{}}},
      {"logs", {{"JOB"}, {"JOB", "0"}}},
      {"move", {{"JOB", "behind", "JOB"}}},
      {"places", {{"JOB", "0"}}},
      {"pools", {{}}},
      {"priority", {{"JOB", "3"}, {"JOB", "4", "--subtask=0"}}},
      {"projects", {{}}},
      {"queue", {{}}},
      {"queues", {{}}},
      {"release", {{"JOB"}}},
      {"reload", {{}}},
      {"rerun", {{"JOB"}, {"JOB", "--failed"}}},
      {"results", {{"JOB"}}},
      {"set", {{"priority", "JOB", "5"}, {"time-limit", "JOB", "9h"}, {"weight", "JOB", "2"}, {"cap", "JOB", "7"}}},
      {"shared", {{"list"}}},
      {"shares", {{}}},
      {"undrain", {{"w1"}}},
      {"unkeep", {{"JOB"}}},
      {"users", {{}}},
      {"words", {{"jobs"}, {"workers"}}},
      {"workers", {{}}}};
  return all;
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

template <>
std::vector<FromClient> of_client<AdminRequest>(const Subject& job) {
  std::vector<FromClient> requests;
  for (const std::string& command : commands_of_sources()) {
    EXPECT_TRUE(calls().contains(command)) << "the matrix has no call of `" << command << "`";
    if (!calls().contains(command)) continue;
    for (const std::vector<std::string>& words : calls().at(command))
      for (const std::string& named : {job.name, to_string(job.id)}) {
        AdminRequest request{0, command, words, "ada@elsewhere"};  // A claim, which must not count.
        for (std::string& word : request.arguments) word = with(word, "JOB", named);
        if (request.arguments == words && named != job.name) continue;  // The command names no job.
        requests.emplace_back(std::move(request));
      }
  }
  requests.emplace_back(AdminRequest{0, "no-such-command", {job.name}, "ada@elsewhere"});
  return requests;
}

template <>
std::vector<FromWorker> of_worker<Register>(const Subject&, const std::string& other) {
  Register description;  // Without bands: it is given nothing to run.
  description.name = other;
  description.host = "elsewhere";
  return {description};
}

template <>
std::vector<FromWorker> of_worker<ReportBatch>(const Subject& job, const std::string&) {
  std::vector<FromWorker> reports;
  for (const Outcome outcome : {Outcome::Succeeded, Outcome::Cancelled, Outcome::Returned, Outcome::Started}) {
    ReportBatch batch;
    batch.number = reports.size() + 1;
    AttemptReport attempt;
    attempt.subtask = SubtaskIndex{0};
    attempt.attempt = Attempt{1};
    attempt.outcome = outcome;
    batch.jobs = {{job.id, {attempt}, {}, {}, {}, job.identity}};
    batch.replicas = {{{job.id, SubtaskIndex{0}}, 0, true}};
    reports.emplace_back(std::move(batch));
  }
  return reports;
}

template <>
std::vector<FromWorker> of_worker<DrainState>(const Subject&, const std::string&) {
  return {DrainState{true, true}};
}

template <>
std::vector<FromWorker> of_worker<ExplainAnswer>(const Subject&, const std::string&) {
  return {ExplainAnswer{1, true, "state", "reason"}};
}

template <>
std::vector<FromWorker> of_worker<WorkerClaim>(const Subject& job, const std::string&) {
  WorkerClaim claim;
  claim.jobs = {{job.id, {{SubtaskIndex{0}, Attempt{1}, BandIndex{0}, ClaimedStage::Running, 0}}, {}, job.identity}};
  claim.jobs[0].data = {{SubtaskIndex{0}, 0, 77}};
  return {claim};
}

template <>
std::vector<FromWorker> of_worker<LogAnswer>(const Subject&, const std::string&) {
  return {LogAnswer{1, "a line"}};
}

template <>
std::vector<FromWorker> of_worker<BarrierAnswer>(const Subject& job, const std::string&) {
  return {BarrierAnswer{job.id, BandIndex{0}, 1, MilliSlots{1000}}};
}

template <class Union, std::size_t... Places, class About>
std::vector<Union> each(std::index_sequence<Places...>, const About& about) {
  std::vector<Union> all;
  (
      [&] {
        for (Union& message : about.template operator()<std::variant_alternative_t<Places, Union>>())
          all.push_back(std::move(message));
      }(),
      ...);
  return all;
}

std::string told_error(const Error& error) { return std::string{to_string(error.code)} + ": " + to_string(error); }

/// Of the union, in the words of the manual.
struct OfRun {
  bool operator()(const SubmitChunk& chunk) const { return chunk.spec.parent.any(); }
  bool operator()(const SubmitAgain& again) const { return again.spec.parent.any(); }
  bool operator()(const AttachJob& attach) const { return attach.identity.valid(); }
  bool operator()(const ReleaseJob& release) const { return release.identity.valid(); }
  bool operator()(const UnfollowJob& unfollow) const { return unfollow.identity.valid(); }
  bool operator()(const ReleaseOutputs& outputs) const { return outputs.identity.valid(); }
  bool operator()(const AdminRequest& request) const {
    static const std::set<std::string> of_runs{"cancel", "explain", "job",     "keep",   "kept",
                                               "places", "results", "release", "shared", "unkeep"};
    return of_runs.contains(request.command);
  }
};

struct OfClient {
  template <class Message>
  bool operator()(const Message&) const {
    return true;
  }
  bool operator()(const ReleaseJob& release) const { return release.identity.valid(); }
  bool operator()(const UnfollowJob& unfollow) const { return unfollow.identity.valid(); }
  bool operator()(const ReleaseOutputs& outputs) const { return outputs.identity.valid(); }
  bool operator()(const AdminRequest& request) const {
    static const std::set<std::string> steering{"drain",  "undrain",        "set", "priority", "move",
                                                "reload", "no-such-command"};
    return !steering.contains(request.command);
  }
};

}  // namespace

std::set<std::string> commands_of_sources() {
  const std::filesystem::path root{PENSTOCK_SOURCE_DIRECTORY};
  std::set<std::string> commands;
  for (std::string& command : between(read_source(root / "supervisor/core/queries.cpp"), "command == \"", "\""))
    commands.insert(std::move(command));
  for (const std::string& table : between(read_source(root / "common/protocol/rights.cpp"), "> k", "};"))
    for (std::string& command : between(table, "\"", "\"")) commands.insert(std::move(command));
  return commands;
}

std::vector<FromClient> every_client_message(const Subject& job) {
  return each<FromClient>(std::make_index_sequence<std::variant_size_v<FromClient>>{},
                          [&]<class Message>() { return of_client<Message>(job); });
}

std::vector<FromWorker> every_worker_message(const Subject& job, const std::string& other) {
  return each<FromWorker>(std::make_index_sequence<std::variant_size_v<FromWorker>>{},
                          [&]<class Message>() { return of_worker<Message>(job, other); });
}

bool manual_allows(Role role, const FromClient& message) {
  switch (role) {
    case Role::Client: return std::visit(OfClient{}, message);
    case Role::Worker:
    case Role::Run: return std::visit(OfRun{}, message);
    case Role::Operator:
    case Role::Admin: return true;
    case Role::Supervisor:
    case Role::Metrics: return false;
  }
  return false;
}

std::string name_of(const FromClient& message) {
  const auto* const request = std::get_if<AdminRequest>(&message);
  if (request == nullptr) return "message " + std::to_string(message.index());
  std::string words = request->command;
  for (const std::string& word : request->arguments) words += " " + word;
  return words;
}

bool is_answered(const FromClient& message) {
  return std::holds_alternative<SubmitChunk>(message) || std::holds_alternative<SubmitAgain>(message) ||
         std::holds_alternative<AttachJob>(message) || std::holds_alternative<AdminRequest>(message);
}

FromClient numbered(FromClient message, std::uint64_t number) {
  if (auto* chunk = std::get_if<SubmitChunk>(&message)) chunk->submission = number;
  if (auto* again = std::get_if<SubmitAgain>(&message)) again->submission = number;
  if (auto* attach = std::get_if<AttachJob>(&message)) attach->request = number;
  if (auto* request = std::get_if<AdminRequest>(&message)) request->request = number;
  return message;
}

std::string answer_to(const std::vector<ToClient>& told, std::uint64_t number, const Subject& job) {
  std::string text;
  for (const ToClient& message : told) {
    if (const auto* reply = std::get_if<SubmitReply>(&message); reply != nullptr && reply->submission == number)
      text = reply->job.valid() ? "accepted" : told_error(reply->refusal);
    if (const auto* reply = std::get_if<AttachReply>(&message); reply != nullptr && reply->request == number)
      text = reply->job.valid() ? "attached" : told_error(reply->refusal);
    if (const auto* reply = std::get_if<AdminAnswer>(&message); reply != nullptr && reply->request == number)
      text = reply->refusal.message.empty() ? to_json(reply->value) : told_error(reply->refusal);
  }
  text = with(text, to_string(SubtaskId{job.id, SubtaskIndex{0}}), "SUBTASK");
  return with(with(text, to_string(job.id), "NUMBER"), job.name, "NAME");
}

}  // namespace penstock
