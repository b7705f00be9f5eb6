//! Devices: listed, opened, opened again, and refused.

use vmafx_api::{Device, DeviceInfo, OpenRequest, OptionSetting, OptionValue, Status};

use crate::candidate::Candidate;
use crate::check::{Check, Ending, Verdict, ensure, fail, refusal, refusal_as};
use crate::clip::Clip;
use crate::feature::Bench;
use crate::scoring::{prepare_alone, same, score_clip};

pub(super) static CHECKS: [Check; 4] = [
    Check::required(
        "devices-listed-alike",
        "The devices can be listed, are the same the second time, and have names.",
        listed_alike,
    ),
    Check::required(
        "unknown-device-refused",
        "A device number that is not below the number of devices is refused as not found.",
        unknown_device_refused,
    ),
    Check::required(
        "device-option-refused",
        "A device option that the backend does not have is refused.",
        device_option_refused,
    ),
    Check::required(
        "opens-repeatedly",
        "A device can be open twice at once, closed in any order and opened again, and gives the \
         same values each time.",
        opens_repeatedly,
    ),
];

fn listed_alike(candidate: &Candidate) -> Verdict {
    let (first, second) = (candidate.backend.devices()?, candidate.backend.devices()?);
    if first != second {
        let names = |list: &[DeviceInfo]| {
            let names: Vec<_> = list.iter().map(|device| format!("{device:?}")).collect();
            names.join(", ")
        };
        return fail(format!(
            "two lists of the devices differ: {} and then {}; list what is present in one order",
            names(&first),
            names(&second)
        ));
    }
    for device in &first {
        let index = device.index;
        ensure(!device.name.trim().is_empty(), || {
            format!("device {index} has no name; give it one that people know")
        })?;
        let opened = candidate.backend.open(&OpenRequest::new(index))?;
        let facts = |info: &DeviceInfo| (info.name.clone(), info.memory_kinds, info.pci);
        ensure(facts(opened.info()) == facts(device), || {
            format!(
                "device {index} is listed as {device:?} and opened as {:?}; they are one device",
                opened.info()
            )
        })?;
    }
    Ok(())
}

fn unknown_device_refused(candidate: &Candidate) -> Verdict {
    let count = candidate.backend.devices()?.len() as u32;
    for index in [count, u32::MAX] {
        let what = format!("device {index} of {count}");
        let answer = candidate.backend.open(&OpenRequest::new(index));
        refusal_as(Status::NOT_FOUND, &what, answer)?;
    }
    Ok(())
}

fn device_option_refused(candidate: &Candidate) -> Verdict {
    candidate.devices()?;
    let mut request = OpenRequest::new(candidate.device);
    let setting = OptionSetting::new("no_such_option", OptionValue::Int(1));
    request.options.push(setting);
    refusal(
        "device option `no_such_option`",
        candidate.backend.open(&request),
    )?;
    Ok(())
}

fn opens_repeatedly(candidate: &Candidate) -> Verdict {
    let open = |when: &str| -> Result<Device, Ending> {
        let opened = candidate.backend.open(&OpenRequest::new(candidate.device));
        opened.or_else(|error| {
            fail(format!(
                "device {} does not open {when}: {error}; every open is a device of its own",
                candidate.device
            ))
        })
    };
    let bench = Bench::open(candidate)?;
    let case = &bench.cases[0];
    let clip = Clip::new(case.format);
    let request = case.feature.request();
    let values = |device: &Device| -> Result<_, Ending> {
        Ok(score_clip(&prepare_alone(device, case)?, &clip)?)
    };
    let expected = values(&bench.device)?;
    let compare = |device: &Device, how: &str| {
        same(case, &request, &clip, [&expected, &values(device)?], how)
    };
    let second = open("while it is open")?;
    compare(&second, "on a device that is open twice")?;
    let third = open("while it is open twice")?;
    // Closed in the order of opening, then in the reverse one.
    drop(bench.device);
    compare(&second, "after the device that was opened first is closed")?;
    drop(third);
    compare(&second, "after the device that was opened last is closed")?;
    drop(second);
    compare(
        &open("after it is closed")?,
        "on a device that was opened again",
    )
}
