#include "common/security/record_cipher.hpp"

#include <cstring>

#include "common/base/check.hpp"

namespace penstock {
namespace {

constexpr std::size_t kKeyBytes = 16;

const unsigned char* bytes_of(std::span<const std::byte> span) {
  return reinterpret_cast<const unsigned char*>(span.data());
}
unsigned char* bytes_of(std::span<std::byte> span) { return reinterpret_cast<unsigned char*>(span.data()); }

std::array<std::byte, RecordCipher::kHeadBytes> head_of(std::size_t size) {
  std::array<std::byte, RecordCipher::kHeadBytes> head{RecordCipher::kMarker};
  for (std::size_t i = 1; i < head.size(); ++i) head[i] = static_cast<std::byte>(size >> (8 * (i - 1)));
  return head;
}

Error damaged() { return {ErrorCode::MalformedFrame, "", "the peer's bytes are damaged", {}}; }

}  // namespace

Result<std::unique_ptr<RecordCipher>> RecordCipher::of(const TlsSession& session, Direction direction, bool seals) {
  const char* const label =
      direction == Direction::TowardsServer ? "EXPORTER-penstock-to-server" : "EXPORTER-penstock-to-client";
  const Result<std::vector<std::byte>> key = session.export_secret(label, kKeyBytes);
  if (!key) return key.error();
  CipherPtr cipher{EVP_CIPHER_CTX_new()};
  if (cipher == nullptr || EVP_CipherInit_ex(cipher.get(), EVP_aes_128_gcm(), nullptr, bytes_of(std::span{*key}),
                                             nullptr, seals ? 1 : 0) != 1)
    return Error{ErrorCode::Internal, "AES-GCM", openssl_reason("cannot be set up"), {}};
  return std::unique_ptr<RecordCipher>{new RecordCipher{std::move(cipher)}};
}

std::array<unsigned char, 12> RecordCipher::next_nonce() {
  std::array<unsigned char, 12> nonce{};
  for (std::size_t i = 0; i < sizeof records_; ++i) nonce[i] = static_cast<unsigned char>(records_ >> (8 * i));
  ++records_;
  return nonce;
}

Result<void> RecordCipher::seal(std::span<const std::span<const std::byte>> pieces, std::span<std::byte> out) {
  if (records_ >= kRecordsMax)
    return Error{ErrorCode::LimitExceeded, "the connection", "has sent all records of its key", "it connects again"};
  std::size_t size = 0;
  for (const auto& piece : pieces) size += piece.size();
  PENSTOCK_CHECK(size <= kPlainBytesMax && out.size() == sealed_bytes(size));
  const auto head = head_of(size);
  const auto nonce = next_nonce();
  std::memcpy(out.data(), head.data(), kHeadBytes);
  std::byte* at = out.data() + kHeadBytes;
  int moved = 0;
  bool sound = EVP_EncryptInit_ex(cipher_.get(), nullptr, nullptr, nullptr, nonce.data()) == 1 &&
               EVP_EncryptUpdate(cipher_.get(), nullptr, &moved, bytes_of(std::span{head}), kHeadBytes) == 1;
  for (const auto& piece : pieces) {
    sound = sound && EVP_EncryptUpdate(cipher_.get(), reinterpret_cast<unsigned char*>(at), &moved, bytes_of(piece),
                                       static_cast<int>(piece.size())) == 1;
    at += piece.size();
  }
  sound = sound && EVP_EncryptFinal_ex(cipher_.get(), reinterpret_cast<unsigned char*>(at), &moved) == 1 &&
          EVP_CIPHER_CTX_ctrl(cipher_.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, at) == 1;
  if (!sound) return Error{ErrorCode::Internal, "AES-GCM", openssl_reason("does not seal"), {}};
  return {};
}

Result<std::size_t> RecordCipher::plain_bytes(std::span<const std::byte, kHeadBytes> head) {
  if (head[0] != kMarker) return Error{ErrorCode::MalformedFrame, "", "the peer's bytes are no record", {}};
  std::size_t size = 0;
  for (std::size_t i = 1; i < head.size(); ++i) size |= std::to_integer<std::size_t>(head[i]) << (8 * (i - 1));
  if (size > kPlainBytesMax) return Error{ErrorCode::MalformedFrame, "", "the peer's record is too long", {}};
  return size;
}

Result<void> RecordCipher::open(std::span<const std::byte, kHeadBytes> head, std::span<const std::byte> sealed,
                                std::span<const std::span<std::byte>> pieces) {
  if (sealed.size() < kTagBytes || records_ >= kRecordsMax) return damaged();
  const auto nonce = next_nonce();
  std::array<std::byte, kTagBytes> tag;
  std::memcpy(tag.data(), sealed.data() + sealed.size() - kTagBytes, kTagBytes);
  sealed = sealed.first(sealed.size() - kTagBytes);
  int moved = 0;
  bool sound = EVP_DecryptInit_ex(cipher_.get(), nullptr, nullptr, nullptr, nonce.data()) == 1 &&
               EVP_DecryptUpdate(cipher_.get(), nullptr, &moved, bytes_of(head), kHeadBytes) == 1;
  for (const auto& piece : pieces) {
    PENSTOCK_CHECK(piece.size() <= sealed.size());
    sound = sound && EVP_DecryptUpdate(cipher_.get(), bytes_of(piece), &moved, bytes_of(sealed),
                                       static_cast<int>(piece.size())) == 1;
    sealed = sealed.subspan(piece.size());
  }
  std::array<unsigned char, 16> none;
  sound = sound && sealed.empty() &&
          EVP_CIPHER_CTX_ctrl(cipher_.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()) == 1 &&
          EVP_DecryptFinal_ex(cipher_.get(), none.data(), &moved) == 1;
  if (sound) return {};
  openssl_reason("");
  return damaged();
}

}  // namespace penstock
