//! Device code from PTX: what the driver compiled before comes from the cache, anything else is
//! compiled now.
//!
//! What must stay true: the cache changes nothing but the time; code that does not load is told
//! with the compiler's own words.

use std::ffi::{c_int, c_void};

use vmafx_gpu::RuntimeError;
use vmafx_gpu::library::one_line;

use crate::cache::CodeCache;
use crate::driver::{self, Driver};

/// Bytes for the compiler's words.
const LOG_BYTES: usize = 8 * 1024;
/// How many of its words are told.
const TOLD: usize = 400;

/// Loads `object`, PTX or code of the device, into the current context.
pub(crate) fn load(
    driver: &Driver,
    cache: &CodeCache,
    object: &[u8],
) -> Result<usize, RuntimeError> {
    if object.starts_with(b"\x7fELF") {
        return load_image(driver, object);
    }
    let key = cache.key(object);
    if let Some(code) = cache.read(&key)
        && let Ok(module) = load_image(driver, &code)
    {
        return Ok(module);
    }
    // PTX is a text of C.
    let text = [object, &[0]].concat();
    let Some(code) = compile(driver, &text)? else {
        return load_image(driver, &text);
    };
    let module = load_image(driver, &code)?;
    cache.write(&key, &code);
    Ok(module)
}

fn load_image(driver: &Driver, image: &[u8]) -> Result<usize, RuntimeError> {
    let mut log = Log::new();
    let (mut options, mut values) = log.options();
    let mut module = 0;
    // SAFETY: the image is whole: a text with its zero, or code whose digest was compared or that
    // the driver just made. Options and what they name live through the call.
    let code = unsafe {
        (driver.functions.module_load)(
            &mut module,
            image.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    log.check(driver, "cuModuleLoadDataEx", code)?;
    Ok(module)
}

/// Compiles PTX for the current device; nothing if this driver does not give the code away.
fn compile(driver: &Driver, text: &[u8]) -> Result<Option<Vec<u8>>, RuntimeError> {
    let functions = &driver.functions;
    let (Some(create), Some(add), Some(complete), Some(destroy)) = (
        functions.link_create,
        functions.link_add,
        functions.link_complete,
        functions.link_destroy,
    ) else {
        return Ok(None);
    };
    let mut log = Log::new();
    let (mut options, mut values) = log.options();
    let mut state = 0;
    // SAFETY: options and what they name live until the state is destroyed, below.
    let code = unsafe {
        create(
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
            &mut state,
        )
    };
    log.check(driver, "cuLinkCreate", code)?;
    let linked = || {
        // SAFETY: the state was just made; the text has its zero, and is only read.
        let code = unsafe {
            add(
                state,
                driver::JIT_INPUT_PTX,
                text.as_ptr().cast_mut().cast(),
                text.len(),
                c"vmafx.ptx".as_ptr(),
                0,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
        log.check(driver, "cuLinkAddData", code)?;
        let (mut made, mut bytes) = (std::ptr::null_mut::<c_void>(), 0);
        // SAFETY: the state is alive; each room is one value's.
        let code = unsafe { complete(state, &mut made, &mut bytes) };
        log.check(driver, "cuLinkComplete", code)?;
        if made.is_null() {
            return Ok(None);
        }
        // SAFETY: the driver answered with so many bytes, which stay until the state goes.
        let code = unsafe { std::slice::from_raw_parts(made.cast::<u8>(), bytes) };
        Ok(Some(code.to_vec()))
    };
    let linked = linked();
    // SAFETY: made above, destroyed once.
    let _ = unsafe { destroy(state) };
    linked
}

/// Room for the compiler's words.
struct Log {
    text: Vec<u8>,
}

impl Log {
    fn new() -> Self {
        Log {
            text: vec![0; LOG_BYTES],
        }
    }

    /// Options of the driver's by which it writes here; their second value comes back changed.
    fn options(&mut self) -> ([c_int; 2], [*mut c_void; 2]) {
        let options = [
            driver::JIT_ERROR_LOG_BUFFER,
            driver::JIT_ERROR_LOG_BUFFER_SIZE,
        ];
        // The number is handed over in place of an address, so says the driver's manual.
        let size = std::ptr::without_provenance_mut(LOG_BYTES);
        (options, [self.text.as_mut_ptr().cast(), size])
    }

    fn check(
        &self,
        driver: &Driver,
        call: &'static str,
        code: driver::Code,
    ) -> Result<(), RuntimeError> {
        driver.check(call, code).map_err(|mut error| {
            let words = self.words();
            if !words.is_empty() {
                error.name += &format!(": {words}");
            }
            error
        })
    }

    /// What was written, on one line.
    fn words(&self) -> String {
        let end = self.text.iter().position(|&byte| byte == 0);
        let text = String::from_utf8_lossy(&self.text[..end.unwrap_or(LOG_BYTES)]);
        let text: String = text.trim().chars().take(TOLD).collect();
        one_line(&text)
    }
}
