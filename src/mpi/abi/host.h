// SPDX-License-Identifier: BSD-3-Clause
// The host MPI's functions as a table, looked up by name in its library, so that nothing is linked
// to it.
#pragma once

#include <dlfcn.h>

#include <string>

namespace tutti::mpi::abi {

template <class Abi>
struct HostTable {
    using Comm = typename Abi::Comm;
    using Type = typename Abi::Datatype;
    using Op = typename Abi::Op;
    using Group = typename Abi::Group;
    using Request = typename Abi::Request;
    using Errhandler = typename Abi::Errhandler;
    using Status = typename Abi::Status;
    using Aint = typename Abi::Aint;
    using Count = typename Abi::Count;
    using CommCopy = int(Comm, int, void*, void*, void*, int*);
    using CommDelete = int(Comm, int, void*, void*);
    using TypeCopy = int(Type, int, void*, void*, void*, int*);
    using TypeDelete = int(Type, int, void*, void*);
    using UserFunction = void(void*, void*, int*, Type*);

    int (*init)(int*, char***);
    int (*init_thread)(int*, char***, int, int*);
    int (*finalize)();
    int (*initialized)(int*);
    int (*finalized)(int*);
    int (*query_thread)(int*);
    int (*abort)(Comm, int);
    int (*get_library_version)(char*, int*);
    int (*error_string)(int, char*, int*);
    double (*wtime)();

    int (*comm_rank)(Comm, int*);
    int (*comm_size)(Comm, int*);
    int (*comm_test_inter)(Comm, int*);
    int (*comm_get_name)(Comm, char*, int*);
    int (*comm_dup)(Comm, Comm*);
    int (*comm_split)(Comm, int, int, Comm*);
    int (*comm_free)(Comm*);
    int (*comm_create_keyval)(CommCopy*, CommDelete*, int*, void*);
    int (*comm_free_keyval)(int*);
    int (*comm_set_attr)(Comm, int, void*);
    int (*comm_get_attr)(Comm, int, void*, int*);
    int (*comm_delete_attr)(Comm, int);
    int (*comm_call_errhandler)(Comm, int);
    int (*comm_set_errhandler)(Comm, Errhandler);
    int (*comm_group)(Comm, Group*);
    int (*group_translate_ranks)(Group, int, const int*, Group, int*);
    int (*group_free)(Group*);

    int (*type_size_x)(Type, Count*);
    int (*type_get_extent_x)(Type, Count*, Count*);
    int (*type_get_true_extent_x)(Type, Count*, Count*);
    int (*type_get_envelope)(Type, int*, int*, int*, int*);
    int (*type_get_contents)(Type, int, int, int, int*, Aint*, Type*);
    int (*type_contiguous)(int, Type, Type*);
    int (*type_vector)(int, int, int, Type, Type*);
    int (*type_create_hindexed)(int, const int*, const Aint*, Type, Type*);
    int (*type_commit)(Type*);
    int (*type_free)(Type*);
    int (*type_create_keyval)(TypeCopy*, TypeDelete*, int*, void*);
    int (*type_free_keyval)(int*);
    int (*type_set_attr)(Type, int, void*);
    int (*type_get_attr)(Type, int, void*, int*);
    int (*pack)(const void*, int, Type, void*, int, int*, Comm);
    int (*unpack)(const void*, int, int*, void*, int, Type, Comm);
    int (*op_create)(UserFunction*, int, Op*);
    int (*op_free)(Op*);
    int (*op_commutative)(Op, int*);
    int (*reduce_local)(const void*, void*, int, Type, Op);

    int (*send)(const void*, int, Type, int, int, Comm);
    int (*recv)(void*, int, Type, int, int, Comm, Status*);
    int (*isend)(const void*, int, Type, int, int, Comm, Request*);
    int (*irecv)(void*, int, Type, int, int, Comm, Request*);
    int (*wait)(Request*, Status*);
    int (*test)(Request*, int*, Status*);
    int (*iprobe)(int, int, Comm, int*, Status*);
    int (*cancel)(Request*);
    int (*error_class)(int, int*);

