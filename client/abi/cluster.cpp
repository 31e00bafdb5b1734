#include "client/abi/cluster.hpp"

#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "client/abi/arguments.hpp"
#include "client/abi/graph.hpp"
#include "client/abi/last_error.hpp"
#include "client/embedded/embedded_cluster.hpp"
#include "common/host/host.hpp"
#include "common/host/topology.hpp"
#include "common/security/own_security.hpp"

namespace penstock::abi {
namespace {

/// After so many subtasks of jobs that were left, free memory goes back to the system: some milliseconds each time.
constexpr std::size_t kGiveBackAfter = 50'000;

/// Limit of the wait for a result.
constexpr Duration kFetchMax = std::chrono::minutes{10};

Result<std::vector<HostPort>> read_addresses(const std::string& text) {
  std::vector<HostPort> addresses;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    Result<HostPort> address = parse_supervisor_address(text.substr(begin, end - begin), "127.0.0.1");
    if (!address) return std::move(address).error();
    addresses.push_back(std::move(address).value());
    begin = end + 1;
  }
  return addresses;
}

/// An empty name is none: a worker of that name would be refused.
std::string name_of(const penstock_client_options& options) {
  return options.name == nullptr || *options.name == '\0' ? host_name() : options.name;
}

Result<void> connect(penstock_client& client, const penstock_client_options& options) {
  client::RemoteOptions remote;
  Result<std::vector<HostPort>> addresses = read_addresses(options.address);
  if (!addresses) return std::move(addresses).error();
  remote.supervisors = std::move(addresses).value();
  Result<std::shared_ptr<const TlsClient>> tls = own_security(PeerRole::Client);
  if (!tls) return std::move(tls).error();
  remote.tls = std::move(tls).value();
  client.tls = remote.tls;
  remote.name = name_of(options);
  if (options.connect_timeout_ms > 0) remote.connect_timeout = std::chrono::milliseconds{options.connect_timeout_ms};
  client.remote = std::make_unique<client::Session>();
  client.listen_to(*client.remote);
  Result<std::unique_ptr<client::Transport>> transport = client::connect_remote(remote, client.remote->handlers());
  if (!transport) return std::move(transport).error();
  client.remote->start(std::move(transport).value());
  Result<std::unique_ptr<ResultFetcher>> fetcher = ResultFetcher::open();
  if (!fetcher) return std::move(fetcher).error();
  client.fetcher = std::move(fetcher).value();
  return {};
}

Result<void> embed(penstock_client& client, const penstock_client_options& options) {
  client::EmbeddedOptions embedded;
  TopologyOptions topology;
  if (options.memory_bytes < 0) return Error{ErrorCode::InvalidArgument, "memory_bytes", "is negative", {}};
  topology.slots = options.slots;
  topology.memory = Bytes{options.memory_bytes};
  topology.gpus_together = true;
  Result<std::vector<FoundBand>> bands = find_bands(topology);
  if (!bands) return std::move(bands).error();
  embedded.worker.name = name_of(options);
  for (FoundBand& found : *bands) {
    if (found.band.kind == BandKind::Cpu)
      client.slots += static_cast<std::uint32_t>(found.band.capacity.slots.value() / kOneSlot.value());
    embedded.worker.bands.push_back(std::move(found.band));
    embedded.worker.processors.push_back(std::move(found.processors));
  }
  // No byte of it crosses a network here.
  embedded.supervisor.graph.subtask_payload_bytes_max = 1U << 30U;
  Result<std::vector<std::string>> operators = texts_of(options.operators, options.operator_count, "operators");
  if (!operators) return std::move(operators).error();
  for (std::string& library : *operators) embedded.operator_libraries.emplace_back(std::move(library));
  if (options.runner != nullptr && options.runners_warm > 0) {
    Result<Template> runner = read_template(*options.runner);
    if (!runner) return std::move(runner).error();
    embedded.worker.warm_runner = std::make_shared<const Template>(std::move(runner).value());
    embedded.worker.runners_warm = options.runners_warm;
  }
  Result<std::unique_ptr<client::EmbeddedCluster>> cluster = client::EmbeddedCluster::start(embedded);
  if (!cluster) return std::move(cluster).error();
  client.embedded = std::move(cluster).value();
  client.listen_to(client.embedded->session());
  return {};
}

/// The error for a result without a holder: the supervisor does not make results of an ended job again, so the user
/// submits the graph again.
Error lost(const DataKey& key, const Error& why) {
  const std::string message = "is lost: its last holder cannot give it any more: " + to_string(why);
  return {ErrorCode::InputLost, to_string(key), message, "submit its graph again"};
}

}  // namespace

