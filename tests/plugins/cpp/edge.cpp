/* SPDX-License-Identifier: Apache-2.0 OR MIT */

/*
 * A plugin in C++17 over plugin.hpp that serves `edge`, as edge.c does, and `edge_change`, which
 * reads the frame before: the mean change of the horizontal gradients from frame to frame,
 * reference and distorted compared.
 *
 *   edge_change(t) = sum(| |dr(t) - dr(t-1)| - |dd(t) - dd(t-1)| |) / ((width - 1) * height)
 *
 * where dr and dd are the gradients of the two frames; 0 for the first frame.
 */

#include <vmafx/plugin.hpp>

#include <cstdlib>

namespace {

int64_t gradient(const vmafx::Plane &plane, uint32_t x, uint32_t y) {
    return std::llabs(int64_t{plane.at(x, y)} - int64_t{plane.at(x - 1, y)});
}

class Edges final : public vmafx::FrameScorer {
public:
    /** `weights` of each feature of the plan; 0 stands for edge_change. */
    explicit Edges(std::vector<uint64_t> weights) : weights_(std::move(weights)) {
        for (uint64_t weight : weights_) looks_back_ = looks_back_ || weight == 0;
    }

    uint32_t columns() const override { return static_cast<uint32_t>(weights_.size()); }
    uint32_t history() const override { return looks_back_ ? 1 : 0; }
#ifdef EDGE_REPEATS
    uint64_t repeats() const override { return EDGE_REPEATS; }
#endif

    void score(const vmafx::Job &job, vmafx::Values values) override {
        const vmafx::Plane reference = job.reference().plane(0), distorted = job.distorted().plane(0);
        const bool first = job.earlier_count() == 0;
        uint64_t sum = 0, change = 0;
        for (uint32_t y = 0; y < reference.height(); ++y)
            for (uint32_t x = 1; x < reference.width(); ++x)
                sum += difference(gradient(reference, x, y), gradient(distorted, x, y));
        if (looks_back_ && !first) {
            const vmafx::FramePair before = job.earlier(0);
            const vmafx::Plane old_reference = before.reference.plane(0);
            const vmafx::Plane old_distorted = before.distorted.plane(0);
            for (uint32_t y = 0; y < reference.height(); ++y)
                for (uint32_t x = 1; x < reference.width(); ++x)
                    change += difference(
                        std::llabs(gradient(reference, x, y) - gradient(old_reference, x, y)),
                        std::llabs(gradient(distorted, x, y) - gradient(old_distorted, x, y)));
        }
        const auto count = static_cast<double>(uint64_t{reference.width() - 1} * reference.height());
        for (size_t i = 0; i < weights_.size(); ++i)
            values.set(i, static_cast<double>(weights_[i] == 0 ? change : weights_[i] * sum) / count);
    }

private:
    static uint64_t difference(int64_t a, int64_t b) { return static_cast<uint64_t>(std::llabs(a - b)); }

    std::vector<uint64_t> weights_;
    bool looks_back_ = false;
};

class Processor final : public vmafx::Device {
public:
    vmafx::Support supports(const vmafx::FeatureRequest &feature,
                            const vmafx::Format &format) const override {
        static_cast<void>(weight(feature, format));
        return {};
    }

    std::unique_ptr<vmafx::Extractor> prepare(const vmafx::Plan &plan) override {
        std::vector<uint64_t> weights;
        for (const vmafx::FeatureRequest &feature : plan.features) 
            weights.push_back(weight(feature, plan.format));
        return std::make_unique<Edges>(std::move(weights));
    }

private:
    static uint64_t weight(const vmafx::FeatureRequest &feature, const vmafx::Format &format) {
        const uint64_t weight = weight_of(feature);
        if (format.width < 2)
            throw vmafx::Error(vmafx::Status::range, "width", "a gradient takes two samples");
        return weight;
    }

    static uint64_t weight_of(const vmafx::FeatureRequest &feature) {
        if (feature.name == "edge_change") {
            feature.options.only({});
            return 0;
        }
        if (feature.name != "edge")
            throw vmafx::Error(vmafx::Status::not_found, feature.name, "`edge` and `edge_change` are known");
        feature.options.only({"weight"});
        const int64_t weight = feature.options.whole("weight");
        if (weight < 1 || weight > 16)
            throw vmafx::Error(vmafx::Status::range, "weight", std::to_string(weight) + " is not 1 to 16");
        return static_cast<uint64_t>(weight);
    }
};

class Edge final : public vmafx::Backend {
public:
    vmafx::BackendInfo info() const override {
        vmafx::OptionInfo weight = vmafx::OptionInfo::whole("weight", "Factor of the score.", 1, 1, 16);
        weight.alias = "w";
        weight.in_names = true;
        vmafx::FeatureInfo edge;
        edge.name = "edge";
        edge.summary = "Mean difference of horizontal gradients";
        edge.source = "tests/plugins";
        edge.outputs = {"edge"};
        edge.options = {weight};
        edge.min_width = 2;
        vmafx::FeatureInfo change = edge;
        change.name = "edge_change";
        change.summary = "Mean change of horizontal gradients";
        change.outputs = {"edge_change"};
        change.options = {};
        return {"edge-cpp", "Edges, in C++", "1.2.0", "Apache-2.0 OR MIT", {edge, change}};
    }

    vmafx::DeviceInfo device_info(uint32_t index) override {
        if (index != 0) throw vmafx::Error(vmafx::Status::not_found, "index", "there is one device, 0");
        return {"The thread that asks", "portable"};
    }

    std::unique_ptr<vmafx::Device> open(const vmafx::DeviceDescriptor &descriptor) override {
        if (descriptor.index != 0)
            throw vmafx::Error(vmafx::Status::not_found, "index", "there is one device, 0");
        descriptor.options.only({});
        return std::make_unique<Processor>();
    }
};

} // namespace

VMAFX_EXPORT_BACKEND(Edge)
