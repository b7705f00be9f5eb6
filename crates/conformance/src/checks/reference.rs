//! Features of this program that a backend serves: the same bits as the scalar definition.

use std::sync::OnceLock;

use vmafx_api::{Backend, Chroma, Device, FeatureRequest, FrameFormat, OpenRequest};
use vmafx_backend_cpu::{CpuBackend, Level};
use vmafx_metrics::{Metric, Options};

use crate::candidate::Candidate;
use crate::check::{Check, Ending, Verdict, ensure, fail, refusal, skip};
use crate::clip::Clip;
use crate::feature::{Bench, Case, Origin, grid, sizes, takes};
use crate::scoring::{prepare, same, score_clip};

pub(super) static CHECKS: [Check; 3] = [
    Check::required(
        "definition-equal",
        "Every value of a feature of this program equals the scalar definition in every bit, at \
         every size, depth and layout that is supported.",
        definition_equal,
    ),
    Check::required(
        "definition-options-equal",
        "So it does with each option at the ends and in the middle of its range.",
        definition_options_equal,
    ),
    Check::required(
        "definition-limits-kept",
        "Sizes and options that the definition of a feature of this program excludes are refused.",
        definition_limits_kept,
    ),
];

/// The device of the scalar definition.
fn definition() -> Result<&'static Device, Ending> {
    static DEVICE: OnceLock<Result<Device, String>> = OnceLock::new();
    let open = || {
        let backend = CpuBackend::with_level(Level::Portable).map_err(|error| error.to_string())?;
        let opened = Backend::new(backend).and_then(|backend| backend.open(&OpenRequest::new(0)));
        opened.map_err(|error| error.to_string())
    };
    let device = DEVICE.get_or_init(open).as_ref();
    device.or_else(|error| fail(format!("the scalar definition does not run here: {error}")))
}

/// Runs `body` for each case of a feature of this program.
///
/// # Errors
/// There are none.
fn each_served(bench: &Bench, body: impl Fn(&Case, &'static dyn Metric) -> Verdict) -> Verdict {
    let metric = |case: &Case| match case.feature.origin {
        Origin::Program(metric) => Some(metric),
        Origin::Backend(_) => None,
    };
    if !bench.cases.iter().any(|case| metric(case).is_some()) {
        return skip("the backend serves no feature of this program");
    }
    bench.each(|case| metric(case).map_or(Ok(()), |metric| body(case, metric)))
}

/// Compares the values of a clip with those of the definition.
fn compare(bench: &Bench, case: &Case, request: &FeatureRequest) -> Verdict {
    let clip = Clip::new(case.format);
    let requests = std::slice::from_ref(request);
    let expected = score_clip(&prepare(definition()?, case, requests)?, &clip)?;
    let values = score_clip(&prepare(&bench.device, case, requests)?, &clip)?;
    let how = match *request == case.feature.request() {
        true => "by this backend".to_owned(),
        false => format!("by this backend with {}", options(case, request)),
    };
    same(case, request, &clip, [&expected, &values], &how)
}

/// The options that are not at their defaults.
fn options(case: &Case, request: &FeatureRequest) -> String {
    let defaults = case.feature.request();
    let settings = request.options.iter().zip(&defaults.options);
    let changed = settings.filter(|(setting, default)| setting.value != default.value);
    let changed = changed.map(|(setting, _)| {
        format!(
            "{}={}",
            setting.name,
            vmafx_metrics::option_text(&setting.value)
        )
    });
    changed.collect::<Vec<_>>().join(", ")
}

fn definition_equal(candidate: &Candidate) -> Verdict {
    let bench = Bench::open(candidate)?;
    each_served(&bench, |case, _| {
        let request = case.feature.request();
        for format in grid(&case.feature) {
            if takes(&bench.device, &request, &format) {
                let case = Case {
                    format,
                    ..case.clone()
                };
                compare(&bench, &case, &request)?;
            }
        }
        Ok(())
    })
}

fn definition_options_equal(candidate: &Candidate) -> Verdict {
    let bench = Bench::open(candidate)?;
    each_served(&bench, |case, metric| {
        for depth in [case.format.depth(), 10, 16] {
            let (width, height) = (case.format.width() + 1, case.format.height() + 1);
            let format = FrameFormat::new(width, height, Chroma::Yuv422, depth);
            let format = format.or_else(|error| fail(error.to_string()))?;
            let case = Case {
                format,
                ..case.clone()
            };
            for request in case.feature.variations() {
                if allowed(metric, &format, &request) && takes(&bench.device, &request, &format) {
                    compare(&bench, &case, &request)?;
                }
            }
        }
        Ok(())
    })
}

/// Whether the definition takes the request.
fn allowed(metric: &dyn Metric, format: &FrameFormat, request: &FeatureRequest) -> bool {
    let options = Options::from_request(metric.definition(), request);
    options.is_ok_and(|options| metric.check(format, &options).is_ok())
}

fn definition_limits_kept(candidate: &Candidate) -> Verdict {
    let bench = Bench::open(candidate)?;
    each_served(&bench, |case, metric| {
        let (width, height) = metric.definition().min_size;
        let small = [
            (width.saturating_sub(1), height),
            (width, height.saturating_sub(1)),
            (1, 1),
        ];
        let mut requests = vec![case.feature.request()];
        requests.extend(case.feature.variations());
        for option in &case.feature.options {
            let values = option.impossible().into_iter();
            requests
                .extend(values.map(|(value, _)| case.feature.request_with(&option.name, value)));
        }
        for (width, height) in sizes((width, height)).into_iter().take(1).chain(small) {
            let format = FrameFormat::new(width, height, case.format.chroma(), case.format.depth());
            let Ok(format) = format else { continue };
            for request in &requests {
                if allowed(metric, &format, request) {
                    continue;
                }
                let options = options(case, request);
                let what = format!(
                    "`{}` at {format} with options [{options}], which its definition refuses,",
                    case.feature.name
                );
                let error = refusal(&what, bench.device.supports(request, &format))?;
                ensure(error.status != vmafx_api::Status::NOT_FOUND, || {
                    format!(
                        "{what} is refused as not found ({error}), by a device that knows it; say \
                         what is wrong with the request"
                    )
                })?;
            }
        }
        Ok(())
    })
}
