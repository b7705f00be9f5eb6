/* SPDX-License-Identifier: Apache-2.0 OR MIT */

/*
 * A plugin in C++ that throws where it is told to: in the method that the environment variable
 * VMAFX_TEST_FAIL_IN names, what VMAFX_TEST_THROW names. Without the first every method answers.
 */

#include <vmafx/plugin.hpp>

#include <cstdlib>

namespace {

void here(const char *method) {
    const char *told = std::getenv("VMAFX_TEST_FAIL_IN");
    if (told == nullptr || std::strcmp(told, method) != 0) return;
    const char *what = std::getenv("VMAFX_TEST_THROW");
    const std::string kind = what == nullptr ? "exception" : what;
    if (kind == "error")
        throw vmafx::Error(vmafx::Status::busy, method, std::string("told to fail in ") + method);
    if (kind == "memory") throw std::bad_alloc();
    if (kind == "number") throw 7;
    throw std::runtime_error(std::string("told to fail in ") + method);
}

class Scorer final : public vmafx::Extractor {
public:
    uint32_t columns() const override {
        here("columns");
        return 1;
    }
    uint32_t history() const override {
        here("history");
        return 0;
    }
    uint32_t in_flight() const override {
        here("in_flight");
        return 1;
    }
    void admits(const vmafx::Frame &) const override { here("admits"); }
    uint64_t submit(const vmafx::Job &) override {
        here("submit");
        return 7;
    }
    void collect(uint64_t, vmafx::Values values) override {
        here("collect");
        values.set(0, 1.0);
    }
    uint64_t repeats() const override {
        here("repeats");
        return 2;
    }
};

class Processor final : public vmafx::Device {
public:
    void describe(vmafx::DeviceInfo &) const override { here("describe"); }
    vmafx::Support supports(const vmafx::FeatureRequest &, const vmafx::Format &) const override {
        here("supports");
        return {};
    }
    std::unique_ptr<vmafx::Extractor> prepare(const vmafx::Plan &) override {
        here("prepare");
        return std::make_unique<Scorer>();
    }
};

class Fails final : public vmafx::Backend {
public:
    Fails() { here("new"); }
    vmafx::BackendInfo info() const override {
        here("info");
        vmafx::FeatureInfo nothing;
        nothing.name = "nothing";
        nothing.summary = "Always 1";
        nothing.source = "tests/plugins";
        nothing.outputs = {"nothing"};
        return {"fails", "Fails where it is told to", "1.0.0", "Apache-2.0 OR MIT", {nothing}};
    }
    uint32_t device_count() override {
        here("devices");
        return 1;
    }
    vmafx::DeviceInfo device_info(uint32_t) override {
        here("device_info");
        return {"A device", "portable"};
    }
    std::unique_ptr<vmafx::Device> open(const vmafx::DeviceDescriptor &) override {
        here("open");
        return std::make_unique<Processor>();
    }
    void quiesce() override { here("quiesce"); }
};

} // namespace

VMAFX_EXPORT_BACKEND(Fails)
