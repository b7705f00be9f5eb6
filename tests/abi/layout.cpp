/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Generated from crates/api/src/wire.rs and kinds.rs; do not edit. Run `cargo xtask codegen`. */

/* Stops the compiler if plugin.h lays a struct out otherwise in C++ than the Rust side. */

#include <vmafx/plugin.h>

#if UINTPTR_MAX == UINT64_MAX

#define LAYOUT(condition) static_assert(condition, "the layout of the wire")

LAYOUT(sizeof(vmafx_plugin_text) == 16);
LAYOUT(alignof(vmafx_plugin_text) == 8);
LAYOUT(offsetof(vmafx_plugin_text, data) == 0);
LAYOUT(offsetof(vmafx_plugin_text, size) == 8);

LAYOUT(sizeof(vmafx_plugin_error) == 2192);
LAYOUT(alignof(vmafx_plugin_error) == 8);
LAYOUT(offsetof(vmafx_plugin_error, struct_size) == 0);
LAYOUT(offsetof(vmafx_plugin_error, reserved) == 4);
LAYOUT(offsetof(vmafx_plugin_error, code) == 8);
LAYOUT(offsetof(vmafx_plugin_error, subject) == 16);
LAYOUT(offsetof(vmafx_plugin_error, message) == 144);

LAYOUT(sizeof(vmafx_plugin_format) == 32);
LAYOUT(alignof(vmafx_plugin_format) == 4);
LAYOUT(offsetof(vmafx_plugin_format, width) == 0);
LAYOUT(offsetof(vmafx_plugin_format, height) == 4);
LAYOUT(offsetof(vmafx_plugin_format, pixel_format) == 8);
LAYOUT(offsetof(vmafx_plugin_format, depth) == 12);
LAYOUT(offsetof(vmafx_plugin_format, reserved) == 16);

LAYOUT(sizeof(vmafx_plugin_plane) == 24);
LAYOUT(alignof(vmafx_plugin_plane) == 8);
LAYOUT(offsetof(vmafx_plugin_plane, data) == 0);
LAYOUT(offsetof(vmafx_plugin_plane, stride_bytes) == 8);
LAYOUT(offsetof(vmafx_plugin_plane, width) == 16);
LAYOUT(offsetof(vmafx_plugin_plane, height) == 20);

LAYOUT(sizeof(vmafx_plugin_frame) == 144);
LAYOUT(alignof(vmafx_plugin_frame) == 8);
LAYOUT(offsetof(vmafx_plugin_frame, struct_size) == 0);
LAYOUT(offsetof(vmafx_plugin_frame, memory) == 4);
LAYOUT(offsetof(vmafx_plugin_frame, format) == 8);
LAYOUT(offsetof(vmafx_plugin_frame, planes) == 40);
LAYOUT(offsetof(vmafx_plugin_frame, device_frame) == 112);
LAYOUT(offsetof(vmafx_plugin_frame, object) == 120);
LAYOUT(offsetof(vmafx_plugin_frame, retain) == 128);
LAYOUT(offsetof(vmafx_plugin_frame, release) == 136);

LAYOUT(sizeof(vmafx_plugin_frame_pair) == 16);
LAYOUT(alignof(vmafx_plugin_frame_pair) == 8);
LAYOUT(offsetof(vmafx_plugin_frame_pair, reference) == 0);
LAYOUT(offsetof(vmafx_plugin_frame_pair, distorted) == 8);

LAYOUT(sizeof(vmafx_plugin_job) == 40);
LAYOUT(alignof(vmafx_plugin_job) == 8);
LAYOUT(offsetof(vmafx_plugin_job, struct_size) == 0);
LAYOUT(offsetof(vmafx_plugin_job, earlier_count) == 4);
LAYOUT(offsetof(vmafx_plugin_job, index) == 8);
LAYOUT(offsetof(vmafx_plugin_job, pair) == 16);
LAYOUT(offsetof(vmafx_plugin_job, earlier) == 32);

LAYOUT(sizeof(vmafx_plugin_option_value) == 40);
LAYOUT(alignof(vmafx_plugin_option_value) == 8);
LAYOUT(offsetof(vmafx_plugin_option_value, kind) == 0);
LAYOUT(offsetof(vmafx_plugin_option_value, reserved) == 4);
LAYOUT(offsetof(vmafx_plugin_option_value, whole) == 8);
LAYOUT(offsetof(vmafx_plugin_option_value, number) == 16);
LAYOUT(offsetof(vmafx_plugin_option_value, text) == 24);

