//! The backend through its traits: what it takes, what it refuses, and that order, threads and
//! neighbours of a frame change nothing.

use std::sync::Arc;

use vmafx_api::{
    ApiError, Backend, Chroma, Device, Extractor, FeatureRequest, Frame, FrameFormat, FrameJob,
    FramePair, HostFrame, ImportDescriptor, MemoryKind, OptionSetting, PlanRequest, Status,
    Support, Ticket, Value,
};
use vmafx_metrics::{Options, find};

use super::*;

fn feature(name: &str, settings: &[(&str, &str)]) -> FeatureRequest {
    let mut options = Options::defaults(find(name).unwrap().definition());
    for (name, value) in settings {
        options.set_text(name, value).unwrap();
    }
    options.request()
}

fn backend() -> Backend {
    let mut all = Backend::builtin().unwrap().into_iter();
    all.find(|backend| backend.info().id == ID).unwrap()
}

fn device() -> Device {
    backend().open(&OpenRequest::new(0)).unwrap()
}

fn prepare(format: FrameFormat, features: &[FeatureRequest]) -> Result<Extractor, ApiError> {
    device().prepare(&PlanRequest::new(format, features))
}

/// Reproducible noise over the full range.
fn noise(format: FrameFormat, seed: u64) -> Arc<Frame> {
    let mut frame = HostFrame::new(format);
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 40) as u32 & format.peak()
    };
    match format.depth() {
        8 => frame
            .bytes_mut()
            .iter_mut()
            .for_each(|sample| *sample = next() as u8),
        _ => frame
            .words_mut()
            .iter_mut()
            .for_each(|sample| *sample = next() as u16),
    }
    Arc::new(frame.into())
}

fn pair(reference: &Arc<Frame>, distorted: &Arc<Frame>) -> FramePair {
    FramePair {
        reference: reference.clone(),
        distorted: distorted.clone(),
    }
}

/// All values of frame `index` of a clip of noise.
fn score(plan: &Extractor, frames: &[Arc<Frame>], index: usize) -> Vec<Value> {
    let pair = |index: usize| pair(&frames[index], &frames[frames.len() - 1 - index]);
    let earlier = (0..index).rev().map(pair).take(plan.history()).collect();
    let job = FrameJob::new(index as u64, pair(index), earlier);
    let ticket = plan.submit(&job).unwrap();
    let mut values = vec![Value::default(); plan.columns()];
    plan.collect(ticket, &mut values).unwrap();
    values
}

#[test]
fn it_is_registered_and_describes_itself() {
    let backend = backend();
    assert_eq!(backend.info().library, "");
    let devices = backend.devices().unwrap();
    assert_eq!(devices.len(), 1);
    assert!(devices[0].isa.parse::<Level>().is_ok());
    assert!(devices[0].memory_kinds.contains(MemoryKind::HOST));
    let format = FrameFormat::new(32, 32, Chroma::Yuv420, 8).unwrap();
    let nothing = ImportDescriptor::without_planes(MemoryKind::DMA_BUF, format);
    let error = device().import(&nothing).unwrap_err();
    assert_eq!(
        error.to_string(),
        "device: the device takes in no frames of others (not supported)"
    );
    let error = backend.open(&OpenRequest::new(1)).unwrap_err();
    assert_eq!(error.status, Status::NOT_FOUND);
}

