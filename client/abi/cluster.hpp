// A client of a cluster behind the C interface: a cluster inside this process, or one over the network.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "client/include/penstock/penstock.h"
#include "client/src/session.hpp"
#include "common/loop/loop.hpp"
#include "worker/store/object_store.hpp"
#include "worker/transfer/data_client.hpp"

namespace penstock::client {
class EmbeddedCluster;
}

namespace penstock::abi {

/// Brings results from workers of other processes, for waiting threads. Owns a loop with a thread.
class ResultFetcher {
 public:
  /// With the credentials of this user. Error: Internal.
  static Result<std::unique_ptr<ResultFetcher>> open();
  ~ResultFetcher();
  ResultFetcher(const ResultFetcher&) = delete;
  ResultFetcher& operator=(const ResultFetcher&) = delete;

  struct Wanted {
    DataKey key;
    std::string data_address;
    JobIdentity identity{};  ///< Of its job, if known.
  };
  /// In the order of `wanted`. Errors: InputLost, TimedOut, Cancelled.
  Result<std::vector<worker::BlobPtr>> fetch(const std::vector<Wanted>& wanted);

  /// Makes `fetch` return, also later calls.
  void interrupt();

 private:
  explicit ResultFetcher(std::shared_ptr<const TlsClient> tls);
  using OnBlob = std::function<void(worker::BlobPtr, const Error&)>;
  void fetch_one(const Wanted& wanted, OnBlob on_blob);

  Loop loop_;
  worker::ObjectStore store_;  ///< The client allocates in it; nothing is kept in it.
  std::unique_ptr<worker::DataClient> client_;
  std::map<DataKey, std::vector<OnBlob>> waiting_;  ///< One transfer for a key, however many threads wait. Of the loop.
  std::mutex mutex_;
  std::condition_variable changed_;  ///< Notified when a fetch has all its data, or no call may wait any more.
  bool interrupted_ = false;
  std::thread thread_;
};

/// The knowledge of a client about one job, as far as results need it.
struct KnownJob {
  std::vector<bool> succeeded;      ///< By subtask.
  std::vector<std::uint16_t> kept;  ///< By subtask: number of its kept outputs; empty: ask the supervisor.
  std::map<std::uint64_t, OutputLocation> outputs;  ///< Of other processes; by subtask and output.
};

}  // namespace penstock::abi

/// Invariant: `mutex` guards the members below it; the session and the stores guard themselves. News are stored on the
/// session's thread before threads that wait for the end of a job are woken.
struct penstock_client {
  ~penstock_client();

  penstock::client::Session& session();
  void listen_to(penstock::client::Session& told);
  void take(const penstock::JobProgress& news);
  void leave(penstock::JobId job);
  /// The subtasks of jobs that were left since memory was given back, if it is time to do so again; else 0.
  std::size_t forget(penstock::JobId job);
  /// Released outputs are refused at once, whether their worker has heard of the release or not.
  void forget_outputs(penstock::JobId job, const std::vector<penstock::SubtaskIndex>& subtasks);

  std::unique_ptr<penstock::client::EmbeddedCluster> embedded;
  std::unique_ptr<penstock::client::Session> remote;
  std::unique_ptr<penstock::abi::ResultFetcher> fetcher;
  std::shared_ptr<const penstock::TlsClient> tls;  ///< Null: no connection, or a plain one. Set before it is given out.
  std::uint32_t slots = 0;
  bool in_run = false;  ///< Its jobs are those of the present run; see `present_run`. Set before it is given out.

  std::mutex mutex;  // Invariant above; tests/integration/abi under the thread sanitizer.
  // Notified when there are news, or `penstock_wake_news` or an interrupt ends a wait.
  std::condition_variable changed;
  bool wants_news = false;
  bool woken = false;
  bool interrupted = false;
  std::size_t forgotten = 0;
  std::deque<penstock::JobProgress> news;
  std::map<penstock::JobId, penstock::abi::KnownJob> jobs;
};
