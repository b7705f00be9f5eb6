/*
 * A vmafx backend in C99 that brings along one feature: `mad`, the mean absolute difference of
 * luma, in steps of 8 bits. Its option `floor` says up to how many steps a difference counts as
 * none.
 *
 * The score of a frame is computed when it is submitted and waits in a list for its collection.
 * The plugin's objects are its own: the header only names them.
 */

#include <vmafx/plugin.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define OK VMAFX_PLUGIN_STATUS_OK

/* What the backend is. All of this lives as long as the process. */

static const vmafx_plugin_option_info floor_info = {
    .struct_size = sizeof(vmafx_plugin_option_info),
    .in_names = 1,
    .name = VMAFX_PLUGIN_TEXT("floor"),
    .help = VMAFX_PLUGIN_TEXT("Differences of up to this many 8-bit steps count as none."),
    .default_value = {.kind = VMAFX_PLUGIN_OPTION_KIND_WHOLE, .whole = 0},
    .min = 0,
    .max = 255,
};
static const vmafx_plugin_option_info *const options[] = {&floor_info};

static const vmafx_plugin_output_info mad_output = {
    .struct_size = sizeof(vmafx_plugin_output_info),
    .name = VMAFX_PLUGIN_TEXT("mad"),
};
static const vmafx_plugin_output_info *const outputs[] = {&mad_output};

static const vmafx_plugin_feature_info mad_info = {
    .struct_size = sizeof(vmafx_plugin_feature_info),
    .name = VMAFX_PLUGIN_TEXT("mad"),
    .summary = VMAFX_PLUGIN_TEXT("Mean absolute difference of luma, in 8-bit steps"),
    .source = VMAFX_PLUGIN_TEXT("vmafx, docs/plugin-author-guide.md"),
    .min_width = 1,
    .min_height = 1,
    .planes = VMAFX_PLUGIN_PLANE_USE_LUMA,
    .options = options,
    .option_count = 1,
    .outputs = outputs,
    .output_count = 1,
};
static const vmafx_plugin_feature_info *const features[] = {&mad_info};

static const vmafx_plugin_backend_info backend_info = {
    .struct_size = sizeof(vmafx_plugin_backend_info),
    .priority = 0,
    .id = VMAFX_PLUGIN_TEXT("example-c"),
    .name = VMAFX_PLUGIN_TEXT("An example in C"),
    .version = VMAFX_PLUGIN_TEXT("0.1.0"),
    .features = features,
    .feature_count = 1,
};

/* Says why a call fails, as far as the caller wants to know. */
static vmafx_plugin_status fail(vmafx_plugin_error *error, vmafx_plugin_status status,
                                const char *subject, const char *message) {
    if (error != NULL) {
        strncpy(error->subject, subject, sizeof error->subject - 1);
        strncpy(error->message, message, sizeof error->message - 1);
    }
    return status;
}

