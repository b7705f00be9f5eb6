//! The devices of the runtime, and which of the carried code objects each of them takes.
//!
//! What must stay true: a machine without runtime or device is told of in one line, as absent; one
//! whose runtime does not work is a failure, never an absence; a device that no carried code fits
//! is listed with that reason, and opening it says what to do.

use std::ffi::{CStr, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::Access;
use vmafx_api::{ApiError, BackendInfo, DeviceInfo, FenceKind, OpenRequest, Status};
use vmafx_gpu::library::settings;
use vmafx_gpu::runtime::StreamHandle;
use vmafx_gpu::{ObjectTable, Opened, Platform, Runtime, carried, device_at, no_options};

use crate::ID;
use crate::device::Device;
use crate::functions::{self, SEARCH};
use crate::target::{self, GENERIC_SINCE};

mod objects {
    include!(concat!(env!("OUT_DIR"), "/objects.rs"));
}

/// Before the CPU, which has 0.
const PRIORITY: i32 = 50;
/// Variables by which devices are hidden.
const HIDING: [&str; 3] = [
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
];
/// What the kernel's driver shows.
const CONTROL: &str = "/dev/kfd";

/// The HIP runtime with its devices.
#[derive(Debug, Default)]
pub struct Hip {
    /// Where it is, if that was told.
    file: Option<PathBuf>,
    /// Once it was found; a runtime that is not there may come later.
    runtime: Mutex<Option<Arc<functions::Hip>>>,
}

impl Hip {
    /// The runtime of this machine; it is looked for when it is needed.
    pub fn new() -> Self {
        Hip::default()
    }

    /// The runtime in this file, whatever the environment says.
    ///
    /// # Safety
    /// Functions of the file that have names of the HIP runtime have its types, too.
    pub unsafe fn with_library(file: impl Into<PathBuf>) -> Self {
        Hip {
            file: Some(file.into()),
            ..Hip::default()
        }
    }

    /// The runtime, ready for use.
    fn runtime(&self) -> Result<Arc<functions::Hip>, ApiError> {
        let mut known = self.runtime.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hip) = &*known {
            return Ok(hip.clone());
        }
        // SAFETY: the promise of `with_library`, which alone sets a file.
        let hip = unsafe { functions::Hip::find(self.file.as_deref()) }.map_err(|error| {
            let message = format!("{error}{}", surroundings());
            ApiError::new(error.status(), "runtime", message)
        })?;
        // SAFETY: takes no object.
        match unsafe { (hip.functions.init)(0) } {
            functions::SUCCESS => {}
            // ROCm 5 answers the second.
            functions::NO_DEVICE | functions::INVALID_DEVICE => return Err(no_device(&hip)),
            code => {
                let failure = hip.failure("hipInit", code);
                let message = format!(
                    "{} does not start: {failure}{}",
                    named(&hip),
                    surroundings()
                );
                let error = ApiError::new(Status::DEVICE, "runtime", message);
                return Err(error.with_code(code.into()));
            }
        }
        Ok(known.insert(Arc::new(hip)).clone())
    }
}

/// A device that the runtime shows.
#[derive(Debug)]
struct Found {
    index: c_int,
    name: String,
    /// Its architecture, such as `gfx1100`.
    gfx: String,
    memory: u64,
    pci: Option<[u32; 4]>,
    /// The carried code that it takes.
    target: Option<String>,
}

impl Found {
    fn info(&self) -> DeviceInfo {
        let name = match self.target {
            Some(_) => self.name.clone(),
            None => format!("{} (unusable: no code object for {})", self.name, self.gfx),
        };
        let mut info = DeviceInfo::new(name, self.gfx.clone());
        info.total_memory = self.memory;
        info.pci = self.pci;
        info
    }
}

fn found(hip: &functions::Hip, objects: &ObjectTable) -> Result<Vec<Found>, ApiError> {
    let mut count = 0;
    // SAFETY: the room is one number's.
    let code = unsafe { (hip.functions.device_count)(&mut count) };
    match code {
        functions::NO_DEVICE => return Err(no_device(hip)),
        code => hip.check("hipGetDeviceCount", code)?,
    }
    if count < 1 {
        return Err(no_device(hip));
    }
    let targets: Vec<&str> = objects.targets().collect();
    (0..count).map(|index| look(hip, index, &targets)).collect()
}

