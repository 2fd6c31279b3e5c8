// An engine that does what a list of commands says, through the public interface alone, and holds all that it sees
// against the reference model. It stops at the first thing that is wrong.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "kvferry/host_device.hpp"
#include "kvferry/runtime.hpp"
#include "tests/properties/reference_model.hpp"
#include "tests/properties/table_kernels.hpp"
#include "tests/properties/test_case.hpp"

namespace kvferry::test {

class random_engine {
public:
  explicit random_engine(const test_case& which);

  /// Does all commands, then the ending. Empty: all was right.
  sentences run();

  /// Tells what is done, a sentence for each command, as it is done.
  void tell_to(std::function<void(const std::string&)> listener) { listener_ = std::move(listener); }

private:
  static constexpr std::uint32_t streams = 6; // the engine's four, and storage's two behind them

  struct batch_side {
    std::unique_ptr<batch> of;
    stream_id stream;   ///< where it publishes, but for a few times
    stream_id shown_on; ///< of the last publication
    stream_id reader;   ///< of its reads
    std::uint32_t open_reads = 0;
    std::map<request_id, row_id> members;
    std::set<request_id> leaving; ///< shown by the last publication, and no member any more
    std::shared_ptr<const expected_tables> shown;
  };

  // -- the commands (random_engine.cpp, engine_steps.cpp)
  void execute(const command& done);
  bool publish_on(batch_side& b, const command& done);
  void open(const command& done);
  void join(model_request& r, std::uint32_t batch);
  void reserve(model_request& r, const command& done);
  void report(model_request& r, const command& done);
  void commit(model_request& r);
  void enter_decode(model_request& r);
  void suspend(model_request& r);
  void resume(model_request& r);
  void close(model_request& r);
  void leave(model_request& r);
  void launch(batch_side& b, std::uint32_t tokens);
  bool publish(batch_side& b, stream_id stream);
  void step(batch_side& b, const command& done);
  void begin_read(batch_side& b);
  void end_read(batch_side& b);
  void poll();
  void hold(std::uint32_t stream, bool holds);
  void let_go_of_all();
  void misuse(const command& done);

  // -- coming to rest (engine_checks.cpp), and the end (engine_ending.cpp)
  void settle();
  bool drain();
  void check_settled();
  void check_bytes(const storages& now);
  void end();
  void settle_and_check();
  bool copy_has_failed();
  void end_prefills();
  void end_decoders();
  void end_suspended();
  void end_of_all();

  // -- what is known
  std::vector<request_id> requests_in(model_status status) const;
  model_request* pick(const command& done);
  std::uint32_t wanted_capacity(const model_request& r, std::uint8_t how, std::uint8_t tokens) const;
  progress progress_to(const model_request& r, std::uint32_t history, bool commit) const;
  void took_progress(model_request& r, const progress& made);
  void left(model_request& r);
  void forget(request_id id);
  void take(const std::vector<ready_request>& ready);
  expected_row expected_of(const model_request& r, const batch_side& b) const;
  void note_published(batch_side& b, const publication& done, const std::vector<request_id>& order, stream_id stream);
  bool fits(const model_request& r) const { return r.blocks <= case_.setup.batch().max_blocks; }
  std::vector<request_id> active_members(const batch_side& b) const;
  void order_streams(const std::vector<request_id>& running, stream_id stream);

  // -- what is checked
  void after_command();
  void check_unchanged(const model_request& r, page_storage before, const page_storage& now);
  storages look();
  void refused(std::string_view call, const model_request* who, const error& why, std::uint32_t wanted_blocks = 0);
  template <class T>
  void must_be(const expected<T>& answer, error_code code, std::string_view call);
  void wrong(std::string sentence) { wrong_.push_back(std::move(sentence)); }
  template <class... Args>
  void tell(fmt::format_string<Args...> text, Args&&... args) {
    ++told_;
    if (listener_)
      listener_(fmt::format(text, std::forward<Args>(args)...));
  }

  // The kernels in the device's queues name what is declared before it.
  test_case case_;
  configuration config_;
  sentences wrong_;
  std::function<void(const std::string&)> listener_;
  std::uint64_t told_ = 0;
  std::shared_ptr<host_device> gpu_;
  std::unique_ptr<runtime> runtime_;
  std::array<batch_side, 2> batches_;
  reference_model model_;
  storages places_; ///< after the last command
  statistics counts_;
  std::vector<request_id> closed_;
  std::set<std::uint32_t> held_; ///< streams
  bool settled_ = false;         ///< nothing has happened since `settle`
  bool settling_ = false;        ///< inside it
  bool refused_ = false;         ///< the last command was, as a whole
};

} // namespace kvferry::test
