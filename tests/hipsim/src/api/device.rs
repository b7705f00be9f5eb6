//! Devices, versions and errors.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::abi::{
    Answer, CODES, Code, DevicePtr, Uuid, attribute, properties_r5 as r5, properties_r0600 as r0600,
};
use crate::api::{Out, Text, hip, set_text};
use crate::capture;
use crate::settings::Settings;
use crate::sim::{current_device, last_error, set_current_device, sim};
use crate::streams;

hip! {
    Always fn hipInit(flags: c_uint) {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        let settings = sim().settings();
        match (settings.devices, settings.rocm.major) {
            (0, ..=5) => Err(Code::INVALID_DEVICE),
            (0, _) => Err(Code::NO_DEVICE),
            _ => Ok(()),
        }
    }
    Always fn hipDriverGetVersion(version: Out<c_int>) {
        version.set(sim().settings().rocm.number)
    }
    Always fn hipRuntimeGetVersion(version: Out<c_int>) {
        version.set(sim().settings().rocm.number)
    }
    Always fn hipGetDeviceCount(count: Out<c_int>) {
        let devices = sim().settings().devices;
        count.set(devices as c_int)?;
        if devices == 0 { Err(Code::NO_DEVICE) } else { Ok(()) }
    }
    Usable fn hipDeviceGet(device: Out<c_int>, ordinal: c_int) {
        let ordinal = device_of(ordinal)?;
        device.set(ordinal as c_int)
    }
    Usable fn hipSetDevice(device: c_int) {
        set_current_device(device_of(device)?);
        Ok(())
    }
    Usable fn hipGetDevice(device: Out<c_int>) {
        device.set(current_device() as c_int)
    }
    Usable fn hipCtxGetDevice(device: Out<c_int>) {
        device.set(current_device() as c_int)
    }
    Usable fn hipSetDeviceFlags(_flags: c_uint) {
        Ok(())
    }
    Failed fn hipDeviceSynchronize() {
        capture::forbid_unsafe_calls()?;
        streams::synchronize_device(current_device());
        Ok(())
    }
    Usable fn hipDeviceGetName(name: Out<c_char>, bytes: c_int, device: c_int) {
        device_of(device)?;
        set_text(name, bytes, &sim().settings().name)
    }
    Usable fn hipDeviceTotalMem(bytes: Out<usize>, device: c_int) {
        device_of(device)?;
        bytes.set(sim().settings().memory as usize)
    }
    Usable fn hipMemGetInfo(free: Out<usize>, total: Out<usize>) {
        let memory = sim().settings().memory;
        free.set(memory.saturating_sub(sim().memory.used()) as usize)?;
        total.set(memory as usize)
    }
    Usable fn hipDeviceGetUuid(uuid: Out<Uuid>, device: c_int) {
        uuid.set(uuid_of(device_of(device)?))
    }
    Usable fn hipDeviceGetPCIBusId(text: Out<c_char>, bytes: c_int, device: c_int) {
        let [domain, bus, slot, function] = pci_of(&sim().settings(), device_of(device)?);
        set_text(text, bytes, &format!("{domain:04x}:{bus:02x}:{slot:02x}.{function}"))
    }
    Usable fn hipDeviceGetByPCIBusId(device: Out<c_int>, text: Text) {
        let (settings, text) = (sim().settings(), text.get()?);
        let found = (0..settings.devices).find(|&d| {
            let [domain, bus, slot, function] = pci_of(&settings, d);
            text == format!("{domain:04x}:{bus:02x}:{slot:02x}.{function}")
        });
        device.set(found.ok_or(Code::INVALID_VALUE)? as c_int)
    }
    Usable fn hipDeviceGetAttribute(value: Out<c_int>, which: u32, device: c_int) {
        value.check()?;
        let device = device_of(device)?;
        value.set(attribute_of(&sim().settings(), which, device)?)
    }
    Usable fn hipDeviceCanAccessPeer(can: Out<c_int>, device: c_int, peer: c_int) {
        device_of(device)?;
        device_of(peer)?;
        can.set(0)
    }
    /// The layout of ROCm 5, in every version.
    Usable fn hipGetDeviceProperties(properties: *mut c_void, device: c_int) {
        let device = device_of(device)?;
        let bytes = properties_r5(&sim().settings(), device);
        give_bytes(properties, &bytes)
    }
    /// Not there in ROCm 5: `install` hides it; where it cannot be hidden it answers that it is
    /// not supported.
    Usable fn hipGetDevicePropertiesR0600(properties: *mut c_void, device: c_int) {
        let settings = sim().settings();
        if settings.rocm.major < 6 {
            return Err(Code::NOT_SUPPORTED);
        }
        let device = device_of(device)?;
        give_bytes(properties, &properties_r0600(&settings, device))
    }
    /// Not there in ROCm 5, as above.
    Always fn hipGetProcAddress(
        symbol: Text,
        function: Out<*mut c_void>,
        _version: c_int,
        _flags: u64,
        status: *mut u32,
    ) {
        if sim().settings().rocm.major < 6 {
            return Err(Code::NOT_SUPPORTED);
        }
        function.check()?;
        let found = crate::install::own_symbol(&symbol.get()?);
        if !status.is_null() {
            Out(status).set(u32::from(found.is_none()))?;
        }
        function.set(found.unwrap_or(std::ptr::null_mut()))?;
        found.map(|_| ()).ok_or(Code::INVALID_VALUE)
    }
    Usable fn hipMemGetAddressRange(base: Out<DevicePtr>, size: Out<usize>, at: DevicePtr) {
        let block = sim().memory.find(at as usize).ok_or(Code::NOT_FOUND)?;
        base.set(block.start as DevicePtr)?;
        size.set(block.size)
    }
}

