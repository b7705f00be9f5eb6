/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Generated from crates/api/src/wire.rs and kinds.rs; do not edit. Run `cargo xtask codegen`. */

/* Stops the compiler if plugin.h lays a struct out otherwise than the Rust side. */

#include <vmafx/plugin.h>

#if UINTPTR_MAX == UINT64_MAX

#define LAYOUT(name, condition) typedef char name[(condition) ? 1 : -1]

LAYOUT(size_of_text, sizeof(vmafx_plugin_text) == 16);
LAYOUT(text_data, offsetof(vmafx_plugin_text, data) == 0);
LAYOUT(text_size, offsetof(vmafx_plugin_text, size) == 8);

LAYOUT(size_of_error, sizeof(vmafx_plugin_error) == 2192);
LAYOUT(error_struct_size, offsetof(vmafx_plugin_error, struct_size) == 0);
LAYOUT(error_reserved, offsetof(vmafx_plugin_error, reserved) == 4);
LAYOUT(error_code, offsetof(vmafx_plugin_error, code) == 8);
LAYOUT(error_subject, offsetof(vmafx_plugin_error, subject) == 16);
LAYOUT(error_message, offsetof(vmafx_plugin_error, message) == 144);

LAYOUT(size_of_format, sizeof(vmafx_plugin_format) == 32);
LAYOUT(format_width, offsetof(vmafx_plugin_format, width) == 0);
LAYOUT(format_height, offsetof(vmafx_plugin_format, height) == 4);
LAYOUT(format_pixel_format, offsetof(vmafx_plugin_format, pixel_format) == 8);
LAYOUT(format_depth, offsetof(vmafx_plugin_format, depth) == 12);
LAYOUT(format_reserved, offsetof(vmafx_plugin_format, reserved) == 16);

LAYOUT(size_of_plane, sizeof(vmafx_plugin_plane) == 24);
LAYOUT(plane_data, offsetof(vmafx_plugin_plane, data) == 0);
LAYOUT(plane_stride_bytes, offsetof(vmafx_plugin_plane, stride_bytes) == 8);
LAYOUT(plane_width, offsetof(vmafx_plugin_plane, width) == 16);
LAYOUT(plane_height, offsetof(vmafx_plugin_plane, height) == 20);

LAYOUT(size_of_frame, sizeof(vmafx_plugin_frame) == 144);
LAYOUT(frame_struct_size, offsetof(vmafx_plugin_frame, struct_size) == 0);
LAYOUT(frame_memory, offsetof(vmafx_plugin_frame, memory) == 4);
LAYOUT(frame_format, offsetof(vmafx_plugin_frame, format) == 8);
LAYOUT(frame_planes, offsetof(vmafx_plugin_frame, planes) == 40);
LAYOUT(frame_device_frame, offsetof(vmafx_plugin_frame, device_frame) == 112);
LAYOUT(frame_object, offsetof(vmafx_plugin_frame, object) == 120);
LAYOUT(frame_retain, offsetof(vmafx_plugin_frame, retain) == 128);
LAYOUT(frame_release, offsetof(vmafx_plugin_frame, release) == 136);

LAYOUT(size_of_frame_pair, sizeof(vmafx_plugin_frame_pair) == 16);
LAYOUT(frame_pair_reference, offsetof(vmafx_plugin_frame_pair, reference) == 0);
LAYOUT(frame_pair_distorted, offsetof(vmafx_plugin_frame_pair, distorted) == 8);

LAYOUT(size_of_job, sizeof(vmafx_plugin_job) == 40);
LAYOUT(job_struct_size, offsetof(vmafx_plugin_job, struct_size) == 0);
LAYOUT(job_earlier_count, offsetof(vmafx_plugin_job, earlier_count) == 4);
LAYOUT(job_index, offsetof(vmafx_plugin_job, index) == 8);
LAYOUT(job_pair, offsetof(vmafx_plugin_job, pair) == 16);
LAYOUT(job_earlier, offsetof(vmafx_plugin_job, earlier) == 32);

