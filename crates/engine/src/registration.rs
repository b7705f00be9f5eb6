//! Which device computes which feature, decided before the first frame.
//!
//! Features come in the order of their first request, models first, as in libvmaf; that order
//! is the order of the report. Two requests whose scores have the same names are one feature.
//! Each feature goes to the first device that takes it. Backends are asked by priority, the
//! highest first, those of one priority by identifier, in whatever order they are given; the
//! devices of a backend in its own order. A backend that the request rules out is not asked at
//! all.
//!
//! What must stay true: all refusals are found and told together; a device that is passed over
//! is told with its reason; the same request on the same machine always gives the same plan.

use std::cmp::Reverse;
use std::ops::Range;

use vmafx_api::{
    ApiError, Backend, BackendInfo, Device, Extractor, FeatureRequest, FrameFormat, MemoryKind,
    OpenRequest, PlanRequest, Status,
};
use vmafx_metrics::{Output, option_text};

use crate::described;
use crate::error::{EngineError, SetupRefusal};
use crate::request::{BackendOption, FeatureSpec, Request};
use crate::warning::Warning;

/// The place of a backend among others; the smallest is asked first.
fn rank(info: &BackendInfo) -> (Reverse<i32>, &str) {
    (Reverse(info.priority), &info.id)
}

/// A feature with its place: who computes it and where its values are.
pub(crate) struct Registered {
    pub(crate) spec: FeatureSpec,
    /// Number in [`Registration::devices`].
    pub(crate) device: usize,
    /// Its columns among the values of a frame.
    pub(crate) values: Range<usize>,
}

/// Work that one device does for a frame.
pub(crate) struct Plan {
    pub(crate) extractor: Extractor,
    /// `backend:number` of the device.
    pub(crate) device: String,
    /// Whether it sees frames that subsampling leaves out.
    pub(crate) every_frame: bool,
    /// Its columns among the values of a frame.
    pub(crate) values: Range<usize>,
}

impl Plan {
    /// Whether it is given a frame, by whether subsampling lists that.
    pub(crate) fn sees(&self, listed: bool) -> bool {
        listed || self.every_frame
    }

    pub(crate) fn failed(&self, frame: u64, source: ApiError) -> EngineError {
        if source.status == Status::PANIC {
            return EngineError::Panic {
                frame,
                message: format!("{}: {}", self.device, source.message),
            };
        }
        EngineError::Device {
            frame,
            device: self.device.clone(),
            source,
        }
    }
}

/// Everything that registration decides.
pub(crate) struct Registration {
    pub(crate) features: Vec<Registered>,
    pub(crate) devices: Vec<Device>,
    pub(crate) plans: Vec<Plan>,
    /// Values of one frame.
    pub(crate) values: usize,
    /// Earlier frames that some plan reads.
    pub(crate) history: usize,
    pub(crate) warnings: Vec<Warning>,
}

/// The features to compute: every name once, the first request's options in force.
pub(crate) fn merge(
    requests: impl IntoIterator<Item = FeatureSpec>,
    warnings: &mut Vec<Warning>,
) -> Vec<FeatureSpec> {
    let suffix = |spec: &FeatureSpec| {
        let nameless = Output {
            internal: "",
            name: "",
        };
        spec.options.score_name(&nameless)
    };
    let mut merged: Vec<FeatureSpec> = Vec::new();
    for request in requests {
        let first = merged
            .iter()
            .find(|kept| kept.name() == request.name() && suffix(kept) == suffix(&request));
        match first {
            None => merged.push(request),
            Some(kept) if kept.options == request.options => {}
            Some(kept) => {
                let (kept, ignored) = difference(kept, &request);
                let feature = request.name().to_owned();
                let warning = Warning::OptionsIgnored {
                    feature,
                    kept,
                    ignored,
                };
                if !warnings.contains(&warning) {
                    warnings.push(warning);
                }
            }
        }
    }
    merged
}

/// The options in which two requests for one metric differ.
fn difference(a: &FeatureSpec, b: &FeatureSpec) -> (String, String) {
    let (a, b) = (a.options.request().options, b.options.request().options);
    let differing = a.iter().zip(&b).filter(|(a, b)| a != b);
    let text = |setting: &vmafx_api::OptionSetting| {
        format!("{}={}", setting.name, option_text(&setting.value))
    };
    let (a, b): (Vec<_>, Vec<_>) = differing.map(|(a, b)| (text(a), text(b))).unzip();
    (a.join(":"), b.join(":"))
}

/// A device that may be asked, opened when it first is.
struct Candidate<'a> {
    backend: &'a Backend,
    request: OpenRequest,
    opened: Option<Result<Device, ApiError>>,
}