/// Answers a code as its result, as HIP does.
#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) extern "C" fn hipGetLastError() -> u32 {
    last_error(true)
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) extern "C" fn hipPeekAtLastError() -> u32 {
    last_error(false)
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) extern "C" fn hipGetErrorName(code: u32) -> *const c_char {
    let known = CODES.iter().find(|(number, ..)| *number == code);
    known
        .map_or(c"hipErrorUnknown", |(_, name, _)| name)
        .as_ptr()
}

#[unsafe(no_mangle)]
#[allow(non_snake_case)]
pub(crate) extern "C" fn hipGetErrorString(code: u32) -> *const c_char {
    let known = CODES.iter().find(|(number, ..)| *number == code);
    known.map_or(c"unknown error", |(_, _, text)| text).as_ptr()
}

hip! {
    Always fn hipDrvGetErrorName(code: u32, name: Out<*const c_char>) {
        name.set(hipGetErrorName(code))
    }
    Always fn hipDrvGetErrorString(code: u32, text: Out<*const c_char>) {
        text.set(hipGetErrorString(code))
    }
}

/// A device by its number.
pub(crate) fn device_of(device: c_int) -> Answer<u32> {
    let known = u32::try_from(device).ok();
    known
        .filter(|&d| d < sim().settings().devices)
        .ok_or(Code::INVALID_DEVICE)
}

/// The waves of a target: 64 lanes on gfx9, 32 on all others.
pub(crate) fn wave_of(settings: &Settings) -> c_int {
    let target = settings.gfx.split(':').next().unwrap_or_default();
    if target.starts_with("gfx9") { 64 } else { 32 }
}

/// A UUID that tells devices apart and stays the same from run to run.
fn uuid_of(device: u32) -> Uuid {
    let text = format!("{:016x}", 0x5690_af00_u64 + u64::from(device));
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(text.bytes()) {
        *to = from as c_char;
    }
    Uuid { bytes }
}

fn pci_of(settings: &Settings, device: u32) -> [u32; 4] {
    let [domain, bus, slot, function] = settings.pci;
    [domain, bus + device, slot, function]
}

/// Major and minor number of a target: gfx1100 is 11.0, gfx90a is 9.0.
fn version_of(settings: &Settings) -> (c_int, c_int) {
    let target = settings.gfx.split(':').next().unwrap_or_default();
    let digits = target.trim_start_matches("gfx");
    let (major, rest) = digits.split_at(digits.len().saturating_sub(2));
    let minor = rest
        .chars()
        .next()
        .and_then(|c| c.to_digit(16))
        .unwrap_or(0);
    (major.parse().unwrap_or(0), minor as c_int)
}

