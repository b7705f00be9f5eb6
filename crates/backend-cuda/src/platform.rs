//! The devices of the driver, and which of the carried code each of them takes.
//!
//! PTX for one architecture runs on every later one, so a device takes the newest that is not
//! newer than itself.
//!
//! What must stay true: a machine without driver or device is told of in one line, as absent; one
//! whose driver does not work is a failure, never an absence; a device that no carried code fits
//! is listed with that reason, and opening it says what to do.

use std::ffi::{CStr, c_int};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use vmafx_api::{ApiError, BackendInfo, DeviceInfo, FenceKind, OpenRequest, Status};
use vmafx_gpu::library::settings;
use vmafx_gpu::runtime::StreamHandle;
use vmafx_gpu::{ObjectTable, Opened, Platform, Runtime, carried, device_at, no_options};

use crate::ID;
use crate::cache::CodeCache;
use crate::context::Context;
use crate::driver::{self, DeviceNumber, Driver, SEARCH};

mod objects {
    include!(concat!(env!("OUT_DIR"), "/objects.rs"));
}

/// Before the CPU, which has 0.
const PRIORITY: i32 = 50;
/// Variables by which devices are hidden.
const HIDING: [&str; 1] = ["CUDA_VISIBLE_DEVICES"];
/// What the kernel module shows.
const CONTROL: &str = "/dev/nvidiactl";

/// NVIDIA's driver with its devices.
#[derive(Debug, Default)]
pub struct Cuda {
    /// Whether compiled code is neither looked for nor kept.
    forgets: bool,
    /// Where it is, if that was told.
    file: Option<PathBuf>,
    /// Once it was found; a driver that is not there may come later.
    driver: Mutex<Option<Arc<Driver>>>,
}

impl Cuda {
    /// The driver of this machine; it is looked for when it is needed.
    pub fn new() -> Self {
        Cuda::default()
    }

    /// The driver in this file, whatever the environment says.
    ///
    /// # Safety
    /// Functions of the file that have names of the driver have its types, too.
    pub unsafe fn with_library(file: impl Into<PathBuf>) -> Self {
        Cuda {
            file: Some(file.into()),
            ..Cuda::default()
        }
    }

    /// Neither looks for compiled code of an earlier process nor keeps any for a later one.
    pub fn without_cache(mut self) -> Self {
        self.forgets = true;
        self
    }

    /// The driver, ready for use.
    fn driver(&self) -> Result<Arc<Driver>, ApiError> {
        let mut known = self.driver.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(driver) = &*known {
            return Ok(driver.clone());
        }
        // SAFETY: the promise of `with_library`, which alone sets a file.
        let driver = unsafe { Driver::find(self.file.as_deref()) }.map_err(|error| {
            let message = format!("{error}{}", surroundings());
            ApiError::new(error.status(), "driver", message)
        })?;
        // SAFETY: takes no object.
        match unsafe { (driver.functions.init)(0) } {
            driver::SUCCESS => {}
            driver::NO_DEVICE => return Err(no_device()),
            code => return Err(not_ready(&driver, code)),
        }
        Ok(known.insert(Arc::new(driver)).clone())
    }

    fn found(&self, driver: &Driver, objects: &ObjectTable) -> Result<Vec<Found>, ApiError> {
        let mut count = 0;
        // SAFETY: the room is one number's.
        let code = unsafe { (driver.functions.device_count)(&mut count) };
        driver.check("cuDeviceGetCount", code)?;
        if count < 1 {
            return Err(no_device());
        }
        let numbers = 0..count;
        numbers
            .map(|ordinal| look(driver, ordinal, objects))
            .collect()
    }
}

/// A device that the driver shows.
#[derive(Debug)]
struct Found {
    number: DeviceNumber,
    name: String,
    /// As in `sm_90`, without the prefix.
    capability: u32,
    memory: u64,
    pci: Option<[u32; 4]>,
    /// The carried code that it takes.
    target: Option<String>,
}

impl Found {
    fn info(&self) -> DeviceInfo {
        let isa = format!("sm_{}", self.capability);
        let name = match self.target {
            Some(_) => self.name.clone(),
            None => format!("{} (unusable: no device code for {isa})", self.name),
        };
        let mut info = DeviceInfo::new(name, isa);
        info.total_memory = self.memory;
        info.pci = self.pci;
        info
    }
}

