// What a running scenario consists of: the device, the runtime, and the engine's own record of its requests, batches
// and streams, by the names of the file. The record is what the runtime is held against; nothing in it comes from
// kvferry but what calls have answered.
#pragma once

#include <map>
#include <set>

#include "examples/pages/mismatch_log.hpp"
#include "examples/pages/page_layout.hpp"
#include "examples/pages/step_plan.hpp"
#include "examples/scenario/runner.hpp"

namespace scenarios {

/// A request as the engine knows it.
struct request_record {
  enum class state : std::uint8_t { loading, active, suspended, dropped, closed, lost };

  kvferry::request_id id;
  state status = state::active;
  bool decoding = false;
  std::vector<kvferry::token> tokens;        ///< prompt and what was generated
  std::shared_ptr<pages::token_chain> chain; ///< of the same
  std::uint32_t told = 0;                    ///< tokens that kvferry knows
  std::uint32_t written = 0;                 ///< tokens whose KV launched kernels write, or that were matched
  std::uint32_t reported = 0;                ///< tokens of history
  std::uint32_t capacity = 0;                ///< tokens that have slots
  std::string batch;                         ///< empty: in no row
  std::map<kvferry::stream_id, kvferry::fence> writers; ///< behind its latest writer of each stream
};

struct batch_record {
  std::unique_ptr<kvferry::batch> batch;
  kvferry::table_view tables;
  std::shared_ptr<bool> open = std::make_shared<bool>(true); ///< kernels in flight look at tables only while it is
  kvferry::stream_id stream;                                 ///< of the latest publication
  kvferry::version_number version = 0;
  std::vector<std::string> members;              ///< in the order of joining
  std::set<std::string> failed;                  ///< that did not fit, by the latest publication
  std::shared_ptr<const pages::step_plan> shown; ///< what the latest publication should show
  std::vector<kvferry::stream_id> reads;         ///< open
};

class world {
public:
  explicit world(run_options options);
  ~world();

  void begin_step(std::size_t number, std::string text);
  void end_step();

  // -- steps, by topic in *_steps.cpp
  void run(const open_step& step);
  void run(const reserve_step& step);
  void run(const run_step& step);
  void run(const write_step& step);
  void run(const progress_step& step);
  void run(const commit_step& step);
  void run(const enter_decode_step& step);
  void run(const suspend_step& step);
  void run(const resume_step& step);
  void run(const shrink_step& step);
  void run(const drop_step& step);
  void run(const close_step& step);
  void run(const create_batch_step& step);
  void run(const close_batch_step& step);
  void run(const add_step& step);
  void run(const remove_step& step);
  void run(const publish_step& step);
  void run(const begin_read_step& step);
  void run(const end_read_step& step);
  void run(const step_step& step);
  void run(const poll_step& step);
  void run(const shut_down_step& step);
  void run(const run_device_step& step);
  void run(const settle_step& step);
  void run(const hold_step& step);
  void run(const release_step& step);
  void run(const begin_capture_step& step);
  void run(const end_capture_step& step);
  void run(const fail_copies_step& step);
  void run(const fail_allocations_step& step);
  void run(const kill_step& step);
  void run(const pages_step& step);
  void run(const published_step& step);
  void run(const remember_step& step);
  void run(const same_page_step& step);
  void run(const blockers_step& step);
  void run(const dense_ready_step& step);
  void run(const mark_step& step);
  void run(const counted_step& step);

  void poll();
  void finish();
  std::string page_table();
  std::vector<std::string> living() const;

  /// Everything that the file's steps build on was done.
  bool as_planned() const { return !skipped_ && !killed_; }

  /// From now on calls may be refused that would not have been.
  void disturb() { disturbed_ = true; }

  bool skipped() const { return skipped_; }
  std::uint32_t waits() const { return waits_; }

  const std::vector<finding>& findings() const { return findings_; }
  kvferry::runtime* runtime() { return runtime_.get(); }
  kvferry::host_device& device() { return *device_; }

private:
  struct found_page {
    kvferry::block_place at;
    std::string where; ///< for people
  };

