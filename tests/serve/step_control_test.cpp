// What the engine tells and asks kvferry in a step, and what it launches after each answer.
#include "examples/serve/step_control.hpp"

#include "examples/serve/content.hpp"
#include "tests/catch.hpp"

namespace serve::test {
namespace {

using kvferry::error_code;
using kvferry::request_id;

pages::page_layout blocks_of_64() {
  pages::page_layout layout;
  layout.tokens_per_block = 64;
  return layout;
}

/// An engine's jobs and one step over them.
struct steps {
  pages::page_layout layout = blocks_of_64();
  step_control control{layout, kvferry::stream_id{5}};
  job_map live;

  job& open(std::uint32_t number, std::uint32_t prompt, std::uint32_t matched = 0) {
    job& j = live[number];
    j.number = number;
    j.state = job_state::running;
    j.request = request_id{100 + number};
    j.chain = std::make_shared<pages::token_chain>();
    j.known = j.prefill_end = j.told = prompt;
    j.matched = j.written = j.reported = j.capacity = matched;
    j.outputs_left = 10;
    return j;
  }

  const kvferry::step_input& plan(std::uint32_t budget = 8192) {
    control.begin();
    control.plan(live, budget);
    return control.input();
  }

  /// Answers: everything granted but what is named.
  auto answer(std::vector<kvferry::refused_call> refused = {}, std::vector<request_id> not_granted = {}) {
    kvferry::step_result result;
    for (const kvferry::reservation& asked : control.input().reserve)
      if (std::ranges::find(not_granted, asked.request) == not_granted.end())
        result.granted.push_back(asked.request);
    result.refused = std::move(refused);
    return control.take(result);
  }

  pages::step_plan launch(std::uint64_t step = 1) {
    pages::step_plan plan = control.launch(step, 1, live);
    for (auto& [number, j] : live)
      if (j.last_step == step && j.written == j.known)
        ++j.known;
    return plan;
  }

