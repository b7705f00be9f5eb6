/* SPDX-License-Identifier: Apache-2.0 OR MIT */

/*
 * edge.c as a program in C++ would have it that knows plugin.h and not plugin.hpp: nothing stops
 * an exception. WHERE is 0 for the entry and 1 for a submission.
 */

#include <vmafx/plugin.h>

#include <stdexcept>

extern "C" {
vmafx_plugin_status sound_entry(const vmafx_host *host, vmafx_plugin *plugin);

static vmafx_plugin_status throwing_submit(vmafx_plugin_extractor_object *, const vmafx_plugin_job *,
                                           uint64_t *, vmafx_plugin_error *) {
    throw std::runtime_error("nobody stops this");
}

VMAFX_PLUGIN_EXPORT vmafx_plugin_status vmafx_plugin_entry_v1(const vmafx_host *host,
                                                              vmafx_plugin *plugin) {
    static vmafx_plugin_backend table;
    static const vmafx_plugin_backend *const tables[] = {&table};
    const vmafx_plugin_status status = sound_entry(host, plugin);
    if (WHERE == 0) throw std::runtime_error("nobody stops this");
    table = *plugin->backends[0];
    table.extractor_submit = throwing_submit;
    plugin->backends = tables;
    return status;
}
}
