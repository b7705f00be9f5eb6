/* SPDX-License-Identifier: Apache-2.0 OR MIT */

/*
 * edge.c with one defect, which the compiler's command line states: DEFECT is a statement at the
 * end of the entry, where everything that the plugin hands out can be changed, and OUTSIDE is
 * what comes before the entry. Without either it is a sound plugin. The defects themselves are
 * listed in tests/loader, each beside what the host has to say of it.
 */

#include <vmafx/plugin.h>

#define vmafx_plugin_entry_v1 sound_entry
#include "edge.c"
#undef vmafx_plugin_entry_v1

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* Everything that the plugin hands out, as variables. */

static vmafx_plugin_option_info option;
static const vmafx_plugin_option_info *option_list[] = {&option, &option};
static vmafx_plugin_output_info output;
static const vmafx_plugin_output_info *output_list[] = {&output, &output};
static vmafx_plugin_feature_info feature;
static const vmafx_plugin_feature_info *feature_list[] = {&feature, &feature};
static vmafx_plugin_backend_info info;
static vmafx_plugin_import import;
static vmafx_plugin_backend table;
static const vmafx_plugin_backend *tables[] = {&table, &table};

static void copy_all(void) {
    option = weight_info;
    output = edge_output;
    feature = edge_info;
    feature.options = option_list;
    feature.outputs = output_list;
    info = backend_info;
    info.features = feature_list;
    import = VMAFX_PLUGIN_INIT(vmafx_plugin_import);
    import.draft = VMAFX_PLUGIN_DRAFT;
    table = backend;
    table.info = &info;
}

/* What a defect is made of. */

#define UNUSED __attribute__((unused))
#define SET_TEXT(text, literal)                                                                    \
    do {                                                                                           \
        static const struct vmafx_plugin_text set = VMAFX_PLUGIN_TEXT(literal);                    \
        (text) = set;                                                                              \
    } while (0)
/** Makes a function of one that lies in no library. */
#define STRAY(function) ((function) = (__typeof__(function))(uintptr_t)malloc(64))

/** Turns subnormal numbers off in the calling thread, as fast-math start-up code does. */
UNUSED static void flush_subnormals(void) {
#if defined(__x86_64__)
    uint32_t word = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(word | 0x8040);
#elif defined(__aarch64__)
    uint64_t word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    __asm__ volatile("msr fpcr, %0" : : "r"(word | (uint64_t)1 << 24));
#endif
}

/** Leaves a file where the environment says, to show that code of this library ran. */
UNUSED static void leave_mark(void) {
    const char *path = getenv("VMAFX_TEST_MARK");
    FILE *file = path == NULL ? NULL : fopen(path, "w");
    if (file != NULL) fclose(file);
}

UNUSED static vmafx_plugin_status many_devices(vmafx_plugin_backend_object *object, uint32_t *count,
                                               vmafx_plugin_error *error) {
    (void)object, (void)error;
    *count = UINT32_MAX;
    return OK;
}

UNUSED static vmafx_plugin_status any_device(vmafx_plugin_backend_object *object, uint32_t index,
                                             vmafx_plugin_device_info *to, vmafx_plugin_error *error) {
    (void)index;
    return device_info(object, 0, to, error);
}

/** Neither UTF-8 nor ended. */
UNUSED static vmafx_plugin_status garbled_device(vmafx_plugin_backend_object *object, uint32_t index,
                                                 vmafx_plugin_device_info *to,
                                                 vmafx_plugin_error *error) {
    vmafx_plugin_status status = device_info(object, index, to, error);
    memset(to->name, 0xff, sizeof to->name);
    memset(to->isa, 0xc3, sizeof to->isa);
    return status;
}

/** Waits itself for fences that it does not take. */
UNUSED static vmafx_plugin_status contrary_device(vmafx_plugin_backend_object *object, uint32_t index,
                                                  vmafx_plugin_device_info *to,
                                                  vmafx_plugin_error *error) {
    vmafx_plugin_status status = device_info(object, index, to, error);
    to->acquire_on_device = VMAFX_PLUGIN_BIT(VMAFX_PLUGIN_FENCE_KIND_SYNC_FILE);
    return status;
}

/** Answers with STATUS and leaves the out-arguments and the error as they are. */
#ifndef STATUS
#define STATUS OK
#endif
UNUSED static vmafx_plugin_status say_open(vmafx_plugin_backend_object *object,
                                           const vmafx_plugin_device_descriptor *descriptor,
                                           vmafx_plugin_device_object **device,
                                           vmafx_plugin_device_info *to, vmafx_plugin_error *error) {
    (void)object, (void)descriptor, (void)device, (void)to, (void)error;
    return STATUS;
}

UNUSED static vmafx_plugin_status say_prepare(vmafx_plugin_device_object *device,
                                              const vmafx_plugin_plan_request *plan,
                                              vmafx_plugin_extractor_object **extractor,
                                              vmafx_plugin_extractor_info *to,
                                              vmafx_plugin_error *error) {
    (void)device, (void)plan, (void)extractor, (void)to, (void)error;
    return STATUS;
}

