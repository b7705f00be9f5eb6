// A vmafx backend in C++17 that brings along one feature: `mad`, the mean absolute difference of
// luma, in steps of 8 bits. Its option `floor` says up to how many steps a difference counts as
// none.
//
// The sum is a whole number and is rounded once, so that the score does not depend on the compiler
// or the processor.

#include <vmafx/plugin.hpp>

namespace {

constexpr const char *version = "0.1.0";

/// The value of `floor` in a request for `mad`.
uint64_t floor_of(const vmafx::FeatureRequest &request) {
    if (request.name != "mad")
        throw vmafx::Error(vmafx::Status::not_found, request.name,
                           "this backend computes `mad` alone");
    request.options.only({"floor"});
    const int64_t floor = request.options.whole("floor");
    if (floor < 0 || floor > 255)
        throw vmafx::Error(vmafx::Status::range, "floor",
                           std::to_string(floor) + " is outside 0 to 255");
    return static_cast<uint64_t>(floor);
}

/// The mean of all differences above `floor`, in steps of the samples.
double mad(const vmafx::Plane &reference, const vmafx::Plane &distorted, uint64_t floor) {
    uint64_t sum = 0;
    for (uint32_t y = 0; y < reference.height(); ++y) {
        for (uint32_t x = 0; x < reference.width(); ++x) {
            const uint64_t r = reference.at(x, y), d = distorted.at(x, y);
            const uint64_t difference = r > d ? r - d : d - r;
            if (difference > floor) sum += difference;
        }
    }
    const uint64_t count = uint64_t{reference.width()} * reference.height();
    return static_cast<double>(sum) / static_cast<double>(count);
}

/// A plan made ready: one value for each feature of the plan.
class Scorer final : public vmafx::FrameScorer {
public:
    explicit Scorer(std::vector<uint64_t> floors) : floors_(std::move(floors)) {}

    uint32_t columns() const override { return static_cast<uint32_t>(floors_.size()); }

    void score(const vmafx::Job &job, vmafx::Values values) override {
        const vmafx::Plane reference = job.reference().plane(0);
        const vmafx::Plane distorted = job.distorted().plane(0);
        const uint64_t step = uint64_t{1} << (reference.depth() - 8);
        for (size_t i = 0; i < floors_.size(); ++i)
            values.set(i, mad(reference, distorted, floors_[i] * step) / static_cast<double>(step));
    }

private:
    std::vector<uint64_t> floors_;
};

/// The backend's one device, which is the thread that calls.
class Processor final : public vmafx::Device {
public:
    vmafx::Support supports(const vmafx::FeatureRequest &feature,
                            const vmafx::Format &) const override {
        floor_of(feature);
        return {};
    }

    std::unique_ptr<vmafx::Extractor> prepare(const vmafx::Plan &plan) override {
        std::vector<uint64_t> floors;
        for (const vmafx::FeatureRequest &feature : plan.features)
            floors.push_back(floor_of(feature));
        return std::make_unique<Scorer>(std::move(floors));
    }
};

/// The backend: what it is, and its devices.
class Example final : public vmafx::Backend {
public:
    vmafx::BackendInfo info() const override {
        vmafx::OptionInfo floor = vmafx::OptionInfo::whole(
            "floor", "Differences of up to this many 8-bit steps count as none.", 0, 0, 255);
        floor.in_names = true;

        vmafx::FeatureInfo mad;
        mad.name = "mad";
        mad.summary = "Mean absolute difference of luma, in 8-bit steps";
        mad.source = "vmafx, docs/plugin-author-guide.md";
        mad.outputs = {"mad"};
        mad.options = {floor};

        return {"example-cpp", "An example in C++", version, "Apache-2.0 OR MIT", {mad}};
    }

    vmafx::DeviceInfo device_info(uint32_t index) override {
        check(index);
        return {"the calling thread", "portable"};
    }

    std::unique_ptr<vmafx::Device> open(const vmafx::DeviceDescriptor &descriptor) override {
        check(descriptor.index);
        descriptor.options.only({});
        return std::make_unique<Processor>();
    }

private:
    static void check(uint32_t index) {
        if (index != 0)
            throw vmafx::Error(vmafx::Status::not_found, "index", "there is device 0 alone");
    }
};

} // namespace

VMAFX_EXPORT_BACKEND(Example)
