/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A plugin in C that keeps every rule but the one that the environment variable DEFECT names
 * when it is opened. Its one feature, `gap`, is the mean absolute difference of luma.
 */
#define _GNU_SOURCE
#include "vmafx/plugin.h"

#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *defect = "";
static int has(const char *name) { return strcmp(defect, name) == 0; }

#define TEXT(literal) {literal, sizeof(literal) - 1}

static vmafx_plugin_status refuse(vmafx_plugin_error *error, vmafx_plugin_status status,
                                  const char *subject, const char *message) {
    if (error && !has("silent")) {
        snprintf(error->subject, sizeof error->subject, "%s", subject);
        snprintf(error->message, sizeof error->message, "%s", message);
    }
    return status;
}

static void end_badly(void) { abort(); }

static void crash(void) {
    volatile int *volatile nowhere = NULL;
    *nowhere = 1;
}

static void ignore_signal(int signal) { (void)signal; }

static void *idle(void *unused) {
    (void)unused;
    for (;;) pause();
    return NULL;
}

static pthread_t worker;
static int worker_runs;

static void *until_stopped(void *unused) {
    (void)unused;
    pause();
    return NULL;
}

static vmafx_plugin_status device_count(vmafx_plugin_backend_object *object, uint32_t *count,
                                        vmafx_plugin_error *error) {
    (void)object, (void)error;
    *count = has("no-device") ? 0 : 1;
    return VMAFX_PLUGIN_STATUS_OK;
}

static vmafx_plugin_status device_info(vmafx_plugin_backend_object *object, uint32_t index,
                                       vmafx_plugin_device_info *info, vmafx_plugin_error *error) {
    uint32_t count = 0;
    device_count(object, &count, error);
    if (index >= count)
        return refuse(error, VMAFX_PLUGIN_STATUS_NOT_FOUND, "index", "there is one device");
    info->memory_kinds = UINT64_C(1) << VMAFX_PLUGIN_MEMORY_KIND_HOST;
    memset(info->pci, 0xff, sizeof info->pci);
    snprintf(info->name, sizeof info->name, "a device in C");
    return VMAFX_PLUGIN_STATUS_OK;
}

static vmafx_plugin_status device_open(vmafx_plugin_backend_object *object,
                                       const vmafx_plugin_device_descriptor *descriptor,
                                       vmafx_plugin_device_object **device,
                                       vmafx_plugin_device_info *info, vmafx_plugin_error *error) {
    if (descriptor->option_count > 0)
        return refuse(error, VMAFX_PLUGIN_STATUS_INVALID, "options", "the device has none");
    vmafx_plugin_status status = device_info(object, descriptor->index, info, error);
    if (status != VMAFX_PLUGIN_STATUS_OK) return status;
    if (has("float-in-open")) fesetround(FE_TOWARDZERO);
    if (has("locale")) setlocale(LC_ALL, "C.UTF-8");
    if (has("directory") && chdir("/") != 0) abort();
    if (has("variable")) setenv("VMAFX_LEFT_BEHIND", "1", 1);
    if (has("mask")) umask(0);
    if (has("signal")) signal(SIGSEGV, ignore_signal);
    if (has("abort-at-exit")) atexit(end_badly);
    pthread_t thread;
    if (has("thread")) pthread_create(&thread, NULL, idle, NULL);
    if (has("thread-joined") && !worker_runs)
        worker_runs = pthread_create(&worker, NULL, until_stopped, NULL) == 0;
    static int devices[1024], opened;
    *device = (vmafx_plugin_device_object *)&devices[opened++ % 1024];
    return VMAFX_PLUGIN_STATUS_OK;
}

static void device_close(vmafx_plugin_device_object *device) { (void)device; }