Result<std::unique_ptr<ResultFetcher>> ResultFetcher::open() {
  Result<std::shared_ptr<const TlsClient>> tls = own_security(PeerRole::Client, Role::Worker);
  if (!tls) return std::move(tls).error();
  return std::unique_ptr<ResultFetcher>{new ResultFetcher{std::move(tls).value()}};
}

ResultFetcher::ResultFetcher(std::shared_ptr<const TlsClient> tls) {
  worker::TransferLimits limits;
  limits.mapped_for = worker::MappedFor::Reader;
  limits.tls = std::move(tls);
  client_ = std::make_unique<worker::DataClient>(loop_, store_, limits);
  thread_ = std::thread{[this] { loop_.run(); }};
}

ResultFetcher::~ResultFetcher() {
  loop_.post([this] {
    client_.reset();
    loop_.stop();
  });
  thread_.join();
}

Result<std::vector<worker::BlobPtr>> ResultFetcher::fetch(const std::vector<Wanted>& wanted) {
  /// Shared with the loop, which may answer after `fetch` has returned.
  struct Answers {
    std::vector<worker::BlobPtr> blobs;
    std::size_t left = 0;
    Error error;
  };
  auto answers = std::make_shared<Answers>();
  answers->blobs.resize(wanted.size());
  answers->left = wanted.size();
  if (wanted.empty()) return answers->blobs;
  loop_.post([this, answers, wanted] {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const auto done = [this, answers, i, key = wanted[i].key](worker::BlobPtr blob, const Error& error) {
        const std::lock_guard lock{mutex_};
        if (blob == nullptr && answers->error.message.empty()) answers->error = lost(key, error);
        answers->blobs[i] = std::move(blob);
        if (--answers->left == 0) changed_.notify_all();
      };
      fetch_one(wanted[i], done);
    }
  });
  std::unique_lock lock{mutex_};
  const bool returned = changed_.wait_for(lock, kFetchMax, [&] { return answers->left == 0 || interrupted_; });
  if (interrupted_ && answers->left > 0) return Error{ErrorCode::Cancelled, "the client", "is being closed", {}};
  if (!returned)
    return Error{ErrorCode::TimedOut, to_string(wanted.front().key), "did not come from its worker in time", {}};
  if (!answers->error.message.empty()) return answers->error;
  return std::move(answers->blobs);
}

void ResultFetcher::interrupt() {
  const std::lock_guard lock{mutex_};
  interrupted_ = true;
  changed_.notify_all();
}

void ResultFetcher::fetch_one(const Wanted& wanted, OnBlob on_blob) {
  const Result<HostPort> address = parse_host_port(wanted.data_address, "127.0.0.1");
  if (!address) return on_blob(nullptr, address.error());
  std::vector<OnBlob>& waiting = waiting_[wanted.key];
  waiting.push_back(std::move(on_blob));
  if (waiting.size() > 1) return;
  // Answered after the data client has released the datum: a sole holder may write in place (`penstock_data_write`).
  client_->fetch(
      *address, wanted.key, 0,
      [this, key = wanted.key](const worker::BlobPtr& had, const Error& why) {
        loop_.post([this, key, blob = had, error = why]() mutable {
          const auto found = waiting_.extract(key);
          for (std::size_t left = found.mapped().size(); const OnBlob& tell : found.mapped())
            tell(--left == 0 ? std::move(blob) : blob, error);
        });
      },
      wanted.identity);
}

}  // namespace penstock::abi

