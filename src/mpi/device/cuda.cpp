// SPDX-License-Identifier: BSD-3-Clause
// NVIDIA's driver, libcuda.so.1. Names and numbers as in the CUDA Driver API's reference (sections
// "Unified Addressing", "Context Management", "Stream Management", "Memory Management"); the
// functions that CUDA 3.2 and 4.0 gave a new form are those with _v2.
#include "mpi/device/queues.h"
#include "mpi/device/runtime.h"

namespace tutti::mpi::device {

namespace {

using Status = int;  // CUresult: 0 is CUDA_SUCCESS

// CUpointer_attribute.
enum Attribute : int { kContext = 1, kMemoryType = 2, kIsManaged = 8, kDeviceOrdinal = 9 };
constexpr unsigned kMemoryTypeHost = 1;    // CU_MEMORYTYPE_HOST
constexpr unsigned kStreamIsBlocking = 0;  // CU_STREAM_DEFAULT: behind the legacy default stream
constexpr unsigned kPinnedForAll = 1;      // CU_MEMHOSTREGISTER_PORTABLE: in all contexts
constexpr Status kNotRegistered = 713;     // CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED

// CUDA_MEMCPY2D.
struct Copy2D {
    size_t from_x, from_y;
    unsigned from_type;
    const void* from_host;
    uintptr_t from_device;
    void* from_array;
    size_t from_pitch;
    size_t to_x, to_y;
    unsigned to_type;
    void* to_host;
    uintptr_t to_device;
    void* to_array;
    size_t to_pitch;
    size_t width, height;
};
constexpr unsigned kMemoryTypeDevice = 2;  // CU_MEMORYTYPE_DEVICE
// What CU_DEVICE_ATTRIBUTE_MAX_PITCH says on all devices so far.
constexpr size_t kPitchMax = 0x7FFFFFFF;

struct Functions {
    Status (*pointer_get_attributes)(unsigned count, const Attribute* which, void** values,
                                     uintptr_t address);
    Status (*ctx_push_current)(void* context);
    Status (*ctx_pop_current)(void** context);
    Status (*ctx_get_current)(void** context);
    Status (*ctx_get_device)(int* device);
    Status (*primary_ctx_retain)(void** context, int device);
    Status (*stream_create)(void** stream, unsigned flags);
    Status (*stream_destroy)(void* stream);
    Status (*stream_synchronize)(void* stream);
    Status (*memcpy_async)(uintptr_t to, uintptr_t from, size_t bytes, void* stream);
    Status (*memcpy_2d_async)(const Copy2D* copy, void* stream);
    Status (*get_error_string)(Status status, const char** text);
    // Null where the driver has none such.
    Status (*ctx_get_id)(void* context, unsigned long long* id);  // CUDA 12
    Status (*host_register)(void* memory, size_t bytes, unsigned flags);
    Status (*host_unregister)(void* memory);
};

class Cuda final : public Runtime {
  public:
    [[nodiscard]] const char* name() const override { return "CUDA"; }
    [[nodiscard]] const char* library() const override { return "libcuda"; }

    bool load(void* handle, FindSymbol find) override {
        find_function(handle, find, "cuCtxGetId", f_.ctx_get_id);
        find_function(handle, find, "cuMemHostRegister_v2", f_.host_register);
        find_function(handle, find, "cuMemHostUnregister", f_.host_unregister);
        return find_function(handle, find, "cuPointerGetAttributes", f_.pointer_get_attributes) &&
               find_function(handle, find, "cuCtxPushCurrent_v2", f_.ctx_push_current) &&
               find_function(handle, find, "cuCtxPopCurrent_v2", f_.ctx_pop_current) &&
               find_function(handle, find, "cuCtxGetCurrent", f_.ctx_get_current) &&
               find_function(handle, find, "cuCtxGetDevice", f_.ctx_get_device) &&
               find_function(handle, find, "cuDevicePrimaryCtxRetain", f_.primary_ctx_retain) &&
               find_function(handle, find, "cuStreamCreate", f_.stream_create) &&
               find_function(handle, find, "cuStreamDestroy_v2", f_.stream_destroy) &&
               find_function(handle, find, "cuStreamSynchronize", f_.stream_synchronize) &&
               find_function(handle, find, "cuMemcpyAsync", f_.memcpy_async) &&
               find_function(handle, find, "cuMemcpy2DAsync_v2", f_.memcpy_2d_async) &&
               find_function(handle, find, "cuGetErrorString", f_.get_error_string);
    }