static vmafx_plugin_status device_supports(vmafx_plugin_device_object *device,
                                           const vmafx_plugin_feature_request *feature,
                                           const vmafx_plugin_format *format,
                                           vmafx_plugin_support *support,
                                           vmafx_plugin_error *error) {
    (void)device, (void)format;
    if (feature->feature.size != 3 || memcmp(feature->feature.data, "gap", 3) != 0)
        return refuse(error, VMAFX_PLUGIN_STATUS_NOT_FOUND, "feature", "there is only gap");
    if (feature->option_count > 0)
        return refuse(error, VMAFX_PLUGIN_STATUS_INVALID, "gap", "it has no options");
    support->memory_kinds = UINT64_C(1) << VMAFX_PLUGIN_MEMORY_KIND_HOST;
    support->pixel_formats = VMAFX_PLUGIN_PIXEL_FORMATS_PLANAR;
    return VMAFX_PLUGIN_STATUS_OK;
}

enum { MOST_JOBS = 128 };

typedef struct plan {
    pthread_mutex_t lock;
    uint32_t columns;
    uint64_t next;
    struct {
        uint64_t ticket;
        double value;
    } done[MOST_JOBS];
} plan;

static vmafx_plugin_status device_prepare(vmafx_plugin_device_object *device,
                                          const vmafx_plugin_plan_request *request,
                                          vmafx_plugin_extractor_object **extractor,
                                          vmafx_plugin_extractor_info *info,
                                          vmafx_plugin_error *error) {
    for (size_t i = 0; i < request->feature_count; i++) {
        vmafx_plugin_support support;
        vmafx_plugin_status status =
            device_supports(device, &request->features[i], &request->format, &support, error);
        if (status != VMAFX_PLUGIN_STATUS_OK) return status;
    }
    plan *made = calloc(1, sizeof *made);
    if (!made) return refuse(error, VMAFX_PLUGIN_STATUS_NO_MEMORY, "plan", "there is no memory");
    pthread_mutex_init(&made->lock, NULL);
    made->columns = (uint32_t)request->feature_count;
    made->next = 1;
    info->columns = made->columns;
    info->in_flight = 4;
    *extractor = (vmafx_plugin_extractor_object *)made;
    return VMAFX_PLUGIN_STATUS_OK;
}

static void extractor_destroy(vmafx_plugin_extractor_object *extractor) { free(extractor); }

static double gap(const vmafx_plugin_job *job) {
    const vmafx_plugin_plane *a = &job->pair.reference->planes[0];
    const vmafx_plugin_plane *b = &job->pair.distorted->planes[0];
    uint64_t sum = 0;
    for (uint32_t y = 0; y < a->height; y++) {
        const char *p = (const char *)a->data + y * a->stride_bytes;
        const char *q = (const char *)b->data + y * b->stride_bytes;
        for (uint32_t x = 0; x < a->width; x++) {
            int deep = job->pair.reference->format.depth > 8;
            int r = deep ? ((const uint16_t *)p)[x] : ((const uint8_t *)p)[x];
            int d = deep ? ((const uint16_t *)q)[x] : ((const uint8_t *)q)[x];
            sum += (uint64_t)abs(r - d);
        }
    }
    return (double)sum / ((double)a->width * a->height);
}

static vmafx_plugin_status extractor_submit(vmafx_plugin_extractor_object *extractor,
                                            const vmafx_plugin_job *job, uint64_t *ticket,
                                            vmafx_plugin_error *error) {
    plan *plan = (struct plan *)extractor;
    if (has("crash")) crash();
    if (has("exit")) exit(0);
    if (has("hang")) pause();
    if (has("float-in-submit")) fesetround(FE_UPWARD);
    if (has("writes")) ++*(uint8_t *)job->pair.distorted->planes[0].data;
    if (has("keeps")) job->pair.reference->retain(job->pair.reference->object);
    if (has("prints")) puts("progress: a frame"), fflush(stdout);
    double value = gap(job);
    pthread_mutex_lock(&plan->lock);
    int place = 0;
    while (place < MOST_JOBS && plan->done[place].ticket != 0) place++;
    if (place < MOST_JOBS) {
        *ticket = plan->next++;
        plan->done[place].ticket = *ticket;
        plan->done[place].value = value;
    }
    pthread_mutex_unlock(&plan->lock);
    return place < MOST_JOBS
               ? VMAFX_PLUGIN_STATUS_OK
               : refuse(error, VMAFX_PLUGIN_STATUS_BUSY, "job", "128 are under way; collect one");
}