LAYOUT(size_of_option_value, sizeof(vmafx_plugin_option_value) == 40);
LAYOUT(option_value_kind, offsetof(vmafx_plugin_option_value, kind) == 0);
LAYOUT(option_value_reserved, offsetof(vmafx_plugin_option_value, reserved) == 4);
LAYOUT(option_value_whole, offsetof(vmafx_plugin_option_value, whole) == 8);
LAYOUT(option_value_number, offsetof(vmafx_plugin_option_value, number) == 16);
LAYOUT(option_value_text, offsetof(vmafx_plugin_option_value, text) == 24);

LAYOUT(size_of_option_setting, sizeof(vmafx_plugin_option_setting) == 56);
LAYOUT(option_setting_name, offsetof(vmafx_plugin_option_setting, name) == 0);
LAYOUT(option_setting_value, offsetof(vmafx_plugin_option_setting, value) == 16);

LAYOUT(size_of_feature_request, sizeof(vmafx_plugin_feature_request) == 40);
LAYOUT(feature_request_feature, offsetof(vmafx_plugin_feature_request, feature) == 0);
LAYOUT(feature_request_options, offsetof(vmafx_plugin_feature_request, options) == 16);
LAYOUT(feature_request_option_count, offsetof(vmafx_plugin_feature_request, option_count) == 24);
LAYOUT(feature_request_definition, offsetof(vmafx_plugin_feature_request, definition) == 32);
LAYOUT(feature_request_reserved, offsetof(vmafx_plugin_feature_request, reserved) == 36);

LAYOUT(size_of_support, sizeof(vmafx_plugin_support) == 24);
LAYOUT(support_struct_size, offsetof(vmafx_plugin_support, struct_size) == 0);
LAYOUT(support_reserved, offsetof(vmafx_plugin_support, reserved) == 4);
LAYOUT(support_memory_kinds, offsetof(vmafx_plugin_support, memory_kinds) == 8);
LAYOUT(support_pixel_formats, offsetof(vmafx_plugin_support, pixel_formats) == 16);

LAYOUT(size_of_plan_request, sizeof(vmafx_plugin_plan_request) == 56);
LAYOUT(plan_request_struct_size, offsetof(vmafx_plugin_plan_request, struct_size) == 0);
LAYOUT(plan_request_reserved, offsetof(vmafx_plugin_plan_request, reserved) == 4);
LAYOUT(plan_request_format, offsetof(vmafx_plugin_plan_request, format) == 8);
LAYOUT(plan_request_features, offsetof(vmafx_plugin_plan_request, features) == 40);
LAYOUT(plan_request_feature_count, offsetof(vmafx_plugin_plan_request, feature_count) == 48);

LAYOUT(size_of_extractor_info, sizeof(vmafx_plugin_extractor_info) == 24);
LAYOUT(extractor_info_struct_size, offsetof(vmafx_plugin_extractor_info, struct_size) == 0);
LAYOUT(extractor_info_columns, offsetof(vmafx_plugin_extractor_info, columns) == 4);
LAYOUT(extractor_info_history, offsetof(vmafx_plugin_extractor_info, history) == 8);
LAYOUT(extractor_info_in_flight, offsetof(vmafx_plugin_extractor_info, in_flight) == 12);
LAYOUT(extractor_info_memory_bytes, offsetof(vmafx_plugin_extractor_info, memory_bytes) == 16);

LAYOUT(size_of_option_info, sizeof(vmafx_plugin_option_info) == 112);
LAYOUT(option_info_struct_size, offsetof(vmafx_plugin_option_info, struct_size) == 0);
LAYOUT(option_info_in_names, offsetof(vmafx_plugin_option_info, in_names) == 4);
LAYOUT(option_info_name, offsetof(vmafx_plugin_option_info, name) == 8);
LAYOUT(option_info_alias, offsetof(vmafx_plugin_option_info, alias) == 24);
LAYOUT(option_info_help, offsetof(vmafx_plugin_option_info, help) == 40);
LAYOUT(option_info_default_value, offsetof(vmafx_plugin_option_info, default_value) == 56);
LAYOUT(option_info_min, offsetof(vmafx_plugin_option_info, min) == 96);
LAYOUT(option_info_max, offsetof(vmafx_plugin_option_info, max) == 104);

