#include "common/storage/rocksdb_log.hpp"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace penstock {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

class DatabaseLog final : public rocksdb::Logger {
 public:
  explicit DatabaseLog(std::FILE* file) : file_(file) {}

  using Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    if (file_ == nullptr) return;
    std::array<char, 4096> text;
    std::vsnprintf(text.data(), text.size(), format, arguments);
    std::int64_t now = 0;
    static_cast<void>(rocksdb::Env::Default()->GetCurrentTime(&now).ok());
    const std::string time = rocksdb::Env::Default()->TimeToString(static_cast<std::uint64_t>(now));
    std::fprintf(file_.get(), "%s %s\n", time.c_str(), text.data());  // One call: lines of threads stay whole.
    std::fflush(file_.get());
  }

 private:
  const std::unique_ptr<std::FILE, CloseFile> file_;
};

}  // namespace

std::shared_ptr<rocksdb::Logger> open_database_log(const std::string& directory) {
  const std::string path = directory + "/LOG";
  std::error_code ignored;
  std::filesystem::rename(path, path + ".old", ignored);
  return std::make_shared<DatabaseLog>(std::fopen(path.c_str(), "we"));
}

}  // namespace penstock