impl Candidate<'_> {
    fn name(&self) -> String {
        format!("{}:{}", self.backend.info().id, self.request.index)
    }

    /// The device, if it computes `feature` for frames of `format` in memory of kind `memory`.
    fn supports(
        &mut self,
        feature: &FeatureRequest,
        format: &FrameFormat,
        memory: MemoryKind,
    ) -> Result<Device, Refusal> {
        let open = || self.backend.open(&self.request);
        let opened = self.opened.get_or_insert_with(open).clone();
        let device = opened.map_err(|reason| Refusal::Told(reason.to_string()))?;
        let support = device.supports(feature, format);
        let support = support.map_err(|reason| match reason.status {
            Status::NOT_FOUND => Refusal::Unknown(reason.to_string()),
            _ => Refusal::Told(reason.to_string()),
        })?;
        let kinds = support.memory_kinds;
        match kinds.contains(memory) {
            true => Ok(device),
            false => Err(Refusal::Told(format!(
                "it reads the feature's frames in {kinds}, those of the run are in {memory}"
            ))),
        }
    }
}

/// Why a device does not compute a feature.
enum Refusal {
    /// It knows no such feature, so it was never a candidate for it.
    Unknown(String),
    /// Anything else, which a user is told.
    Told(String),
}

impl Refusal {
    fn text(&self) -> &str {
        match self {
            Refusal::Unknown(text) | Refusal::Told(text) => text,
        }
    }
}

/// `backend:number` of a device.
pub(crate) fn name(device: &Device) -> String {
    format!("{}:{}", device.info().backend, device.info().index)
}

/// A device or backend, and why it is not used.
type Reason = (String, String);

/// A backend without devices, and why.
#[derive(Clone)]
struct Silent {
    backend: String,
    reason: String,
    /// Whether there is nothing on this machine for it to drive, which is no failure of anything.
    absent: bool,
}

/// The devices that the request allows, in order, and the backends that name none, with their
/// reasons.
fn candidates<'a>(
    backends: &'a [Backend],
    wanted: Option<&str>,
    options: &[BackendOption],
) -> Result<(Vec<Candidate<'a>>, Vec<Silent>), EngineError> {
    let mut ranked: Vec<_> = backends.iter().collect();
    ranked.sort_by(|a, b| rank(a.info()).cmp(&rank(b.info())));
    if let Some(wanted) = wanted {
        let id = wanted.split_once(':').map_or(wanted, |(id, _)| id);
        // Of a name that nobody has, the error tells all devices.
        if ranked.iter().any(|backend| backend.info().id == id) {
            ranked.retain(|backend| backend.info().id == id);
        }
    }
    let mut all = Vec::new();
    let mut silent = Vec::new();
    for backend in ranked {
        let id = &backend.info().id;
        let options = options.iter().filter(|option| option.backend == *id);
        let options: Vec<_> = options.map(|option| option.setting.clone()).collect();
        match backend.devices() {
            Ok(devices) => all.extend(devices.iter().map(|device| {
                let mut request = OpenRequest::new(device.index);
                request.options = options.clone();
                Candidate {
                    backend,
                    request,
                    opened: None,
                }
            })),
            Err(error) => silent.push(Silent {
                backend: id.clone(),
                absent: error.status == Status::NOT_FOUND,
                reason: match error.status {
                    // Class and subject say nothing that the words do not.
                    Status::NOT_FOUND => error.message,
                    _ => error.to_string(),
                },
            }),
        }
    }
    let Some(wanted) = wanted else {
        return Ok((all, silent));
    };
    let id = wanted.split_once(':').map_or(wanted, |(id, _)| id);
    if let Some(silent) = silent.iter().find(|silent| silent.backend == id) {
        return Err(EngineError::NoDevice {
            name: wanted.to_owned(),
            reason: silent.reason.clone(),
        });
    }
    let reasons = silent.iter().map(
        |Silent {
             backend, reason, ..
         }| format!("{backend} ({reason})"),
    );
    let known: Vec<_> = all.iter().map(Candidate::name).chain(reasons).collect();
    all.retain(|candidate| candidate.backend.info().id == wanted || candidate.name() == wanted);
    if all.is_empty() {
        return Err(EngineError::UnknownDevice {
            name: wanted.to_owned(),
            known: match known.is_empty() {
                true => "none".to_owned(),
                false => known.join(", "),
            },
        });
    }
    Ok((all, silent))
}