fn look(hip: &functions::Hip, index: c_int, targets: &[&str]) -> Result<Found, ApiError> {
    let functions = &hip.functions;
    let (call, ask, at) = match (functions.properties, functions.properties_5) {
        (Some(ask), _) => (
            "hipGetDevicePropertiesR0600",
            ask,
            functions::ARCHITECTURE_AT,
        ),
        (None, Some(ask)) => ("hipGetDeviceProperties", ask, functions::ARCHITECTURE_AT_5),
        (None, None) => {
            let message = format!("{} tells no properties of devices", named(hip));
            return Err(ApiError::new(Status::NOT_SUPPORTED, "runtime", message));
        }
    };
    let mut properties = Properties([0; functions::PROPERTIES_BYTES]);
    let room: *mut c_void = properties.0.as_mut_ptr().cast();
    // SAFETY: the room is larger than the properties of any version, and aligned for them.
    let code = unsafe { ask(room, index) };
    hip.check(call, code)?;
    let name = properties.text(0).unwrap_or_default();
    let gfx = properties.text(at).unwrap_or_default();

    let mut memory = 0;
    // SAFETY: the room is one number's.
    let code = unsafe { (functions.device_memory)(&mut memory, index) };
    hip.check("hipDeviceTotalMem", code)?;

    let attribute = |which| {
        let mut value = 0;
        // SAFETY: the room is one number's.
        let code = unsafe { (functions.device_attribute)(&mut value, which, index) };
        // Where the device is on its bus is of use to lists alone.
        match hip.ignore(code) {
            functions::SUCCESS => u32::try_from(value).ok(),
            _ => None,
        }
    };
    let place = [
        functions::ATTRIBUTE_PCI_DOMAIN,
        functions::ATTRIBUTE_PCI_BUS,
        functions::ATTRIBUTE_PCI_DEVICE,
    ];
    let pci = match place.map(attribute) {
        [Some(domain), Some(bus), Some(device)] => Some([domain, bus, device, 0]),
        _ => None,
    };
    let gfx = target::architecture(&gfx).to_owned();
    let target = target::choose(targets.iter().copied(), &gfx, hip.version);
    Ok(Found {
        index,
        name: match name.is_empty() {
            true => "AMD GPU".to_owned(),
            false => name,
        },
        target: target.map(str::to_owned),
        gfx,
        memory: memory as u64,
        pci,
    })
}

/// Room for the properties of a device.
#[repr(align(16))]
struct Properties([u8; functions::PROPERTIES_BYTES]);

impl Properties {
    /// The text that begins at byte `at`.
    fn text(&self, at: usize) -> Option<String> {
        let field = self.0.get(at..at + functions::TEXT_BYTES)?;
        let text = CStr::from_bytes_until_nul(field).ok()?;
        Some(text.to_string_lossy().trim().to_owned())
    }
}

// SAFETY: the stream that is handed on is the one of the request, of the same runtime.
unsafe impl Platform for Hip {
    fn info(&self) -> BackendInfo {
        let mut info = BackendInfo::new(ID, "AMD HIP", env!("CARGO_PKG_VERSION"));
        info.priority = PRIORITY;
        info
    }

    fn event_kind(&self) -> FenceKind {
        FenceKind::HIP_EVENT
    }

    fn devices(&self) -> Result<Vec<DeviceInfo>, ApiError> {
        let objects = carried(objects::OBJECTS)?;
        let found = found(&*self.runtime()?, &objects)?;
        Ok(found.iter().map(Found::info).collect())
    }

    fn open(&self, request: &OpenRequest) -> Result<Opened, ApiError> {
        no_options(request, ID)?;
        let objects = carried(objects::OBJECTS)?;
        let hip = self.runtime()?;
        let found = found(&hip, &objects)?;
        let device = device_at(&found, request.index)?;
        let Some(target) = &device.target else {
            return Err(no_code(&hip, device, &objects));
        };
        let object = objects.get(target)?;
        let stream = theirs(&hip, device.index, request.external())?;
        let info = device.info();
        let runtime: Arc<dyn Runtime> = Arc::new(Device::new(hip, device.index));
        Ok(Opened {
            runtime,
            info,
            object,
            stream,
        })
    }
}

