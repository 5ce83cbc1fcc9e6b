// SPDX-License-Identifier: BSD-3-Clause
// AMD's HIP, libamdhip64.so. Names and numbers as in the HIP runtime API's reference (modules
// "Memory management", "Stream management", "Device management").
#include "mpi/device/queues.h"
#include "mpi/device/runtime.h"

namespace tutti::mpi::device {

namespace {

using Status = int;  // hipError_t: 0 is hipSuccess

// hipPointerAttribute_t: the same in ROCm 4 to 7 but for the first member's name and values.
struct PointerAttribute {
    int type;
    int device;
    void* device_pointer;
    void* host_pointer;
    int is_managed;
    unsigned allocation_flags;
};

// hipMemoryType before and since ROCm 6.0.
constexpr int kDeviceBefore6 = 1, kManagedBefore6 = 4;
constexpr int kDevice = 2, kManaged = 3;
constexpr int kVersion6 = 60'000'000;  // HIP_VERSION: major * 10^7 + minor * 10^5 + patch
// hipDeviceAttributeMaxPitch of all devices so far.
constexpr size_t kPitchMax = 0x7FFFFFFF;
constexpr int kCopyByAddress = 4;          // hipMemcpyDefault
constexpr unsigned kStreamIsBlocking = 0;  // hipStreamDefault: behind the null stream
constexpr unsigned kPinnedForAll = 1;      // hipHostRegisterPortable: on all devices
constexpr Status kNotRegistered = 713;     // hipErrorHostMemoryNotRegistered

struct Functions {
    Status (*pointer_get_attributes)(PointerAttribute* attributes, const void* address);
    Status (*runtime_get_version)(int* version);
    Status (*get_device)(int* device);
    Status (*set_device)(int device);
    Status (*stream_create)(void** stream, unsigned flags);
    Status (*stream_destroy)(void* stream);
    Status (*stream_synchronize)(void* stream);
    Status (*memcpy_async)(void* to, const void* from, size_t bytes, int kind, void* stream);
    Status (*memcpy_2d_async)(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, int kind, void* stream);
    Status (*peek_at_last_error)();
    Status (*get_last_error)();
    const char* (*get_error_string)(Status status);
    Status (*host_register)(void* memory, size_t bytes, unsigned flags);
    Status (*host_unregister)(void* memory);
};

class Hip final : public Runtime {
  public:
    [[nodiscard]] const char* name() const override { return "HIP"; }
    [[nodiscard]] const char* library() const override { return "libamdhip64"; }

    bool load(void* handle, FindSymbol find) override {
        return find_function(handle, find, "hipPointerGetAttributes", f_.pointer_get_attributes) &&
               find_function(handle, find, "hipRuntimeGetVersion", f_.runtime_get_version) &&
               find_function(handle, find, "hipGetDevice", f_.get_device) &&
               find_function(handle, find, "hipSetDevice", f_.set_device) &&
               find_function(handle, find, "hipStreamCreateWithFlags", f_.stream_create) &&
               find_function(handle, find, "hipStreamDestroy", f_.stream_destroy) &&
               find_function(handle, find, "hipStreamSynchronize", f_.stream_synchronize) &&
               find_function(handle, find, "hipMemcpyAsync", f_.memcpy_async) &&
               find_function(handle, find, "hipMemcpy2DAsync", f_.memcpy_2d_async) &&
               find_function(handle, find, "hipPeekAtLastError", f_.peek_at_last_error) &&
               find_function(handle, find, "hipGetLastError", f_.get_last_error) &&
               find_function(handle, find, "hipGetErrorString", f_.get_error_string) &&
               find_function(handle, find, "hipHostRegister", f_.host_register) &&
               find_function(handle, find, "hipHostUnregister", f_.host_unregister);
    }

    // An address that it does not know is an error before ROCm 6.0.
    Owner owner(const void* address) override {
        PointerAttribute found{};
        if (unseen([&] { return f_.pointer_get_attributes(&found, address); }) != 0) return {};
        const bool is_before_6 = version() < kVersion6;
        Owner owner;
        owner.device = found.device;
        if (found.is_managed != 0 || found.type == (is_before_6 ? kManagedBefore6 : kManaged)) {
            owner.kind = MemoryKind::kManaged;
        } else if (found.type == (is_before_6 ? kDeviceBefore6 : kDevice)) {
            owner.kind = MemoryKind::kDevice;
        }
        return owner;
    }

    bool begin(const Owner& owner) override {
        forget_problem();
        stream_ = nullptr;
        key_ = {nullptr, 0, owner.device};
        restores_ = false;
        if (!call("hipGetDevice", f_.get_device(&device_before_))) return false;
        if (device_before_ != owner.device) {
            if (!call("hipSetDevice", f_.set_device(owner.device))) return false;
            restores_ = true;
        }
        stream_ = queues_.find(key_);
        if (stream_ != nullptr) return true;
        if (!call("hipStreamCreateWithFlags", f_.stream_create(&stream_, kStreamIsBlocking)))
            return false;
        if (void* dropped = queues_.add(key_, stream_)) f_.stream_destroy(dropped);
        return true;
    }

    bool copy(void* to, const void* from, size_t bytes) override {
        return call("hipMemcpyAsync", f_.memcpy_async(to, from, bytes, kCopyByAddress, stream_));
    }

    bool copy_rows(void* to, const void* from, size_t pitch, size_t width, size_t rows) override {
        if (rows == 1) return copy(to, from, width);
        if (pitch > kPitchMax) return Runtime::copy_rows(to, from, pitch, width, rows);
        return call("hipMemcpy2DAsync", f_.memcpy_2d_async(to, pitch, from, pitch, width, rows,
                                                           kCopyByAddress, stream_));
    }

    bool end() override {
        if (stream_ != nullptr) call("hipStreamSynchronize", f_.stream_synchronize(stream_));
        if (restores_) call("hipSetDevice", f_.set_device(device_before_));
        if (has_problem()) queues_.forget(key_);
        return !has_problem();
    }

  private:
    bool pin_memory(void* memory, size_t bytes) override {
        return unseen([&] { return f_.host_register(memory, bytes, kPinnedForAll); }) == 0;
    }
    bool unpin_memory(void* memory) override {
        const Status status = unseen([&] { return f_.host_unregister(memory); });
        return status == 0 || status == kNotRegistered;
    }

    // Calls what may fail. The program would find the failure as its own last error later: it is
    // taken back, unless one of the program's stood there already.
    template <class Function>
    Status unseen(Function function) {
        const bool was_clean = f_.peek_at_last_error() == 0;
        const Status status = function();
        if (status != 0 && was_clean) f_.get_last_error();
        return status;
    }

    bool call(const char* function, Status status) {
        return status == 0 || failed(function, status, f_.get_error_string(status));
    }
    int version() {
        if (version_ == 0 && f_.runtime_get_version(&version_) != 0) version_ = kVersion6;
        return version_;
    }

    Functions f_{};
    Queues queues_;
    QueueKey key_;
    void* stream_ = nullptr;
    int device_before_ = 0;
    int version_ = 0;
    bool restores_ = false;
};

}  // namespace

Runtime& hip() {
    static auto* runtime = new Hip;
    return *runtime;
}

}  // namespace tutti::mpi::device
