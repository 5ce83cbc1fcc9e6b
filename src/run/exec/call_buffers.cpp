// SPDX-License-Identifier: BSD-3-Clause
#include "run/exec/call_buffers.h"

#include <string>

namespace tutti::exec {
namespace {

// Less than a page is copied by any fabric.
constexpr uint64_t kExposedBytesMin = 4096;

}  // namespace

Result<Done> CallBuffers::reserve(uint64_t lanes, uint64_t slot_bytes, uint64_t bytes_max) {
    const uint64_t bytes = lanes * aligned(slot_bytes);
    if (bytes > bytes_max) {
        return Error{ErrorCode::kMemory, "a schedule wants " + std::to_string(bytes) +
                                             " bytes of scratch memory, " +
                                             std::to_string(bytes_max) + " are allowed"};
    }
    if (bytes > scratch_bytes_) {
        auto* memory = static_cast<std::byte*>(
            ::operator new[](bytes, std::align_val_t{kScratchAlign}, std::nothrow));
        if (!memory) {
            return Error{ErrorCode::kMemory,
                         "no memory for " + std::to_string(bytes) + " bytes of scratch"};
        }
        conceal_scratch();
        scratch_.reset(memory);
        scratch_bytes_ = bytes;
    }
    // Also where a former try ended here.
    if (scratch_ && !is_scratch_exposed_) {
        network_.expose({scratch_.get(), scratch_bytes_}, transport::Memory::kScratch);
        is_scratch_exposed_ = true;
    }
    if (!user_space_) user_space_ = std::make_unique<std::byte[]>(kUserBytes);
    return Done{};
}

void CallBuffers::start(const Arguments& arguments, uint64_t lanes, uint64_t slot_bytes) {
    TUTTI_ASSERT(exposed_input_.empty() && exposed_output_.empty(), "the last call has ended");
    TUTTI_ASSERT(lanes * aligned(slot_bytes) <= scratch_bytes_, "reserved for this extent");
    arguments_ = arguments;
    slot_bytes_ = slot_bytes;
    expose_arguments();
}

void CallBuffers::conceal_scratch() {
    if (is_scratch_exposed_) network_.conceal({scratch_.get(), scratch_bytes_});
    is_scratch_exposed_ = false;
}

// An input within the output is exposed with that.
void CallBuffers::expose_arguments() {
    if (arguments_.output && arguments_.output_bytes >= kExposedBytesMin) {
        exposed_output_ = {arguments_.output, arguments_.output_bytes};
        network_.expose(exposed_output_, transport::Memory::kOutput);
    }
    if (!arguments_.input || arguments_.input_bytes < kExposedBytesMin) return;
    const auto begin = reinterpret_cast<uintptr_t>(arguments_.input);
    const auto output = reinterpret_cast<uintptr_t>(exposed_output_.data());
    if (begin - output < exposed_output_.size()) return;
    // Nobody writes input.
    exposed_input_ = {const_cast<std::byte*>(arguments_.input), arguments_.input_bytes};
    network_.expose(exposed_input_, transport::Memory::kInput);
}

void CallBuffers::conceal_arguments() {
    for (std::span<std::byte>* exposed : {&exposed_input_, &exposed_output_}) {
        if (!exposed->empty()) network_.conceal(*exposed);
        *exposed = {};
    }
}

}  // namespace tutti::exec