UNUSED static vmafx_plugin_status say_import(vmafx_plugin_device_object *device,
                                             const vmafx_plugin_import_descriptor *descriptor,
                                             vmafx_plugin_device_frame_object **frame,
                                             vmafx_plugin_format *format, vmafx_plugin_error *error) {
    (void)device, (void)descriptor, (void)frame, (void)format, (void)error;
    return STATUS;
}

/** The rest of an import that never has a frame. */
UNUSED static void drop_frame(vmafx_plugin_device_frame_object *frame) {
    (void)frame;
}
UNUSED static vmafx_plugin_status no_release_fence(vmafx_plugin_device_frame_object *frame,
                                                   vmafx_plugin_fence_kind kind,
                                                   vmafx_plugin_fence *fence,
                                                   vmafx_plugin_error *error) {
    (void)frame, (void)kind, (void)fence, (void)error;
    return VMAFX_PLUGIN_STATUS_NOT_SUPPORTED;
}
UNUSED static vmafx_plugin_status no_poll(vmafx_plugin_device_object *device,
                                          const vmafx_plugin_fence *fence, vmafx_plugin_error *error) {
    (void)device, (void)fence, (void)error;
    return VMAFX_PLUGIN_STATUS_NOT_SUPPORTED;
}
UNUSED static vmafx_plugin_status no_wait(vmafx_plugin_device_object *device,
                                          const vmafx_plugin_fence *fence, uint64_t timeout_ns,
                                          vmafx_plugin_error *error) {
    (void)device, (void)fence, (void)timeout_ns, (void)error;
    return VMAFX_PLUGIN_STATUS_NOT_SUPPORTED;
}
UNUSED static vmafx_plugin_status no_export(vmafx_plugin_device_object *device,
                                            const vmafx_plugin_fence *fence,
                                            vmafx_plugin_fence_kind kind,
                                            vmafx_plugin_fence *exported, vmafx_plugin_error *error) {
    (void)device, (void)fence, (void)kind, (void)exported, (void)error;
    return VMAFX_PLUGIN_STATUS_NOT_SUPPORTED;
}
UNUSED static void no_destroy(vmafx_plugin_device_object *device, vmafx_plugin_fence *fence) {
    (void)device, (void)fence;
}
UNUSED static void offer_import(void) {
    import.frame_import = say_import;
    import.frame_release = drop_frame;
    import.frame_release_fence = no_release_fence;
    import.fence_poll = no_poll;
    import.fence_wait = no_wait;
    import.fence_export = no_export;
    import.fence_destroy = no_destroy;
    table.import = &import;
}

/** Asks for one more column, and for COLUMNS and HISTORY where they are stated. */
#ifndef COLUMNS
#define COLUMNS 1
#endif
#ifndef HISTORY
#define HISTORY 0
#endif
UNUSED static vmafx_plugin_status odd_prepare(vmafx_plugin_device_object *device,
                                              const vmafx_plugin_plan_request *plan,
                                              vmafx_plugin_extractor_object **extractor,
                                              vmafx_plugin_extractor_info *to,
                                              vmafx_plugin_error *error) {
    vmafx_plugin_status status = device_prepare(device, plan, extractor, to, error);
    to->columns = COLUMNS;
    to->history = HISTORY;
    return status;
}

/** What a submission does instead of its work. */
#ifndef SUBMIT
#define SUBMIT
#endif
UNUSED static vmafx_plugin_status odd_submit(vmafx_plugin_extractor_object *extractor,
                                             const vmafx_plugin_job *job, uint64_t *ticket,
                                             vmafx_plugin_error *error) {
    SUBMIT;
    return extractor_submit(extractor, job, ticket, error);
}

/** What comes out instead of the score, and what is said of it. */
#ifndef SCORE
#define SCORE 0.0
#endif
#ifndef COLLECTED
#define COLLECTED status
#endif
UNUSED static vmafx_plugin_status odd_collect(vmafx_plugin_extractor_object *extractor,
                                              uint64_t ticket, uint64_t *values, size_t count,
                                              vmafx_plugin_error *error) {
    const double score = SCORE;
    vmafx_plugin_status status = extractor_collect(extractor, ticket, values, count, error);
    memcpy(values, &score, sizeof score);
    (void)status;
    return COLLECTED;
}

#ifdef OUTSIDE
OUTSIDE
#endif

VMAFX_PLUGIN_EXPORT vmafx_plugin_status vmafx_plugin_entry_v1(const vmafx_host *host,
                                                              vmafx_plugin *plugin) {
    vmafx_plugin_status status = sound_entry(host, plugin);
    copy_all();
    plugin->backends = tables;
#ifdef DEFECT
    DEFECT
#endif
    return status;
}