    int (*barrier)(Comm);
    int (*ibarrier)(Comm, Request*);
    int (*bcast)(void*, int, Type, int, Comm);
    int (*reduce)(const void*, void*, int, Type, Op, int, Comm);
    int (*allreduce)(const void*, void*, int, Type, Op, Comm);
    int (*gather)(const void*, int, Type, void*, int, Type, int, Comm);
    int (*scatter)(const void*, int, Type, void*, int, Type, int, Comm);
    int (*allgather)(const void*, int, Type, void*, int, Type, Comm);
    int (*gatherv)(const void*, int, Type, void*, const int*, const int*, Type, int, Comm);
    int (*scatterv)(const void*, const int*, const int*, Type, void*, int, Type, int, Comm);
    int (*allgatherv)(const void*, int, Type, void*, const int*, const int*, Type, Comm);
    int (*alltoall)(const void*, int, Type, void*, int, Type, Comm);
    int (*alltoallv)(const void*, const int*, const int*, Type, void*, const int*, const int*, Type,
                     Comm);
    int (*alltoallw)(const void*, const int*, const int*, const Type*, void*, const int*,
                     const int*, const Type*, Comm);
    int (*reduce_scatter)(const void*, void*, const int*, Type, Op, Comm);
    int (*reduce_scatter_block)(const void*, void*, int, Type, Op, Comm);
    int (*scan)(const void*, void*, int, Type, Op, Comm);
    int (*exscan)(const void*, void*, int, Type, Op, Comm);

    // MPI-4's large counts: null where the host does not have them.
    int (*bcast_c)(void*, Count, Type, int, Comm);
    int (*reduce_c)(const void*, void*, Count, Type, Op, int, Comm);
    int (*allreduce_c)(const void*, void*, Count, Type, Op, Comm);
    int (*gather_c)(const void*, Count, Type, void*, Count, Type, int, Comm);
    int (*scatter_c)(const void*, Count, Type, void*, Count, Type, int, Comm);
    int (*allgather_c)(const void*, Count, Type, void*, Count, Type, Comm);
    int (*gatherv_c)(const void*, Count, Type, void*, const Count*, const Aint*, Type, int, Comm);
    int (*scatterv_c)(const void*, const Count*, const Aint*, Type, void*, Count, Type, int, Comm);
    int (*allgatherv_c)(const void*, Count, Type, void*, const Count*, const Aint*, Type, Comm);
    int (*alltoall_c)(const void*, Count, Type, void*, Count, Type, Comm);
    int (*alltoallv_c)(const void*, const Count*, const Aint*, Type, void*, const Count*,
                       const Aint*, Type, Comm);
    int (*alltoallw_c)(const void*, const Count*, const Aint*, const Type*, void*, const Count*,
                       const Aint*, const Type*, Comm);
    int (*reduce_scatter_c)(const void*, void*, const Count*, Type, Op, Comm);
    int (*reduce_scatter_block_c)(const void*, void*, Count, Type, Op, Comm);
    int (*scan_c)(const void*, void*, Count, Type, Op, Comm);
    int (*exscan_c)(const void*, void*, Count, Type, Op, Comm);
    int (*pack_c)(const void*, Count, Type, void*, Count, Count*, Comm);
    int (*unpack_c)(const void*, Count, Count*, void*, Count, Type, Comm);
};

namespace detail {

// Looks names up one by one and remembers the first that is not there.
class Finder {
  public:
    Finder(void* library, const char* prefix) : library_(library), prefix_(prefix) {}
    template <class F>
    void optional(const char* name, F*& slot) {
        slot = reinterpret_cast<F*>(dlsym(library_, (prefix_ + name).c_str()));
    }
    template <class F>
    void operator()(const char* name, F*& slot) {
        optional(name, slot);
        if (slot == nullptr && missing_.empty()) missing_ = prefix_ + name;
    }
    [[nodiscard]] const std::string& missing() const { return missing_; }