LAYOUT(size_of_output_info, sizeof(vmafx_plugin_output_info) == 24);
LAYOUT(output_info_struct_size, offsetof(vmafx_plugin_output_info, struct_size) == 0);
LAYOUT(output_info_reserved, offsetof(vmafx_plugin_output_info, reserved) == 4);
LAYOUT(output_info_name, offsetof(vmafx_plugin_output_info, name) == 8);

LAYOUT(size_of_feature_info, sizeof(vmafx_plugin_feature_info) == 104);
LAYOUT(feature_info_struct_size, offsetof(vmafx_plugin_feature_info, struct_size) == 0);
LAYOUT(feature_info_flags, offsetof(vmafx_plugin_feature_info, flags) == 4);
LAYOUT(feature_info_name, offsetof(vmafx_plugin_feature_info, name) == 8);
LAYOUT(feature_info_summary, offsetof(vmafx_plugin_feature_info, summary) == 24);
LAYOUT(feature_info_source, offsetof(vmafx_plugin_feature_info, source) == 40);
LAYOUT(feature_info_min_width, offsetof(vmafx_plugin_feature_info, min_width) == 56);
LAYOUT(feature_info_min_height, offsetof(vmafx_plugin_feature_info, min_height) == 60);
LAYOUT(feature_info_planes, offsetof(vmafx_plugin_feature_info, planes) == 64);
LAYOUT(feature_info_reserved, offsetof(vmafx_plugin_feature_info, reserved) == 68);
LAYOUT(feature_info_options, offsetof(vmafx_plugin_feature_info, options) == 72);
LAYOUT(feature_info_option_count, offsetof(vmafx_plugin_feature_info, option_count) == 80);
LAYOUT(feature_info_outputs, offsetof(vmafx_plugin_feature_info, outputs) == 88);
LAYOUT(feature_info_output_count, offsetof(vmafx_plugin_feature_info, output_count) == 96);

LAYOUT(size_of_backend_info, sizeof(vmafx_plugin_backend_info) == 72);
LAYOUT(backend_info_struct_size, offsetof(vmafx_plugin_backend_info, struct_size) == 0);
LAYOUT(backend_info_priority, offsetof(vmafx_plugin_backend_info, priority) == 4);
LAYOUT(backend_info_id, offsetof(vmafx_plugin_backend_info, id) == 8);
LAYOUT(backend_info_name, offsetof(vmafx_plugin_backend_info, name) == 24);
LAYOUT(backend_info_version, offsetof(vmafx_plugin_backend_info, version) == 40);
LAYOUT(backend_info_features, offsetof(vmafx_plugin_backend_info, features) == 56);
LAYOUT(backend_info_feature_count, offsetof(vmafx_plugin_backend_info, feature_count) == 64);

LAYOUT(size_of_device_info, sizeof(vmafx_plugin_device_info) == 392);
LAYOUT(device_info_struct_size, offsetof(vmafx_plugin_device_info, struct_size) == 0);
LAYOUT(device_info_reserved, offsetof(vmafx_plugin_device_info, reserved) == 4);
LAYOUT(device_info_memory_kinds, offsetof(vmafx_plugin_device_info, memory_kinds) == 8);
LAYOUT(device_info_acquire_kinds, offsetof(vmafx_plugin_device_info, acquire_kinds) == 16);
LAYOUT(device_info_acquire_on_device, offsetof(vmafx_plugin_device_info, acquire_on_device) == 24);
LAYOUT(device_info_release_kinds, offsetof(vmafx_plugin_device_info, release_kinds) == 32);
LAYOUT(device_info_release_on_device, offsetof(vmafx_plugin_device_info, release_on_device) == 40);
LAYOUT(device_info_total_memory, offsetof(vmafx_plugin_device_info, total_memory) == 48);
LAYOUT(device_info_pci, offsetof(vmafx_plugin_device_info, pci) == 56);
LAYOUT(device_info_name, offsetof(vmafx_plugin_device_info, name) == 72);
LAYOUT(device_info_isa, offsetof(vmafx_plugin_device_info, isa) == 328);

