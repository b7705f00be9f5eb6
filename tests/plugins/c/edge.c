/* SPDX-License-Identifier: Apache-2.0 OR MIT */

/*
 * A plugin in C99 that serves `edge`, a feature of its own: the mean difference of the horizontal
 * gradients of luma.
 *
 *   edge = weight * sum(| |r[x] - r[x-1]| - |d[x] - d[x-1]| |) / ((width - 1) * height)
 *
 * The sum is a whole number below 2^53 and there is one division, so that this plugin, edge.cpp
 * and the one in Rust give the same bits. It uses nothing newer than revision 1 of plugin.h
 * without a look at the revision, because it is also built against the header of each revision that there ever was.
 */

#include <vmafx/plugin.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define OK VMAFX_PLUGIN_STATUS_OK

/* What the backend is. */

static const vmafx_plugin_option_info weight_info = {
    .struct_size = sizeof(vmafx_plugin_option_info),
    .in_names = 1,
    .name = VMAFX_PLUGIN_TEXT("weight"),
    .alias = VMAFX_PLUGIN_TEXT("w"),
    .help = VMAFX_PLUGIN_TEXT("Factor of the score."),
    .default_value = {.kind = VMAFX_PLUGIN_OPTION_KIND_WHOLE, .whole = 1},
    .min = 1,
    .max = 16,
};
static const vmafx_plugin_option_info *const options[] = {&weight_info};

static const vmafx_plugin_output_info edge_output = {
    .struct_size = sizeof(vmafx_plugin_output_info),
    .name = VMAFX_PLUGIN_TEXT("edge"),
};
static const vmafx_plugin_output_info *const outputs[] = {&edge_output};

static const vmafx_plugin_feature_info edge_info = {
    .struct_size = sizeof(vmafx_plugin_feature_info),
    .name = VMAFX_PLUGIN_TEXT("edge"),
    .summary = VMAFX_PLUGIN_TEXT("Mean difference of horizontal gradients"),
    .source = VMAFX_PLUGIN_TEXT("tests/plugins"),
    .min_width = 2,
    .min_height = 1,
    .planes = VMAFX_PLUGIN_PLANE_USE_LUMA,
    .options = options,
    .option_count = 1,
    .outputs = outputs,
    .output_count = 1,
};
static const vmafx_plugin_feature_info *const features[] = {&edge_info};

static const vmafx_plugin_backend_info backend_info = {
    .struct_size = sizeof(vmafx_plugin_backend_info),
    .priority = 0,
    .id = VMAFX_PLUGIN_TEXT("edge-c"),
    .name = VMAFX_PLUGIN_TEXT("Edges, in C"),
    .version = VMAFX_PLUGIN_TEXT("1.2.0"),
    .features = features,
    .feature_count = 1,
};

/* A plan made ready. */

struct job {
    struct job *next;
    uint64_t ticket, sum, count;
};

struct vmafx_plugin_extractor_object {
    pthread_mutex_t mutex;
    uint64_t last_ticket;
    struct job *jobs; /* submitted and not yet collected */
    size_t feature_count;
    uint64_t weights[]; /* of each feature of the plan */
};

/* Failures. */

