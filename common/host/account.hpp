// Accounts of this host.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/base/result.hpp"

namespace penstock {

/// A user of this host.
struct Account {
  std::string name;
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;  ///< All, `gid` among them.
  std::string home;
  std::string shell;
};

/// Asks the host's directory of users, which may be on the network. Errors: NotFound: there is no such user;
/// Unreachable.
Result<Account> find_account(const std::string& name);

/// The name of that user. Errors: the same.
Result<std::string> user_name_of(uid_t uid);

/// For as long as it lives, this thread reaches files as that account: what it makes is the account's, and what the
/// account may not reach does not exist. The process keeps all its other rights, and the account cannot send it
/// signals. REQUIRES: the process runs as root.
class FilesAs {
 public:
  explicit FilesAs(const Account& account);
  ~FilesAs();
  FilesAs(const FilesAs&) = delete;
  FilesAs& operator=(const FilesAs&) = delete;

 private:
  std::vector<gid_t> groups_;  ///< Of before.
};

}  // namespace penstock