fn look(driver: &Driver, ordinal: c_int, objects: &ObjectTable) -> Result<Found, ApiError> {
    let functions = &driver.functions;
    let mut number = 0;
    // SAFETY: the room is one number's.
    let code = unsafe { (functions.device)(&mut number, ordinal) };
    driver.check("cuDeviceGet", code)?;

    let mut text = [0; 256];
    // SAFETY: the room is as long as is said.
    let code = unsafe { (functions.device_name)(text.as_mut_ptr(), text.len() as c_int, number) };
    driver.check("cuDeviceGetName", code)?;
    let text = text.map(|c| c as u8);
    let name = CStr::from_bytes_until_nul(&text).unwrap_or(c"NVIDIA GPU");

    let mut memory = 0;
    // SAFETY: the room is one number's.
    let code = unsafe { (functions.device_memory)(&mut memory, number) };
    driver.check("cuDeviceTotalMem", code)?;

    let attribute = |which| {
        let mut value = 0;
        // SAFETY: the room is one number's.
        let code = unsafe { (functions.device_attribute)(&mut value, which, number) };
        driver.check("cuDeviceGetAttribute", code)?;
        Ok::<_, ApiError>(u32::try_from(value).unwrap_or(0))
    };
    let capability = 10 * attribute(driver::ATTRIBUTE_CAPABILITY_MAJOR)?
        + attribute(driver::ATTRIBUTE_CAPABILITY_MINOR)?;
    let pci = [
        attribute(driver::ATTRIBUTE_PCI_DOMAIN)?,
        attribute(driver::ATTRIBUTE_PCI_BUS)?,
        attribute(driver::ATTRIBUTE_PCI_DEVICE)?,
        0,
    ];
    Ok(Found {
        number,
        name: name.to_string_lossy().into_owned(),
        capability,
        memory: memory as u64,
        pci: Some(pci),
        target: newest(objects.targets(), capability),
    })
}

/// The newest of `targets`, such as `sm_80`, that is not newer than `capability`.
fn newest<'a>(targets: impl Iterator<Item = &'a str>, capability: u32) -> Option<String> {
    let known = targets.filter_map(|name| {
        let number: u32 = name.strip_prefix("sm_")?.parse().ok()?;
        (number <= capability).then_some((number, name))
    });
    known.max().map(|(_, name)| name.to_owned())
}

// SAFETY: the stream that is handed on is the one of the request, of the same driver.
unsafe impl Platform for Cuda {
    fn info(&self) -> BackendInfo {
        let mut info = BackendInfo::new(ID, "NVIDIA CUDA", env!("CARGO_PKG_VERSION"));
        info.priority = PRIORITY;
        info
    }

    fn event_kind(&self) -> FenceKind {
        FenceKind::CUDA_EVENT
    }

    fn devices(&self) -> Result<Vec<DeviceInfo>, ApiError> {
        let objects = carried(objects::OBJECTS)?;
        let found = self.found(&*self.driver()?, &objects)?;
        Ok(found.iter().map(Found::info).collect())
    }

    fn open(&self, request: &OpenRequest) -> Result<Opened, ApiError> {
        no_options(request, ID)?;
        let objects = carried(objects::OBJECTS)?;
        let driver = self.driver()?;
        let found = self.found(&driver, &objects)?;
        let device = device_at(&found, request.index)?;
        let info = device.info();
        let Some(target) = &device.target else {
            let targets: Vec<&str> = objects.targets().collect();
            let message = format!(
                "{} is {}, and this plugin has device code for {} and later; score on another \
                 device, or build the plugin with code for this one",
                device.name,
                info.isa,
                targets.join(", ")
            );
            return Err(ApiError::new(Status::NOT_SUPPORTED, "index", message));
        };
        let object = objects.get(target)?;
        let cache = match self.forgets {
            true => CodeCache::none(),
            false => CodeCache::new(compiler(&driver, device)),
        };
        let (context, stream) = match request.external() {
            [0, 0] => (Context::primary(driver, device.number, cache)?, None),
            external => theirs(driver, device.number, external, cache)?,
        };
        let runtime: Arc<dyn Runtime> = Arc::new(context);
        Ok(Opened {
            runtime,
            info,
            object,
            stream,
        })
    }
}