LAYOUT(sizeof(vmafx_plugin_option_setting) == 56);
LAYOUT(alignof(vmafx_plugin_option_setting) == 8);
LAYOUT(offsetof(vmafx_plugin_option_setting, name) == 0);
LAYOUT(offsetof(vmafx_plugin_option_setting, value) == 16);

LAYOUT(sizeof(vmafx_plugin_feature_request) == 40);
LAYOUT(alignof(vmafx_plugin_feature_request) == 8);
LAYOUT(offsetof(vmafx_plugin_feature_request, feature) == 0);
LAYOUT(offsetof(vmafx_plugin_feature_request, options) == 16);
LAYOUT(offsetof(vmafx_plugin_feature_request, option_count) == 24);
LAYOUT(offsetof(vmafx_plugin_feature_request, definition) == 32);
LAYOUT(offsetof(vmafx_plugin_feature_request, reserved) == 36);

LAYOUT(sizeof(vmafx_plugin_support) == 24);
LAYOUT(alignof(vmafx_plugin_support) == 8);
LAYOUT(offsetof(vmafx_plugin_support, struct_size) == 0);
LAYOUT(offsetof(vmafx_plugin_support, reserved) == 4);
LAYOUT(offsetof(vmafx_plugin_support, memory_kinds) == 8);
LAYOUT(offsetof(vmafx_plugin_support, pixel_formats) == 16);

LAYOUT(sizeof(vmafx_plugin_plan_request) == 56);
LAYOUT(alignof(vmafx_plugin_plan_request) == 8);
LAYOUT(offsetof(vmafx_plugin_plan_request, struct_size) == 0);
LAYOUT(offsetof(vmafx_plugin_plan_request, reserved) == 4);
LAYOUT(offsetof(vmafx_plugin_plan_request, format) == 8);
LAYOUT(offsetof(vmafx_plugin_plan_request, features) == 40);
LAYOUT(offsetof(vmafx_plugin_plan_request, feature_count) == 48);

LAYOUT(sizeof(vmafx_plugin_extractor_info) == 24);
LAYOUT(alignof(vmafx_plugin_extractor_info) == 8);
LAYOUT(offsetof(vmafx_plugin_extractor_info, struct_size) == 0);
LAYOUT(offsetof(vmafx_plugin_extractor_info, columns) == 4);
LAYOUT(offsetof(vmafx_plugin_extractor_info, history) == 8);
LAYOUT(offsetof(vmafx_plugin_extractor_info, in_flight) == 12);
LAYOUT(offsetof(vmafx_plugin_extractor_info, memory_bytes) == 16);

LAYOUT(sizeof(vmafx_plugin_option_info) == 112);
LAYOUT(alignof(vmafx_plugin_option_info) == 8);
LAYOUT(offsetof(vmafx_plugin_option_info, struct_size) == 0);
LAYOUT(offsetof(vmafx_plugin_option_info, in_names) == 4);
LAYOUT(offsetof(vmafx_plugin_option_info, name) == 8);
LAYOUT(offsetof(vmafx_plugin_option_info, alias) == 24);
LAYOUT(offsetof(vmafx_plugin_option_info, help) == 40);
LAYOUT(offsetof(vmafx_plugin_option_info, default_value) == 56);
LAYOUT(offsetof(vmafx_plugin_option_info, min) == 96);
LAYOUT(offsetof(vmafx_plugin_option_info, max) == 104);

LAYOUT(sizeof(vmafx_plugin_output_info) == 24);
LAYOUT(alignof(vmafx_plugin_output_info) == 8);
LAYOUT(offsetof(vmafx_plugin_output_info, struct_size) == 0);
LAYOUT(offsetof(vmafx_plugin_output_info, reserved) == 4);
LAYOUT(offsetof(vmafx_plugin_output_info, name) == 8);

LAYOUT(sizeof(vmafx_plugin_feature_info) == 104);
LAYOUT(alignof(vmafx_plugin_feature_info) == 8);
LAYOUT(offsetof(vmafx_plugin_feature_info, struct_size) == 0);
LAYOUT(offsetof(vmafx_plugin_feature_info, flags) == 4);
LAYOUT(offsetof(vmafx_plugin_feature_info, name) == 8);
LAYOUT(offsetof(vmafx_plugin_feature_info, summary) == 24);
LAYOUT(offsetof(vmafx_plugin_feature_info, source) == 40);
LAYOUT(offsetof(vmafx_plugin_feature_info, min_width) == 56);
LAYOUT(offsetof(vmafx_plugin_feature_info, min_height) == 60);
LAYOUT(offsetof(vmafx_plugin_feature_info, planes) == 64);
LAYOUT(offsetof(vmafx_plugin_feature_info, reserved) == 68);
LAYOUT(offsetof(vmafx_plugin_feature_info, options) == 72);
LAYOUT(offsetof(vmafx_plugin_feature_info, option_count) == 80);
LAYOUT(offsetof(vmafx_plugin_feature_info, outputs) == 88);
LAYOUT(offsetof(vmafx_plugin_feature_info, output_count) == 96);

