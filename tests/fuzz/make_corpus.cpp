// Writes the inputs with which fuzzing begins: one of each message, of each entry of a journal, of each proof.
//
//   make_corpus DIRECTORY
#include <filesystem>
#include <fstream>
#include <string>

#include "common/security/authority.hpp"
#include "common/security/registrar.hpp"
#include "common/security/tls_session.hpp"
#include "common/wire/codec_runner.hpp"
#include "supervisor/store/journal.hpp"
#include "tests/chaos/journal_maker.hpp"
#include "tests/support/memory_storage.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/unit/common/wire/wire_samples.hpp"

namespace penstock {
namespace {

class Corpus {
 public:
  Corpus(const std::filesystem::path& root, const std::string& name) : directory_(root / name) {
    std::filesystem::create_directories(directory_);
  }
  void add(std::uint8_t kind, std::string_view input) {
    std::ofstream file{directory_ / ("made-" + std::to_string(kind) + "-" + std::to_string(++count_)),
                       std::ios::binary};
    file.put(static_cast<char>(kind));
    file.write(input.data(), static_cast<std::streamsize>(input.size()));
  }
  void add(std::uint8_t kind, std::span<const std::byte> bytes) {
    add(kind, std::string_view{reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  template <class Message>
  void add_each(std::uint8_t kind, const std::vector<Message>& messages) {
    for (const Message& message : messages) add(kind, encode(std::span{&message, 1})->bytes());
  }

 private:
  std::filesystem::path directory_;
  int count_ = 0;
};

void make_frames(const std::filesystem::path& root) {
  Corpus corpus{root, "frames"};
  const FramePayload payload{std::vector<std::uint64_t>{1, 2, 3}};
  const FrameHeaderBytes header = write_header(FrameKind::Messages, {Incarnation{1}, 1, 0}, payload);
  corpus.add(0, std::span<const std::byte>{header});
  for (const Introduction& introduction : all_introductions()) corpus.add(1, encode(introduction)->bytes());
  corpus.add(1, encode(Introduction{Join{1, "token", "key", "user"}})->bytes());
  corpus.add(1, encode(Introduction{Joined{"certificate", "authority"}})->bytes());
  corpus.add_each(2, all_from_client());
  corpus.add_each(3, all_from_worker());
  corpus.add_each(4, all_to_worker());
  corpus.add_each(5, all_to_client());
}

/// As `fuzz_journal.cpp` reads them.
std::string entries_of(MemoryStorage& storage) {
  std::string input;
  for (const auto& [key, value] : storage.entries()) {
    if (key.size() > 0xff || value.size() > 0xffff) continue;
    input += static_cast<char>(key.size());
    input += key;
    input += static_cast<char>(value.size() & 0xffU);
    input += static_cast<char>(value.size() >> 8U);
    input += value;
  }
  return input;
}

void make_journal_entries(const std::filesystem::path& root) {
  Corpus corpus{root, "journal"};
  MemoryStorage storage;
  const Result<supervisor::Recovered> fresh = supervisor::recover(storage, supervisor::Damage::Refuse);
  if (fresh) static_cast<void>(supervisor::begin_life(storage, *fresh, 7));
  corpus.add(0, entries_of(storage));
  const Graph graph = full_graph();
  JobSpec spec;
  spec.name = "kept";
  spec.owner = "ada";
  namespace record = supervisor::record;
  record::SubtasksEnded ended;
  ended.job = JobId{1};
  ended.counts.total = graph.size();
  ended.counts.succeeded = 1;
  record::JobEnded over{JobId{2}, spec, {}};
  over.everything.state = JobState::Succeeded;
  over.everything.succeeded = {{SubtaskIndex{0}, SubtaskIndex{2}}};
  const std::vector<supervisor::Record> records{
      record::WorkerJoined{WorkerId{1}, Incarnation{2}, "w1", true, true},
      record::JobAccepted{JobId{1}, spec, &graph, 9, {}, 0, {1, 2}},
      record::JobAccepted{JobId{2}, spec, &graph, 9, JobId{1}, 0, {3, 4}},
      ended,
      over,
      record::SharedKept{supervisor::SharedKind::Variable, "name", {}, 0, {}, 0, 0, "value"},
  };
  StorageBatch batch;
  std::uint64_t number = 1;
  for (const supervisor::Record& record : records) supervisor::write_record(record, number++, batch);
  static_cast<void>(storage.commit(batch, Sync::No));
  corpus.add(0, entries_of(storage));
}

/// Files of RocksDB, as a supervisor that was killed leaves them.
void make_files(const std::filesystem::path& root) {
  Corpus corpus{root, "journal"};
  const ScratchDirectory scratch;
  if (!supervisor::make_journal(scratch.path(), {.jobs = 4, .job_bytes = 100})) return;
  for (const std::filesystem::path& path : supervisor::files_of(scratch.at("journal"))) {
    std::ifstream file{path, std::ios::binary};
    const std::string bytes{std::istreambuf_iterator<char>{file}, {}};
    if (path.extension() == ".sst") corpus.add(1, bytes);
    if (path.extension() == ".log") corpus.add(2, bytes);
  }
}

void make_identities(const std::filesystem::path& root) {
  Corpus corpus{root, "identity"};
  const Authority authority = std::move(Authority::make()).value();
  const Credential ada = *authority.issue(Role::Client, "ada", std::chrono::hours{1});
  corpus.add(0, to_pem(*ada.certificate));
  corpus.add(0, to_pem(authority.certificate()));
  corpus.add(1, to_pem(ada));
  corpus.add(2, to_string(TokenText{authority.cluster(), "0badc0de", std::string(32, 'a')}));
  corpus.add(3, to_uri({Role::Worker, "ada", authority.cluster()}));
  corpus.add(4, public_part(*ada.key));
  const std::unique_ptr<TlsSession> session =
      std::move(TlsSession::connect(*TlsClient::make_stranger(authority.cluster()))).value();
  std::vector<std::byte> hello;
  static_cast<void>(session->shake_hands({}, hello));
  const std::string head(1, '\xff');
  corpus.add(5, head + std::string{reinterpret_cast<const char*>(hello.data()), hello.size()});
}

}  // namespace
}  // namespace penstock

int main(int count, char** values) {
  if (count != 2) {
    std::fprintf(stderr, "usage: make_corpus DIRECTORY\n");
    return 2;
  }
  penstock::make_frames(values[1]);
  penstock::make_journal_entries(values[1]);
  penstock::make_files(values[1]);
  penstock::make_identities(values[1]);
  return 0;
}