    // The function asks for nothing but an initialised driver, and says success with all values
    // zero for an address that it does not know. Before the program's cuInit there is no device
    // memory, so any status but success means the processor's.
    Owner owner(const void* address) override {
        static constexpr Attribute kWhich[] = {kMemoryType, kIsManaged, kContext, kDeviceOrdinal};
        unsigned type = 0;
        // The driver's bool: one byte or four by the release, so four zeroed ones are asked for.
        unsigned is_managed = 0;
        Owner owner;
        void* values[] = {&type, &is_managed, &owner.context, &owner.device};
        if (f_.pointer_get_attributes(4, kWhich, values, reinterpret_cast<uintptr_t>(address)) != 0)
            return {};
        if (is_managed != 0) {
            owner.kind = MemoryKind::kManaged;
        } else if (type != 0 && type != kMemoryTypeHost) {
            owner.kind = MemoryKind::kDevice;
        }
        return owner;
    }

    bool begin(const Owner& owner) override {
        forget_problem();
        pushed_ = false;
        stream_ = nullptr;
        void* context = owner.context != nullptr ? owner.context : context_of(owner.device);
        if (context == nullptr) return false;
        if (!call("cuCtxPushCurrent", f_.ctx_push_current(context))) return false;
        pushed_ = true;
        key_ = {context, 0, 0};
        unsigned long long id = 0;
        if (f_.ctx_get_id != nullptr && f_.ctx_get_id(context, &id) == 0) key_.id = id;
        stream_ = queues_.find(key_);
        if (stream_ != nullptr) return true;
        if (!call("cuStreamCreate", f_.stream_create(&stream_, kStreamIsBlocking))) return false;
        if (void* dropped = queues_.add(key_, stream_)) f_.stream_destroy(dropped);
        return true;
    }

    bool copy(void* to, const void* from, size_t bytes) override {
        return call("cuMemcpyAsync",
                    f_.memcpy_async(reinterpret_cast<uintptr_t>(to),
                                    reinterpret_cast<uintptr_t>(from), bytes, stream_));
    }

    bool copy_rows(void* to, const void* from, size_t pitch, size_t width, size_t rows) override {
        if (rows == 1) return copy(to, from, width);
        if (pitch > kPitchMax) return Runtime::copy_rows(to, from, pitch, width, rows);
        Copy2D copy{};
        copy.from_type = kMemoryTypeHost;
        copy.from_host = from;
        copy.to_type = kMemoryTypeDevice;
        copy.to_device = reinterpret_cast<uintptr_t>(to);
        copy.from_pitch = copy.to_pitch = pitch;
        copy.width = width;
        copy.height = rows;
        return call("cuMemcpy2DAsync", f_.memcpy_2d_async(&copy, stream_));
    }

    bool end() override {
        if (stream_ != nullptr) call("cuStreamSynchronize", f_.stream_synchronize(stream_));
        void* popped = nullptr;
        if (pushed_) call("cuCtxPopCurrent", f_.ctx_pop_current(&popped));
        if (has_problem()) queues_.forget(key_);
        return !has_problem();
    }

  private:
    bool pin_memory(void* memory, size_t bytes) override {
        return f_.host_register != nullptr && f_.host_unregister != nullptr &&
               f_.host_register(memory, bytes, kPinnedForAll) == 0;
    }
    // A context that is gone has taken what was pinned in it along.
    bool unpin_memory(void* memory) override {
        const Status status = f_.host_unregister(memory);
        return status == 0 || status == kNotRegistered;
    }

    bool call(const char* function, Status status) {
        if (status == 0) return true;
        const char* text = nullptr;
        if (f_.get_error_string(status, &text) != 0) text = nullptr;
        return failed(function, status, text);
    }

    // Memory of a pool, or mapped by the program itself, belongs to a device and to no context. The
    // program's own context is taken where it is on that device; else the device's primary one,
    // which is then held.
    void* context_of(int device) {
        void* current = nullptr;
        int current_device = -1;
        if (f_.ctx_get_current(&current) == 0 && current != nullptr &&
            f_.ctx_get_device(&current_device) == 0 && current_device == device) {
            return current;
        }
        if (void* held = primaries_.find({nullptr, 0, device})) return held;
        void* primary = nullptr;
        if (!call("cuDevicePrimaryCtxRetain", f_.primary_ctx_retain(&primary, device)))
            return nullptr;
        primaries_.add({nullptr, 0, device}, primary);
        return primary;
    }

    Functions f_{};
    Queues queues_;
    Queues primaries_;  // by device
    QueueKey key_;
    void* stream_ = nullptr;
    bool pushed_ = false;
};

}  // namespace

Runtime& cuda() {
    static auto* runtime = new Cuda;
    return *runtime;
}

}  // namespace tutti::mpi::device