LAYOUT(sizeof(vmafx_plugin_backend_info) == 72);
LAYOUT(alignof(vmafx_plugin_backend_info) == 8);
LAYOUT(offsetof(vmafx_plugin_backend_info, struct_size) == 0);
LAYOUT(offsetof(vmafx_plugin_backend_info, priority) == 4);
LAYOUT(offsetof(vmafx_plugin_backend_info, id) == 8);
LAYOUT(offsetof(vmafx_plugin_backend_info, name) == 24);
LAYOUT(offsetof(vmafx_plugin_backend_info, version) == 40);
LAYOUT(offsetof(vmafx_plugin_backend_info, features) == 56);
LAYOUT(offsetof(vmafx_plugin_backend_info, feature_count) == 64);

LAYOUT(sizeof(vmafx_plugin_device_info) == 392);
LAYOUT(alignof(vmafx_plugin_device_info) == 8);
LAYOUT(offsetof(vmafx_plugin_device_info, struct_size) == 0);
LAYOUT(offsetof(vmafx_plugin_device_info, reserved) == 4);
LAYOUT(offsetof(vmafx_plugin_device_info, memory_kinds) == 8);
LAYOUT(offsetof(vmafx_plugin_device_info, acquire_kinds) == 16);
LAYOUT(offsetof(vmafx_plugin_device_info, acquire_on_device) == 24);
LAYOUT(offsetof(vmafx_plugin_device_info, release_kinds) == 32);
LAYOUT(offsetof(vmafx_plugin_device_info, release_on_device) == 40);
LAYOUT(offsetof(vmafx_plugin_device_info, total_memory) == 48);
LAYOUT(offsetof(vmafx_plugin_device_info, pci) == 56);
LAYOUT(offsetof(vmafx_plugin_device_info, name) == 72);
LAYOUT(offsetof(vmafx_plugin_device_info, isa) == 328);

LAYOUT(sizeof(vmafx_plugin_device_descriptor) == 48);
LAYOUT(alignof(vmafx_plugin_device_descriptor) == 8);
LAYOUT(offsetof(vmafx_plugin_device_descriptor, struct_size) == 0);
LAYOUT(offsetof(vmafx_plugin_device_descriptor, index) == 4);
LAYOUT(offsetof(vmafx_plugin_device_descriptor, flags) == 8);
LAYOUT(offsetof(vmafx_plugin_device_descriptor, reserved) == 12);
LAYOUT(offsetof(vmafx_plugin_device_descriptor, external) == 16);
LAYOUT(offsetof(vmafx_plugin_device_descriptor, options) == 32);
LAYOUT(offsetof(vmafx_plugin_device_descriptor, option_count) == 40);

LAYOUT(sizeof(vmafx_plugin_fence) == 24);
LAYOUT(alignof(vmafx_plugin_fence) == 8);
LAYOUT(offsetof(vmafx_plugin_fence, kind) == 0);
LAYOUT(offsetof(vmafx_plugin_fence, fd) == 4);
LAYOUT(offsetof(vmafx_plugin_fence, handle) == 8);
LAYOUT(offsetof(vmafx_plugin_fence, value) == 16);

LAYOUT(sizeof(vmafx_plugin_import_plane) == 48);
LAYOUT(alignof(vmafx_plugin_import_plane) == 8);
LAYOUT(offsetof(vmafx_plugin_import_plane, handle) == 0);
LAYOUT(offsetof(vmafx_plugin_import_plane, fd) == 8);
LAYOUT(offsetof(vmafx_plugin_import_plane, plane_index) == 12);
LAYOUT(offsetof(vmafx_plugin_import_plane, offset) == 16);
LAYOUT(offsetof(vmafx_plugin_import_plane, pitch) == 24);
LAYOUT(offsetof(vmafx_plugin_import_plane, modifier) == 32);
LAYOUT(offsetof(vmafx_plugin_import_plane, size) == 40);

