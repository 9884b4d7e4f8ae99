/* A preloaded counter below MPICH: what each process hands to UCX for whom.
 *
 * MPICH has no counters for the messages inside its collectives, but a build on ch4:ucx sends every
 * message between nodes through ucp_tag_send_nbx. With MPIR_CVAR_NOLOCAL=1 all processes count as
 * being on different nodes, and the endpoints are created in the order of ranks.
 *
 * Writes "sender receiver bytes messages" to $RANK_TRAFFIC_FILE.RANK when the process ends.
 * Declares the few UCX types itself, so that it builds without UCX's headers (API 1.10 and later).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PEERS = 4096, TYPES = 4096, FIELD_DATATYPE = 1 << 3 };

typedef struct {
    uint32_t fields, flags;
    void *request, *callback;
    uint64_t datatype; /* contiguous: element size << 3 */
} request_param;

/* How a datatype that is not contiguous is packed (ucp_generic_dt_ops_t). */
typedef struct {
    void *(*start_pack)(void *context, const void *buffer, size_t count);
    void *(*start_unpack)(void *context, void *buffer, size_t count);
    size_t (*packed_size)(void *state);
    size_t (*pack)(void *state, size_t offset, void *to, size_t most);
    int (*unpack)(void *state, size_t offset, const void *from, size_t length);
    void (*finish)(void *state);
} pack_operations;

static struct {
    uint64_t type;
    pack_operations operations;
    void *context;
} types[TYPES];
static int known_types;
static void *endpoints[PEERS];
static uint64_t bytes[PEERS], messages[PEERS];
static int known;

int ucp_ep_create(void *worker, const void *params, void **endpoint) {
    static int (*real)(void *, const void *, void **);
    if (!real) real = (int (*)(void *, const void *, void **))dlsym(RTLD_NEXT, "ucp_ep_create");
    int status = real(worker, params, endpoint);
    if (status == 0 && known < PEERS) endpoints[known++] = *endpoint;
    return status;
}

int ucp_dt_create_generic(const pack_operations *operations, void *context, uint64_t *type) {
    static int (*real)(const pack_operations *, void *, uint64_t *);
    if (!real) real = (int (*)(const pack_operations *, void *, uint64_t *))dlsym(RTLD_NEXT, "ucp_dt_create_generic");
    int status = real(operations, context, type);
    if (status == 0) {
        /* The library reuses the numbers of destroyed types: the newest comes last. */
        types[known_types % TYPES].type = *type;
        types[known_types % TYPES].operations = *operations; /* the caller's are on its stack */
        types[known_types++ % TYPES].context = context;
    }
    return status;
}

static uint64_t packed_size(uint64_t type, const void *buffer, size_t count) {
    if ((type & 7) == 0) return count * (type >> 3);
    for (int i = known_types - 1; i >= 0 && i >= known_types - TYPES; i--) {
        if (types[i % TYPES].type != type) continue;
        const pack_operations *operations = &types[i % TYPES].operations;
        void *state = operations->start_pack(types[i % TYPES].context, buffer, count);
        /* finish() is not called for this state. It would drop the reference that the message itself holds. */
        return operations->packed_size(state);
    }
    fprintf(stderr, "ucx_traffic: a message of an unknown datatype is not counted\n");
    return 0;
}

void *ucp_tag_send_nbx(void *endpoint, const void *buffer, size_t count, uint64_t tag, const request_param *param) {
    static void *(*real)(void *, const void *, size_t, uint64_t, const request_param *);
    if (!real) real = (void *(*)(void *, const void *, size_t, uint64_t, const request_param *))dlsym(RTLD_NEXT, "ucp_tag_send_nbx");
    uint64_t size = param->fields & FIELD_DATATYPE ? packed_size(param->datatype, buffer, count) : count;
    for (int peer = 0; peer < known; peer++) {
        if (endpoints[peer] == endpoint) {
            bytes[peer] += size;
            messages[peer]++;
            break;
        }
    }
    return real(endpoint, buffer, count, tag, param);
}

__attribute__((destructor)) static void finish(void) {
    const char *prefix = getenv("RANK_TRAFFIC_FILE"), *rank = getenv("PMI_RANK");
    char name[4096];
    if (!prefix || !rank || known == 0) return;
    snprintf(name, sizeof name, "%s.%s", prefix, rank);
    FILE *file = fopen(name, "w");
    if (!file) return;
    for (int peer = 0; peer < known; peer++) {
        if (messages[peer]) fprintf(file, "%s %d %llu %llu\n", rank, peer, (unsigned long long)bytes[peer], (unsigned long long)messages[peer]);
    }
    fclose(file);
}