penstock_client::~penstock_client() {
  // The threads of both call `take`.
  embedded.reset();
  remote.reset();
}

penstock::client::Session& penstock_client::session() { return embedded != nullptr ? embedded->session() : *remote; }

void penstock_client::listen_to(penstock::client::Session& told) {
  told.set_on_news([this](const penstock::JobProgress& progress) { take(progress); });
  told.set_on_left([this](penstock::JobId job) { leave(job); });
}

void penstock_client::leave(penstock::JobId job) {
  if (forget(job) >= penstock::abi::kGiveBackAfter) ::malloc_trim(0);
}

std::size_t penstock_client::forget(penstock::JobId job) {
  const std::lock_guard lock{mutex};
  if (const auto known = jobs.find(job); known != jobs.end()) {
    forgotten += std::max(known->second.kept.size(), known->second.succeeded.size());
    jobs.erase(known);
  }
  // A reader of news waits for the end of a job, so its last message stays.
  std::erase_if(news, [&](const penstock::JobProgress& progress) {
    return progress.job == job && progress.state == penstock::JobState::Running;
  });
  return forgotten >= penstock::abi::kGiveBackAfter ? std::exchange(forgotten, 0) : 0;
}

void penstock_client::forget_outputs(penstock::JobId job, const std::vector<penstock::SubtaskIndex>& subtasks) {
  const std::lock_guard lock{mutex};
  const auto found = jobs.find(job);
  if (found == jobs.end()) return;
  auto& [succeeded, kept, outputs] = found->second;
  for (const penstock::SubtaskIndex subtask : subtasks) {
    if (subtask.value() < kept.size()) kept[subtask.value()] = 0;
    const std::uint64_t first = std::uint64_t{subtask.value()} << 16U;
    outputs.erase(outputs.lower_bound(first), outputs.lower_bound(first + (1U << 16U)));
  }
}

void penstock_client::take(const penstock::JobProgress& progress) {
  const std::lock_guard lock{mutex};
  penstock::abi::KnownJob& job = jobs[progress.job];
  for (const penstock::SubtaskRange& range : progress.succeeded) {
    if (job.succeeded.size() <= range.last.value()) job.succeeded.resize(range.last.value() + std::size_t{1});
    std::fill(job.succeeded.begin() + range.first.value(), job.succeeded.begin() + range.last.value() + 1, true);
  }
  if (remote != nullptr)
    for (const penstock::OutputLocation& output : progress.outputs)
      job.outputs[(std::uint64_t{output.producer.value()} << 16U) | output.output] = output;
  if (!wants_news) return;
  news.push_back(progress);
  news.back().outputs.clear();
  news.back().traces.clear();
  changed.notify_all();
}

penstock_client* penstock_client_open(const penstock_client_options* given) try {
  penstock_client_options options{};
  if (given != nullptr) {
    const penstock::Result<penstock_client_options> read =
        penstock::abi::whole(given, sizeof options, "penstock_client_options");
    if (!read) return penstock::abi::refuse(read.error());
    options = *read;
  }
  auto client = std::make_unique<penstock_client>();
  const penstock::Result<void> opened =
      options.address != nullptr ? penstock::abi::connect(*client, options) : penstock::abi::embed(*client, options);
  if (!opened) return penstock::abi::refuse(opened.error());
  return client.release();
}
PENSTOCK_NOTHING_THROWN(penstock::abi::refuse)

void penstock_client_close(penstock_client* client) { delete client; }

void penstock_client_interrupt(penstock_client* client) {
  if (client == nullptr) return;
  client->session().interrupt();
  if (client->fetcher != nullptr) client->fetcher->interrupt();
  const std::lock_guard lock{client->mutex};
  client->interrupted = true;
  client->changed.notify_all();
}

uint32_t penstock_client_slots(penstock_client* client) { return client == nullptr ? 0 : client->slots; }
