#include "client/abi/results.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "client/abi/arguments.hpp"
#include "client/abi/cluster.hpp"
#include "client/abi/data.hpp"
#include "client/abi/last_error.hpp"
#include "client/embedded/embedded_cluster.hpp"

using penstock::DataKey;
using penstock::Error;
using penstock::ErrorCode;
using penstock::JobId;
using penstock::Result;
using penstock::SubtaskIndex;
using penstock::Value;
using penstock::abi::refuse;
using penstock::worker::BlobPtr;

namespace penstock::abi {

std::vector<std::uint16_t> kept_of(const Graph& graph, Keep keep) {
  std::vector<std::uint16_t> kept(graph.size(), 0);
  if (keep == Keep::Nothing) return kept;
  const auto outputs = [&](std::uint32_t subtask) {
    const std::uint32_t number = graph.template_of[subtask];
    const std::uint16_t count = number < graph.templates.size() ? graph.templates[number].output_count : 0;
    return std::max<std::uint16_t>(count, 1);
  };
  if (keep == Keep::Wanted) {
    for (const std::uint32_t wanted : graph.wanted)
      if (wanted < kept.size()) kept[wanted] = outputs(wanted);
    return kept;
  }
  for (std::uint32_t i = 0; i < kept.size(); ++i) kept[i] = outputs(i);
  for (const std::uint32_t read : graph.predecessors)
    if (read < kept.size()) kept[read] = 0;
  return kept;
}

}  // namespace penstock::abi

namespace {

constexpr std::size_t kRangesAskedMax = 1000;  ///< In one question.

Error not_there(const DataKey& key) {
  return {ErrorCode::NotFound,
          to_string(key),
          "has no result here: it has not succeeded, was not to be kept, or was released",
          {}};
}

/// Data in memory or on disk of this process; null for a datum that is not there.
std::vector<BlobPtr> take_from_store(penstock_client& client, const std::vector<DataKey>& keys) {
  std::vector<BlobPtr> blobs;
  blobs.reserve(keys.size());
  for (const DataKey& key : keys) blobs.push_back(client.embedded->store().load_now(key));
  return blobs;
}

/// Null for data without a known worker.
Result<std::vector<BlobPtr>> take_from_workers(penstock_client& client, const std::vector<DataKey>& keys) {
  std::vector<penstock::abi::ResultFetcher::Wanted> wanted;
  std::vector<std::size_t> places;
  const penstock::JobIdentity identity = client.session().identity_of(keys.front().producer.job);
  {
    const std::lock_guard lock{client.mutex};
    const auto& outputs = client.jobs[keys.front().producer.job].outputs;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto found = outputs.find((std::uint64_t{keys[i].producer.index.value()} << 16U) | keys[i].output);
      if (found == outputs.end()) continue;
      wanted.push_back({keys[i], found->second.data_address, identity});
      places.push_back(i);
    }
  }
  std::vector<BlobPtr> blobs(keys.size());
  Result<std::vector<BlobPtr>> fetched = client.fetcher->fetch(wanted);
  if (!fetched) return std::move(fetched).error();
  for (std::size_t i = 0; i < places.size(); ++i) blobs[places[i]] = std::move((*fetched)[i]);
  return blobs;
}

/// Checks that the outputs are empty: an output with bytes is announced as long as it is kept. For a job that was
/// submitted elsewhere the supervisor is asked; one without this question lets them pass.
Result<void> check_empty(penstock_client& client, const std::vector<DataKey>& keys) {
  const JobId job = keys.front().producer.job;
  std::vector<std::string> question;
  for (std::size_t i = 0; i < keys.size();) {
    if (question.empty()) question = {to_string(job), std::to_string(keys[i].output)};
    const std::uint32_t first = keys[i].producer.index.value();
    std::uint32_t last = first;
    for (++i; i < keys.size() && keys[i].producer.index.value() == last + 1; ++i) ++last;
    question.push_back(std::to_string(first) + "-" + std::to_string(last));
    if (i < keys.size() && question.size() < kRangesAskedMax) continue;
    const Result<Value> answer = client.session().ask("kept", std::exchange(question, {}));
    if (!answer && answer.error().code == ErrorCode::Unsupported) return {};
    if (!answer) return answer.error();
    if (const std::int64_t* missing = (*answer)["missing"].integer(); missing != nullptr)
      return not_there({{job, SubtaskIndex{static_cast<std::uint32_t>(*missing)}}, keys.front().output});
  }
  return {};
}

