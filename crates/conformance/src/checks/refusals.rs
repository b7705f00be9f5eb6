//! Refusals: that they say what is wrong, in words.

use vmafx_api::{
    ApiError, FeatureRequest, OpenRequest, OptionSetting, OptionValue, PlanRequest, Ticket,
};

use crate::candidate::Candidate;
use crate::check::{Check, Verdict, ensure};
use crate::feature::Bench;
use crate::scoring::{collect, prepare_alone};

pub(super) static CHECKS: [Check; 1] = [Check::required(
    "refusals-explained",
    "Every refusal names what is at fault and says why.",
    refusals_explained,
)];

fn refusals_explained(candidate: &Candidate) -> Verdict {
    let backend = &candidate.backend;
    let count = backend.devices()?.len() as u32;
    explained("an unknown device", backend.open(&OpenRequest::new(count)))?;
    let bench = Bench::open(candidate)?;
    let mut request = OpenRequest::new(candidate.device);
    let setting = OptionSetting::new("no_such_option", OptionValue::Int(1));
    request.options.push(setting.clone());
    explained("an unknown device option", backend.open(&request))?;
    let unknown = FeatureRequest {
        feature: "no_such_feature".to_owned(),
        options: Vec::new(),
        definition: 0,
    };
    bench.each(|case| {
        let (device, format) = (&bench.device, &case.format);
        explained("an unknown feature", device.supports(&unknown, format))?;
        let mut request = case.feature.request();
        request.options.push(setting.clone());
        let what = format!("an unknown option of {case}");
        explained(&what, device.supports(&request, format))?;
        for option in &case.feature.options {
            for (value, _) in option.impossible() {
                let request = case.feature.request_with(&option.name, value);
                let what = format!("an impossible `{}` of {case}", option.name);
                explained(&what, device.supports(&request, format))?;
            }
        }
        let plan = [unknown.clone()];
        let plan = PlanRequest::new(*format, &plan);
        explained("a plan of an unknown feature", device.prepare(&plan))?;
        let extractor = prepare_alone(device, case)?;
        explained("an unknown ticket", collect(&extractor, Ticket(u64::MAX)))?;
        Ok(())
    })
}

/// Whether a refusal has words. That it is one, other checks see to.
fn explained<T>(what: &str, answer: Result<T, ApiError>) -> Verdict {
    // What the host puts where a backend said nothing.
    let unsaid = ApiError::new(
        vmafx_api::Status::INVALID,
        "backend",
        "the backend gave no reason",
    );
    let Err(error) = answer else {
        return Ok(());
    };
    let missing = |text: &str, unsaid: &str| text.trim().is_empty() || text == unsaid;
    let status = error.status;
    ensure(!missing(&error.subject, &unsaid.subject), || {
        format!(
            "the refusal of {what} ({status}) names no subject; name the argument, option or \
             feature at fault"
        )
    })?;
    ensure(!missing(&error.message, &unsaid.message), || {
        format!(
            "the refusal of {what} ({status}, subject `{}`) says no reason; say the value, the \
             limit and what to do",
            error.subject
        )
    })
}