/// The stream of a caller, as far as it fits.
fn theirs(
    hip: &functions::Hip,
    device: c_int,
    [stream, other]: [usize; 2],
) -> Result<Option<StreamHandle>, ApiError> {
    let refused =
        |subject: &str, message: String| Err(ApiError::new(Status::INVALID, subject, message));
    if other != 0 {
        let message = format!("{other:#x}: a hipStream_t is all that is taken, this must be 0");
        return refused("external[1]", message);
    }
    match stream {
        0 => return Ok(None),
        // `hipStreamLegacy` and `hipStreamPerThread`.
        1 | 2 => {
            let message = format!("{stream} is a default stream; make one of its own");
            return refused("external[0]", message);
        }
        _ => {}
    }
    if let Some(ask) = hip.functions.stream_device {
        let mut owner = device;
        // SAFETY: the room is one number's; whoever gave the stream vouched for it
        // (`OpenRequest::with_external`).
        let code = unsafe { ask(stream, &mut owner) };
        hip.check("hipStreamGetDevice", code)?;
        if owner != device {
            let message = format!("the stream is of device {owner}, not {device}");
            return refused("external[0]", message);
        }
    }
    Ok(Some(StreamHandle(stream)))
}

fn no_code(hip: &functions::Hip, device: &Found, objects: &ObjectTable) -> ApiError {
    let old = match hip.version < GENERIC_SINCE {
        true => format!(
            " (the generic ones need version {GENERIC_SINCE} of the runtime, this is {})",
            hip.version
        ),
        false => String::new(),
    };
    let targets: Vec<&str> = objects.targets().collect();
    let message = format!(
        "{} is {}, and this plugin has code objects for {}{old}; score on another device, or build \
         the plugin with one for {}",
        device.name,
        device.gfx,
        targets.join(", "),
        device.gfx,
    );
    ApiError::new(Status::NOT_SUPPORTED, "index", message)
}

fn no_device(hip: &functions::Hip) -> ApiError {
    hip.forget();
    let message = format!("{} shows no GPU{}", named(hip), surroundings());
    ApiError::new(Status::NOT_FOUND, "runtime", message)
}

/// The runtime with its file and version.
fn named(hip: &functions::Hip) -> String {
    let file = hip.library.file().display();
    format!("{}, version {} ({file})", SEARCH.what, hip.version)
}

/// What keeps devices from being seen.
fn surroundings() -> String {
    let rights = Access::READ_OK | Access::WRITE_OK;
    let control = match rustix::fs::access(CONTROL, rights) {
        Ok(()) => "",
        Err(_) if !Path::new(CONTROL).exists() => "; there is no /dev/kfd",
        Err(_) => "; this user may not open /dev/kfd (see the group `render`)",
    };
    format!("{control}{}", settings(&HIDING))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_no_code_fits_is_listed_with_the_reason() {
        let mut found = Found {
            index: 0,
            name: "Old".to_owned(),
            gfx: "gfx803".to_owned(),
            memory: 7,
            pci: None,
            target: None,
        };
        let info = found.info();
        assert_eq!(info.name, "Old (unusable: no code object for gfx803)");
        assert_eq!((&*info.isa, info.total_memory), ("gfx803", 7));
        found.target = Some("gfx803".to_owned());
        assert_eq!(found.info().name, "Old");
    }

    #[test]
    fn texts_of_properties_end_within_their_field() {
        let mut properties = Properties([0; functions::PROPERTIES_BYTES]);
        properties.0[10..14].copy_from_slice(b" ab ");
        assert_eq!(properties.text(10).as_deref(), Some("ab"));
        properties.0[10..10 + functions::TEXT_BYTES].fill(b'x');
        assert_eq!(properties.text(10), None);
        assert_eq!(properties.text(functions::PROPERTIES_BYTES - 1), None);
    }
}
