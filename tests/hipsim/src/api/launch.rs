//! Modules, kernels and launches.

use std::ffi::{c_int, c_uint, c_void};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use vmafx_gcnsim::Program;

use crate::abi::{Answer, Code, Handle, launch_param};
use crate::api::device::SHARED_BYTES;
use crate::api::{Out, Text, hip};
use crate::code_object::{self, Function, Metadata};
use crate::engine::Engine;
use crate::log::Event;
use crate::sim::sim;
use crate::streams;
use crate::work::Work;

hip! {
    Usable fn hipModuleLoadData(module: Out<Handle>, image: *const c_void) {
        module.check()?;
        module.set(load(&read_image(image)?)?)
    }
    Usable fn hipModuleLoadDataEx(
        module: Out<Handle>,
        image: *const c_void,
        _count: c_uint,
        _options: *mut c_int,
        _values: *mut *mut c_void,
    ) {
        module.check()?;
        module.set(load(&read_image(image)?)?)
    }
    Usable fn hipModuleLoad(module: Out<Handle>, path: Text) {
        module.check()?;
        let image = std::fs::read(path.get()?).map_err(|_| Code::FILE_NOT_FOUND)?;
        module.set(load(&image)?)
    }
    Failed fn hipModuleUnload(module: Handle) {
        let module = sim().modules.remove(module)?;
        let of_module = |f: &Function| Arc::ptr_eq(&f.module, &module);
        while let Some(function) = sim().functions.handle_of(of_module) {
            sim().functions.remove(function)?;
        }
        Ok(())
    }
    Usable fn hipModuleGetFunction(function: Out<Handle>, module: Handle, name: Text) {
        function.check()?;
        let (module, name) = (sim().modules.get(module)?, name.get()?);
        let metadata = module.kernels.get(&name).ok_or(Code::NOT_FOUND)?.clone();
        let known = |f: &Function| f.name == name && Arc::ptr_eq(&f.module, &module);
        if let Some(handle) = sim().functions.handle_of(known) {
            return function.set(handle);
        }
        let kernels = match sim().settings().engine {
            Engine::Gcnsim => None,
            Engine::Host | Engine::Both => Some(host_side(&name, &metadata)?),
        };
        let made = Function { name, metadata, kernels, module: module.clone() };
        function.set(sim().functions.add(Arc::new(made)))
    }
    Usable fn hipFuncGetAttribute(value: Out<c_int>, which: u32, function: Handle) {
        value.check()?;
        let function = sim().functions.get(function)?;
        let m = &function.metadata;
        value.set(match which {
            0 => m.max_threads as c_int,
            1 => m.shared_bytes as c_int,
            2 => 0,
            3 => m.private_bytes as c_int,
            4 => m.registers as c_int,
            5 | 6 => 0,
            8 => SHARED_BYTES.saturating_sub(m.shared_bytes) as c_int,
            _ => return Err(Code::INVALID_VALUE),
        })
    }
    Usable fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: Out<c_int>,
        function: Handle,
        threads: c_int,
        shared: usize,
    ) {
        let function = sim().functions.get(function)?;
        if threads <= 0 || threads as u32 > function.metadata.max_threads {
            return Err(Code::INVALID_VALUE);
        }
        let shared = function.metadata.shared_bytes as usize + shared;
        let by_shared = (SHARED_BYTES as usize).checked_div(shared).unwrap_or(16);
        blocks.set(by_shared.min(2048 / threads as usize).min(16) as c_int)
    }
    Usable fn hipModuleLaunchKernel(
        function: Handle,
        grid_x: c_uint, grid_y: c_uint, grid_z: c_uint,
        threads_x: c_uint, threads_y: c_uint, threads_z: c_uint,
        shared: c_uint,
        stream: Handle,
        params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) {
        let function = sim().functions.get(function)?;
        let metadata = &function.metadata;
        let grid = [grid_x, grid_y, grid_z];
        // A side of the grid in threads is a 32-bit number on AMD.
        let fits = u64::from(grid_x) * u64::from(threads_x) <= u64::from(u32::MAX);
        if grid.contains(&0) || grid_y > 65_535 || grid_z > 65_535 || !fits {
            return Err(Code::INVALID_VALUE);
        }
        if threads_x == 0 || threads_y == 0 || threads_z == 0 {
            return Err(Code::INVALID_VALUE);
        }
        // The kernels fix their number of threads when they are compiled.
        if [threads_x, threads_y, threads_z] != [metadata.max_threads, 1, 1] {
            sim().trouble(format!(
                "{}: launched with {threads_x}x{threads_y}x{threads_z} threads, made for {}",
                function.name, metadata.max_threads
            ));
            return Err(Code::INVALID_VALUE);
        }
        if metadata.shared_bytes.saturating_add(shared) > SHARED_BYTES {
            return Err(Code::LAUNCH_OUT_OF_RESOURCES);
        }
        let args = arguments(metadata, params, extra)?;
        let stream = streams::find(stream)?;
        streams::on_current_device(&stream)?;
        let work = Work::Launch { function: function.clone(), grid, args: args.into() };
        streams::enqueue(&stream, work).map(|_| ())
    }
}