  // -- findings
  void find(std::string what);
  template <class T>
  void must_be(std::string_view what, const std::optional<T>& wanted, const T& got);
  template <class T>
  bool took(const kvferry::expected<T>& result, const std::optional<refusal>& wanted);
  bool done_without(const kvferry::error& why);
  void compare(const refusal& wanted, const kvferry::error& got);
  std::string with_names(std::string text) const;

  // -- the engine's records
  request_record* known(const request_name& name);
  request_record* running(const request_name& name);
  batch_record* known(const batch_name& name);
  kvferry::stream_id stream(const stream_name& name);
  std::vector<kvferry::stream_id> streams(const std::vector<stream_name>& names);
  std::vector<kvferry::request_id> ids(const std::vector<request_name>& names);
  std::string name_of(kvferry::request_id id) const;
  std::string name_of(kvferry::batch_id id) const;
  void know_tokens(request_record& r, std::uint32_t count);
  kvferry::progress progress_of(request_record& r, std::uint32_t history, bool commit) const;
  void note_reported(request_record& r, std::uint32_t history);
  void note_capacity(request_record& r, std::uint32_t tokens);
  void note_left(request_record& r, const std::string& name);
  static void become(request_record& r, request_record::state status);
  void note_ready(const std::vector<kvferry::ready_request>& ready);
  void note_published(batch_record& b, kvferry::version_number version, const std::vector<kvferry::request_id>& failed,
                      kvferry::stream_id on);
  void check_ready(const std::optional<std::vector<request_name>>& wanted, const std::vector<lost_load>& lost);

  // -- kernels
  bool can_launch(kvferry::stream_id on);
  bool launch_write(request_record& r, std::uint32_t until, kvferry::stream_id on);
  void launch_check(batch_record& b, kvferry::stream_id on, std::optional<std::set<std::uint64_t>> changed_rows = {});
  std::shared_ptr<const pages::step_plan> plan_of(const batch_record& b) const;

  // -- parts of steps
  step_step without_unable(step_step step);
  bool add_to(request_record& r, const std::string& name, batch_record& b, const std::string& batch,
              const std::optional<refusal>& refused);
  bool publish(batch_record& b, const std::vector<kvferry::request_id>& order, kvferry::stream_id on,
               const publish_step& wanted);
  void settle();
  void wait_for_loads(const request_record& r);
  void publish_all();
  template <class Call>
  auto patiently(const std::optional<refusal>& wanted, Call call);
  void create_batch(const std::string& name, const kvferry::batch_config& config,
                    const std::optional<refusal>& refused);
  void close_batch(const std::string& name);
  bool alive() const { return runtime_ && !stopped_; }
  std::optional<found_page> page_of(const block_or_place& which, group_ref group);
  std::vector<place> places_of(const kvferry::group_storage& group) const;

  run_options options_;
  std::shared_ptr<kvferry::host_device> device_;
  pages::page_layout layout_;
  pages::mismatch_log log_;
  std::unique_ptr<kvferry::runtime> runtime_;
  bool disturbed_ = false;  ///< any_order: a fault was made to happen
  bool killed_ = false;     ///< any_order: an actor was
  bool skipped_ = false;    ///< any_order: a call was done without
  std::uint32_t waits_ = 0; ///< any_order: rounds in which the engine waited for a call to be granted
  bool stopped_ = false;    ///< shut down, or an actor is dead without which nothing goes on

  std::map<std::string, request_record> requests_;
  std::map<std::uint64_t, std::string> request_names_; ///< by id
  std::map<std::string, batch_record> batches_;
  std::map<std::string, kvferry::stream_id> streams_;
  std::set<kvferry::stream_id> held_;
  std::set<kvferry::stream_id> captured_;
  std::map<std::string, kvferry::block_place> places_;
  std::set<std::string> ready_;
  std::map<std::string, std::uint32_t> lost_; ///< matched tokens of those whose load failed
  kvferry::statistics mark_;

  std::size_t step_ = 0;
  std::string step_text_;
  std::vector<finding> findings_;
  std::size_t told_of_log_ = 0;
  std::uint64_t told_of_unordered_ = 0;
};

} // namespace scenarios