LAYOUT(sizeof(vmafx_plugin_import_descriptor) == 216);
LAYOUT(alignof(vmafx_plugin_import_descriptor) == 8);
LAYOUT(offsetof(vmafx_plugin_import_descriptor, struct_size) == 0);
LAYOUT(offsetof(vmafx_plugin_import_descriptor, memory) == 4);
LAYOUT(offsetof(vmafx_plugin_import_descriptor, format) == 8);
LAYOUT(offsetof(vmafx_plugin_import_descriptor, plane_count) == 40);
LAYOUT(offsetof(vmafx_plugin_import_descriptor, flags) == 44);
LAYOUT(offsetof(vmafx_plugin_import_descriptor, planes) == 48);
LAYOUT(offsetof(vmafx_plugin_import_descriptor, acquire) == 192);

LAYOUT(sizeof(vmafx_plugin_import) == 64);
LAYOUT(alignof(vmafx_plugin_import) == 8);
LAYOUT(offsetof(vmafx_plugin_import, struct_size) == 0);
LAYOUT(offsetof(vmafx_plugin_import, draft) == 4);
LAYOUT(offsetof(vmafx_plugin_import, frame_import) == 8);
LAYOUT(offsetof(vmafx_plugin_import, frame_release) == 16);
LAYOUT(offsetof(vmafx_plugin_import, frame_release_fence) == 24);
LAYOUT(offsetof(vmafx_plugin_import, fence_poll) == 32);
LAYOUT(offsetof(vmafx_plugin_import, fence_wait) == 40);
LAYOUT(offsetof(vmafx_plugin_import, fence_export) == 48);
LAYOUT(offsetof(vmafx_plugin_import, fence_destroy) == 56);

LAYOUT(sizeof(vmafx_plugin_backend) == 128);
LAYOUT(alignof(vmafx_plugin_backend) == 8);
LAYOUT(offsetof(vmafx_plugin_backend, struct_size) == 0);
LAYOUT(offsetof(vmafx_plugin_backend, reserved) == 4);
LAYOUT(offsetof(vmafx_plugin_backend, object) == 8);
LAYOUT(offsetof(vmafx_plugin_backend, info) == 16);
LAYOUT(offsetof(vmafx_plugin_backend, import) == 24);
LAYOUT(offsetof(vmafx_plugin_backend, device_count) == 32);
LAYOUT(offsetof(vmafx_plugin_backend, device_info) == 40);
LAYOUT(offsetof(vmafx_plugin_backend, device_open) == 48);
LAYOUT(offsetof(vmafx_plugin_backend, device_close) == 56);
LAYOUT(offsetof(vmafx_plugin_backend, device_supports) == 64);
LAYOUT(offsetof(vmafx_plugin_backend, device_prepare) == 72);
LAYOUT(offsetof(vmafx_plugin_backend, extractor_destroy) == 80);
LAYOUT(offsetof(vmafx_plugin_backend, extractor_admits) == 88);
LAYOUT(offsetof(vmafx_plugin_backend, extractor_submit) == 96);
LAYOUT(offsetof(vmafx_plugin_backend, extractor_collect) == 104);
LAYOUT(offsetof(vmafx_plugin_backend, query) == 112);
LAYOUT(offsetof(vmafx_plugin_backend, extractor_repeats) == 120);

LAYOUT(sizeof(vmafx_plugin) == 64);
LAYOUT(alignof(vmafx_plugin) == 8);
LAYOUT(offsetof(vmafx_plugin, struct_size) == 0);
LAYOUT(offsetof(vmafx_plugin, abi_chosen) == 4);
LAYOUT(offsetof(vmafx_plugin, version) == 8);
LAYOUT(offsetof(vmafx_plugin, license) == 24);
LAYOUT(offsetof(vmafx_plugin, backends) == 40);
LAYOUT(offsetof(vmafx_plugin, backend_count) == 48);
LAYOUT(offsetof(vmafx_plugin, quiesce) == 56);

LAYOUT(sizeof(vmafx_host) == 48);
LAYOUT(alignof(vmafx_host) == 8);
LAYOUT(offsetof(vmafx_host, struct_size) == 0);
LAYOUT(offsetof(vmafx_host, abi_min) == 4);
LAYOUT(offsetof(vmafx_host, abi_max) == 8);
LAYOUT(offsetof(vmafx_host, reserved) == 12);
LAYOUT(offsetof(vmafx_host, version) == 16);
LAYOUT(offsetof(vmafx_host, log_context) == 32);
LAYOUT(offsetof(vmafx_host, log) == 40);

#endif
