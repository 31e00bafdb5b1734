// Questions and orders of operators, behind the C interface.
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "client/abi/arguments.hpp"
#include "client/abi/cluster.hpp"
#include "client/abi/data.hpp"
#include "client/abi/last_error.hpp"
#include "common/json/json_text.hpp"
#include "common/security/own_security.hpp"

using penstock::ErrorCode;
using penstock::JobId;
using penstock::Result;
using penstock::abi::is_null;
using penstock::abi::job_of;
using penstock::abi::refuse;

namespace {

/// Null, with the last error, if there is no memory for it.
penstock_data* data_of(const std::string& text) {
  auto data = std::make_unique<penstock_data>();
  if (text.empty()) {
    data->views.push_back({nullptr, 0});
    return data.release();
  }
  const std::shared_ptr<penstock::worker::Blob> blob = penstock::worker::Blob::allocate(text.size());
  if (blob == nullptr) return refuse({ErrorCode::ResourceExhausted, "the answer", "there is no memory for it", {}});
  std::memcpy(blob->data(), text.data(), text.size());
  data->blobs.push_back(blob);
  data->views.push_back({blob->bytes().data(), blob->bytes().size()});
  return data.release();
}

}  // namespace

penstock_data* penstock_job_log(penstock_client* client, int64_t number, int64_t subtask) try {
  const Result<JobId> job = job_of(client, number);
  if (!job) return refuse(job.error());
  std::vector<std::string> arguments{to_string(*job)};
  if (subtask >= 0) arguments.push_back(std::to_string(subtask));
  const Result<penstock::Value> answer = client->session().ask("logs", arguments);
  if (!answer) return refuse(answer.error());
  std::string all;
  if (const penstock::Value::List* logs = (*answer)["logs"].list(); logs != nullptr)
    for (const penstock::Value& entry : *logs)
      if (const std::string* log = entry["log"].text(); log != nullptr) all += *log;
  return data_of(all);
}
PENSTOCK_NOTHING_THROWN(refuse)

penstock_data* penstock_client_credential(penstock_client* client) try {
  if (client == nullptr) return refuse(is_null("client"));
  // A cluster of this user on this host is reached without TLS, see `StoreServer`.
  const std::string cluster = client->tls == nullptr ? std::string{} : client->tls->latest_cluster();
  if (cluster.empty()) return data_of({});
  const Result<penstock::Credential> own = penstock::own_client_credential(cluster);
  if (!own) return refuse(own.error());
  const Result<penstock::PeerIdentity> identity = penstock::identity_of(*own->certificate);
  return identity ? data_of(penstock::to_uri(*identity) + '\n' + penstock::to_pem(*own)) : refuse(identity.error());
}
PENSTOCK_NOTHING_THROWN(refuse)

penstock_data* penstock_ask(penstock_client* client, const char* question, const char* const* arguments,
                            uint64_t count) try {
  if (client == nullptr || question == nullptr) return refuse(is_null(client == nullptr ? "client" : "question"));
  std::vector<std::string> words;
  for (uint64_t i = 0; i < count; ++i) {
    if (arguments == nullptr || arguments[i] == nullptr) return refuse(is_null("arguments"));
    words.emplace_back(arguments[i]);
  }
  const Result<penstock::Value> answer = client->session().ask(question, words);
  if (!answer) return refuse(answer.error());
  return data_of(penstock::to_json(*answer, -1));
}
PENSTOCK_NOTHING_THROWN(refuse)