#[test]
fn a_mask_lowers_the_level_of_one_device() {
    let open = |name: &str, value| {
        let mut request = OpenRequest::new(0);
        request.options.push(OptionSetting::new(name, value));
        backend().open(&request)
    };
    let masked = open(MASK_OPTION, OptionValue::Int(-1)).unwrap();
    assert_eq!(masked.info().isa, "portable");
    let strongest = backend().devices().unwrap().remove(0).isa;
    assert_eq!(device().info().isa, strongest);
    let error = open("mask", OptionValue::Int(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "mask: the CPU's only option is cpumask (invalid)"
    );
    let error = open(MASK_OPTION, OptionValue::Bool(true)).unwrap_err();
    assert!(
        error.message.contains("switch is not a whole number"),
        "{error}"
    );
}

#[test]
fn every_metric_is_taken() {
    let format = FrameFormat::new(64, 64, Chroma::Yuv420, 8).unwrap();
    for metric in vmafx_metrics::all() {
        let feature = Options::defaults(metric.definition()).request();
        let answer = device().supports(&feature, &format);
        assert_eq!(answer, Ok(Support::host()), "{}", feature.feature);
    }
}

#[test]
fn refusals_name_the_reason() {
    let format = FrameFormat::new(64, 64, Chroma::Yuv420, 8).unwrap();
    let refuse = |feature: &FeatureRequest, format: &FrameFormat| {
        let error = device().supports(feature, format).unwrap_err();
        assert_eq!(error.subject, feature.feature);
        (error.status, error.message)
    };
    let vif = feature("vif", &[]);
    let tiny = FrameFormat::new(4, 64, Chroma::Yuv420, 8).unwrap();
    let (status, text) = refuse(&vif, &tiny);
    assert!(
        status == Status::NOT_SUPPORTED && text.contains("4x64"),
        "{text}"
    );
    let unknown = FeatureRequest {
        feature: "dream".to_owned(),
        options: Vec::new(),
        definition: 0,
    };
    let (status, text) = refuse(&unknown, &format);
    assert_eq!(
        (status, &*text),
        (Status::NOT_FOUND, "the CPU backend has no such feature")
    );
    let mut newer = feature("vif", &[]);
    newer.definition += 1;
    let (status, text) = refuse(&newer, &format);
    assert_eq!(status, Status::NOT_SUPPORTED);
    assert!(
        text.starts_with("definition 2 is asked for, the CPU backend has 1"),
        "{text}"
    );
    let mut wrong = feature("vif", &[]);
    wrong.options[0].name = "deb".to_owned();
    let (status, text) = refuse(&wrong, &format);
    assert!(
        status == Status::INVALID && text.contains("`deb`"),
        "{text}"
    );
    assert_eq!(
        prepare(tiny, &[vif]).err().unwrap().status,
        Status::NOT_SUPPORTED
    );
}

/// Features of one plan do not see one another, and a plan equals its features alone.
#[test]
fn columns_follow_the_plan() {
    let format = FrameFormat::new(50, 40, Chroma::Yuv422, 10).unwrap();
    let frames: Vec<_> = (0..4).map(|seed| noise(format, seed)).collect();
    let features = [
        feature("motion", &[("motion_five_frame_window", "true")]),
        feature("vif", &[]),
        feature("psnr", &[("enable_mse", "true"), ("enable_apsnr", "true")]),
        feature("adm", &[("debug", "true")]),
        feature("vif", &[("vif_enhn_gain_limit", "1"), ("debug", "true")]),
        feature("motion", &[]),
    ];
    let plan = prepare(format, &features).unwrap();
    assert_eq!(plan.history(), 2);
    for index in 0..frames.len() {
        let together = score(&plan, &frames, index);
        let alone: Vec<_> = features
            .iter()
            .flat_map(|feature| {
                let plan = prepare(format, std::slice::from_ref(feature)).unwrap();
                score(&plan, &frames, index)
            })
            .collect();
        assert_eq!(together, alone, "frame {index}");
        let started = together[plan.columns() - 1].as_score();
        assert_eq!(
            (started == 0.0, together[0].as_score() == 0.0),
            (index < 1, index < 2)
        );
    }
}

/// Order of frames, threads and what a buffer held before change nothing.
#[test]
fn frames_are_independent() {
    for (width, height, depth) in [(37, 51, 8), (64, 34, 12)] {
        let format = FrameFormat::new(width, height, Chroma::Yuv420, depth).unwrap();
        let frames: Vec<_> = (10..18).map(|seed| noise(format, seed)).collect();
        let features = ["vif", "adm", "motion", "psnr"].map(|name| feature(name, &[]));
        let fresh: Vec<_> = (0..frames.len())
            .map(|index| score(&prepare(format, &features).unwrap(), &frames, index))
            .collect();
        let plan = prepare(format, &features).unwrap();
        let shared = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..frames.len())
                .rev()
                .map(|index| {
                    let (plan, frames) = (&plan, &frames);
                    scope.spawn(move || (index, score(plan, frames, index)))
                })
                .collect();
            let joined = threads.into_iter().map(|thread| thread.join().unwrap());
            joined.collect::<Vec<_>>()
        });
        for (index, values) in shared {
            assert_eq!(values, fresh[index], "frame {index} of {format}");
        }
    }
}

