#include "runtime/message_recorder.hpp"

#include <fmt/format.h>

#include "messages/json.hpp"
#include "runtime/configuration_json.hpp"

namespace kvferry {

expected<std::unique_ptr<message_recorder>> message_recorder::create(const std::filesystem::path& file,
                                                                     const configuration& config) {
  std::ofstream out{file, std::ios::binary | std::ios::trunc};
  if (!out)
    return fail(error_code::io_error, fmt::format("record_path: cannot write {}", file.string()));
  json header;
  header["kvferry_trace"] = format_version;
  header["seed"] = config.seed;
  header["configuration"] = json::parse(to_json_text(config));
  out << header.dump() << '\n';
  return std::unique_ptr<message_recorder>{new message_recorder{std::move(out)}};
}

std::uint64_t message_recorder::handling(const address& from, const address& to, std::uint64_t cause,
                                         const any_message& body) {
  json record;
  record["seq"] = 0;
  record["step"] = step_.load(std::memory_order_relaxed);
  record["from"] = to_string(from);
  record["to"] = to_string(to);
  record["type"] = std::string{name_of(body)};
  record["cause"] = cause;
  if (from.kind == actor_kind::engine)
    record["input"] = true;
  record["body"] = body_json(body);
  std::lock_guard lock{guard_};
  record["seq"] = ++last_;
  file_ << record.dump() << '\n';
  return last_;
}

void message_recorder::batch_created(batch_id id, const batch_config& config) {
  json record;
  record["seq"] = 0;
  record["step"] = step_.load(std::memory_order_relaxed);
  record["type"] = "create_batch";
  record["input"] = true;
  record["body"] = {{"batch", id.value()}, {"rows", config.rows}, {"max_blocks", config.max_blocks}};
  std::lock_guard lock{guard_};
  record["seq"] = ++last_;
  file_ << record.dump() << '\n';
}

} // namespace kvferry