/// Whether an output that is missing in this process's store should be there.
Result<void> check_lost(penstock_client& client, const std::vector<DataKey>& keys) {
  if (client.embedded == nullptr || keys.empty()) return {};
  const std::set<DataKey> missing(keys.begin(), keys.end());
  const JobId job = keys.front().producer.job;
  for (const penstock::OutputLocation& told : client.session().view(job).outputs)
    if (const DataKey key{{job, told.producer}, told.output}; missing.contains(key))
      return Error{ErrorCode::InputLost, to_string(key), "is lost: its store cannot give it any more",
                   "submit its graph again"};
  return {};
}

/// Whether this client knows that they are kept, if they are. Error: NotFound if this client cannot have them.
Result<bool> check_told(penstock_client& client, const std::vector<DataKey>& keys) {
  const std::lock_guard lock{client.mutex};
  const auto known = client.jobs.find(keys.front().producer.job);
  if (known == client.jobs.end()) return not_there(keys.front());
  const auto& [succeeded, kept, outputs] = known->second;
  for (const DataKey& key : keys) {
    const std::uint32_t subtask = key.producer.index.value();
    if (subtask >= succeeded.size() || !succeeded[subtask]) return not_there(key);
    if (!kept.empty() && key.output >= kept[subtask]) return not_there(key);
  }
  return !kept.empty();
}

}  // namespace

penstock_data* penstock_fetch(penstock_client* client, int64_t number, const uint32_t* subtasks, uint64_t count,
                              uint32_t output) try {
  const Result<JobId> job = penstock::abi::job_of(client, number);
  if (!job) return refuse(job.error());
  if (output >= penstock::EdgeKind::kOrderOnly)
    return refuse({ErrorCode::InvalidArgument, "output " + std::to_string(output), "is no number of an output", {}});
  std::vector<DataKey> keys;
  keys.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    const SubtaskIndex subtask{subtasks == nullptr ? static_cast<std::uint32_t>(i) : subtasks[i]};
    keys.push_back({{*job, subtask}, static_cast<std::uint16_t>(output)});
  }
  auto data = std::make_unique<penstock_data>();
  if (keys.empty()) return data.release();
  const Result<bool> is_known = check_told(*client, keys);
  if (!is_known) return refuse(is_known.error());
  Result<std::vector<BlobPtr>> blobs =
      client->embedded != nullptr ? take_from_store(*client, keys) : take_from_workers(*client, keys);
  if (!blobs) return refuse(blobs.error());
  std::vector<DataKey> empty;
  for (std::size_t i = 0; i < keys.size(); ++i)
    if ((*blobs)[i] == nullptr) empty.push_back(keys[i]);
  std::sort(empty.begin(), empty.end());
  empty.erase(std::unique(empty.begin(), empty.end()), empty.end());
  if (const penstock::Result<void> checked = check_lost(*client, empty); !checked) return refuse(checked.error());
  if (!*is_known && !empty.empty())
    if (const penstock::Result<void> checked = check_empty(*client, empty); !checked) return refuse(checked.error());
  data->blobs = std::move(blobs).value();
  for (const BlobPtr& blob : data->blobs)
    data->views.push_back(blob == nullptr ? penstock_bytes{nullptr, 0}
                                          : penstock_bytes{blob->bytes().data(), blob->bytes().size()});
  return data.release();
}
PENSTOCK_NOTHING_THROWN(refuse)

const penstock_bytes* penstock_data_views(const penstock_data* data) {
  return data == nullptr ? nullptr : data->views.data();
}
void penstock_data_free(penstock_data* data) { delete data; }
