// SPDX-License-Identifier: BSD-3-Clause
// Intel's Level Zero, libze_loader.so.1. Names and numbers as in the oneAPI Level Zero
// specification (chapters "Driver", "Context", "Command List", "Memory").
//
// It asks for a context with every address and has no way to name the program's. Intel's driver
// keeps one table of allocations for all contexts of a driver, so one of our own serves; other
// libraries that take its pointers rely on that, too.
#include "mpi/device/queues.h"
#include "mpi/device/runtime.h"

namespace tutti::mpi::device {

namespace {

using Status = int64_t;  // ze_result_t: 0 is ZE_RESULT_SUCCESS

constexpr int kContextDescription = 0xd;           // ZE_STRUCTURE_TYPE_CONTEXT_DESC
constexpr int kCommandQueueDescription = 0xe;      // ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC
constexpr int kMemoryAllocationProperties = 0x17;  // ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES
constexpr int kMemoryDevice = 2, kMemoryShared = 3;  // ZE_MEMORY_TYPE_
constexpr int kSynchronous = 1;                      // ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS

struct ContextDescription {
    int type = kContextDescription;
    const void* next = nullptr;
    uint32_t flags = 0;
};

struct CommandQueueDescription {
    int type = kCommandQueueDescription;
    const void* next = nullptr;
    uint32_t ordinal = 0;  // the first group of engines; all of them copy
    uint32_t index = 0;
    uint32_t flags = 0;
    int mode = kSynchronous;
    int priority = 0;  // ZE_COMMAND_QUEUE_PRIORITY_NORMAL
};

struct AllocationProperties {
    int type = kMemoryAllocationProperties;
    void* next = nullptr;
    int memory = 0;
    uint64_t id = 0;
    uint64_t page_bytes = 0;
};

struct Functions {
    int (*init)(uint32_t flags);
    int (*driver_get)(uint32_t* count, void** drivers);
    int (*context_create)(void* driver, const ContextDescription* description, void** context);
    int (*get_alloc_properties)(void* context, const void* address,
                                AllocationProperties* properties, void** device);
    int (*create_immediate)(void* context, void* device, const CommandQueueDescription* description,
                            void** list);
    int (*append_copy)(void* list, void* to, const void* from, size_t bytes, void* signal,
                       uint32_t waits, void** wait_events);
    int (*list_destroy)(void* list);
};

class LevelZero final : public Runtime {
  public:
    [[nodiscard]] const char* name() const override { return "Level Zero"; }
    [[nodiscard]] const char* library() const override { return "libze_loader"; }

    bool load(void* handle, FindSymbol find) override {
        return find_function(handle, find, "zeInit", f_.init) &&
               find_function(handle, find, "zeDriverGet", f_.driver_get) &&
               find_function(handle, find, "zeContextCreate", f_.context_create) &&
               find_function(handle, find, "zeMemGetAllocProperties", f_.get_alloc_properties) &&
               find_function(handle, find, "zeCommandListCreateImmediate", f_.create_immediate) &&
               find_function(handle, find, "zeCommandListAppendMemoryCopy", f_.append_copy) &&
               find_function(handle, find, "zeCommandListDestroy", f_.list_destroy);
    }

    Owner owner(const void* address) override {
        prepare();
        for (uint32_t i = 0; i < drivers_; ++i) {
            AllocationProperties found;
            void* device = nullptr;
            if (f_.get_alloc_properties(contexts_[i], address, &found, &device) != 0) continue;
            if (found.memory != kMemoryDevice && found.memory != kMemoryShared) continue;
            // Shared by host and no device in particular: the host may use it at any time.
            if (device == nullptr) return {};
            Owner owner;
            owner.kind = found.memory == kMemoryShared ? MemoryKind::kManaged : MemoryKind::kDevice;
            owner.device = static_cast<int>(i);  // its driver
            owner.context = device;
            return owner;
        }
        return {};
    }

    bool begin(const Owner& owner) override {
        forget_problem();
        list_ = nullptr;
        key_ = {owner.context, 0, owner.device};
        list_ = queues_.find(key_);
        if (list_ != nullptr) return true;
        const CommandQueueDescription description;
        const Status status =
            f_.create_immediate(contexts_[owner.device], owner.context, &description, &list_);
        if (status != 0) return failed("zeCommandListCreateImmediate", status);
        if (void* dropped = queues_.add(key_, list_)) f_.list_destroy(dropped);
        return true;
    }

    // The list is synchronous: the copy is made when the call is back.
    bool copy(void* to, const void* from, size_t bytes) override {
        const Status status = f_.append_copy(list_, to, from, bytes, nullptr, 0, nullptr);
        return status == 0 || failed("zeCommandListAppendMemoryCopy", status);
    }

    bool end() override {
        if (has_problem()) queues_.forget(key_);
        return !has_problem();
    }

  private:
    static constexpr uint32_t kDriversMax = 4;

    // The library may be here without a driver, or a device.
    void prepare() {
        if (is_prepared_) return;
        is_prepared_ = true;
        uint32_t count = kDriversMax;
        void* drivers[kDriversMax] = {};
        if (f_.init(0) != 0 || f_.driver_get(&count, drivers) != 0) return;
        for (uint32_t i = 0; i < count && i < kDriversMax; ++i) {
            const ContextDescription description;
            if (f_.context_create(drivers[i], &description, &contexts_[drivers_]) == 0) ++drivers_;
        }
    }

    Functions f_{};
    Queues queues_;
    QueueKey key_;
    void* list_ = nullptr;
    void* contexts_[kDriversMax] = {};
    uint32_t drivers_ = 0;
    bool is_prepared_ = false;
};

}  // namespace

Runtime& level_zero() {
    static auto* runtime = new LevelZero;
    return *runtime;
}

}  // namespace tutti::mpi::device
