// The journal: its entries, as recovery and salvage read them, and single files of RocksDB, as salvage reads them.
#include <string>

#include "common/storage/rocksdb_pieces.hpp"
#include "supervisor/store/journal.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/support/memory_storage.hpp"

namespace penstock {
namespace {

/// Entries, each as the length of its key, the key, the length of its value in two bytes, and the value.
void fill(MemoryStorage& storage, FuzzInput& input) {
  while (!input.empty()) {
    const std::string key{input.bytes(input.byte())};
    const std::size_t low = input.byte();
    storage.entries()[key] = input.bytes(low | (std::size_t{input.byte()} << 8U));
  }
}

void try_entries(FuzzInput& input) {
  MemoryStorage storage;
  fill(storage, input);
  MemoryStorage refusing = storage;
  static_cast<void>(supervisor::recover(refusing, supervisor::Damage::Refuse));
  const Result<supervisor::Recovered> saved = supervisor::recover(storage, supervisor::Damage::Salvage);
  if (!saved) return;
  for (const supervisor::JournalLoss& loss : saved->losses) static_cast<void>(to_string(loss));
  // Salvage has taken out what it could not read: the next start finds the rest whole.
  fuzz_expect(supervisor::recover(storage, supervisor::Damage::Refuse).has_value(), "damage is left after salvage");
}

}  // namespace
}  // namespace penstock

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock;  // NOLINT: a function outside of all namespaces, by libFuzzer's design
  FuzzInput input{data, size};
  std::size_t bytes = 0;
  const PieceVisit visit = [&](const Piece& piece) { bytes += piece.key.size() + piece.value.size(); };
  switch (input.byte() % 3) {
    case 0: try_entries(input); break;
    case 1: static_cast<void>(read_table_pieces(input.rest(), visit)); break;
    default: {
      static_cast<void>(read_log_pieces(input.rest(), visit));
      fuzz_expect(extent_of_log(input.rest()).end <= input.rest().size(), "a log ends behind its file");
    }
  }
  return 0;
}
