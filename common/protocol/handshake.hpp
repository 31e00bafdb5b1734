// The introduction of a process to its peer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.hpp"
#include "common/base/result.hpp"
#include "common/base/time.hpp"
#include "common/protocol/resources.hpp"

namespace penstock {

/// Peers of another major version are refused by name; a higher minor version may send fields and messages that an
/// older peer ignores. Raised with `schema/README.md`.
inline constexpr std::uint16_t kProtocolMajor = 1;
inline constexpr std::uint16_t kProtocolMinor = 13;
inline constexpr std::string_view kSoftwareVersion = "0.2.0";

enum class PeerRole : std::uint8_t {
  Worker = 0,
  Client = 1,
};

/// The first frame of a connection, from the side that connected.
struct Hello {
  std::uint16_t major = kProtocolMajor;
  std::uint16_t minor = kProtocolMinor;
  std::string software_version{kSoftwareVersion};
  PeerRole role = PeerRole::Client;
  std::string name;  ///< Of the worker or client, for people.
  std::string host;
  std::uint64_t process_id = 0;
  Incarnation incarnation;             ///< Of the sender.
  Incarnation peer;                    ///< The supervisor's incarnation of the previous link; none at first.
  std::uint64_t received_through = 0;  ///< Last link sequence number received from that incarnation.
  bool starts_as_users = false;        ///< A worker that starts programs under the accounts of their users.
  friend bool operator==(const Hello&, const Hello&) = default;
};

/// The answer to an accepted `Hello`.
struct Welcome {
  std::uint16_t major = kProtocolMajor;
  std::uint16_t minor = kProtocolMinor;
  std::string software_version{kSoftwareVersion};
  Incarnation incarnation;
  bool resumed = false;  ///< The link continues where it stood; false: it begins anew at sequence 1.
  std::uint64_t received_through = 0;
  Duration heartbeat{0};  ///< Interval of heartbeats that the supervisor wants from an idle peer.
  /// Names the state on its disk, the same in all incarnations that continue from it; 0: no state.
  std::uint64_t state = 0;
  std::uint64_t life = 0;  ///< Its term: grows with each incarnation.
  /// Renewed when the state was restored, salvaged or cut, and so may lack what was begun. Of two incarnations only the
  /// later one of the same branch takes over what the other has begun. 0: unknown.
  std::uint64_t branch = 0;
  friend bool operator==(const Welcome&, const Welcome&) = default;
};

/// The answer to a refused `Hello`; the connection is closed after it.
struct Refusal {
  Error error;
  friend bool operator==(const Refusal&, const Refusal&) = default;
};

/// Asks the authority of the supervisor's cluster for a certificate, in place of a `Hello`. A peer without one shows a
/// token; a peer with one gets another for the same role and user.
struct Join {
  std::uint16_t major = kProtocolMajor;
  std::string token;       ///< The secret of a one-time token; empty: the peer has a certificate.
  std::string public_key;  ///< To be certified, as DER; the private part stays with the peer.
  std::string user;        ///< Of the peer's process; used unless the token names one.
  std::string proof;       ///< With a token for MUNGE: its credential, which seals the public key.
  friend bool operator==(const Join&, const Join&) = default;
};

/// The answer to an accepted `Join`; the connection is closed after it.
struct Joined {
  std::string certificate;  ///< As PEM.
  std::string authority;    ///< As PEM.
  friend bool operator==(const Joined&, const Joined&) = default;
};

/// The certificate with which the runs of a user submit nested work and read data, for workers that start programs
/// under the accounts of their users.
struct RunCredential {
  std::string user;
  std::string pem;  ///< Key, certificate and authority, as their file has them.
  friend bool operator==(const RunCredential&, const RunCredential&) = default;
};

/// From a supervisor to a linked worker, beside the messages of the link, without a number: a lost one comes again with
/// the next connection.
struct SecurityNotice {
  std::vector<std::string> revoked;  ///< Serial numbers of certificates, besides those of earlier notices.
  std::vector<RunCredential> credentials;
  friend bool operator==(const SecurityNotice&, const SecurityNotice&) = default;
};

/// One GPU of a band.
struct DeviceDescription {
  std::string uuid;
  std::string name;
  std::string pci_address;
  Bytes memory;
  std::uint32_t numa_node = 0;  ///< The nearest one.
  std::uint32_t linked = 0;     ///< Devices of the band with the same number reach each other by NVLink; 0: by none.
  friend bool operator==(const DeviceDescription&, const DeviceDescription&) = default;
};

/// Devices of one band: a `DeviceSet` has a bit for each.
inline constexpr std::size_t kBandDevicesMax = 16;

/// One band as its worker found or configured it.
struct BandDescription {
  std::string name;  ///< `numa-0`, `gpu-0`, `gpus`
  BandKind kind = BandKind::Cpu;
  ResourceVector capacity;                 ///< `slots` is 1000 for each slot.
  Bytes memory_hard_limit;                 ///< A request above it is refused; between capacity and this it runs alone.
  std::uint32_t numa_node = 0;             ///< The nearest one.
  std::vector<DeviceDescription> devices;  ///< GPUs; `capacity` has the sums of them.
  friend bool operator==(const BandDescription&, const BandDescription&) = default;
};

/// Whether the devices of a band, all of them free, could hold the request: a part of one, or some whole ones. Without
/// descriptions of devices nothing is known against it.
bool devices_could_hold(const ResourceVector& request, const std::vector<DeviceDescription>& devices);

/// A native operator has ended its whole worker: reported by the next incarnation of that process.
struct OperatorCrash {
  Incarnation life;   ///< Of the worker that died.
  SubtaskId subtask;  ///< The subtask to blame. All others that ran there are not charged.
  Attempt attempt;
  std::int32_t signal = 0;
  std::string message;  ///< For people.
  friend bool operator==(const OperatorCrash&, const OperatorCrash&) = default;
};

/// The first message of a worker on a new link: its description.
struct Register {
  std::string name;
  std::string host;
  std::string data_address;  ///< `host:port` where others fetch data; empty when embedded.
  std::vector<BandDescription> bands;
  std::vector<std::string> operators;  ///< Native operators of this worker.
  /// Continues from an earlier term of the supervisor: the reports that this term may not have and `WorkerClaim`s
  /// follow.
  bool reclaims = false;
  bool shared_storage = false;         ///< The worker reads and writes checkpoints.
  Bytes store_bytes_max;               ///< Memory limit of its store; 0: unknown.
  bool log_questions = false;          ///< The worker understands `LogQuestion`; protocol 1.0 does not.
  bool barriers = false;               ///< The worker reserves slots for a gang and answers; protocol 1.1 does not.
  bool keeps_to_devices = false;       ///< The worker follows `Entitlement::device_slots`; protocol 1.6 does not.
  std::optional<OperatorCrash> crash;  ///< The crash that ended the previous incarnation of this process.
  std::vector<std::string> labels;     ///< Jobs and projects may limit themselves to workers with a label.
  std::vector<std::string> users{};    ///< The worker runs jobs of these users only; empty: of any.
  friend bool operator==(const Register&, const Register&) = default;
};

/// Length limit of `Register::users`.
inline constexpr std::size_t kAcceptedUsersMax = 4096;

/// The answer: the number of the worker from now on.
struct RegisterReply {
  WorkerId worker;
  friend bool operator==(const RegisterReply&, const RegisterReply&) = default;
};

}  // namespace penstock
