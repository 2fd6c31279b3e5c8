// Messages with every field set to something that no default is, made from their listed fields alone.
#pragma once

#include <string_view>
#include <vector>

#include "messages/any_message.hpp"

namespace kvferry::test {

/// One kind of message.
struct message_sample {
  message_info info;
  std::vector<std::string_view> fields;
  any_message (*filled)();
  any_message (*blank)(); ///< all defaults
};

/// All kinds, in the order of all_messages.
const std::vector<message_sample>& message_samples();

/// The same, as what it is.
template <class Message>
Message filled() {
  return *message_samples()[message_index<Message>].filled().template get_if<Message>();
}

} // namespace kvferry::test