  private:
    void* library_;
    std::string prefix_;
    std::string missing_;
};

template <class Abi>
void find_general(Finder& find, HostTable<Abi>& host) {
    find("Init", host.init);
    find("Init_thread", host.init_thread);
    find("Finalize", host.finalize);
    find("Initialized", host.initialized);
    find("Finalized", host.finalized);
    find("Query_thread", host.query_thread);
    find("Abort", host.abort);
    find("Get_library_version", host.get_library_version);
    find("Error_string", host.error_string);
    find("Wtime", host.wtime);
    find("Comm_rank", host.comm_rank);
    find("Comm_size", host.comm_size);
    find("Comm_test_inter", host.comm_test_inter);
    find("Comm_get_name", host.comm_get_name);
    find("Comm_dup", host.comm_dup);
    find("Comm_split", host.comm_split);
    find("Comm_free", host.comm_free);
    find("Comm_create_keyval", host.comm_create_keyval);
    find("Comm_free_keyval", host.comm_free_keyval);
    find("Comm_set_attr", host.comm_set_attr);
    find("Comm_get_attr", host.comm_get_attr);
    find("Comm_delete_attr", host.comm_delete_attr);
    find("Comm_call_errhandler", host.comm_call_errhandler);
    find("Comm_set_errhandler", host.comm_set_errhandler);
    find("Comm_group", host.comm_group);
    find("Group_translate_ranks", host.group_translate_ranks);
    find("Group_free", host.group_free);
    find("Send", host.send);
    find("Recv", host.recv);
    find("Error_class", host.error_class);
    find("Isend", host.isend);
    find("Irecv", host.irecv);
    find("Wait", host.wait);
    find("Test", host.test);
    find("Iprobe", host.iprobe);
    find("Cancel", host.cancel);
}

template <class Abi>
void find_types(Finder& find, HostTable<Abi>& host) {
    find("Type_size_x", host.type_size_x);
    find("Type_get_extent_x", host.type_get_extent_x);
    find("Type_get_true_extent_x", host.type_get_true_extent_x);
    find("Type_get_envelope", host.type_get_envelope);
    find("Type_get_contents", host.type_get_contents);
    find("Type_contiguous", host.type_contiguous);
    find("Type_vector", host.type_vector);
    find("Type_create_hindexed", host.type_create_hindexed);
    find("Type_commit", host.type_commit);
    find("Type_free", host.type_free);
    find("Type_create_keyval", host.type_create_keyval);
    find("Type_free_keyval", host.type_free_keyval);
    find("Type_set_attr", host.type_set_attr);
    find("Type_get_attr", host.type_get_attr);
    find("Pack", host.pack);
    find("Unpack", host.unpack);
    find.optional("Pack_c", host.pack_c);
    find.optional("Unpack_c", host.unpack_c);
    find("Op_create", host.op_create);
    find("Op_free", host.op_free);
    find("Op_commutative", host.op_commutative);
    find("Reduce_local", host.reduce_local);
}

template <class Abi>
void find_collectives(Finder& find, HostTable<Abi>& host) {
    find("Barrier", host.barrier);
    find("Ibarrier", host.ibarrier);
    find("Bcast", host.bcast);
    find("Reduce", host.reduce);
    find("Allreduce", host.allreduce);
    find("Gather", host.gather);
    find("Scatter", host.scatter);
    find("Allgather", host.allgather);
    find("Gatherv", host.gatherv);
    find("Scatterv", host.scatterv);
    find("Allgatherv", host.allgatherv);
    find("Alltoall", host.alltoall);
    find("Alltoallv", host.alltoallv);
    find("Alltoallw", host.alltoallw);
    find("Reduce_scatter", host.reduce_scatter);
    find("Reduce_scatter_block", host.reduce_scatter_block);
    find("Scan", host.scan);
    find("Exscan", host.exscan);
    find.optional("Bcast_c", host.bcast_c);
    find.optional("Reduce_c", host.reduce_c);
    find.optional("Allreduce_c", host.allreduce_c);
    find.optional("Gather_c", host.gather_c);
    find.optional("Scatter_c", host.scatter_c);
    find.optional("Allgather_c", host.allgather_c);
    find.optional("Gatherv_c", host.gatherv_c);
    find.optional("Scatterv_c", host.scatterv_c);
    find.optional("Allgatherv_c", host.allgatherv_c);
    find.optional("Alltoall_c", host.alltoall_c);
    find.optional("Alltoallv_c", host.alltoallv_c);
    find.optional("Alltoallw_c", host.alltoallw_c);
    find.optional("Reduce_scatter_c", host.reduce_scatter_c);
    find.optional("Reduce_scatter_block_c", host.reduce_scatter_block_c);
    find.optional("Scan_c", host.scan_c);
    find.optional("Exscan_c", host.exscan_c);
}

}  // namespace detail

// Fills the table from `library`, a handle from dlopen. `prefix` is "PMPI_" for the host's own
// functions. Returns the first name that is missing, or an empty string.
template <class Abi>
std::string load_host(void* library, const char* prefix, HostTable<Abi>& host) {
    detail::Finder find(library, prefix);
    detail::find_general(find, host);
    detail::find_types(find, host);
    detail::find_collectives(find, host);
    return find.missing();
}

}  // namespace tutti::mpi::abi