LAYOUT(size_of_device_descriptor, sizeof(vmafx_plugin_device_descriptor) == 48);
LAYOUT(device_descriptor_struct_size, offsetof(vmafx_plugin_device_descriptor, struct_size) == 0);
LAYOUT(device_descriptor_index, offsetof(vmafx_plugin_device_descriptor, index) == 4);
LAYOUT(device_descriptor_flags, offsetof(vmafx_plugin_device_descriptor, flags) == 8);
LAYOUT(device_descriptor_reserved, offsetof(vmafx_plugin_device_descriptor, reserved) == 12);
LAYOUT(device_descriptor_external, offsetof(vmafx_plugin_device_descriptor, external) == 16);
LAYOUT(device_descriptor_options, offsetof(vmafx_plugin_device_descriptor, options) == 32);
LAYOUT(device_descriptor_option_count, offsetof(vmafx_plugin_device_descriptor, option_count) == 40);

LAYOUT(size_of_fence, sizeof(vmafx_plugin_fence) == 24);
LAYOUT(fence_kind, offsetof(vmafx_plugin_fence, kind) == 0);
LAYOUT(fence_fd, offsetof(vmafx_plugin_fence, fd) == 4);
LAYOUT(fence_handle, offsetof(vmafx_plugin_fence, handle) == 8);
LAYOUT(fence_value, offsetof(vmafx_plugin_fence, value) == 16);

LAYOUT(size_of_import_plane, sizeof(vmafx_plugin_import_plane) == 48);
LAYOUT(import_plane_handle, offsetof(vmafx_plugin_import_plane, handle) == 0);
LAYOUT(import_plane_fd, offsetof(vmafx_plugin_import_plane, fd) == 8);
LAYOUT(import_plane_plane_index, offsetof(vmafx_plugin_import_plane, plane_index) == 12);
LAYOUT(import_plane_offset, offsetof(vmafx_plugin_import_plane, offset) == 16);
LAYOUT(import_plane_pitch, offsetof(vmafx_plugin_import_plane, pitch) == 24);
LAYOUT(import_plane_modifier, offsetof(vmafx_plugin_import_plane, modifier) == 32);
LAYOUT(import_plane_size, offsetof(vmafx_plugin_import_plane, size) == 40);

LAYOUT(size_of_import_descriptor, sizeof(vmafx_plugin_import_descriptor) == 216);
LAYOUT(import_descriptor_struct_size, offsetof(vmafx_plugin_import_descriptor, struct_size) == 0);
LAYOUT(import_descriptor_memory, offsetof(vmafx_plugin_import_descriptor, memory) == 4);
LAYOUT(import_descriptor_format, offsetof(vmafx_plugin_import_descriptor, format) == 8);
LAYOUT(import_descriptor_plane_count, offsetof(vmafx_plugin_import_descriptor, plane_count) == 40);
LAYOUT(import_descriptor_flags, offsetof(vmafx_plugin_import_descriptor, flags) == 44);
LAYOUT(import_descriptor_planes, offsetof(vmafx_plugin_import_descriptor, planes) == 48);
LAYOUT(import_descriptor_acquire, offsetof(vmafx_plugin_import_descriptor, acquire) == 192);