#[test]
fn misuse_is_answered() {
    let format = FrameFormat::new(32, 32, Chroma::Yuv420, 8).unwrap();
    let frames: Vec<_> = (0..2).map(|seed| noise(format, seed)).collect();
    let plan = prepare(format, &[feature("motion", &[]), feature("psnr", &[])]).unwrap();
    let pair_of = |x, y| pair(&frames[x], &frames[y]);
    let submit =
        |index, pair, earlier: &[_]| plan.submit(&FrameJob::new(index, pair, earlier.to_vec()));
    let error = submit(1, pair_of(0, 1), &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "job.earlier: frame 1 needs 1 earlier frames, 0 were given (invalid)"
    );
    let other = noise(FrameFormat::new(32, 30, Chroma::Yuv420, 8).unwrap(), 0);
    let error = submit(0, pair(&frames[0], &other), &[]).unwrap_err();
    assert_eq!(
        (error.status, &*error.subject),
        (Status::INVALID, "job.distorted")
    );
    let error = submit(1, pair_of(0, 1), &[pair(&other, &other)]).unwrap_err();
    assert_eq!(
        (error.status, &*error.subject),
        (Status::INVALID, "job.earlier.reference")
    );

    let ticket = submit(0, pair_of(0, 1), &[]).unwrap();
    let mut values = vec![Value::default(); plan.columns()];
    assert_eq!(
        plan.collect(ticket, &mut values[1..]).unwrap_err().status,
        Status::INVALID
    );
    plan.collect(ticket, &mut values).unwrap();
    for stale in [ticket, Ticket(7)] {
        assert_eq!(
            plan.collect(stale, &mut values).unwrap_err().status,
            Status::NOT_FOUND
        );
    }
    // The slot is used again, under another ticket.
    let again = submit(0, pair_of(1, 0), &[]).unwrap();
    assert_ne!(again, ticket);
    assert_eq!(
        plan.collect(ticket, &mut values).unwrap_err().status,
        Status::NOT_FOUND
    );
    plan.collect(again, &mut values).unwrap();
}

#[test]
fn host_frames_are_admitted() {
    let format = FrameFormat::new(32, 32, Chroma::Yuv420, 8).unwrap();
    let plan = prepare(format, &[feature("psnr", &[])]).unwrap();
    assert_eq!(plan.admits(&noise(format, 0)), Ok(()));
    let other = FrameFormat::new(32, 30, Chroma::Yuv420, 8).unwrap();
    let error = plan.admits(&noise(other, 0)).unwrap_err();
    assert_eq!((error.status, &*error.subject), (Status::INVALID, "frame"));
}

#[test]
fn a_level_can_be_named() {
    for level in Level::ALL {
        match CpuBackend::with_level(*level) {
            Ok(backend) => assert_eq!(backend.devices().unwrap()[0].isa, level.name()),
            Err(error) => assert_eq!(error, LevelError::NotAvailable { level: *level }),
        }
    }
    let wrong = CpuBackend {
        limit: Limit::Variable("mmx".parse().map(Some)),
    };
    for error in [
        wrong.devices().unwrap_err(),
        wrong.open(&OpenRequest::new(0)).err().unwrap(),
    ] {
        assert_eq!(
            error.to_string(),
            "VMAFX_CPU_LEVEL: there is no CPU level `mmx`; the levels are: portable, avx2, avx512, avx512vnni (invalid)"
        );
    }
}
