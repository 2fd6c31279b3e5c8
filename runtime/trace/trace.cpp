// kvferry::trace: thin, so that nothing of the actors shows in its header.
#include "kvferry/trace.hpp"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "runtime/trace/block_life.hpp"
#include "runtime/trace/difference_text.hpp"
#include "runtime/trace/perfetto.hpp"
#include "runtime/trace/replayer.hpp"
#include "runtime/trace/request_life.hpp"
#include "runtime/trace/trace_file.hpp"

namespace kvferry {

trace::trace(std::unique_ptr<trace_file> file) : file_(std::move(file)) {}
trace::trace(trace&&) noexcept = default;
trace::~trace() = default;

expected<trace> trace::read(const std::filesystem::path& file) {
  auto read = trace_file::read(file);
  if (!read)
    return tl::unexpected<error>{read.error()};
  return trace{std::make_unique<trace_file>(std::move(*read))};
}

trace_state trace::state() const { return file_->state(); }
std::string_view trace::trouble() const { return file_->trouble(); }
std::uint64_t trace::records() const { return file_->records().size(); }

expected<replay_result> trace::replay(std::string_view actor) const {
  std::optional<address> only;
  if (!actor.empty()) {
    only = parse_address(actor);
    const auto records = file_->records();
    const bool there = only && only->kind != actor_kind::engine && only->kind != actor_kind::device &&
                       std::any_of(records.begin(), records.end(), [&](const auto& r) { return r.to == *only; });
    if (!there)
      return fail(error_code::invalid_argument, fmt::format("no actor \"{}\" handles anything in this record", actor));
  }
  replayer replayed{*file_, only};
  replayed.run();
  replay_result result{records(), replayed.handlings(), replayed.compared(), replayed.undelivered(), {}, {}};
  if (replayed.difference())
    result.difference = explain(*file_, *replayed.difference());
  else if (file_->state() == trace_state::damaged)
    result.damage = explain_damage(*file_, replayed);
  return result;
}

namespace {

/// The story that `life` has gathered in a replay, with a last line when that ended before the record did.
template <class Life, class Id>
expected<std::string> told_by(Life life, const trace_file& file, const char* what, Id id) {
  replayer replayed{file};
  replayed.run(&life);
  std::string text = life.text();
  if (replayed.difference())
    text += fmt::format("  … record and replay part at #{}; what comes behind is not told\n",
                        replayed.difference()->handling);
  if (life.text().empty())
    return fail(error_code::invalid_argument, fmt::format("the record does not know {} {}", what, id.value()));
  return text;
}

} // namespace

expected<std::string> trace::life_of(block_id block) const {
  return told_by(block_life{file_->config(), block}, *file_, "block", block);
}

expected<std::string> trace::life_of(request_id request) const {
  return told_by(request_life{file_->config(), request}, *file_, "request", request);
}

expected<void> trace::write_perfetto(const std::filesystem::path& file) const {
  std::ofstream out{file, std::ios::binary | std::ios::trunc};
  out << perfetto_of(*file_);
  out.flush();
  if (!out)
    return fail(error_code::io_error, fmt::format("{}: cannot be written", file.string()));
  return {};
}

} // namespace kvferry
