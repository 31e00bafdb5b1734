#include "cli/commands/checkup.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <filesystem>

#include "common/base/quantity.hpp"
#include "common/host/cgroup.hpp"
#include "common/host/host.hpp"
#include "common/security/private_file.hpp"

namespace penstock::cli {
namespace {

namespace fs = std::filesystem;
using Level = Finding::Level;

constexpr rlim_t kOpenFilesWanted = 4096;
constexpr std::uint64_t kSharedMemoryWanted = 1ULL << 30U;

/// In hours, minutes or seconds, whichever is not 0.
std::string rough_text(CalendarTime::duration left) {
  using namespace std::chrono;
  if (left >= hours{1}) return std::to_string(left / hours{1}) + "h";
  if (left >= minutes{1}) return std::to_string(left / minutes{1}) + "min";
  return std::to_string(left / seconds{1}) + "s";
}

/// To a tenth of a GiB, or in whole MiB below one.
std::string rough_text(Bytes bytes) {
  const std::int64_t tenths = bytes.value() / (kGiB.value() / 10);
  if (tenths < 10) return std::to_string(bytes.value() / kMiB.value()) + " MiB";
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GiB";
}

Finding check_credential(const fs::path& file, CalendarTime now) {
  Finding finding;
  finding.check = "credential " + file.parent_path().filename().string().substr(0, 12) + " " + file.stem().string();
  const Result<std::string> text = read_private_file(file.string());
  if (!text) return {finding.check, Level::Bad, to_string(text.error()), "log in again: `penstock login`"};
  const Result<Credential> credential = read_credential(*text, file.string());
  if (!credential) return {finding.check, Level::Bad, to_string(credential.error()), "log in again: `penstock login`"};
  const auto left = valid_until(*credential->certificate) - now;
  if (left <= CalendarTime::duration{0}) {
    finding.level = Level::Warning;
    finding.text = "has expired";
    finding.remedy = "log in again if you need this cluster: `penstock login`";
  } else {
    finding.text = "is valid for " + rough_text(left);
  }
  return finding;
}

}  // namespace

Finding check_private_place(const std::string& check, const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return {check, Level::Good, path + " is not there", {}};
  if (found.st_uid != ::geteuid())
    return {check, Level::Warning, path + " is of another user", "run this as the user of the supervisor"};
  if ((found.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return {check, Level::Bad, path + " may be read by others", "run `chmod 700 " + path + "`"};
  return {check, Level::Good, path + " is for its owner alone", {}};
}

std::vector<Finding> check_credentials(const std::string& config_directory, CalendarTime now) {
  if (config_directory.empty())
    return {{"credentials", Level::Bad, "have no place: neither HOME nor PENSTOCK_CONFIG_DIR is set",
             "set PENSTOCK_CONFIG_DIR to a directory of this user"}};
  std::vector<Finding> findings;
  const std::string clusters = config_directory + "/clusters";
  for (const std::string& cluster : names_in(clusters))
    for (const std::string& file : names_in(clusters + "/" + cluster))
      if (fs::path path = clusters + "/" + cluster + "/" + file; path.extension() == ".pem")
        findings.push_back(check_credential(path, now));
  if (findings.empty())
    findings.push_back({"credentials", Level::Warning, "there is none in " + config_directory,
                        "start a supervisor here, or use a token: `penstock login`"});
  return findings;
}

Finding check_clock() {
  struct timex state {};
  const int result = ::adjtimex(&state);
  if (result == TIME_ERROR || (state.status & STA_UNSYNC) != 0)
    return {"clock", Level::Warning, "nothing keeps it right, as far as the kernel knows",
            "run a time service, e.g. `apt install systemd-timesyncd`: certificates are valid by the clock"};
  return {"clock", Level::Good, "is kept right by a time service", {}};
}

Finding check_open_files() {
  struct rlimit limit {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const std::string text = "this user may have " + std::to_string(limit.rlim_max) + " open";
  if (limit.rlim_max < kOpenFilesWanted)
    return {"open files", Level::Warning, text, "raise the hard limit: LimitNOFILE= of the service, or limits.conf"};
  return {"open files", Level::Good, text, {}};
}

Finding check_shared_memory(const std::string& path) {
  struct statvfs system {};
  if (::statvfs(path.c_str(), &system) != 0)
    return {"shared memory", Level::Bad, path + " is not there", "mount a tmpfs at " + path};
  const std::uint64_t free = std::uint64_t{system.f_bavail} * system.f_frsize;
  const std::string text = path + " has " + rough_text(Bytes{static_cast<std::int64_t>(free)}) + " free";
  if (free < kSharedMemoryWanted)
    return {"shared memory", Level::Warning, text,
            "remount it with more, e.g. `mount -o remount,size=50% " + path + "`"};
  return {"shared memory", Level::Good, text, {}};
}

Finding check_control_groups() {
  const MemoryBounds memory = read_memory_bounds();
  std::string text = std::to_string(usable_processors()) + " processors, " +
                     rough_text(memory.group.has_value() ? std::min(*memory.group, memory.host) : memory.host) +
                     " of memory";
  if (memory.group.has_value() && *memory.group < memory.host) text += ", limited by a control group";
  return {"control groups", Level::Good, text, {}};
}

}  // namespace penstock::cli