/// Finds a device for every feature and makes the plans.
pub(crate) fn register(
    format: &FrameFormat,
    features: Vec<FeatureSpec>,
    backends: &[Backend],
    request: &Request,
    mut refusals: Vec<SetupRefusal>,
) -> Result<Registration, EngineError> {
    let wanted = request.device.as_deref();
    let (mut candidates, silent) = candidates(backends, wanted, &request.backend_options)?;
    let failed = silent.iter().filter(|silent| !silent.absent);
    let mut warnings: Vec<_> = failed
        .map(
            |Silent {
                 backend, reason, ..
             }| Warning::BackendUnavailable {
                backend: backend.clone(),
                reason: reason.clone(),
            },
        )
        .collect();
    let mut devices: Vec<Device> = Vec::new();
    let mut placed = Vec::new();
    for spec in features {
        let feature = spec.options.request();
        // Devices that do not take the feature, with their reasons.
        let mut passed: Vec<(String, Refusal)> = Vec::new();
        let mut concerned = candidates
            .iter_mut()
            .filter(|candidate| described::concerns(candidate.backend, &spec));
        let found = concerned.find_map(|candidate| {
            match candidate.supports(&feature, format, request.memory) {
                Ok(device) => Some(device),
                Err(reason) => {
                    passed.push((candidate.name(), reason));
                    None
                }
            }
        });
        let Some(device) = found else {
            let passed = passed.into_iter();
            let passed = passed.map(|(device, reason)| (device, reason.text().to_owned()));
            let without_device = silent.iter().cloned();
            let without_device = without_device.map(|silent| (silent.backend, silent.reason));
            let passed = passed.chain(without_device).collect();
            refusals.push(refused(&spec, wanted, passed));
            continue;
        };
        let same = |used: &Device| used.is(&device);
        let number = devices.iter().position(same).unwrap_or_else(|| {
            devices.push(device.clone());
            devices.len() - 1
        });
        warnings.extend(
            passed
                .into_iter()
                .filter_map(|(from, reason)| match reason {
                    Refusal::Unknown(_) => None,
                    Refusal::Told(reason) => Some(Warning::Fallback {
                        feature: spec.name().to_owned(),
                        from,
                        to: name(&devices[number]),
                        reason,
                    }),
                }),
        );
        placed.push((spec, number));
    }
    if !refusals.is_empty() {
        return Err(EngineError::Refused(refusals));
    }
    let (features, plans) = plan(format, placed, &devices, request.subsample.get())?;
    Ok(Registration {
        values: plans.last().map_or(0, |plan| plan.values.end),
        history: plans
            .iter()
            .map(|p| p.extractor.history())
            .max()
            .unwrap_or(0),
        features,
        devices,
        plans,
        warnings,
    })
}

fn refused(spec: &FeatureSpec, wanted: Option<&str>, passed: Vec<Reason>) -> SetupRefusal {
    let feature = spec.name().to_owned();
    let reasons = |passed: Vec<Reason>| {
        let texts: Vec<_> = passed.iter().map(|(d, r)| format!("{d}: {r}")).collect();
        match texts.is_empty() {
            true if wanted.is_some() => "it offers no such feature".to_owned(),
            true => "there is no device".to_owned(),
            false => texts.join(", "),
        }
    };
    match wanted {
        Some(device) => SetupRefusal::NamedDevice {
            feature,
            device: device.to_owned(),
            reason: reasons(passed),
        },
        None => SetupRefusal::NoDevice {
            feature,
            reasons: reasons(passed),
        },
    }
}

/// One plan for each device and, when subsampling, one more for the features of every frame.
fn plan(
    format: &FrameFormat,
    placed: Vec<(FeatureSpec, usize)>,
    devices: &[Device],
    subsample: u32,
) -> Result<(Vec<Registered>, Vec<Plan>), EngineError> {
    let every_frame = |spec: &FeatureSpec| subsample == 1 || spec.metric.definition().every_frame;
    let mut plans: Vec<Plan> = Vec::new();
    let mut ranges = vec![0..0; placed.len()];
    for (number, used) in devices.iter().enumerate() {
        for every in [true, false] {
            let members: Vec<_> = (0..placed.len())
                .filter(|&i| placed[i].1 == number && every_frame(&placed[i].0) == every)
                .collect();
            if members.is_empty() {
                continue;
            }
            let requests: Vec<_> = members
                .iter()
                .map(|&i| placed[i].0.options.request())
                .collect();
            let request = PlanRequest::new(*format, &requests);
            let prepare = |source| EngineError::Prepare {
                device: name(used),
                source,
            };
            let extractor = used.prepare(&request).map_err(prepare)?;
            let start = plans.last().map_or(0, |plan| plan.values.end);
            let mut end = start;
            for &i in &members {
                let spec = &placed[i].0;
                let columns = spec.metric.columns(format, &spec.options).len();
                ranges[i] = end..end + columns;
                end += columns;
            }
            if extractor.columns() != end - start {
                return Err(prepare(ApiError::new(
                    Status::INTERNAL,
                    "columns",
                    format!(
                        "the plan answers with {} values a frame, its features have {}",
                        extractor.columns(),
                        end - start
                    ),
                )));
            }
            plans.push(Plan {
                extractor,
                device: name(used),
                every_frame: every,
                values: start..end,
            });
        }
    }
    let features = placed
        .into_iter()
        .zip(ranges)
        .map(|((spec, device), values)| Registered {
            spec,
            device,
            values,
        })
        .collect();
    Ok((features, plans))
}