LAYOUT(size_of_import, sizeof(vmafx_plugin_import) == 64);
LAYOUT(import_struct_size, offsetof(vmafx_plugin_import, struct_size) == 0);
LAYOUT(import_draft, offsetof(vmafx_plugin_import, draft) == 4);
LAYOUT(import_frame_import, offsetof(vmafx_plugin_import, frame_import) == 8);
LAYOUT(import_frame_release, offsetof(vmafx_plugin_import, frame_release) == 16);
LAYOUT(import_frame_release_fence, offsetof(vmafx_plugin_import, frame_release_fence) == 24);
LAYOUT(import_fence_poll, offsetof(vmafx_plugin_import, fence_poll) == 32);
LAYOUT(import_fence_wait, offsetof(vmafx_plugin_import, fence_wait) == 40);
LAYOUT(import_fence_export, offsetof(vmafx_plugin_import, fence_export) == 48);
LAYOUT(import_fence_destroy, offsetof(vmafx_plugin_import, fence_destroy) == 56);

LAYOUT(size_of_backend, sizeof(vmafx_plugin_backend) == 128);
LAYOUT(backend_struct_size, offsetof(vmafx_plugin_backend, struct_size) == 0);
LAYOUT(backend_reserved, offsetof(vmafx_plugin_backend, reserved) == 4);
LAYOUT(backend_object, offsetof(vmafx_plugin_backend, object) == 8);
LAYOUT(backend_info, offsetof(vmafx_plugin_backend, info) == 16);
LAYOUT(backend_import, offsetof(vmafx_plugin_backend, import) == 24);
LAYOUT(backend_device_count, offsetof(vmafx_plugin_backend, device_count) == 32);
LAYOUT(backend_device_info, offsetof(vmafx_plugin_backend, device_info) == 40);
LAYOUT(backend_device_open, offsetof(vmafx_plugin_backend, device_open) == 48);
LAYOUT(backend_device_close, offsetof(vmafx_plugin_backend, device_close) == 56);
LAYOUT(backend_device_supports, offsetof(vmafx_plugin_backend, device_supports) == 64);
LAYOUT(backend_device_prepare, offsetof(vmafx_plugin_backend, device_prepare) == 72);
LAYOUT(backend_extractor_destroy, offsetof(vmafx_plugin_backend, extractor_destroy) == 80);
LAYOUT(backend_extractor_admits, offsetof(vmafx_plugin_backend, extractor_admits) == 88);
LAYOUT(backend_extractor_submit, offsetof(vmafx_plugin_backend, extractor_submit) == 96);
LAYOUT(backend_extractor_collect, offsetof(vmafx_plugin_backend, extractor_collect) == 104);
LAYOUT(backend_query, offsetof(vmafx_plugin_backend, query) == 112);
LAYOUT(backend_extractor_repeats, offsetof(vmafx_plugin_backend, extractor_repeats) == 120);

LAYOUT(size_of_plugin, sizeof(vmafx_plugin) == 64);
LAYOUT(plugin_struct_size, offsetof(vmafx_plugin, struct_size) == 0);
LAYOUT(plugin_abi_chosen, offsetof(vmafx_plugin, abi_chosen) == 4);
LAYOUT(plugin_version, offsetof(vmafx_plugin, version) == 8);
LAYOUT(plugin_license, offsetof(vmafx_plugin, license) == 24);
LAYOUT(plugin_backends, offsetof(vmafx_plugin, backends) == 40);
LAYOUT(plugin_backend_count, offsetof(vmafx_plugin, backend_count) == 48);
LAYOUT(plugin_quiesce, offsetof(vmafx_plugin, quiesce) == 56);

LAYOUT(size_of_host, sizeof(vmafx_host) == 48);
LAYOUT(host_struct_size, offsetof(vmafx_host, struct_size) == 0);
LAYOUT(host_abi_min, offsetof(vmafx_host, abi_min) == 4);
LAYOUT(host_abi_max, offsetof(vmafx_host, abi_max) == 8);
LAYOUT(host_reserved, offsetof(vmafx_host, reserved) == 12);
LAYOUT(host_version, offsetof(vmafx_host, version) == 16);
LAYOUT(host_log_context, offsetof(vmafx_host, log_context) == 32);
LAYOUT(host_log, offsetof(vmafx_host, log) == 40);

#endif