static int is(vmafx_plugin_text text, const char *word) {
    return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

/* Devices: there is one, which is the thread that calls, and it has no state. */

static int the_device;

static void describe(vmafx_plugin_device_info *info) {
    info->memory_kinds = VMAFX_PLUGIN_BIT(VMAFX_PLUGIN_MEMORY_KIND_HOST);
    info->pci[0] = info->pci[1] = info->pci[2] = info->pci[3] = UINT32_MAX;
    strcpy(info->name, "the calling thread");
    strcpy(info->isa, "portable");
}

static vmafx_plugin_status device_count(vmafx_plugin_backend_object *object, uint32_t *count,
                                        vmafx_plugin_error *error) {
    (void)object, (void)error;
    *count = 1;
    return OK;
}

static vmafx_plugin_status device_info(vmafx_plugin_backend_object *object, uint32_t index,
                                       vmafx_plugin_device_info *info, vmafx_plugin_error *error) {
    (void)object;
    if (index != 0)
        return fail(error, VMAFX_PLUGIN_STATUS_NOT_FOUND, "index", "there is device 0 alone");
    describe(info);
    return OK;
}

static vmafx_plugin_status device_open(vmafx_plugin_backend_object *object,
                                       const vmafx_plugin_device_descriptor *descriptor,
                                       vmafx_plugin_device_object **device,
                                       vmafx_plugin_device_info *info, vmafx_plugin_error *error) {
    (void)object;
    if (descriptor->index != 0)
        return fail(error, VMAFX_PLUGIN_STATUS_NOT_FOUND, "index", "there is device 0 alone");
    if (descriptor->flags != 0 || descriptor->reserved != 0)
        return fail(error, VMAFX_PLUGIN_STATUS_NOT_SUPPORTED, "flags", "no flag is known");
    if (descriptor->option_count != 0)
        return fail(error, VMAFX_PLUGIN_STATUS_INVALID, "options", "this backend has no options");
    describe(info);
    *device = (vmafx_plugin_device_object *)(void *)&the_device;
    return OK;
}

static void device_close(vmafx_plugin_device_object *device) { (void)device; }

/* Reads the value of `floor` in a request for `mad`. */
static vmafx_plugin_status floor_of(const vmafx_plugin_feature_request *request, uint64_t *floor,
                                    vmafx_plugin_error *error) {
    const vmafx_plugin_option_value *value;
    if (!is(request->feature, "mad"))
        return fail(error, VMAFX_PLUGIN_STATUS_NOT_FOUND, "feature",
                    "this backend computes `mad` alone");
    if (request->option_count != 1 || !is(request->options[0].name, "floor"))
        return fail(error, VMAFX_PLUGIN_STATUS_INVALID, "mad", "its one option is `floor`");
    value = &request->options[0].value;
    if (value->kind != VMAFX_PLUGIN_OPTION_KIND_WHOLE || value->whole < 0 || value->whole > 255)
        return fail(error, VMAFX_PLUGIN_STATUS_RANGE, "floor", "a whole number from 0 to 255");
    *floor = (uint64_t)value->whole;
    return OK;
}

static vmafx_plugin_status device_supports(vmafx_plugin_device_object *device,
                                           const vmafx_plugin_feature_request *feature,
                                           const vmafx_plugin_format *format,
                                           vmafx_plugin_support *support,
                                           vmafx_plugin_error *error) {
    uint64_t floor;
    const vmafx_plugin_status status = floor_of(feature, &floor, error);
    (void)device, (void)format;
    if (status != OK) return status;
    support->memory_kinds = VMAFX_PLUGIN_BIT(VMAFX_PLUGIN_MEMORY_KIND_HOST);
    support->pixel_formats = VMAFX_PLUGIN_PIXEL_FORMATS_PLANAR;
    return OK;
}

/* Plans: one value for each feature, and the frames that wait for their collection. */

struct done {
    struct done *next;
    uint64_t ticket;
    double scores[];
};

struct vmafx_plugin_extractor_object {
    pthread_mutex_t mutex;
    struct done *done;
    uint64_t last_ticket;
    size_t count;
    uint64_t floors[];
};

static vmafx_plugin_status device_prepare(vmafx_plugin_device_object *device,
                                          const vmafx_plugin_plan_request *plan,
                                          vmafx_plugin_extractor_object **extractor,
                                          vmafx_plugin_extractor_info *info,
                                          vmafx_plugin_error *error) {
    vmafx_plugin_extractor_object *made;
    size_t i;
    (void)device;
    made = calloc(1, sizeof *made + plan->feature_count * sizeof made->floors[0]);
    if (made == NULL) return fail(error, VMAFX_PLUGIN_STATUS_NO_MEMORY, "plan", "memory ran out");
    made->count = plan->feature_count;
    for (i = 0; i < made->count; ++i) {
        const vmafx_plugin_status status = floor_of(&plan->features[i], &made->floors[i], error);
        if (status != OK) {
            free(made);
            return status;
        }
    }
    pthread_mutex_init(&made->mutex, NULL);
    info->columns = (uint32_t)made->count;
    *extractor = made;
    return OK;
}

static void extractor_destroy(vmafx_plugin_extractor_object *extractor) {
    while (extractor->done != NULL) {
        struct done *next = extractor->done->next;
        free(extractor->done);
        extractor->done = next;
    }
    pthread_mutex_destroy(&extractor->mutex);
    free(extractor);
}

static uint64_t sample(const vmafx_plugin_frame *frame, uint32_t x, uint32_t y) {
    const vmafx_plugin_plane *luma = &frame->planes[0];
    const unsigned char *row = (const unsigned char *)luma->data + y * luma->stride_bytes;
    return frame->format.depth > 8 ? ((const uint16_t *)(const void *)row)[x] : row[x];
}

/* The mean of all differences above `floor`, in steps of the samples. */
static double mad(const vmafx_plugin_frame *reference, const vmafx_plugin_frame *distorted,
                  uint64_t floor) {
    const uint32_t width = reference->format.width, height = reference->format.height;
    uint64_t sum = 0;
    uint32_t x, y;
    for (y = 0; y < height; ++y) {
        for (x = 0; x < width; ++x) {
            const uint64_t r = sample(reference, x, y), d = sample(distorted, x, y);
            const uint64_t difference = r > d ? r - d : d - r;
            if (difference > floor) sum += difference;
        }
    }
    return (double)sum / (double)((uint64_t)width * height);
}

static vmafx_plugin_status extractor_submit(vmafx_plugin_extractor_object *extractor,
                                            const vmafx_plugin_job *job, uint64_t *ticket,
                                            vmafx_plugin_error *error) {
    const vmafx_plugin_frame *reference = job->pair.reference;
    const uint64_t step = (uint64_t)1 << (reference->format.depth - 8);
    struct done *done = malloc(sizeof *done + extractor->count * sizeof done->scores[0]);
    size_t i;
    if (done == NULL) return fail(error, VMAFX_PLUGIN_STATUS_NO_MEMORY, "job", "memory ran out");
    for (i = 0; i < extractor->count; ++i)
        done->scores[i] =
            mad(reference, job->pair.distorted, extractor->floors[i] * step) / (double)step;
    pthread_mutex_lock(&extractor->mutex);
    done->ticket = *ticket = ++extractor->last_ticket;
    done->next = extractor->done;
    extractor->done = done;
    pthread_mutex_unlock(&extractor->mutex);
    return OK;
}

static vmafx_plugin_status extractor_collect(vmafx_plugin_extractor_object *extractor,
                                             uint64_t ticket, uint64_t *values, size_t count,
                                             vmafx_plugin_error *error) {
    struct done **place, *done;
    if (count != extractor->count)
        return fail(error, VMAFX_PLUGIN_STATUS_INVALID, "count", "one value for each feature");
    pthread_mutex_lock(&extractor->mutex);
    for (place = &extractor->done; *place != NULL; place = &(*place)->next)
        if ((*place)->ticket == ticket) break;
    done = *place;
    if (done != NULL) *place = done->next;
    pthread_mutex_unlock(&extractor->mutex);
    if (done == NULL)
        return fail(error, VMAFX_PLUGIN_STATUS_NOT_FOUND, "ticket", "there is no such job");
    memcpy(values, done->scores, count * sizeof *values);
    free(done);
    return OK;
}

/* What the host finds. */

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
};
static const vmafx_plugin_backend *const backends[] = {&backend};

VMAFX_PLUGIN_EXPORT vmafx_plugin_status vmafx_plugin_entry_v1(const vmafx_host *host,
                                                              vmafx_plugin *plugin) {
    static const vmafx_plugin_text version = VMAFX_PLUGIN_TEXT("0.1.0");
    static const vmafx_plugin_text license = VMAFX_PLUGIN_TEXT("Apache-2.0 OR MIT");
    uint32_t chosen = VMAFX_PLUGIN_ABI_REVISION;
    if (host->abi_max < chosen) chosen = host->abi_max;
    if (chosen < host->abi_min) return VMAFX_PLUGIN_STATUS_ABI;
    plugin->abi_chosen = chosen;
    plugin->version = version;
    plugin->license = license;
    plugin->backends = backends;
    plugin->backend_count = 1;
    return OK;
}