fn load(image: &[u8]) -> Answer<Handle> {
    let settings = sim().settings();
    crate::capture::forbid_unsafe_calls()?;
    if let Some(code) = settings.refuse_modules {
        return Err(code);
    }
    let loaded = code_object::load(image, &settings.gfx, settings.rocm);
    if settings.engine != Engine::Host && matches!(loaded, Err(Code::NO_BINARY)) {
        let (target, gfx) = (code_object::target(image), &settings.gfx);
        sim().complain(format!(
            "a code object for {target} on a device that is {gfx}"
        ));
    }
    let (mut module, target) = loaded?;
    if settings.engine != Engine::Host {
        let program = Program::load(image).map_err(|error| {
            sim().complain(error.to_string());
            Code::INVALID_IMAGE
        })?;
        module.program = Some(program);
        sim().executed.know(module.kernels.keys());
    }
    let event = Event::Module {
        target: target.to_owned(),
        bytes: image.len() as u64,
        kernels: module.kernels.len(),
    };
    sim().log.add(event, settings.log_limit);
    Ok(sim().modules.add(Arc::new(module)))
}

/// The library of kernels that runs this kernel, which must be the same there.
fn host_side(name: &str, metadata: &Metadata) -> Answer<&'static crate::blocks::Kernels> {
    let fail = |text: String| {
        sim().complain(text);
        Code::INVALID_DEVICE_FUNCTION
    };
    let kernels = sim().kernels().map_err(|e| fail(e.to_string()))?;
    let kernel = kernels.kernel(name).map_err(|e| fail(e.to_string()))?;
    let (host, device) = (kernel.args as usize, metadata.args_bytes());
    if host != device || kernel.threads != metadata.max_threads {
        let text = format!(
            "{name}: {device} bytes of arguments and {} threads in the code object, {host} and {} in the library for the host",
            metadata.max_threads, kernel.threads
        );
        return Err(fail(text));
    }
    Ok(kernels)
}

/// The bytes of all arguments, from either of the two ways to hand them over.
fn arguments(
    metadata: &Metadata,
    params: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Answer<Vec<u8>> {
    let mut bytes = vec![0u8; metadata.args_bytes()];
    if !params.is_null() {
        for (i, &(at, size)) in metadata.args.iter().enumerate() {
            // SAFETY: `params` holds a pointer to each argument of the kernel, of the size that
            // its code object says; see `api`.
            let from = unsafe { params.add(i).read() };
            if from.is_null() {
                return Err(Code::INVALID_VALUE);
            }
            let to = bytes.get_mut(at..at + size).ok_or(Code::INVALID_IMAGE)?;
            // SAFETY: as above.
            unsafe {
                from.cast::<u8>()
                    .copy_to_nonoverlapping(to.as_mut_ptr(), size)
            };
        }
        return Ok(bytes);
    }
    if extra.is_null() {
        return if bytes.is_empty() {
            Ok(bytes)
        } else {
            Err(Code::INVALID_VALUE)
        };
    }
    let (mut buffer, mut size) = (std::ptr::null_mut(), None);
    let mut at = 0;
    loop {
        // SAFETY: `extra` is a list of keys and values that ends with HIP_LAUNCH_PARAM_END; see
        // `api`.
        let key = unsafe { extra.add(at).read() } as usize;
        if key == launch_param::END {
            break;
        }
        // SAFETY: a key is followed by its value.
        let value = unsafe { extra.add(at + 1).read() };
        match key {
            launch_param::BUFFER_POINTER => buffer = value,
            // SAFETY: the value of this key points to a size.
            launch_param::BUFFER_SIZE => size = Some(unsafe { value.cast::<usize>().read() }),
            _ => return Err(Code::INVALID_VALUE),
        }
        at += 2;
    }
    let size = size.ok_or(Code::INVALID_VALUE)?;
    // The runtime takes a buffer that is padded to the segment, and none that is too small.
    if buffer.is_null() || size < bytes.len() {
        return Err(Code::INVALID_VALUE);
    }
    // SAFETY: the buffer has that many bytes; see `api`.
    unsafe {
        buffer
            .cast::<u8>()
            .copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len())
    };
    Ok(bytes)
}

/// Reads an image that comes without a size. A header that names more than is mapped is not an
/// image.
fn read_image(image: *const c_void) -> Answer<Vec<u8>> {
    if image.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let mut header = [0; 64];
    if !read_memory(image as usize, &mut header[..4]) || header[..4] != *b"\x7fELF" {
        return Err(Code::INVALID_IMAGE);
    }
    if !read_memory(image as usize, &mut header) {
        return Err(Code::INVALID_IMAGE);
    }
    let size = code_object::size_of_image(&header).ok_or(Code::INVALID_IMAGE)?;
    let mut bytes = vec![0; size];
    if !read_memory(image as usize, &mut bytes) {
        return Err(Code::INVALID_IMAGE);
    }
    Ok(bytes)
}

/// Reads this process's memory through the system, which knows what is mapped; false where some
/// of it is not.
fn read_memory(from: usize, to: &mut [u8]) -> bool {
    let memory = std::fs::File::open("/proc/self/mem");
    memory.is_ok_and(|memory| memory.read_exact_at(to, from as u64).is_ok())
}