static vmafx_plugin_status extractor_collect(vmafx_plugin_extractor_object *extractor,
                                             uint64_t ticket, uint64_t *values, size_t count,
                                             vmafx_plugin_error *error) {
    plan *plan = (struct plan *)extractor;
    vmafx_plugin_status status = VMAFX_PLUGIN_STATUS_NOT_FOUND;
    pthread_mutex_lock(&plan->lock);
    for (int place = 0; ticket != 0 && place < MOST_JOBS; place++) {
        if (plan->done[place].ticket != ticket) continue;
        for (size_t i = 0; i < count; i++) memcpy(&values[i], &plan->done[place].value, 8);
        plan->done[place].ticket = 0;
        status = VMAFX_PLUGIN_STATUS_OK;
        break;
    }
    pthread_mutex_unlock(&plan->lock);
    return status == VMAFX_PLUGIN_STATUS_OK
               ? status
               : refuse(error, status, "ticket", "it is of no job, or was collected");
}

static void quiesce(void) {
    if (!worker_runs) return;
    pthread_cancel(worker);
    pthread_join(worker, NULL);
    worker_runs = 0;
}

static const vmafx_plugin_output_info output = {
    .struct_size = sizeof output,
    .name = TEXT("gap"),
};
static const vmafx_plugin_output_info *const outputs[] = {&output};

static const vmafx_plugin_feature_info feature = {
    .struct_size = sizeof feature,
    .name = TEXT("gap"),
    .summary = TEXT("Mean absolute difference of luma"),
    .source = TEXT("this file"),
    .min_width = 1,
    .min_height = 1,
    .planes = VMAFX_PLUGIN_PLANE_USE_LUMA,
    .outputs = outputs,
    .output_count = 1,
};
static const vmafx_plugin_feature_info *const features[] = {&feature};

#define INFO(identifier)                                                                        \
    {.struct_size = sizeof(vmafx_plugin_backend_info), .id = TEXT(identifier),                  \
     .name = TEXT("An example in C"), .version = TEXT("0.1.0"), .features = features,           \
     .feature_count = 1}
static const vmafx_plugin_backend_info infos[] = {INFO("gap-one"), INFO("gap-two")};

#define TABLE(number)                                                                           \
    {.struct_size = sizeof(vmafx_plugin_backend), .info = &infos[number],                       \
     .device_count = device_count, .device_info = device_info, .device_open = device_open,      \
     .device_close = device_close, .device_supports = device_supports,                          \
     .device_prepare = device_prepare, .extractor_destroy = extractor_destroy,                  \
     .extractor_submit = extractor_submit, .extractor_collect = extractor_collect}
static const vmafx_plugin_backend tables[] = {TABLE(0), TABLE(1)};
static const vmafx_plugin_backend *const backends[] = {&tables[0], &tables[1]};

vmafx_plugin_status vmafx_plugin_entry_v1(const vmafx_host *host, vmafx_plugin *plugin) {
    const char *named = getenv("DEFECT");
    defect = named ? named : "";
    if (has("crash-in-entry")) crash();
    if (has("hang-in-entry")) pause();
    if (host->abi_min > VMAFX_PLUGIN_ABI_REVISION) return VMAFX_PLUGIN_STATUS_ABI;
    plugin->abi_chosen = host->abi_max < VMAFX_PLUGIN_ABI_REVISION ? host->abi_max
                                                                   : VMAFX_PLUGIN_ABI_REVISION;
    plugin->version = (vmafx_plugin_text)TEXT("0.1.0");
    plugin->license = (vmafx_plugin_text)TEXT("Apache-2.0 OR MIT");
    plugin->backends = backends;
    plugin->backend_count = has("two") ? 2 : 1;
    plugin->quiesce = quiesce;
    return VMAFX_PLUGIN_STATUS_OK;
}
