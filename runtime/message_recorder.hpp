// Records every message in the order of handling, as JSON lines (design section 9): a header, then a record each. Ids
// are logical; no path, time or pointer gets in, so that equal runs give equal files.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>

#include "actors/actor_environment.hpp"
#include "kvferry/configuration.hpp"

namespace kvferry {

class message_recorder : public handling_observer {
public:
  static constexpr int format_version = 1;

  /// Errors: io_error.
  static expected<std::unique_ptr<message_recorder>> create(const std::filesystem::path& file,
                                                            const configuration& config);

  std::uint64_t handling(const address& from, const address& to, std::uint64_t cause, const any_message& body) override;

  /// A batch was made: an input that is no message.
  void batch_created(batch_id id, const batch_config& config);

  /// Records from now on belong to this step.
  void set_step(std::uint64_t step) { step_.store(step, std::memory_order_relaxed); }

private:
  explicit message_recorder(std::ofstream file) : file_(std::move(file)) {}

  std::mutex guard_;
  std::ofstream file_;
  std::uint64_t last_ = 0;
  std::atomic<std::uint64_t> step_{0};
};

} // namespace kvferry