  /// A whole step in which all is granted.
  pages::step_plan run(std::uint64_t step = 1) {
    plan();
    answer();
    return launch(step);
  }
};

using kvferry::step_call;

kvferry::refused_call refusal(const job& j, error_code code, step_call call = step_call::reserve) {
  return {j.request, call, {code, std::string(), {}}};
}

} // namespace

TEST_CASE("a prefill asks for a chunk's slots, and history is told in the step after its launch") {
  steps s;
  job& j = s.open(0, 150, 64);
  const auto& first = s.plan(50);
  REQUIRE(first.stream == kvferry::stream_id{5});
  REQUIRE(first.advance.empty());
  REQUIRE(first.reserve.size() == 1);
  REQUIRE(first.reserve[0].capacity_tokens == 128); // 114 tokens, whole blocks
  REQUIRE(first.order == std::vector{j.request});
  REQUIRE(s.answer().empty());
  pages::step_plan plan = s.launch();
  REQUIRE(plan.rows.size() == 1);
  REQUIRE(plan.rows[0].history_tokens == 64);
  REQUIRE(plan.rows[0].written_tokens == 114);
  REQUIRE_FALSE(plan.rows[0].decoding);

  const auto& second = s.plan(50);
  REQUIRE(second.advance.size() == 1);
  REQUIRE(second.advance[0].history_tokens == 114);
  REQUIRE(second.advance[0].accepted.empty()); // tokens of the prompt are known
  REQUIRE_FALSE(second.advance[0].commit);     // no block was crossed
  REQUIRE(second.reserve[0].capacity_tokens == 192);
}

TEST_CASE("a prefill that is done enters decode and writes its first output's token in the same step") {
  steps s;
  job& j = s.open(0, 128);
  s.run(1);
  const auto& input = s.plan();
  REQUIRE(input.advance[0].history_tokens == 128);
  REQUIRE(input.advance[0].commit);
  REQUIRE(input.enter_decode == std::vector{j.request});
  REQUIRE(input.reserve.size() == 1);
  REQUIRE(input.reserve[0].capacity_tokens == 192);
  s.answer();
  REQUIRE(j.decoding);
  pages::step_plan plan = s.launch(2);
  REQUIRE(plan.rows[0].decoding);
  REQUIRE(plan.rows[0].history_tokens == 128);
  REQUIRE(plan.rows[0].written_tokens == 129);

  const auto& next = s.plan();
  REQUIRE(next.enter_decode.empty());
  REQUIRE(next.reserve.empty()); // it has slots up to 192
  REQUIRE(next.advance[0].accepted == std::vector{generated_token(0, 128)});
}

TEST_CASE("the budget is shared by all prefills in whole blocks, and the oldest gets what is left over") {
  steps s;
  s.open(0, 70), s.open(1, 300), s.open(2, 300);
  const auto& input = s.plan(400); // two blocks each, of which the first needs 70 tokens
  REQUIRE(input.order == std::vector{request_id{100}, request_id{101}, request_id{102}});
  s.answer();
  pages::step_plan plan = s.launch();
  REQUIRE(plan.rows[0].written_tokens == 70);
  REQUIRE(plan.rows[1].written_tokens == 128 + 74);
  REQUIRE(plan.rows[2].written_tokens == 128);
}

TEST_CASE("with more prefills than blocks in the budget the youngest wait") {
  steps s;
  s.open(0, 100), s.open(1, 100), s.open(2, 100);
  s.plan(128);
  s.answer();
  pages::step_plan plan = s.launch();
  REQUIRE(plan.rows.size() == 2);
  REQUIRE(plan.rows[0].written_tokens == 64);
  REQUIRE(plan.rows[1].written_tokens == 64);
}

TEST_CASE("a job without slots stays in the batch, writes nothing, and asks again before younger prefills") {
  steps s;
  job& old = s.open(0, 100);
  s.open(1, 100);
  s.plan();
  s.answer({refusal(old, error_code::gpu_full)}, {old.request});
  REQUIRE(old.stalled_steps == 1);
  pages::step_plan plan = s.launch();
  REQUIRE(plan.rows[0].written_tokens == 0);
  REQUIRE(plan.rows[1].written_tokens == 100);

  s.open(2, 100);
  const auto& input = s.plan();
  REQUIRE(input.order == std::vector{request_id{101}, request_id{100}}); // the decoder, then only the one that waits
  s.answer();
  REQUIRE(old.stalled_steps == 0);
}

TEST_CASE("a prefill that waits for slots does not stop older ones, only younger ones") {
  steps s;
  job& old = s.open(0, 300);
  job& waits = s.open(1, 300);
  job& young = s.open(2, 300);
  s.plan(192);
  s.answer({refusal(waits, error_code::gpu_full), refusal(young, error_code::gpu_full)},
           {waits.request, young.request});
  s.launch();
  REQUIRE(s.plan(192).order == std::vector{old.request, waits.request});
}

TEST_CASE("while a decoder waits for a slot no prefill asks for any") {
  steps s;
  job& decoder = s.open(0, 64);
  s.run(1);
  s.plan();
  s.answer({refusal(decoder, error_code::copies_in_flight)}, {decoder.request});
  s.launch(2);
  s.open(1, 64);
  REQUIRE(s.plan().order == std::vector{decoder.request});
}

TEST_CASE("decode entry refused leaves a job in prefill, and it asks again") {
  steps s;
  job& j = s.open(0, 64);
  s.run(1);
  s.plan();
  s.answer({refusal(j, error_code::host_full, step_call::enter_decode)});
  REQUIRE_FALSE(j.decoding);
  REQUIRE(j.stalled_on->code == error_code::host_full);
  REQUIRE(s.launch(2).rows[0].written_tokens == 64);
  REQUIRE(s.plan().enter_decode == std::vector{j.request});
}

TEST_CASE("decode entry granted and its slot refused makes a decoder that waits") {
  steps s;
  job& j = s.open(0, 64);
  s.run(1);
  s.plan();
  s.answer({refusal(j, error_code::gpu_full)}, {j.request});
  REQUIRE(j.decoding);
  REQUIRE(j.stalled_on->code == error_code::gpu_full);
  pages::step_plan plan = s.launch(2);
  REQUIRE(plan.rows[0].decoding);
  REQUIRE(plan.rows[0].written_tokens == 64);
}

TEST_CASE("both refused leaves a job in prefill") {
  steps s;
  job& j = s.open(0, 64);
  s.run(1);
  s.plan();
  s.answer({refusal(j, error_code::host_full, step_call::enter_decode), refusal(j, error_code::gpu_full)}, {j.request});
  REQUIRE_FALSE(j.decoding);
}

TEST_CASE("a refusal that no waiting can help is returned") {
  steps s;
  job& j = s.open(0, 64);
  s.plan();
  auto hopeless = s.answer({refusal(j, error_code::prompt_exceeds_gpu_pool)}, {j.request});
  REQUIRE(hopeless.size() == 1);
  REQUIRE(hopeless[0].first == &j);
}

TEST_CASE("closing and suspending tell what was written last, and jobs that rest keep their rows") {
  steps s;
  job& leaves = s.open(0, 64);
  job& rests = s.open(1, 64);
  s.open(2, 64);
  s.run(1);
  s.control.begin();
  s.control.close(leaves);
  s.live.erase(0);
  s.control.suspend(rests, 9);
  s.control.plan(s.live, 8192);
  const auto& input = s.control.input();
  REQUIRE(input.close == std::vector{request_id{100}});
  REQUIRE(input.suspend == std::vector{request_id{101}});
  REQUIRE(input.advance.size() == 3);
  REQUIRE(input.order == std::vector{request_id{102}});
  REQUIRE(rests.rests_until == 9);
  s.answer();
  REQUIRE(s.launch(2).resting == std::vector{request_id{101}});
}

} // namespace serve::test