static int is(struct vmafx_plugin_text text, const char *word) {
    return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

static vmafx_plugin_status fail(vmafx_plugin_error *error, vmafx_plugin_status status,
                                const char *subject, const char *message) {
    if (error == NULL) return status;
    if (VMAFX_PLUGIN_HAS(vmafx_plugin_error, error, subject))
        strncpy(error->subject, subject, sizeof error->subject - 1);
    if (VMAFX_PLUGIN_HAS(vmafx_plugin_error, error, message))
        strncpy(error->message, message, sizeof error->message - 1);
    return status;
}

/* The one device: the thread that asks. */

static const char the_device[] = "device";

static void describe(vmafx_plugin_device_info *info) {
    vmafx_plugin_device_info own = VMAFX_PLUGIN_INIT(vmafx_plugin_device_info);
    uint32_t size = info->struct_size < own.struct_size ? info->struct_size : own.struct_size;
    own.memory_kinds = VMAFX_PLUGIN_BIT(VMAFX_PLUGIN_MEMORY_KIND_HOST);
    memset(own.pci, 0xff, sizeof own.pci);
    strcpy(own.name, "The thread that asks");
    strcpy(own.isa, "portable");
    own.struct_size = info->struct_size;
    memcpy(info, &own, size);
}

static vmafx_plugin_status device_count(vmafx_plugin_backend_object *object, uint32_t *count,
                                        vmafx_plugin_error *error) {
    (void)object;
#ifdef EDGE_ABSENT
    *count = 0;
    return fail(error, VMAFX_PLUGIN_STATUS_NOT_FOUND, "edge runtime",
                "no libedge.so.1 in the library path");
#else
    (void)error;
    *count = 1;
    return OK;
#endif
}

static vmafx_plugin_status device_info(vmafx_plugin_backend_object *object, uint32_t index,
                                       vmafx_plugin_device_info *info, vmafx_plugin_error *error) {
    (void)object;
    if (index != 0)
        return fail(error, VMAFX_PLUGIN_STATUS_NOT_FOUND, "index", "there is one device, 0");
    describe(info);
    return OK;
}

static vmafx_plugin_status device_open(vmafx_plugin_backend_object *object,
                                       const vmafx_plugin_device_descriptor *descriptor,
                                       vmafx_plugin_device_object **device,
                                       vmafx_plugin_device_info *info, vmafx_plugin_error *error) {
    (void)object;
    if (descriptor->index != 0)
        return fail(error, VMAFX_PLUGIN_STATUS_NOT_FOUND, "index", "there is one device, 0");
    if (descriptor->flags != 0 || descriptor->reserved != 0)
        return fail(error, VMAFX_PLUGIN_STATUS_NOT_SUPPORTED, "descriptor.flags", "no flag is known");
    if (descriptor->option_count != 0)
        return fail(error, VMAFX_PLUGIN_STATUS_INVALID, "options", "this backend has no options");
    describe(info);
    *device = (vmafx_plugin_device_object *)(uintptr_t)the_device;
    return OK;
}

static void device_close(vmafx_plugin_device_object *device) {
    (void)device;
}

/* The weight of a request, or 0 and the reason why it is refused. */
static uint64_t weight_of(const vmafx_plugin_feature_request *feature,
                          const vmafx_plugin_format *format, vmafx_plugin_status *status,
                          vmafx_plugin_error *error) {
    const vmafx_plugin_option_value *value;
    if (!is(feature->feature, "edge")) {
        *status = fail(error, VMAFX_PLUGIN_STATUS_NOT_FOUND, "feature", "`edge` and nothing else");
        return 0;
    }
    if (feature->option_count != 1 || !is(feature->options[0].name, "weight")) {
        *status = fail(error, VMAFX_PLUGIN_STATUS_INVALID, "edge", "there is one option, `weight`");
        return 0;
    }
    value = &feature->options[0].value;
    if (value->kind != VMAFX_PLUGIN_OPTION_KIND_WHOLE || value->whole < 1 || value->whole > 16) {
        *status = fail(error, VMAFX_PLUGIN_STATUS_RANGE, "weight", "a whole number from 1 to 16");
        return 0;
    }
    if (format->width < 2) {
        *status = fail(error, VMAFX_PLUGIN_STATUS_RANGE, "width", "a gradient takes two samples");
        return 0;
    }
    return (uint64_t)value->whole;
}

static vmafx_plugin_status device_supports(vmafx_plugin_device_object *device,
                                           const vmafx_plugin_feature_request *feature,
                                           const vmafx_plugin_format *format,
                                           vmafx_plugin_support *support, vmafx_plugin_error *error) {
    vmafx_plugin_status status = OK;
    (void)device;
    if (weight_of(feature, format, &status, error) == 0) return status;
    if (VMAFX_PLUGIN_HAS(vmafx_plugin_support, support, memory_kinds))
        support->memory_kinds = VMAFX_PLUGIN_BIT(VMAFX_PLUGIN_MEMORY_KIND_HOST);
    if (VMAFX_PLUGIN_HAS(vmafx_plugin_support, support, pixel_formats))
        support->pixel_formats = VMAFX_PLUGIN_PIXEL_FORMATS_PLANAR;
    return OK;
}

static vmafx_plugin_status device_prepare(vmafx_plugin_device_object *device,
                                          const vmafx_plugin_plan_request *plan,
                                          vmafx_plugin_extractor_object **extractor,
                                          vmafx_plugin_extractor_info *info,
                                          vmafx_plugin_error *error) {
    vmafx_plugin_status status = OK;
    size_t i;
    struct vmafx_plugin_extractor_object *made;
    (void)device;
    made = calloc(1, sizeof *made + plan->feature_count * sizeof *made->weights);
    if (made == NULL) return fail(error, VMAFX_PLUGIN_STATUS_NO_MEMORY, "plan", "memory ran out");
    made->feature_count = plan->feature_count;
    for (i = 0; i < plan->feature_count; ++i) {
        made->weights[i] = weight_of(&plan->features[i], &plan->format, &status, error);
        if (made->weights[i] == 0) {
            free(made);
            return status;
        }
    }
    pthread_mutex_init(&made->mutex, NULL);
    info->columns = (uint32_t)made->feature_count;
    info->history = 0;
    info->in_flight = 1;
    *extractor = made;
    return OK;
}

static void extractor_destroy(vmafx_plugin_extractor_object *extractor) {
    while (extractor->jobs != NULL) {
        struct job *next = extractor->jobs->next;
        free(extractor->jobs);
        extractor->jobs = next;
    }
    pthread_mutex_destroy(&extractor->mutex);
    free(extractor);
}

static int64_t sample(const vmafx_plugin_frame *frame, uint32_t x, uint32_t y) {
    const vmafx_plugin_plane *luma = &frame->planes[0];
    const unsigned char *row = (const unsigned char *)luma->data + y * luma->stride_bytes;
    return frame->format.depth > 8 ? ((const uint16_t *)(const void *)row)[x] : row[x];
}

static int64_t gradient(const vmafx_plugin_frame *frame, uint32_t x, uint32_t y) {
    const int64_t step = sample(frame, x, y) - sample(frame, x - 1, y);
    return step < 0 ? -step : step;
}

static vmafx_plugin_status extractor_submit(vmafx_plugin_extractor_object *extractor,
                                            const vmafx_plugin_job *from, uint64_t *ticket,
                                            vmafx_plugin_error *error) {
    const vmafx_plugin_frame *reference = from->pair.reference, *distorted = from->pair.distorted;
    const uint32_t width = reference->format.width, height = reference->format.height;
    struct job *job = calloc(1, sizeof *job);
    uint32_t x, y;
    if (job == NULL) return fail(error, VMAFX_PLUGIN_STATUS_NO_MEMORY, "job", "memory ran out");
    for (y = 0; y < height; ++y) {
        for (x = 1; x < width; ++x) {
            const int64_t between = gradient(reference, x, y) - gradient(distorted, x, y);
            job->sum += (uint64_t)(between < 0 ? -between : between);
        }
    }
    job->count = (uint64_t)(width - 1) * height;
    pthread_mutex_lock(&extractor->mutex);
    job->ticket = *ticket = ++extractor->last_ticket;
    job->next = extractor->jobs;
    extractor->jobs = job;
    pthread_mutex_unlock(&extractor->mutex);
    return OK;
}

static vmafx_plugin_status extractor_collect(vmafx_plugin_extractor_object *extractor,
                                             uint64_t ticket, uint64_t *values, size_t count,
                                             vmafx_plugin_error *error) {
    struct job **place, *job;
    size_t i;
    if (count != extractor->feature_count)
        return fail(error, VMAFX_PLUGIN_STATUS_INVALID, "count", "one value for each feature");
    pthread_mutex_lock(&extractor->mutex);
    for (place = &extractor->jobs; *place != NULL; place = &(*place)->next)
        if ((*place)->ticket == ticket) break;
    job = *place;
    if (job != NULL) *place = job->next;
    pthread_mutex_unlock(&extractor->mutex);
    if (job == NULL)
        return fail(error, VMAFX_PLUGIN_STATUS_NOT_FOUND, "ticket", "there is no such ticket");
    for (i = 0; i < count; ++i) {
        const double score = (double)(extractor->weights[i] * job->sum) / (double)job->count;
        memcpy(&values[i], &score, sizeof score);
    }
    free(job);
    return OK;
}

/* What came after revision 1, where the header has it and somebody wants it. */
#if defined(EDGE_REPEATS) && VMAFX_PLUGIN_ABI_REVISION >= 2
static uint64_t extractor_repeats(vmafx_plugin_extractor_object *extractor) {
    (void)extractor;
    return EDGE_REPEATS;
}
#endif

/* The entry. */

static const vmafx_plugin_backend backend = {
    .struct_size = sizeof(vmafx_plugin_backend),
    .info = &backend_info,
    .device_count = device_count,
    .device_info = device_info,
    .device_open = device_open,
    .device_close = device_close,
    .device_supports = device_supports,
    .device_prepare = device_prepare,
    .extractor_destroy = extractor_destroy,
    .extractor_submit = extractor_submit,
    .extractor_collect = extractor_collect,
#if defined(EDGE_REPEATS) && VMAFX_PLUGIN_ABI_REVISION >= 2
    .extractor_repeats = extractor_repeats,
#endif
};
static const vmafx_plugin_backend *const backends[] = {&backend};

VMAFX_PLUGIN_EXPORT vmafx_plugin_status vmafx_plugin_entry_v1(const vmafx_host *host,
                                                              vmafx_plugin *plugin) {
    static const struct vmafx_plugin_text ready = VMAFX_PLUGIN_TEXT("edge.c is ready");
    vmafx_plugin own = VMAFX_PLUGIN_INIT(vmafx_plugin);
    uint32_t chosen = VMAFX_PLUGIN_ABI_REVISION;
    if (host->abi_max < chosen) chosen = host->abi_max;
    if (chosen == 0 || chosen < host->abi_min) return VMAFX_PLUGIN_STATUS_ABI;
    own.abi_chosen = chosen;
    own.version = (struct vmafx_plugin_text)VMAFX_PLUGIN_TEXT("1.2.0");
    own.license = (struct vmafx_plugin_text)VMAFX_PLUGIN_TEXT("Apache-2.0 OR MIT");
    own.backends = backends;
    own.backend_count = 1;
    if (plugin->struct_size < own.struct_size) own.struct_size = plugin->struct_size;
    memcpy((char *)plugin + sizeof own.struct_size, (const char *)&own + sizeof own.struct_size,
           own.struct_size - sizeof own.struct_size);
    if (VMAFX_PLUGIN_HAS(vmafx_host, host, log) && host->log != NULL)
        host->log(host->log_context, VMAFX_PLUGIN_LOG_LEVEL_INFO, ready);
    return OK;
}