fn attribute_of(settings: &Settings, which: u32, device: u32) -> Answer<c_int> {
    let [domain, bus, slot, _] = pci_of(settings, device);
    let (major, minor) = version_of(settings);
    Ok(match which {
        attribute::ASYNC_ENGINES => 2,
        attribute::CAN_MAP_HOST_MEMORY
        | attribute::CONCURRENT_KERNELS
        | attribute::COOPERATIVE_LAUNCH
        | attribute::MANAGED_MEMORY
        | attribute::UNIFIED_ADDRESSING
        | attribute::MEMORY_POOLS
        | attribute::HOST_REGISTER => 1,
        attribute::INTEGRATED => c_int::from(settings.integrated),
        attribute::CLOCK_RATE => 2_000_000,
        attribute::MEMORY_CLOCK_RATE => 1_000_000,
        attribute::BUS_WIDTH => 256,
        attribute::L2_BYTES => 4 << 20,
        attribute::MAJOR => major,
        attribute::MINOR => minor,
        attribute::MAX_BLOCK_X..=attribute::MAX_BLOCK_Z | attribute::MAX_THREADS_PER_BLOCK => 1024,
        attribute::MAX_GRID_X => c_int::MAX,
        attribute::MAX_GRID_Y | attribute::MAX_GRID_Z => 65_535,
        attribute::MULTIPROCESSORS => settings.multiprocessors,
        attribute::MAX_SHARED_PER_BLOCK => SHARED_BYTES as c_int,
        attribute::WARP_SIZE => wave_of(settings),
        attribute::PCI_BUS => bus as c_int,
        attribute::PCI_DEVICE => slot as c_int,
        attribute::PCI_DOMAIN => domain as c_int,
        _ => return Err(Code::INVALID_VALUE),
    })
}

/// Shared memory of a block.
pub(crate) const SHARED_BYTES: u32 = 64 * 1024;

fn properties_r0600(settings: &Settings, device: u32) -> Vec<u8> {
    let mut all = Layout(vec![0; r0600::SIZE]);
    let [domain, bus, slot, _] = pci_of(settings, device);
    let (major, minor) = version_of(settings);
    all.text(r0600::NAME, &settings.name);
    for (at, byte) in uuid_of(device).bytes.into_iter().enumerate() {
        all.0[r0600::UUID + at] = byte as u8;
    }
    all.word(r0600::TOTAL_MEMORY, settings.memory);
    all.word(r0600::SHARED_PER_BLOCK, u64::from(SHARED_BYTES));
    all.int(r0600::WARP_SIZE, wave_of(settings));
    all.int(r0600::MAX_THREADS_PER_BLOCK, 1024);
    all.int(r0600::MAJOR, major);
    all.int(r0600::MINOR, minor);
    all.int(r0600::MULTIPROCESSORS, settings.multiprocessors);
    all.int(r0600::INTEGRATED, c_int::from(settings.integrated));
    all.int(r0600::PCI_BUS, bus as c_int);
    all.int(r0600::PCI_DEVICE, slot as c_int);
    all.int(r0600::PCI_DOMAIN, domain as c_int);
    all.int(r0600::ASYNC_ENGINES, 2);
    all.text(r0600::GCN_ARCH_NAME, &settings.gfx);
    all.0
}

fn properties_r5(settings: &Settings, device: u32) -> Vec<u8> {
    let mut all = Layout(vec![0; r5::SIZE]);
    let [domain, bus, slot, _] = pci_of(settings, device);
    let (major, minor) = version_of(settings);
    all.text(r5::NAME, &settings.name);
    all.word(r5::TOTAL_MEMORY, settings.memory);
    all.word(r5::SHARED_PER_BLOCK, u64::from(SHARED_BYTES));
    all.int(r5::WARP_SIZE, wave_of(settings));
    all.int(r5::MAX_THREADS_PER_BLOCK, 1024);
    all.int(r5::MAJOR, major);
    all.int(r5::MINOR, minor);
    all.int(r5::MULTIPROCESSORS, settings.multiprocessors);
    all.int(r5::PCI_DOMAIN, domain as c_int);
    all.int(r5::PCI_BUS, bus as c_int);
    all.int(r5::PCI_DEVICE, slot as c_int);
    all.text(r5::GCN_ARCH_NAME, &settings.gfx);
    all.0
}

/// Bytes of a structure, written by offsets.
struct Layout(Vec<u8>);

impl Layout {
    /// A C string in an array of 256.
    fn text(&mut self, at: usize, text: &str) {
        let text = &text.as_bytes()[..text.len().min(255)];
        self.0[at..at + text.len()].copy_from_slice(text);
    }

    fn int(&mut self, at: usize, value: c_int) {
        self.0[at..at + 4].copy_from_slice(&value.to_ne_bytes());
    }

    fn word(&mut self, at: usize, value: u64) {
        self.0[at..at + 8].copy_from_slice(&value.to_ne_bytes());
    }
}

fn give_bytes(to: *mut c_void, bytes: &[u8]) -> Answer {
    Out(to).check()?;
    // SAFETY: the caller has room for the structure of this layout; see `api`.
    unsafe {
        to.cast::<u8>()
            .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len())
    };
    Ok(())
}