/// The context and stream of a caller, as far as they fit.
fn theirs(
    driver: Arc<Driver>,
    device: DeviceNumber,
    [context, stream]: [usize; 2],
    cache: CodeCache,
) -> Result<(Context, Option<StreamHandle>), ApiError> {
    let refused =
        |subject: &str, message: String| Err(ApiError::new(Status::INVALID, subject, message));
    if context == 0 {
        let message = "no CUcontext beside the CUstream: give the stream's".to_owned();
        return refused("external[0]", message);
    }
    // `CU_STREAM_LEGACY` and `CU_STREAM_PER_THREAD`.
    if stream == 1 || stream == 2 {
        let message = format!("{stream} is a default stream; make one of its own");
        return refused("external[1]", message);
    }
    // SAFETY: whoever gave the context vouched for it (`OpenRequest::with_external`).
    let theirs = unsafe { Context::borrowed(driver.clone(), context, cache) };
    theirs.make_current()?;
    let mut number = 0;
    // SAFETY: the room is one number's.
    let code = unsafe { (driver.functions.context_device)(&mut number) };
    let mut owner = context;
    let asked = match driver.functions.stream_context {
        // SAFETY: the room is one handle's; the stream is vouched for as the context is.
        Some(ask) if stream != 0 => unsafe { ask(stream, &mut owner) },
        _ => driver::SUCCESS,
    };
    theirs.restore(0);
    driver.check("cuCtxGetDevice", code)?;
    driver.check("cuStreamGetCtx", asked)?;
    if number != device {
        let message = format!("the context is of device {number}, not {device}");
        return refused("external[0]", message);
    }
    if owner != context {
        return refused("external[1]", "the stream is of another context".to_owned());
    }
    Ok((theirs, (stream != 0).then_some(StreamHandle(stream))))
}

/// What compiles for a device, and for which: whatever changes the code that comes of PTX.
fn compiler(driver: &Driver, device: &Found) -> String {
    let mut version = 0;
    // SAFETY: the room is one number's. Where it fails, the file's name has the version.
    let _ = unsafe { (driver.functions.driver_version)(&mut version) };
    let file = driver.library.file();
    let file = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let bytes = file.metadata().map_or(0, |metadata| metadata.len());
    let Found {
        name, capability, ..
    } = device;
    format!(
        "{} of {bytes} bytes, CUDA {version}; {name}, sm_{capability}",
        file.display()
    )
}

fn no_device() -> ApiError {
    let message = format!("{} shows no GPU{}", SEARCH.what, surroundings());
    ApiError::new(Status::NOT_FOUND, "driver", message)
}

fn not_ready(driver: &Driver, code: driver::Code) -> ApiError {
    let hint = match code {
        driver::STUB_LIBRARY => "; the library is the toolkit's stub, not the driver's",
        driver::SYSTEM_NOT_READY => "; its services are not running",
        driver::SYSTEM_DRIVER_MISMATCH => {
            "; library and kernel module are of different versions: restart after an update"
        }
        _ => "",
    };
    let message = format!(
        "{} ({}) does not start: {}{hint}{}",
        SEARCH.what,
        driver.library.file().display(),
        driver.failure("cuInit", code),
        surroundings()
    );
    ApiError::new(Status::DEVICE, "driver", message).with_code(code.into())
}

/// What keeps devices from being seen.
fn surroundings() -> String {
    let control = match Path::new(CONTROL).exists() {
        true => "",
        false => "; there is no /dev/nvidiactl",
    };
    format!("{control}{}", settings(&HIDING))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_takes_the_newest_code_that_is_not_newer() {
        let newest = |capability| newest(["sm_80", "sm_90", "other"].into_iter(), capability);
        assert_eq!(newest(75), None);
        assert_eq!(newest(80).as_deref(), Some("sm_80"));
        assert_eq!(newest(89).as_deref(), Some("sm_80"));
        assert_eq!(newest(90).as_deref(), Some("sm_90"));
        assert_eq!(newest(120).as_deref(), Some("sm_90"));
    }

    #[test]
    fn a_device_that_no_code_fits_is_listed_with_the_reason() {
        let mut found = Found {
            number: 0,
            name: "Old".to_owned(),
            capability: 75,
            memory: 7,
            pci: None,
            target: None,
        };
        let info = found.info();
        assert_eq!(info.name, "Old (unusable: no device code for sm_75)");
        assert_eq!((&*info.isa, info.total_memory), ("sm_75", 7));
        found.target = Some("sm_70".to_owned());
        assert_eq!(found.info().name, "Old");
    }
}
