/* SPDX-License-Identifier: Apache-2.0 OR MIT */

/*
 * A plugin and a host in one program: what plugin.hpp makes of a backend is called as a host of
 * another program would call it. Every check that does not hold is printed and counted.
 */

#include <vmafx/plugin.hpp>

#include <cstdio>
#include <cstdlib>

namespace {

int failures = 0;
#define CHECK(condition)                                                                           \
    ((condition) ? void() : (++failures, void(std::printf("line %d: %s\n", __LINE__, #condition))))

vmafx::KeptFrame *kept = nullptr;

class Scorer final : public vmafx::FrameScorer {
public:
    uint32_t columns() const override { return 2; }
    uint32_t history() const override { return 1; }
    void score(const vmafx::Job &job, vmafx::Values values) override {
        switch (job.index()) {
        case 1: throw std::bad_alloc();
        case 2: throw std::out_of_range("at(9)");
        case 3: throw 3;
        case 4: throw vmafx::Error(vmafx::Status::busy, "queue", "try again later");
        case 5: throw vmafx::Error(vmafx::Status::ok, "status", "no failure at all");
        case 6: values.set(2, 0.0); break;
        case 7: kept = new vmafx::KeptFrame(job.reference().keep()); break;
        case 8: static_cast<void>(job.reference().plane(1)); break;
        default: break;
        }
        values.set(0, job.reference().plane(0).at(1, 1));
        values.set_count(1, job.earlier_count());
    }
};

class Processor final : public vmafx::Device {
public:
    void describe(vmafx::DeviceInfo &info) const override { info.isa = "fast"; }
    vmafx::Support supports(const vmafx::FeatureRequest &feature, const vmafx::Format &) const override {
        vmafx::Support support;
        if (feature.options.toggle("half")) support.memory_kinds = {vmafx::MemoryKind::dma_buf};
        return support;
    }
    std::unique_ptr<vmafx::Extractor> prepare(const vmafx::Plan &plan) override {
        if (plan.features.size() != 1) return nullptr;
        return std::make_unique<Scorer>();
    }
};

class Example final : public vmafx::Backend {
public:
    vmafx::BackendInfo info() const override {
        vmafx::FeatureInfo feature;
        feature.name = "pair";
        feature.outputs = {"first", "second"};
        feature.options = {vmafx::OptionInfo::toggle("half", "the first alone", true),
                           vmafx::OptionInfo::text("word", "any", "hello")};
        return {"example", "An example", "1.2.3", "MIT", {feature, feature}};
    }
    vmafx::DeviceInfo device_info(uint32_t) override {
        std::string name;
        for (int i = 0; i < 200; ++i) name += "\xc3\xa9";
        return {name, "portable"};
    }
    std::unique_ptr<vmafx::Device> open(const vmafx::DeviceDescriptor &descriptor) override {
        descriptor.options.only({"fast"});
        return std::make_unique<Processor>();
    }
};

std::string logged;
int retained = 0;

vmafx_plugin_text text(const char *literal) { return {literal, std::strlen(literal)}; }

vmafx_plugin_error fresh() { return VMAFX_PLUGIN_INIT(vmafx_plugin_error); }

} // namespace

VMAFX_EXPORT_BACKEND(Example)

int main() {
    auto host = VMAFX_PLUGIN_INIT(vmafx_host);
    host.abi_min = 1;
    host.abi_max = 7;
    host.log = [](void *, vmafx_plugin_log_level level, vmafx_plugin_text line) {
        logged = std::to_string(level) + " " + std::string(line.data, line.size);
    };

    // Negotiation.
    auto plugin = VMAFX_PLUGIN_INIT(vmafx_plugin);
    CHECK(vmafx_plugin_entry_v1(nullptr, &plugin) == VMAFX_PLUGIN_STATUS_INVALID);
    vmafx_host future = host;
    future.abi_min = 5;
    CHECK(vmafx_plugin_entry_v1(&future, &plugin) == VMAFX_PLUGIN_STATUS_ABI);
    CHECK(plugin.backends == nullptr);
    CHECK(vmafx_plugin_entry_v1(&host, &plugin) == VMAFX_PLUGIN_STATUS_OK);
    CHECK(plugin.abi_chosen == VMAFX_PLUGIN_ABI_REVISION);
    CHECK(plugin.struct_size == sizeof plugin && plugin.backend_count == 1);
    CHECK(std::string(plugin.version.data, plugin.version.size) == "1.2.3");
    vmafx::log(vmafx::LogLevel::warning, "a line");
    CHECK(logged == "2 a line");

    // Description.
    const vmafx_plugin_backend &table = *plugin.backends[0];
    CHECK(table.struct_size == sizeof table && table.info->feature_count == 2);
    const vmafx_plugin_feature_info &feature = *table.info->features[0];
    CHECK(feature.option_count == 2 && feature.output_count == 2);
    CHECK(feature.options[0]->default_value.whole == 1);
    CHECK(feature.options[0]->default_value.kind == VMAFX_PLUGIN_OPTION_KIND_SWITCH);
    CHECK(vmafx::detail::view(feature.options[1]->default_value.text) == "hello");
    CHECK(vmafx::detail::view(feature.outputs[1]->name) == "second");

    // Devices. A name of 400 bytes is cut between two characters of two bytes.
    auto error = fresh();
    uint32_t count = 0;
    CHECK(table.device_count(table.object, &count, &error) == VMAFX_PLUGIN_STATUS_OK && count == 1);
    auto info = VMAFX_PLUGIN_INIT(vmafx_plugin_device_info);
    CHECK(table.device_info(table.object, 0, &info, &error) == VMAFX_PLUGIN_STATUS_OK);
    CHECK(std::strlen(info.name) == 254 && std::strcmp(info.isa, "portable") == 0);
    CHECK(info.pci[0] == UINT32_MAX && info.memory_kinds == 2);

    // A host that knows less of a struct gets no byte more.
    auto old = VMAFX_PLUGIN_INIT(vmafx_plugin_device_info);
    old.struct_size = offsetof(vmafx_plugin_device_info, acquire_kinds);
    old.total_memory = 42;
    CHECK(table.device_info(table.object, 0, &old, &error) == VMAFX_PLUGIN_STATUS_OK);
    CHECK(old.struct_size == 16 && old.memory_kinds == 2 && old.pci[0] == 0 && old.name[0] == 0);
    CHECK(old.total_memory == 42);

    vmafx_plugin_option_setting setting{};
    setting.name = text("quick");
    auto descriptor = VMAFX_PLUGIN_INIT(vmafx_plugin_device_descriptor);
    descriptor.options = &setting;
    descriptor.option_count = 1;
    vmafx_plugin_device_object *device = nullptr;
    CHECK(table.device_open(table.object, &descriptor, &device, &info, &error) == VMAFX_PLUGIN_STATUS_INVALID);
    CHECK(std::strcmp(error.subject, "quick") == 0 && device == nullptr);
    descriptor.option_count = 0;
    descriptor.flags = 1;
    CHECK(table.device_open(table.object, &descriptor, &device, &info, &error) ==
          VMAFX_PLUGIN_STATUS_NOT_SUPPORTED);
    CHECK(std::strcmp(info.isa, "portable") == 0);
    descriptor.flags = 0;
    CHECK(table.device_open(table.object, &descriptor, &device, &info, &error) == VMAFX_PLUGIN_STATUS_OK);

    CHECK(std::strlen(info.name) == 254 && std::strcmp(info.isa, "fast") == 0);

    // Options.
    vmafx_plugin_option_setting half{};
    half.name = text("half");
    half.value.kind = VMAFX_PLUGIN_OPTION_KIND_SWITCH;
    half.value.whole = 1;
    vmafx_plugin_feature_request request = {text("pair"), &half, 1, 0, 0};
    const vmafx_plugin_format format = {4, 2, VMAFX_PLUGIN_PIXEL_FORMAT_YUV400P, 8, {}};
    auto support = VMAFX_PLUGIN_INIT(vmafx_plugin_support);
    CHECK(table.device_supports(device, &request, &format, &support, &error) == VMAFX_PLUGIN_STATUS_OK);
    CHECK(support.memory_kinds == 16 && support.pixel_formats == 30);
    half.value.kind = VMAFX_PLUGIN_OPTION_KIND_TEXT;
    CHECK(table.device_supports(device, &request, &format, &support, &error) ==
          VMAFX_PLUGIN_STATUS_INVALID);
    CHECK(std::strcmp(error.subject, "half") == 0);

    // A plan.
    auto plan = VMAFX_PLUGIN_INIT(vmafx_plugin_plan_request);
    plan.format = format;
    plan.features = &request;
    vmafx_plugin_extractor_object *extractor = nullptr;
    auto shape = VMAFX_PLUGIN_INIT(vmafx_plugin_extractor_info);
    CHECK(table.device_prepare(device, &plan, &extractor, &shape, &error) ==
          VMAFX_PLUGIN_STATUS_INTERNAL);
    plan.feature_count = 1;
    CHECK(table.device_prepare(device, &plan, &extractor, &shape, &error) == VMAFX_PLUGIN_STATUS_OK);
    CHECK(shape.columns == 2 && shape.history == 1 && shape.in_flight == 1);

    // Frames.
    const uint8_t samples[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    auto frame = VMAFX_PLUGIN_INIT(vmafx_plugin_frame);
    frame.memory = VMAFX_PLUGIN_MEMORY_KIND_HOST;
    frame.format = format;
    frame.planes[0] = {samples, 4, 4, 2};
    frame.retain = [](const vmafx_plugin_frame_object *) { ++retained; };
    frame.release = [](const vmafx_plugin_frame_object *) { --retained; };
    CHECK(table.extractor_admits(extractor, &frame, &error) == VMAFX_PLUGIN_STATUS_OK);
    vmafx_plugin_frame elsewhere = frame;
    elsewhere.memory = VMAFX_PLUGIN_MEMORY_KIND_DMA_BUF;
    CHECK(table.extractor_admits(extractor, &elsewhere, &error) == VMAFX_PLUGIN_STATUS_NOT_SUPPORTED);

    auto job = VMAFX_PLUGIN_INIT(vmafx_plugin_job);
    job.pair = {&frame, &frame};
    const auto submit = [&](uint64_t index, uint64_t *ticket) {
        job.index = index;
        error = fresh();
        return table.extractor_submit(extractor, &job, ticket, &error);
    };
    uint64_t ticket = 0, values[2] = {};
    CHECK(submit(0, &ticket) == VMAFX_PLUGIN_STATUS_OK);
    CHECK(table.extractor_collect(extractor, ticket, values, 1, &error) == VMAFX_PLUGIN_STATUS_INVALID);
    CHECK(table.extractor_collect(extractor, ticket, values, 2, &error) == VMAFX_PLUGIN_STATUS_OK);
    double score = 0;
    std::memcpy(&score, &values[0], sizeof score);
    CHECK(score == 6.0 && values[1] == 0);
    CHECK(table.extractor_collect(extractor, ticket, values, 2, &error) ==
          VMAFX_PLUGIN_STATUS_NOT_FOUND);

    // Everything thrown is stopped.
    CHECK(submit(1, &ticket) == VMAFX_PLUGIN_STATUS_NO_MEMORY);
    CHECK(submit(2, &ticket) == VMAFX_PLUGIN_STATUS_PANIC && !std::strcmp(error.message, "at(9)"));
    CHECK(submit(3, &ticket) == VMAFX_PLUGIN_STATUS_PANIC && error.message[0] != 0);
    CHECK(submit(4, &ticket) == VMAFX_PLUGIN_STATUS_BUSY);
    CHECK(!std::strcmp(error.subject, "queue") && !std::strcmp(error.message, "try again later"));
    CHECK(submit(5, &ticket) == VMAFX_PLUGIN_STATUS_INTERNAL);
    CHECK(submit(6, &ticket) == VMAFX_PLUGIN_STATUS_INTERNAL && !std::strcmp(error.subject, "column"));
    CHECK(submit(8, &ticket) == VMAFX_PLUGIN_STATUS_RANGE);
    job.index = 2;
    CHECK(table.extractor_submit(extractor, &job, &ticket, nullptr) == VMAFX_PLUGIN_STATUS_PANIC);
    error = fresh();
    error.struct_size = offsetof(vmafx_plugin_error, message);
    CHECK(table.extractor_submit(extractor, &job, &ticket, &error) == VMAFX_PLUGIN_STATUS_PANIC);
    CHECK(error.message[0] == 0);

    // Kept frames: each copy counts, a moved one does not.
    CHECK(submit(7, &ticket) == VMAFX_PLUGIN_STATUS_OK && retained == 1);
    {
        vmafx::KeptFrame copy = *kept;
        CHECK(retained == 2);
        vmafx::KeptFrame moved = std::move(copy);
        CHECK(retained == 2 && moved.plane(0).at(3, 1) == 8);
        moved = *kept;
        CHECK(retained == 2);
    }
    CHECK(retained == 1);
    delete kept;
    CHECK(retained == 0);

    table.extractor_destroy(extractor);
    table.device_close(device);
    plugin.quiesce();
    std::printf("%d failures\n", failures);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
